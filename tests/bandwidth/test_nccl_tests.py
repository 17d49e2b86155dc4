"""Outputs of nccl-tests are read, whatever stands around and between their lines."""

import random
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synctax.bandwidth.nccl_tests import read_nccl_tests
from synctax.errors import BadInputError, SynctaxError
from tests.bandwidth.nccl_output import FOOTER, MODERN, OLD, PROGRAMS, Bench

SIZES = [2**k for k in range(20, 33, 2)]


def line_time_us(size: int) -> float:
    return 70.0 + size / 200e3


@pytest.fixture
def read(tmp_path):
    """Read texts as if each were a file; the lines, and the notes by reason."""

    def read(*texts: str, name: str = "out.txt", **options):
        paths = [tmp_path / f"{i}-{name}" for i in range(len(texts))]
        for path, text in zip(paths, texts, strict=True):
            path.write_text(text, encoding="utf-8")
        lines, notes = read_nccl_tests(paths, **options)
        return lines, {note.reason: note.count for note in notes}

    return read


@pytest.mark.parametrize("head", [MODERN, OLD])
@pytest.mark.parametrize("op", PROGRAMS)
def test_sizes_and_times_come_back(read, op, head):
    bench = Bench(op, 16, head)
    lines, notes = read(bench.text(SIZES, line_time_us), name=f"{PROGRAMS[op]}.log")
    assert [line.payload_bytes for line in lines] == SIZES
    times = [line_time_us(size) for size in SIZES]
    assert [line.time_us for line in lines] == pytest.approx(times, rel=1e-3)
    assert {(line.op, line.n) for line in lines} == {(op, 16)}
    assert notes == {}


def test_the_in_place_run_is_the_one_on_the_right(read):
    text = Bench().text(SIZES, line_time_us)
    first, _ = read(text)
    second, _ = read(text, in_place=True)
    ratios = [b.time_us / a.time_us for a, b in zip(first, second, strict=True)]
    assert ratios == pytest.approx([1.5] * len(SIZES), rel=1e-3)


def test_headers_that_stand_the_other_way_round_are_believed(read):
    text = Bench().text(SIZES, line_time_us)
    swapped = re.sub(
        "out-of-place( +)in-place", lambda m: f"in-place{m[1]}out-of-place", text
    )
    assert read(swapped)[0] == read(text, in_place=True)[0]


@given(st.integers(0, 2**31))
def test_lines_of_others_change_nothing(tmp_path_factory, seed):
    draw = random.Random(seed)
    clean = Bench().text(SIZES[:3], line_time_us).splitlines()
    strange = [
        "node-01:4711:4812 [3] NCCL INFO Channel 00/0 : 3[3] -> 4[4] via P2P/CUMEM",
        "[node-01:04711] mca_base_component_repository_open: unable to open mca_btl",
        "WARNING: Open MPI accepted a TCP connection",
        "2026-01-31 12:00:01 srun: job 17 queued",
        "",
        "#",
    ]
    mixed = list(clean)
    for text in strange:
        # not between the lines of the header, which are read as one
        at = draw.choice([*range(3), *range(len(clean) - 5, len(mixed))])
        mixed.insert(at, text)
    folder = tmp_path_factory.mktemp("mixed")
    for name, lines in (("a.txt", clean), ("b.txt", mixed)):
        (folder / name).write_text("\n".join(lines))
    one, other = (read_nccl_tests([folder / name])[0] for name in ("a.txt", "b.txt"))
    assert [(x.n, x.payload_bytes, x.time_us) for x in one] == [
        (x.n, x.payload_bytes, x.time_us) for x in other
    ]


def test_tags_within_lines_and_a_missing_comment_sign_change_nothing(read):
    text = Bench().text(SIZES, line_time_us)
    tagged = re.sub(r"(?m)^( +\d.*-1)( .{31})", r"[0]\1[0]\2[0]", text)
    assert tagged.count("[0]") == 3 * len(SIZES)
    bare = re.sub(r"(?m)^#", " ", tagged)
    assert read(tagged)[0] == read(bare)[0] == read(text)[0]


