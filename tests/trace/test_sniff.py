"""Files are recognised by their first bytes, whatever they are called."""

import gzip
import pickle

import pytest
import zstandard

from synctax.errors import BadInputError
from synctax.trace.sniff import Format, NotATraceError, require_trace, sniff
from tests.trace.builders import cpu_op, trace

TRACE = trace(cpu_op("aten::mm", 1, 2))
BARE = b'\n[ {"name": "a", "ph": "X", "ts": 1}]'


def sniffed(tmp_path, data, name="file"):
    path = tmp_path / name
    path.write_bytes(data)
    return sniff(path)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (TRACE, Format.KINETO),
        (b"\xef\xbb\xbf" + TRACE, Format.KINETO),
        (b"\n" + TRACE, Format.KINETO),
        (TRACE[:40], Format.KINETO),
        (b'{"deviceProperties": [', Format.KINETO),
        (BARE, Format.KINETO),
        (b"[]", Format.KINETO),
        (b'{"schema": "1.1.1", "pid": 3, "nodes": []}', Format.EXECUTION_TRACE),
        (
            b'{"schema": "1.0.2-chakra.0.0.4", "pid": 1, "start_ts": 5',
            Format.EXECUTION_TRACE,
        ),
        (b"\n\x8b\x01\x08\x01\x12\x05\x00abc\x00\x00\x18\x07", Format.PERFETTO),
        (b"train;forward;linear 120\ntrain;backward 80\n", Format.STACKS),
        (b'{"segments": [], "device_traces": []}', Format.MEMORY_SNAPSHOT),
        (pickle.dumps({"segments": []}), Format.BINARY),
        (b'{"schema": "synctax.synth-truth/1",\n"parameters"', Format.SYNTH_TRUTH),
        (b'{"schema": "synctax.delays/1", "rank": 0', Format.RECORD_NOTES),
        (b'{\n "schema": "synctax.record/1"', Format.RECORD_NOTES),
        (b'{"schema": "synctax.record-process/1"', Format.RECORD_NOTES),
        (b'{"schema": "synctax.plan/1"', Format.RECORD_NOTES),
        (b'{"loss": "synctax.synth-truth/1"}', Format.OTHER_JSON),
        (b'{"loss": 0.1}', Format.OTHER_JSON),
        (b"[1, 2, 3]", Format.OTHER_JSON),
        (b"step 1 loss 0.1\n", Format.TEXT),
        (b"PK\x03\x04rest", Format.ARCHIVE),
        (b"BZh91AY", Format.ARCHIVE),
        ("{}".encode("utf-16"), Format.BINARY),
        (b"", Format.EMPTY),
        (b" \n", Format.EMPTY),
        (b"\x1f\x8b\x08", Format.EMPTY),
    ],
)
def test_a_file_is_known_by_its_content(tmp_path, data, expected):
    assert sniffed(tmp_path, data).format is expected


@pytest.mark.parametrize(
    ("pack", "compression"), [(gzip.compress, "gzip"), (zstandard.compress, "zstd")]
)
def test_compression_is_known_by_content_too(tmp_path, pack, compression):
    found = sniffed(tmp_path, pack(TRACE), "misnamed.txt")
    assert (found.format, found.compression) == (Format.KINETO, compression)


def test_a_compressed_execution_trace_is_none_of_kineto(tmp_path):
    data = gzip.compress(b'{"schema": "1.1.1", "nodes": []}')
    assert not sniffed(tmp_path, data, "rank-0.json.gz").is_trace


def test_an_empty_gzip_file_is_empty(tmp_path):
    assert sniffed(tmp_path, gzip.compress(b"")).format is Format.EMPTY


def test_binary_data_called_pftrace_is_taken_for_perfetto(tmp_path):
    assert sniffed(tmp_path, b"\x01\x02\x03", "rank0.pftrace").format is Format.PERFETTO


def test_only_the_beginning_is_read(tmp_path, monkeypatch):
    path = tmp_path / "rank0.json"
    path.write_bytes(TRACE + b" " * 10_000_000)
    asked = []
    monkeypatch.setattr("synctax.trace.sniff.plain_blocks", _spy(asked))
    assert sniff(path).is_trace
    assert sum(asked) <= 32 * 1024


def _spy(asked):
    from synctax.trace.source import plain_blocks

    def spied(file, damage):
        for block in plain_blocks(file, damage):
            asked.append(len(block))
            yield block

    return spied


@pytest.mark.parametrize("fmt", [f for f in Format if f is not Format.KINETO])
def test_every_other_format_says_what_to_do(fmt):
    from synctax.trace.sniff import Sniffed

    sentence = Sniffed(fmt).sentence
    assert fmt.value in sentence
    assert sentence.count(":") >= 1


def test_what_is_no_trace_is_refused_with_the_file_and_the_way_out(tmp_path):
    path = tmp_path / "rank-0.json"
    path.write_bytes(b'{"schema": "1.1.1", "nodes": []}')
    with pytest.raises(
        NotATraceError, match=r"rank-0\.json.*execution trace.*export"
    ) as error:
        require_trace(path)
    assert error.value.exit_code == 3
    assert isinstance(error.value, BadInputError)


def test_a_trace_is_not_refused(tmp_path):
    path = tmp_path / "rank0"
    path.write_bytes(TRACE)
    require_trace(path)


@pytest.mark.parametrize("text", [
    b"a;b;c 12\n", b"main;step {x} 7\nmore", b"a;b 1", b";c 3   \n", b"a b;c;d\t5\n",
])  # fmt: skip
def test_stacks_are_known_by_their_first_line(tmp_path, text):
    assert sniffed(tmp_path, text).format is Format.STACKS


@pytest.mark.parametrize("text", [b"a;b;c\nd 12x\n", b"{a;b 1\n", b"a 1\n", b"a;b c\n"])
def test_other_text_with_semicolons_is_text(tmp_path, text):
    assert sniffed(tmp_path, text).format is not Format.STACKS


@pytest.mark.parametrize("text", [
    b"[]", b" [ ]", b'[{"ph": 1}]', b'[ ,, , {"name": "a", "ph" : "X"}',
    b'\xef\xbb\xbf[\n{"ph":"X"}',
])  # fmt: skip
def test_a_bare_list_of_events_is_a_trace(tmp_path, text):
    assert sniffed(tmp_path, text).format is Format.KINETO
