"""What viewers find in an overlay, and that traces come back out of it."""

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

import synctax
from synctax.errors import BadInputError
from synctax.overlay.choice import Choice
from synctax.overlay.rewrite import time_text
from synctax.overlay.split import split
from synctax.trace.times import parse_us
from tests.overlay import importers, made


@given(time_ns=st.integers(-(2**62) + 1, 2**62 - 1))
def test_times_are_written_to_the_ns(time_ns: int) -> None:
    ns, status = parse_us([time_text(time_ns)])
    assert (int(ns[0]), int(status[0])) == (time_ns, 0)
    assert len(time_text(time_ns).partition(b".")[2]) <= 3


def parts(
    document: dict[str, Any],
) -> tuple[list[list[importers.Event]], list[importers.Event]]:
    """Events of each rank, and what is drawn."""
    events, at, ranks = document["traceEvents"], 0, []
    for count in map(int, document["otherData"]["events"].split()):
        ranks.append(events[at : at + count])
        at += count
    return ranks, events[at:]


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return made.of_example()[2]


def whole(rank: int) -> dict[str, Any]:
    text = gzip.decompress((made.EXAMPLE / f"rank{rank}.json.gz").read_bytes())
    document: dict[str, Any] = orjson.loads(text)
    return document


def originals(rank: int) -> list[dict[str, Any]]:
    return [event for event in whole(rank)["traceEvents"] if event["ph"] != "M"]


def test_every_event_is_of_the_format(document: dict[str, Any]) -> None:
    assert importers.faults(document) == []


def test_events_of_all_ranks_are_there_with_their_durations(
    document: dict[str, Any],
) -> None:
    for rank, events in enumerate(parts(document)[0]):
        there = originals(rank)
        assert Counter(one["ph"] for one in events) == Counter(one["ph"] for one in there)
        for one, own in zip(events, there, strict=True):
            assert one["name"] == own["name"]
            assert one.get("args") == own.get("args")
            assert one.get("dur", 0) == round(own.get("dur", 0) * 1000)


def test_processes_and_threads_are_of_one_rank_each(document: dict[str, Any]) -> None:
    seen: dict[int, int] = {}
    for rank, events in enumerate(parts(document)[0]):
        for one in events:
            assert seen.setdefault(one["pid"], rank) == rank
            assert seen.setdefault(one["tid"], rank) == rank
    names = {
        one["pid"]: one["args"]["name"]
        for one in parts(document)[1]
        if one["ph"] == "M" and one["name"] == "process_name"
    }
    for pid, rank in seen.items():
        if pid in names:
            assert names[pid].startswith(f"rank {rank}: ")
    assert {"rank 3: GPU 3", "rank 3: python", "rank 3: synctax"} <= set(names.values())
    order = {
        names[one["pid"]]: one["args"]["sort_index"]
        for one in parts(document)[1]
        if one["name"] == "process_sort_index"
    }
    assert sorted(order, key=lambda name: order[name])[:3] == [
        "rank 0: synctax", "rank 0: python", "rank 0: GPU 0",
    ]  # fmt: skip
    ranks = [int(name[5]) for name in sorted(order, key=lambda name: order[name])]
    assert ranks == sorted(ranks)


def test_viewers_drop_nothing_that_is_drawn(document: dict[str, Any]) -> None:
    drawn = parts(document)[1]
    seen = importers.perfetto(drawn)
    assert not +seen.faults
    assert sum(map(len, seen.slices.values())) == sum(one["ph"] == "X" for one in drawn)


def test_viewers_drop_no_more_of_a_rank_than_of_its_trace(document: dict[str, Any]) -> None:
    for rank, events in enumerate(parts(document)[0]):
        own = originals(rank)
        for one in own:
            for key in {"ts", "dur"} & set(one):
                one[key] = round(one[key] * 1000)
        assert +importers.perfetto(events).faults == +importers.perfetto(own).faults