@pytest.mark.parametrize("prefix", ["[1,0]<stdout>:", "0: ", "[1,0]<stderr>:"])
def test_prefixes_of_launchers_are_taken_off(read, prefix):
    text = Bench().text(SIZES, line_time_us)
    begun = "".join(f"{prefix}{line}\n" for line in text.splitlines())
    assert read(begun)[0] == read(text)[0]


def test_timestamps_are_no_column(read):
    text = Bench().text(SIZES, line_time_us)
    stamped = re.sub(r"(?m)^( +\d.*)$", r"\1  2026-01-31 12:00:01", text)
    stamped = stamped.replace("busbw  #wrong\n", "busbw  #wrong           timestamp\n")
    assert stamped != text
    assert read(stamped) == read(text)


def test_statistics_of_iterations_are_columns_to_pass_over(read):
    bench = Bench()
    more = "    i_min    i_max    i_p99    i_cv%"
    names = f"time   algbw   busbw  #wrong{more}"
    head = bench.header().replace("time   algbw   busbw  #wrong", names)
    rows = ""
    for size in SIZES:
        half = bench.half(size, line_time_us(size), "0") + "  1.00  9999.0  88.0  5.5"
        other = bench.half(size, 3 * line_time_us(size), "0") + "  2.00  9999.0  88.0  5.5"
        rows += f"{size:12}  {size // 4:12}     float     sum      -1{half}{other}\n"
    lines, notes = read(head + rows)
    assert notes == {}
    times = [line_time_us(size) for size in SIZES]
    assert [line.time_us for line in lines] == pytest.approx(times, rel=1e-3)
    again, _ = read(head + rows, in_place=True)
    assert again[-1].time_us == pytest.approx(3 * times[-1], rel=1e-3)


def test_times_of_the_cpu_are_refused(read):
    text = Bench().text(SIZES, line_time_us).replace("   time ", "cputime ")
    with pytest.raises(BadInputError, match=r"cputime \(-C 1\).*run nccl-tests with -C 0"):
        read(text)


def test_a_time_that_contradicts_the_bandwidth_is_refused(read):
    text = Bench().text(SIZES, line_time_us)
    odd = re.sub(r"(?m)^( +4194304 .*?-1 +)[\d.]+", r"\g<1>2.50", text)
    assert odd != text
    with pytest.raises(BadInputError, match=r"line \d+: size over time is .*algbw says"):
        read(odd)


def test_units_are_those_of_the_header(read):
    text = Bench().text(SIZES, line_time_us)
    in_ms = re.sub(
        r"(?m)(-1 +)([\d.]+)", lambda m: f"{m[1]}{float(m[2]) / 1000}", text
    ).replace("(us)", "(ms)")
    assert [a.time_us for a in read(text)[0]] == pytest.approx(
        [b.time_us for b in read(in_ms)[0]]
    )


def test_other_units_are_refused(read):
    text = Bench().text(SIZES, line_time_us).replace("(us)", "(fortnights)")
    with pytest.raises(BadInputError, match=r"out.txt, line \d+: units .* expected sizes"):
        read(text)


def test_lines_with_wrong_results_are_left_out_and_counted(read):
    bench = Bench()
    rows = [bench.row(size, line_time_us(size)) for size in SIZES]
    rows[2] = bench.row(SIZES[2], line_time_us(SIZES[2]), wrong="17")
    rows[4] = bench.row(SIZES[4], line_time_us(SIZES[4]), wrong="N/A")
    lines, notes = read(bench.header() + "\n".join(rows))
    assert [line.payload_bytes for line in lines] == [*SIZES[:2], *SIZES[3:]]
    assert notes == {"nccl_wrong_result": 1}


