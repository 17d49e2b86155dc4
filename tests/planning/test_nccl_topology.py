"""A dump of NCCL is read back, whatever hangs where, and the nearest NIC is found."""

import gzip
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synctax.errors import BadInputError
from synctax.planning.nccl import xml as nccl_xml
from synctax.planning.nccl.machine import PATHS, Gpu, Nic, NvLink, Topology
from synctax.planning.nccl.topology import (
    read_topology,
    short_of_nvlinks,
    topology_rails,
)
from tests.planning.nccl_writing import Xml

SAMPLES = Path(__file__).parent / "nccl_files"


@pytest.fixture
def read(tmp_path):
    """Read a text as if NCCL had written it."""

    def read(text: str | bytes) -> Topology:
        path = tmp_path / "topo.xml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_topology(path)

    return read


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("topologies") / "topo.xml"


@st.composite
def machines(draw) -> Xml:
    """CPUs with switches, GPUs and NICs spread over them at random."""
    places = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    cpus: list[list[tuple[list[int], list[str]]]] = [
        [([], []) for _ in range(switches)] for switches in places
    ]
    spots = [spot for cpu in cpus for spot in cpu]
    at = st.integers(0, len(spots) - 1)
    for dev, spot in enumerate(draw(st.lists(at, min_size=1, max_size=6))):
        spots[spot][0].append(dev)
    for dev, spot in enumerate(draw(st.lists(at, max_size=6))):
        spots[spot][1].append(f"mlx5_{dev}")
    return Xml(cpus)


def where(xml: Xml, wanted: int | str) -> tuple[int, int]:
    """Find the CPU and the switch of a GPU or NIC."""
    return next(
        (numa, at)
        for numa, switches in enumerate(xml.cpus)
        for at, (gpus, nics) in enumerate(switches)
        if wanted in gpus or wanted in nics
    )


def read_from(path: Path, xml: Xml) -> Topology:
    path.write_text(xml.text())
    return read_topology(path)


@given(machines())
def test_what_was_written_comes_back(scratch, xml):
    found = read_from(scratch, xml)
    gpus = sorted(gpu for cpu in xml.cpus for gpus, _ in cpu for gpu in gpus)
    assert [gpu.dev for gpu in found.gpus] == gpus
    assert [gpu.rank for gpu in found.gpus] == gpus
    names = [name for cpu in xml.cpus for _, nics in cpu for name in nics]
    assert [nic.name for nic in found.nics] == names
    assert {nic.speed_gb_per_s for nic in found.nics} <= {50.0}
    assert {gpu.nvlink_gb_per_s for gpu in found.gpus} == {450.0}
    assert found.notes == ()


@given(machines())
def test_a_path_is_as_far_as_what_both_share(scratch, xml):
    found = read_from(scratch, xml)
    for g, gpu in enumerate(found.gpus):
        for k, nic in enumerate(found.nics):
            here, there = where(xml, gpu.dev), where(xml, nic.name)
            kind = "PIX" if here == there else "PHB" if here[0] == there[0] else "SYS"
            assert PATHS[found.path[g, k]] == kind


@given(machines())
def test_no_nic_is_nearer_than_the_rail_of_a_gpu(scratch, xml):
    found = read_from(scratch, xml)
    for rail, kinds in zip(topology_rails(found), found.path, strict=True):
        if not found.nics:
            assert (rail.nic, rail.near, rail.path) == (None, (), None)
            continue
        assert rail.path == PATHS[kinds.min()]
        assert rail.nic in rail.near
        near = {found.nics[k].name for k in np.flatnonzero(kinds == kinds.min())}
        assert set(rail.near) == near


@given(st.integers(0, 3), st.integers(1, 3))
def test_gpus_of_one_switch_take_different_nics(scratch, power, switches):
    each = 2**power
    devices = [list(range(s * each, s * each + each)) for s in range(switches)]
    xml = Xml([[(gpus, [f"mlx5_{dev}" for dev in gpus]) for gpus in devices]])
    rails = topology_rails(read_from(scratch, xml))
    assert len({rail.nic for rail in rails}) == len(rails)


def test_neighbours_come_far_apart_as_nccl_takes_them(read):
    found = read(Xml([[([0, 1, 2, 3], ["mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"])]]).text())
    assert [rail.dev for rail in topology_rails(found)] == [0, 2, 1, 3]