def test_ids_of_arrows_are_of_one_rank_each(document: dict[str, Any]) -> None:
    ranks, drawn = parts(document)
    ids = [{one["id"] for one in events if "id" in one} for events in (*ranks, drawn)]
    assert all(ids)
    assert len(set.union(*ids)) == sum(map(len, ids))


def test_each_wait_is_a_slice_from_the_start_to_the_last_arrival(
    document: dict[str, Any],
) -> None:
    _, tax, _ = made.example()
    drawn = [one for one in parts(document)[1] if one["ph"] == "X"]
    waits = [one for one in drawn if one["name"].startswith("wait ")]
    counted = np.repeat(tax.used, np.diff(tax.matches.first))
    own = tax.waits.wait_ns[counted & (tax.waits.wait_ns > 0)]
    assert sorted(one["dur"] for one in waits) == sorted(own.tolist())
    worst = max(waits, key=lambda one: one["dur"])
    assert worst["name"] == "wait tp all_reduce #39"
    assert worst["args"]["straggler"] == "rank 2 on node-0"
    assert "s16816gemm" in worst["args"]["culprit"]
    assert worst["args"]["tax_us"] == worst["args"]["wait_us"] == worst["dur"] / 1000
    assert worst["args"]["payload_bytes"] == 8_388_608
    # all that waited for one rank were released at one time, on one clock
    ends = [one["ts"] + one["dur"] for one in waits if one["name"] == worst["name"]
            and one["pid"] <= 4000]  # fmt: skip
    assert len(ends) == 3
    assert max(ends) - min(ends) <= 1


def test_hosts_whose_clocks_differ_are_on_one(document: dict[str, Any]) -> None:
    waits = [one for one in parts(document)[1] if one["ph"] == "X" and one["pid"] in
             (1000, 5000) and one["name"].startswith("fsdp reduce_scatter")]  # fmt: skip
    ends: dict[str, list[int]] = {}
    for one in waits:
        ends.setdefault(one["name"], []).append(one["ts"] + one["dur"])
    assert len(ends) == 12
    assert all(len(those) >= 2 and max(those) - min(those) <= 1 for those in ends.values())


def test_arrows_lead_along_the_path_to_the_waits_in_both_viewers(
    document: dict[str, Any],
) -> None:
    overlay = made.of_example()[0]
    drawn = parts(document)[1]
    seen = importers.perfetto(drawn)
    assert len(seen.arrows) == overlay.arrows == sum(one["ph"] == "f" for one in drawn)
    tails = {one["id"]: one for one in drawn if one["ph"] == "s"}
    ended: Counter[bool] = Counter()
    for head, begun, end in seen.arrows:
        tail = tails[head["id"]]
        assert tail["ts"] <= head["ts"]
        assert importers.around(seen.slices[tail["pid"], tail["tid"]], tail["ts"]) == begun
        bound = importers.around(seen.slices[head["pid"], head["tid"]], head["ts"])
        # the wait may have ended by then: catapult takes the collective around it
        assert bound is not None
        assert end["name"].removeprefix("wait ") == bound["name"].removeprefix("wait ")
        ended[end["name"].startswith("wait ")] += 1
    assert ended[True] >= overlay.paths
    assert ended[False] > overlay.paths


def test_culprits_are_coloured_and_told(document: dict[str, Any]) -> None:
    ranks, drawn = parts(document)
    coloured = [one for one in ranks[2] if "cname" in one]
    longest = max(coloured, key=lambda one: one["dur"])
    assert longest["cname"] == "terrible"
    assert longest["dur"] > 3_000_000
    blamed = [one for one in drawn if one["name"].startswith("culprit: ")]
    assert {one["cname"] for one in blamed} == {"terrible"}
    same = [one for one in blamed if (one["ts"], one["dur"]) ==
            (longest["ts"], longest["dur"])]  # fmt: skip
    assert same
    assert same[0]["args"]["name"] == longest["name"]
    assert same[0]["args"]["longer_by_us"] == pytest.approx(3000, rel=0.1)