def test_rounding_of_old_versions_is_no_wrong_result(read):
    bench = Bench(head=OLD)
    rows = [
        bench.row(size, line_time_us(size), wrong=error)
        for size, error in zip(SIZES, ["2e-06", "1e-03", "1e+00"], strict=False)
    ]
    lines, notes = read(bench.header() + "\n".join(rows), name="all_reduce.txt")
    assert len(lines) == 2
    assert notes == {"nccl_wrong_result": 1}


def test_empty_buffers_times_of_zero_and_cut_lines_are_counted(read):
    bench = Bench()
    rows = [
        bench.row(0, 12.0),
        bench.row(SIZES[0], line_time_us(SIZES[0])),
        bench.row(SIZES[1], 1e-9, in_place=1.0),
        bench.row(SIZES[2], line_time_us(SIZES[2]))[:60],
    ]
    lines, notes = read(bench.header() + "\n".join(rows))
    assert [line.payload_bytes for line in lines] == [SIZES[0]]
    assert notes == {
        "nccl_empty_buffer": 1,
        "nccl_no_time": 1,
        "nccl_line_unreadable": 1,
    }


def test_a_run_in_place_only_has_no_times_out_of_place(read):
    bench = Bench()
    rows = []
    for size in SIZES:
        row = bench.row(size, line_time_us(size))
        half = len(bench.half(size, line_time_us(size), "0"))
        labels = len(row) - 2 * half
        rows.append(row[:labels] + " " * half + row[labels + half :])
    text = bench.header() + "\n".join(rows)
    assert len(read(text, in_place=True)[0]) == len(SIZES)
    lines, notes = read(text)
    assert lines == ()
    assert notes == {"nccl_line_unreadable": len(SIZES)}


def test_the_operator_may_be_blank(read):
    bench = Bench("all_to_all", head=OLD)
    text = bench.text(SIZES, line_time_us).replace("  none", "      ")
    assert len(read(text, name="alltoall_perf.txt")[0]) == len(SIZES)


@pytest.mark.parametrize(
    "prefix",
    ["node001: ", "[1,0]<stdout> ", "2026-01-01T12:00:{:02}.123Z ", "[INFO] ", "\x1b[32m"],
)
def test_whatever_stands_before_the_header_is_taken_off(read, prefix):
    text = Bench().text(SIZES, line_time_us)
    begun = "".join(
        f"{prefix.format(i % 60)}{line}\n" for i, line in enumerate(text.splitlines())
    )
    assert read(begun)[0] == read(text)[0]
    assert read(begun, in_place=True)[0] == read(text, in_place=True)[0]


def test_utf_16_is_read(tmp_path):
    path = tmp_path / "out.txt"
    path.write_text(Bench().text(SIZES, line_time_us), encoding="utf-16")
    assert len(read_nccl_tests([path])[0]) == len(SIZES)


def test_old_tables_are_in_milliseconds(read):
    times = [size / 500e3 for size in SIZES]
    rows = "\n".join(
        f"{size:12} {size // 4:12} float sum {t / 1e3:.3f} 500.0 875.0 N/A "
        f"{t / 1e3:.3f} 500.0 875.0 N/A"
        for size, t in zip(SIZES, times, strict=True)
    )
    ranks = "".join(f"# Rank {i} on a device {i} [0x00] V100\n" for i in range(8))
    head = "# bytes N type op time algbw busbw res time algbw busbw res\n"
    lines, notes = read(ranks + head + rows, name="all_reduce.txt")
    assert [line.payload_bytes for line in lines] == SIZES
    assert [line.time_us for line in lines] == pytest.approx(times, rel=0.05)
    assert notes == {}


@pytest.mark.parametrize("cut", range(2, 40, 3))
def test_a_row_that_is_cut_off_is_unreadable_and_never_wrong(read, cut):
    text = Bench().text(SIZES, line_time_us)
    _, notes = read(text[: text.rindex("# Out") - 1][:-cut], in_place=True)
    assert notes == {"nccl_line_unreadable": 1}


