"""Small traces of several kinds, as texts."""

from tests.trace.builders import collective, cpu_op, kernel, runtime, trace

SIMPLE = (
    b'{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":2,"ts":%s,"dur":%s,"args":{%s}}'
)


def listed(*events: bytes) -> bytes:
    return b'{"traceEvents":[' + b",".join(events) + b"]}"


def simple(ts: bytes = b"1", dur: bytes = b"2", args: bytes = b"") -> bytes:
    return SIMPLE % (ts, dur, args)


def made() -> list[bytes]:
    """One trace in a line, and with a line for every brace."""
    plain = trace(
        *(cpu_op(f"op{i}", i, 0.5) for i in range(30)),
        *(runtime("cudaLaunchKernel", i, 0.25, corr=i) for i in range(10)),
        *(kernel("k", i + 0.125, 0.5, corr=i, args={"grid": [1, 1, 1]}) for i in range(10)),
        *(collective(i, 3.5, seq=i) for i in range(5)),
        indent=None,
    )
    return [plain, plain.replace(b"{", b"{\n  ").replace(b": ", b":")]