def test_paths_are_those_to_the_longest_waits(tmp_path: Path) -> None:
    overlay, path = made.overlay(
        *made.example(), tmp_path, Choice(paths=2, keep="collectives")
    )
    drawn = parts(importers.read(path))[1]
    names = [one["name"] for one in drawn if one["name"].startswith("path to ")]
    assert overlay.paths == len(names) == 2
    _, tax, _ = made.example()
    worst = np.sort((tax.waits.longest_ns - tax.waits.shortest_ns)[tax.used])[-2:]
    told = [one["args"]["tax_us"] for one in drawn if one["name"] in names]
    assert sorted(told) == (worst / 1000).tolist()


def measure(folder: Path) -> synctax.Tax:
    return synctax.measure(synctax.load([str(folder)], workers=1))


def assert_same(first: synctax.Tax, second: synctax.Tax) -> None:
    for name in ("to_frame", "per_collective", "per_rank"):
        assert getattr(first, name)().equals(getattr(second, name)()), name


def test_the_traces_come_back_to_the_bit(tmp_path: Path) -> None:
    _, path, _ = made.of_example()
    files = split(path, tmp_path / "back")
    assert [file.name for file in files] == [f"rank{rank}.json.gz" for rank in range(8)]
    assert_same(made.example()[1], measure(tmp_path / "back"))
    for rank in (2, 5):
        own = orjson.loads(gzip.decompress(files[rank].read_bytes()))
        back = [event for event in own["traceEvents"] if event["ph"] != "M"]
        assert back == originals(rank)
        del own["traceEvents"]
        there = whole(rank)
        del there["traceEvents"]
        assert own == there
    with pytest.raises(FileExistsError):
        split(path, tmp_path / "back")


def test_real_traces_come_back_to_the_bit(shared_traces: Path, tmp_path: Path) -> None:
    folder = shared_traces / "torchrec4-sleep-rank2"
    job = synctax.load([str(folder)], workers=1)
    tax = synctax.measure(job)
    overlay, path = made.overlay(job, tax, None, tmp_path)
    split(path, tmp_path / "back")
    assert_same(tax, measure(tmp_path / "back"))
    document = importers.read(path)
    assert importers.faults(document) == []
    assert not +importers.perfetto(parts(document)[1]).faults
    assert overlay.paths == 0


# fmt: off
HOSTILE = [
    ('{"ph":"X","cat":"cpu_op","name":"q\\"\\n</script>\\ud83d\\ude00","pid":"a \\"b\\"",'
    '"tid":"t\\u0000","ts":"4503599627370497.125","dur":"1.5","args":{"n":1e300}}'),
    ('{"ph":"X","cat":"cpu_op","name":"big","pid":-3,"tid":18446744073709551615,'
    '"ts":4503599627370497.126,"dur":2,"args":{"big":123456789012345678901234567890}}'),
    ('{"ph":"s","id":"0xfe","cat":"ac2g","name":"ac2g","pid":0,"tid":7,'
    '"ts":4503599627370497.5}'),
    ('{"ph":"f","id":"0xfe","cat":"ac2g","name":"ac2g","pid":0,"tid":7,"bp":"e",'
    '"ts":4503599627370498}'),
    '{"ph":"C","name":"none","ts":4503599627370497.5,"args":{"x":1}}',
    '{"ph":"i","s":"g","name":"far","pid":1,"tid":1,"ts":5}',
    ('{"ph":"X","cat":"cpu_op","name":"never","pid":1,"tid":1,'
    '"ts":4503599627370497,"dur":-1}'),
    '{"ph":"X","cat":"cpu_op","name":"when","pid":1,"tid":1,"ts":"now","dur":1}',
    '{"ph":"X","cat":"cpu_op","name":"when","pid":1,"tid":1,"ts":9007199254740993,"dur":1}',
    '{"ph":7,"name":"seven"}',
    '{"ph":"X","name":["list"],"cat":"cpu_op","pid":1,"tid":1,"ts":1,"dur":1}',
    '{"ph":"X","name":"x","cat":"cpu_op","pid":{"a":1},"tid":1,"ts":1,"dur":1}',
    '{"ph":"M","name":"process_name","pid":"a \\"b\\"","args":{"name":"evil\\u001b[31m"}}',
    '{"ph":"M","name":"thread_name","pid":0,"tid":7,"args":{"name":"stream 7"}}',
    '{"ph":"M","name":"thread_name","pid":5,"tid":5,"args":{"name":"of nobody"}}',
    ('{"ph":"X","cat":"cpu_op","name":"raw\x01\nquote"s","pid":1,"tid":1,'
    '"ts":4503599627370500,"dur":1,"args":{}}'),
]
# fmt: on


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    folder = tmp_path / "hostile"
    folder.mkdir()
    start = 4503599627370497
    for rank, wait in enumerate((3, 0)):
        kernels = [(f"{start + 20 * n - wait}.001", f"{5 + wait}.25") for n in range(4)]
        events = [*made.reduces(kernels), *HOSTILE]
        text = made.trace(rank, events, host_name="h\n<b>", traceName="t]}")
        (folder / f"rank{rank}.json").write_text(text)
    return folder