@pytest.mark.parametrize("digits", [10, 5000])
def test_numbers_of_more_digits_than_any_is_are_not_taken(read, digits):
    text = Bench().text(SIZES, line_time_us)
    many, size = "9" * digits, str(SIZES[-1])
    odd = f"#  Rank {many} Group 0 Pid 1 on host device 0\n# nranks {many}\n"
    lines, notes = read(odd + text.replace(f"{size}  ", f"{many * 2}  ", 1))
    assert {line.n for line in lines} == {8}
    assert [line.payload_bytes for line in lines] == SIZES[:-1]
    assert notes == {"nccl_line_unreadable": 1}


def test_a_factor_that_is_that_of_other_ranks_is_refused(read):
    text = Bench(n=8).text(SIZES, line_time_us)
    ninth = "#  Rank  8 Group  0 Pid   4008 on    node-01 device  0 [0000:1b:00] H200\n"
    with pytest.raises(BadInputError, match=r"all_reduce over 9 ranks has 1\.778"):
        read(text.replace("#  Rank  0", f"{ninth}#  Rank  0"))


def test_what_has_no_end_is_not_read(tmp_path):
    with pytest.raises(BadInputError, match=r"/dev/zero: .* found a device"):
        read_nccl_tests([Path("/dev/zero")])
    (tmp_path / "zeros.txt").write_bytes(bytes(2**17))
    with pytest.raises(BadInputError, match=r"line 1: .* characters in a line"):
        read_nccl_tests([tmp_path / "zeros.txt"])


# ------------------------------------------------------------------ whose output it is


def test_runs_of_one_file_have_each_their_ranks_and_operation(read):
    benches = [Bench("all_reduce", 16), Bench("all_gather", 4), Bench("all_reduce", 8)]
    text = "".join(bench.text(SIZES, line_time_us) for bench in benches)
    lines, _ = read(text)
    k = len(SIZES)
    assert [(line.op, line.n) for line in lines] == [
        (bench.op, bench.n) for bench in benches for _ in range(k)
    ]
    bare = text + re.sub(r"# +Rank .*\n", "", benches[0].text(SIZES, line_time_us))
    with pytest.raises(BadInputError, match="tell the number of ranks"):
        read(bare)


def test_what_nccl_says_within_a_table_begins_no_other_run(read):
    bench = Bench()
    text = bench.text(SIZES, line_time_us)
    told = "n0:1:2 [0] NCCL INFO comm 0x5 rank 3 nranks 8 - Init COMPLETE\n"
    loud = "srun: all_reduce_perf: task 3 is slow\n"
    at = text.index(f"{SIZES[3]:12}  ")
    assert read(text[:at] + loud + told + text[at:])[0] == read(text)[0]


def test_ranks_are_those_of_one_group(read):
    text = Bench(n=8).text(SIZES, line_time_us)
    ranks = "".join(f"# Rank {i} Group {i % 2} Pid 1 on a device 0\n" for i in range(16))
    split = re.sub(r"(# +Rank .*\n)+", ranks, text)
    assert {line.n for line in read(split)[0]} == {8}
    with pytest.raises(BadInputError, match=r"groups of different sizes \(8, 9 ranks\)"):
        read(split.replace(ranks, ranks + "# Rank 16 Group 1 Pid 1 on a device 0\n"))


@pytest.mark.parametrize(
    "program", ["sendrecv", "broadcast", "hypercube", "reduce", "gather", "scatter"]
)
def test_other_programs_are_refused_whatever_is_asked(read, program):
    text = Bench("all_gather").text(SIZES, line_time_us)
    other = text.replace("all_gather_perf", f"{program}_perf").replace(
        "# Collective test starting:", "$"
    )
    with pytest.raises(BadInputError, match=f"benchmark is of {program}, whose cost"):
        read(other, op="all_gather")
    lines, notes = read(text + other)
    assert len(lines) == len(SIZES)
    assert notes == {"nccl_other_program": len(SIZES)}


def test_several_files_are_put_together(read):
    texts = [Bench("all_reduce", n).text(SIZES, line_time_us) for n in (2, 4, 8)]
    assert [line.n for line in read(*texts)[0]] == [2] * 7 + [4] * 7 + [8] * 7


