"""Messages of all versions of NCCL are read, and no other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synctax.planning.nccl.messages import Unreadable, parse


@given(st.text(st.sampled_from("Channel Ring comm rank nranks:[]>-0123456789/NET/IB via")))
def test_no_message_is_too_odd(text):
    for start in (
        "",
        "Channel 00/0 : ",
        "comm 0x1 rank 0 nranks 2 ",
        "NET/IB : Using ",
    ):
        parse(start + text)
        parse(start + text, whole=False)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (
            "Channel 00 : 7[8b000] -> 8[7000] [receive] via NET/IB/0/GDRDMA/Shared",
            (0, 0, 7, 8, "8b000", "7000", "receive", "NET", "IB", 0, None, True, ""),
        ),
        (
            "Channel 07/1 : 12[4] -> 20[4] [send] via NET/AWS Libfabric/13(9)/GDRDMA(PCI)",
            (7, 1, 12, 20, "4", "4", "send", "NET", "AWS Libfabric", 13, 9, True, ""),
        ),
        (
            "Ring 01 : 3[ca000] -> 0[87000] [send] via NET/Socket/2",
            (1, 0, 3, 0, "ca000", "87000", "send", "NET", "Socket", 2, None, False, ""),
        ),
        (
            "Channel 00/0 : 1[7000] -> 0[b700] [receive] via NET/UCX/0 comm 0x2f nRanks 02",
            (0, 0, 1, 0, "7000", "b700", "receive", "NET", "UCX", 0, None, False, "0x2f"),
        ),
        (
            "Channel 03 : 0[7000] -> 1[a000] via direct shared memory",
            (3, 0, 0, 1, "7000", "a000", "", "SHM", "", None, None, False, ""),
        ),
        (
            "Channel 03 : 0[0] -> 1[1] via SHM/CE/direct",
            (3, 0, 0, 1, "0", "1", "", "SHM", "", None, None, False, ""),
        ),
        (
            "Channel 01/0 : 4[4] -> 5[5] via P2P/direct pointer/read",
            (1, 0, 4, 5, "4", "5", "", "P2P", "direct pointer", None, None, False, ""),
        ),
        (
            "Channel 01/0 : 0[0] -> 3[3] via P2P/indirect/2[2]/read",
            (1, 0, 0, 3, "0", "3", "", "P2P", "indirect", None, None, False, ""),
        ),
        (
            "Channel 01/0 : 0[0] -> 4[0] via P2P/MNNVL",
            (1, 0, 0, 4, "0", "0", "", "P2P", "MNNVL", None, None, False, ""),
        ),
    ],
)
def test_connections_of_all_versions_are_read(text, values):
    assert parse(text) == values


@pytest.mark.parametrize(
    "text",
    [
        "Channel 00/0 : 7[7] -> 8[",
        "Channel 00/0 : 7[7] -> 8[0] [send] via ",
        "Channel 00/0 : 7[7] -> 8[0] via NET/IB/0",
        "Channel 00/0 : 7[7] -> 8[0] [send] via NET/IB/",
        "Channel 00/0 : 7[7] -> 8[0] [send] via CARRIER/PIGEON",
        "Channel 99999999999/0 : 7[7] -> 8[0] via P2P/IPC",
        "Ring 00 :",
    ],
)
def test_a_connection_of_no_known_form_is_unreadable(text):
    assert isinstance(parse(text), Unreadable)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Connected all rings",
        "Trees [0] 1/-1/-1->0->-1",
        "NVLS multicast support is available on dev 0",
        "NCCL version 2.29.2+cuda13.1",
        "NET/Plugin: Using internal network plugin.",
        "NET/IB : No device found.",
        "comm 0x",
    ],
)
def test_other_messages_are_passed_over(text):
    assert parse(text) is None