def test_a_sample_of_two_cpus():
    found = read_topology(SAMPLES / "hgx.xml")
    rails = topology_rails(found)
    near = [(rail.gpu, rail.nic, rail.dev, rail.path) for rail in rails]
    assert near[:2] == [(0, "mlx5_3", 0, "PIX"), (1, "mlx5_0", 1, "PIX")]
    # what hangs on the other CPU reaches all NICs at the same low rate
    assert rails[2].near == ("mlx5_3", "mlx5_0", "eth0")
    assert rails[2].path == "SYS"
    assert found.gpus[0] == Gpu(
        host="0x41c0ffee00000001",
        dev=0,
        rank=0,
        busid="0000:12:00.0",
        sm=90,
        nvlinks=tuple(
            NvLink(f"0000:e{at}:00.0", count, "switch")
            for at, count in enumerate((4, 4, 5, 5))
        ),
    )
    assert found.nics[2] == Nic(
        host="0x41c0ffee00000001",
        dev=2,
        name="eth0",
        speed_gb_per_s=12.5,
        busid="0000:30:00.0",
        rail=None,
    )
    assert [gpu.dev for gpu in short_of_nvlinks(found)] == [1]
    assert [(note.reason, note.count) for note in found.notes] == [
        ("topology_net_unused", 1)
    ]
    assert found.notes[0].where.endswith("hgx.xml, line 36: <net>")


def test_a_faster_nic_further_away_is_taken_as_nccl_does(read):
    text = Xml([[([0], ["mlx5_0"]), ([], ["mlx5_1"])]]).text()
    slow = text.replace('dev="0" speed="400000"', 'dev="0" speed="100000"')
    (rail,) = topology_rails(read(slow))
    assert (rail.nic, rail.path) == ("mlx5_1", "PHB")


def test_a_rail_that_a_plugin_tells_is_kept(read):
    text = Xml([[([0], ["mlx5_0"])]]).text().replace('port="1"', 'port="1" rail="6"')
    assert read(text).nics[0].rail == 6


@pytest.mark.parametrize(
    ("sm", "count", "gb_per_s"),
    [
        (60, 4, 80),
        (70, 6, 150),
        (80, 12, 300),
        (86, 4, 56.25),
        (89, 2, 50),
        (90, 18, 450),
        (100, 18, 900),
        (103, 18, 900),
        (37, 0, 0),
    ],
)
def test_line_rates_are_those_of_data_sheets(sm, count, gb_per_s):
    links = (NvLink("0000:e0:00.0", count, "switch"),)
    assert Gpu("", 0, 0, "", sm, links).nvlink_gb_per_s == gb_per_s


def test_an_unknown_gpu_has_no_known_rate():
    links = (NvLink("0000:e0:00.0", 4, "gpu"),)
    assert math.isnan(Gpu("", 0, 0, "", 0, links).nvlink_gb_per_s)


def test_links_to_a_cpu_are_not_links_to_gpus(read):
    text = Xml([[([0], [])]]).text()
    gpu = read(text.replace("0x068000", "0x068001")).gpus[0]
    assert (gpu.nvlink_count, gpu.nvlinks[0].to) == (0, "cpu")
    gpu = read(text.replace("0x068000", "0x030200")).gpus[0]
    assert (gpu.nvlink_count, gpu.nvlinks[0].to) == (18, "gpu")


def test_deeper_switches_are_several(read):
    text = Xml([[([0], ["mlx5_0"])]]).text()
    inner = '<pci busid="0000:77:00.0" class="0x060400" link_speed="" link_width="0">'
    gpu = text.index('      <pci busid="0000:02')
    end = text.index("      </pci>", gpu) + len("      </pci>\n")
    text = text[:gpu] + inner + text[gpu:end] + "</pci>" + text[end:]
    found = read(text)
    assert PATHS[found.path[0, 0]] == "PXB"
    # sixteen lanes of 8 GT/s where the machine does not tell
    assert found.path_gb_per_s[0, 0] == 12.0


def test_linked_switches_spare_the_cpu(read):
    text = Xml([[([0], []), ([], ["mlx5_0"])]]).text()
    link = '<pcilink target="0000:03:00.0"/>'
    one = text.replace('      <pci busid="0000:02', link + '      <pci busid="0000:02')
    assert PATHS[read(text).path[0, 0]] == "PHB"
    assert PATHS[read(one).path[0, 0]] == "PXB"


def test_a_nic_that_is_no_pci_device_hangs_on_its_cpu(read):
    text = Xml([[([0], [])]]).text()
    net = '<nic><net name="eth0" dev="0" speed="-1" port="0" guid="0x0"/></nic></cpu>'
    found = read(text.replace("</cpu>", net))
    assert found.nics[0].busid == ""
    assert found.nics[0].speed_gb_per_s == 1.25
    assert topology_rails(found)[0].path == "PHB"


def test_a_nic_of_another_host_is_no_rail(read):
    text = Xml([[([0], [])], [([], ["mlx5_0"])]]).text()
    found = read(text.replace("0x5d1f00aa", "0x5d1f00ab", 1))
    assert PATHS[found.path[0, 0]] == "NET"
    assert topology_rails(found)[0].nic is None


@pytest.mark.parametrize(
    ("vendor", "arch", "gb_per_s"),
    [
        ("GenuineIntel", "x86_64", 10),
        ("AuthenticAMD", "x86_64", 16),
        ("", "ppc64", 32),
        ("CentaurHauls", "x86_64", 10),
    ],
)
def test_between_cpus_less_fits_than_through_a_nic(read, vendor, arch, gb_per_s):
    xml = Xml([[([0], [])], [([], ["mlx5_0"])]], vendor=vendor)
    found = read(xml.text().replace("x86_64", arch))
    assert found.path_gb_per_s[0, 0] == gb_per_s