def test_ranks_are_told_by_nccl_where_the_list_is_missing(read):
    text = re.sub(r"# +Rank .*\n", "", Bench().text(SIZES, line_time_us))
    told = "node:1:2 [0] NCCL INFO comm 0x55 rank 3 nranks 8 cudaDev 3 - Init COMPLETE\n"
    assert {line.n for line in read(told + text)[0]} == {8}
    with pytest.raises(BadInputError, match="tell the number of ranks"):
        read(text)


def test_a_command_in_the_file_tells_the_operation(read):
    text = Bench(head=OLD).text(SIZES, line_time_us)
    assert read("$ mpirun -np 8 ./build/all_reduce_perf -b 1M\n" + text)[0]


def test_the_file_name_tells_the_operation(read):
    text = Bench("reduce_scatter", head=OLD).text(SIZES, line_time_us)
    lines, _ = read(text, name="h200-ReduceScatter.log")
    assert lines[0].op == "reduce_scatter"


def test_an_operation_that_nothing_tells_must_be_given(read):
    text = Bench(head=OLD).text(SIZES, line_time_us)
    with pytest.raises(BadInputError, match="not say which operation it timed; give --op"):
        read(text)
    assert read(text, op="all_reduce")[0][0].op == "all_reduce"
    both = "all_reduce_perf\nall_gather_perf\n"
    with pytest.raises(BadInputError, match="names all_gather and all_reduce; give --op"):
        read(both + text)


def test_bandwidths_that_do_not_fit_operation_and_ranks_are_refused(read):
    text = Bench(head=OLD).text(SIZES, line_time_us)
    with pytest.raises(BadInputError, match=r"busbw / algbw is 1.75., .* has 0.875"):
        read(text, op="all_gather")
    half = re.sub(r"# +Rank +[4-7] .*\n", "", text)
    with pytest.raises(BadInputError, match=r"over 4 ranks has 1\.500"):
        read(half, op="all_reduce")


def test_one_rank_is_no_collective(read):
    head = Bench(n=1).header()
    text = head + Bench().row(SIZES[0], 5.0)
    with pytest.raises(BadInputError, match=r"ran over 1 rank.*without MPI"):
        read(text)


def test_all_to_all_in_place_means_nothing(read):
    text = Bench("all_to_all").text(SIZES, line_time_us)
    with pytest.raises(SynctaxError, match="do not support all-to-all in place"):
        read(text, in_place=True)


def test_other_files_are_refused(read):
    with pytest.raises(BadInputError, match="no table of nccl-tests in 2 lines"):
        read("hello\nworld\n")
    with pytest.raises(BadInputError, match="no table of nccl-tests in 0 lines"):
        read("")
    with pytest.raises(BadInputError, match="has no rows"):
        read(Bench().header() + FOOTER)


def test_bytes_that_are_no_text_do_not_stop_the_reading(tmp_path):
    path = tmp_path / "out.txt"
    path.write_bytes(b"\xff\xfe garbage\n" + Bench().text(SIZES, line_time_us).encode())
    assert len(read_nccl_tests([path])[0]) == len(SIZES)


@given(st.integers(0, 5000))
def test_a_file_cut_anywhere_is_read_or_refused_in_words(tmp_path_factory, cut):
    text = Bench().text(SIZES, line_time_us)
    path = tmp_path_factory.mktemp("cut") / "all_reduce.txt"
    path.write_text(text[: cut % len(text)])
    whole = len(re.findall(r"(?m)^ +\d.*\n", path.read_text()))
    begun = len(re.findall(r"(?m)^ +\d", path.read_text()))
    if begun:
        lines, notes = read_nccl_tests([path])
        assert whole <= len(lines) <= begun
        assert len(lines) + sum(note.count for note in notes) == begun
    else:
        with pytest.raises(BadInputError, match=re.escape(str(path))):
            read_nccl_tests([path])