def test_hostile_traces_become_what_viewers_can_read(hostile: Path, tmp_path: Path) -> None:
    job = synctax.load([str(hostile)], workers=1)
    tax = synctax.measure(job)
    overlay, path = made.overlay(job, tax, None, tmp_path, name="all.json")
    document = importers.read(path)
    assert importers.faults(document) == []
    ranks, drawn = parts(document)
    assert not +importers.perfetto(drawn).faults
    names = {one["name"] for one in ranks[0]}
    assert 'q"\n</script>\U0001f600' in names
    assert {"big", "none", 'raw\x01\nquote"s'} <= names
    assert not {"far", "never", "when", "seven", "x"} & names
    told = {note.reason: note.count for note in overlay.notes}
    assert told["no_time"] == 2 * 4
    assert told["no_event"] == 2 * 3
    labels = {one["args"].get("name") for one in drawn if one["ph"] == "M"}
    assert "rank 0: evil\\x1b[31m" in labels
    assert "of nobody" not in labels
    first = next(one for one in ranks[0] if one["name"].startswith("q"))
    big = next(one for one in ranks[0] if one["name"] == "big")
    assert big["ts"] - first["ts"] == 1  # floats above 2^52 µs have steps of a µs
    assert [one["wait_us"] for one in (e["args"] for e in drawn if "wait" in e["name"])
            if "wait_us" in one] == [3.0] * 3  # fmt: skip
    split(path, tmp_path / "back")
    assert_same(tax, measure(tmp_path / "back"))
    back = orjson.loads((tmp_path / "back" / "rank0.json").read_bytes())
    ids = [event["id"] for event in back["traceEvents"] if "id" in event]
    assert ids == ["0xfe", "0xfe"]
    assert back["host_name"] == "h\n<b>"
    assert {'a "b"', -3, None, 0, 1} == {e.get("pid") for e in back["traceEvents"]}


def test_a_bare_list_comes_back_as_one(tmp_path: Path) -> None:
    folder = tmp_path / "bare"
    folder.mkdir()
    for rank in range(2):
        events = made.reduces([(f"{100 + 20 * n}", "7") for n in range(3)])
        (folder / f"rank{rank}.json").write_text("[" + ",".join(events) + "]")
    job = synctax.load([str(folder)], workers=1)
    tax = synctax.measure(job)
    _, path = made.overlay(job, tax, None, tmp_path)
    split(path, tmp_path / "back")
    assert_same(tax, measure(tmp_path / "back"))
    assert isinstance(json.loads((tmp_path / "back" / "rank1.json").read_text()), list)