def test_a_gpu_that_the_communicator_does_not_use_has_no_rank(read):
    assert read(Xml([[([0], [])]]).text().replace(' rank="0"', "")).gpus[0].rank is None


def test_elements_of_other_libraries_are_counted(read):
    text = Xml([[([0], [])]]).text()
    found = read(text.replace("</gpu>", '<xgmi target="0"><gpu/></xgmi></gpu>'))
    assert len(found.gpus) == 1
    assert [(note.reason, note.count) for note in found.notes] == [
        ("topology_element_unknown", 1)
    ]


def test_a_compressed_dump_is_read(read):
    text = Xml([[([0], ["mlx5_0"])]]).text()
    assert read(gzip.compress(text.encode())).gpus == read(text).gpus


BOMB = """<?xml version="1.0"?>
<!DOCTYPE system [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>
<system version="1"><cpu numaid="&b;"/></system>
"""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", r"topo.xml, line 1: .* found an empty file"),
        (BOMB, r"line 2: .* found a document type"),
        ('<!DOCTYPE system SYSTEM "file:///etc/passwd"><system/>', "document type"),
        ("nothing", r"line 1: expected XML .* found syntax error"),
        ("<system>\n<cpu>\n</system>", r"line 3: .* found mismatched tag"),
        ("<system>\n<cpu>", r"line 2: .* end of the file .no element found"),
        ("<!-- -->", r"found the end of the file .*; was the job killed"),
        ("<graphs version='1'/>", r"line 1: expected <system>, found <graphs>; .*GRAPH"),
        ("<system><cpu numaid='0'/></system>", r"expected at least one <gpu>, found none"),
        ("<system><cpu><gpu dev='0'/></cpu></system>", "expected <gpu> inside of a <pci>"),
        ("<system><pci><gpu dev='0'/></pci></system>", "expected <gpu> inside of a <cpu>"),
        ("<system><cpu><net dev='0'/></cpu></system>", "expected <net> inside of a <nic>"),
        ("<system>" * 257, "more than 256 elements within each other"),
        ("<system>\x00</system>", "not well-formed"),
        (b"\xff\xfe<\0s\0", "found the end of the file .unclosed token"),
        ('<?xml version="1.0" encoding="no-such"?><system/>', "at least one <gpu>"),
    ],
)
def test_what_is_no_topology_is_refused(read, text, told):
    with pytest.raises(BadInputError, match=told):
        read(text)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (' dev="0"', "", r"line 5: expected an attribute dev of <gpu>, found none"),
        (' dev="0"', ' dev="two"', r"line 5: .* as dev of <gpu>, found 'two'"),
        (' dev="0"', f' dev="{"9" * 5000}"', r"as dev of <gpu>, found '9999"),
        (' sm="90"', ' sm="9e1"', r"as sm of <gpu>, found '9e1'"),
        ('count="18"', 'count=""', r"line 6: .* as count of <nvlink>, found ''"),
        ('link_width="16"', 'link_width="x"', r"as link_width of <pci>, found 'x'"),
    ],
)
def test_a_number_that_is_none_is_named_with_its_line(read, old, new, told):
    text = Xml([[([0], [])]]).text()
    assert old in text
    with pytest.raises(BadInputError, match=told):
        read(text.replace(old, new, 1))


def test_no_machine_is_as_large_as_a_gigabyte(read, monkeypatch):
    monkeypatch.setattr(nccl_xml, "LARGEST_BYTES", 2**20)
    with pytest.raises(BadInputError, match="found more than 1 MiB"):
        read("<system>" + " " * 2**21)


def test_a_folder_or_nothing_is_refused(tmp_path):
    with pytest.raises(BadInputError, match="cannot be read"):
        read_topology(tmp_path)
    with pytest.raises(BadInputError, match="No such file"):
        read_topology(tmp_path / "none.xml")


def test_a_dump_that_is_cut_anywhere_is_refused(read):
    text = Xml([[([0], ["mlx5_0"])]]).text().rstrip()
    for end in range(len(text)):
        with pytest.raises(BadInputError):
            read(text[:end])


def test_a_compressed_dump_that_is_cut_says_so(read):
    whole = gzip.compress(Xml([[([0], ["mlx5_0"])]]).text().encode())
    with pytest.raises(BadInputError, match="ends early"):
        read(whole[:-40])


@given(st.data())
def test_changed_bytes_raise_nothing_else(scratch, data):
    text = bytearray(Xml([[([0, 1], ["mlx5_0"])], [([2], [])]]).text().encode())
    for _ in range(data.draw(st.integers(1, 4))):
        text[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.integers(0, 255))
    scratch.write_bytes(bytes(text))
    try:
        found = read_topology(scratch)
    except BadInputError as error:
        assert str(scratch) in str(error)  # noqa: PT017
    else:
        assert len(topology_rails(found)) == len(found.gpus)