def test_steps_keep_what_is_in_them_and_what_that_leads_to(tmp_path: Path) -> None:
    job, _, _ = made.example()
    tax = synctax.measure(job, steps=range(2, 3))
    overlay, path = made.overlay(job, tax, None, tmp_path)
    ranks, drawn = parts(importers.read(path))
    assert 0 < sum(map(len, ranks)) < 22_632 / 2
    frame = overlay.to_frame()
    assert (frame["events"] + frame["left_out"] == 2829).all()
    told = {note.reason: note.count for note in overlay.notes}
    assert told["event_left_out"] == frame["left_out"].sum()
    for events in ranks:
        begun = Counter(one["id"] for one in events if one["ph"] == "s")
        assert begun == Counter(one["id"] for one in events if one["ph"] == "f")
        assert begun
        launched = {
            one["args"]["correlation"] for one in events if one["cat"] == "cuda_runtime"
            and "correlation" in one.get("args", {}) and "Launch" in one["name"]
        } if all("cat" in one for one in events) else set()  # fmt: skip
        ran = {one["args"]["correlation"] for one in events if one.get("cat") == "kernel"}
        assert launched <= ran
        assert "ProfilerStep#2" in {one["name"] for one in events}
    assert {one["args"]["step"] for one in drawn if "step" in one.get("args", {})} == {2}


@pytest.mark.parametrize(
    ("keep", "categories"),
    [
        ("gpu", {"kernel", "gpu_user_annotation", "gpu_memcpy", "gpu_memset", "cuda_sync"}),
        ("collectives", {"kernel"}),
    ],
)
def test_fewer_events_are_kept_where_asked_for(
    keep: Any, categories: set[str], tmp_path: Path
) -> None:
    job, tax, _ = made.example()
    _, path = made.overlay(job, tax, None, tmp_path, Choice(keep=keep))
    ranks, _ = parts(importers.read(path))
    kept = [one for events in ranks for one in events]
    assert {one["cat"] for one in kept} <= categories
    kernels = [one for one in kept if one["cat"] == "kernel"]
    collectives = sum(one["name"].startswith("nccl") for one in kernels)
    assert collectives == len(tax.matches.row)
    assert (keep == "collectives") == (collectives == len(kept))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: text[: len(text) // 2], "ends early or is damaged"),
        (lambda text: b'{"traceEvents":[]}', "no overlay"),
        (lambda text: b"", "no overlay"),
        (lambda text: text.replace(b'"file":"rank0.json.gz"', b'"file":"../rank0.gz"'),
         "no place in a folder"),
        (lambda text: text.replace(b'"events":2829', b'"events":99999'),
         "does not hold the events"),
    ],
)  # fmt: skip
def test_what_is_no_whole_overlay_is_not_split(
    change: Any, words: str, tmp_path: Path
) -> None:
    path = tmp_path / "o.json"
    path.write_bytes(change(gzip.decompress(made.of_example()[1].read_bytes())))
    with pytest.raises(BadInputError, match=words):
        split(path, tmp_path / "back")


def test_other_methods_keep_no_paths_to_draw(tmp_path: Path) -> None:
    from dataclasses import replace

    job, tax, found = made.example()
    other = replace(found, options=replace(found.options, method="longest"))
    with pytest.raises(ValueError, match="keeps no paths"):
        made.overlay(job, tax, other, tmp_path)


def test_wrong_calls_say_what_is_wrong(tmp_path: Path) -> None:
    job, tax, found = made.example()
    path = tmp_path / "all.json.gz"
    with pytest.raises(TypeError, match="a tax or an attribution, not of Job"):
        synctax.write_overlay(job, job, path)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="none of a trace"):
        synctax.write_overlay(job, tax, tmp_path / "all.csv")
    other = synctax.load([str(made.EXAMPLE / "rank0.json.gz")], workers=1)
    with pytest.raises(ValueError, match="of other traces"):
        synctax.write_overlay(other, found, path)
    with pytest.raises(ValueError, match="keep is one of all, gpu, collectives"):
        synctax.OverlayChoice(keep="kernels")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="-1 paths"):
        synctax.OverlayChoice(paths=-1)
    assert not list(tmp_path.iterdir())
