"""The text of single events, laid out as Kineto writes them."""


def cpu_event(
    kind: str, name: str, lane: tuple[int, int], span: tuple[str, str], args: str
) -> str:
    """Write a range on a CPU thread or an annotation on a stream.

    Parameters
    ----------
    kind, name : str
        Category and name.
    lane : (pid, tid)
        Where it lies.
    span : (str, str)
        `ts` and `dur`, in µs.
    args : str
        Inside of the arguments, as JSON text.
    """
    return (
        f'  {{\n    "ph": "X", "cat": "{kind}", "name": "{name}", '
        f'"pid": {lane[0]}, "tid": {lane[1]},\n'
        f'    "ts": {span[0]}, "dur": {span[1]},\n'
        f'    "args": {{\n      {args}\n    }}\n  }}'
    )


def runtime_event(
    name: str, lane: tuple[int, int], span: tuple[str, str], ids: tuple[int, int, int]
) -> str:
    """Write a call into the CUDA runtime; `ids` are external id, cbid and correlation."""
    return (
        f'  {{\n    "ph": "X", "cat": "cuda_runtime", "name": "{name}", '
        f'"pid": {lane[0]}, "tid": {lane[1]},\n'
        f'    "ts": {span[0]}, "dur": {span[1]},\n'
        f'    "args": {{\n      "External id": {ids[0]},      "cbid": {ids[1]}, '
        f'"correlation": {ids[2]}\n    }}\n  }}'
    )


def kernel_event(
    name: str, lane: tuple[int, int], span: tuple[str, str], ids: tuple[int, int], args: str
) -> str:
    """Write a kernel; `lane` is (device, stream), `ids` external id and correlation."""
    return (
        f'  {{\n    "ph": "X", "cat": "kernel", "name": "{name}", '
        f'"pid": {lane[0]}, "tid": {lane[1]},\n'
        f'    "ts": {span[0]}, "dur": {span[1]},\n'
        f'    "args": {{\n      "External id": {ids[0]},      "queued": 0, '
        f'"device": {lane[0]}, "context": 1,      "stream": {lane[1]}, '
        f'"correlation": {ids[1]},      {args}\n    }}\n  }}'
    )


def sync_event(
    kind: str,
    lane: tuple[int, int],
    span: tuple[str, str],
    correlation: int,
    waited: tuple[int, int, int],
) -> str:
    """Write a record of a synchronisation.

    Parameters
    ----------
    kind : str
        `Stream Wait Event` or `Event Sync`.
    lane : (device, stream)
        Who waits; stream -1 for the CPU.
    span : (str, str)
        `ts` and `dur`, in µs.
    correlation : int
        Of the waiting call.
    waited : (int, int, int)
        What for: stream, correlation of the call that recorded the event, event; -1
        where the profiler cannot tell.
    """
    return (
        f'  {{\n    "ph": "X", "cat": "cuda_sync", "name": "{kind}", '
        f'"pid": {lane[0]}, "tid": {lane[1]},\n'
        f'    "ts": {span[0]}, "dur": {span[1]},\n'
        f'    "args": {{\n      "External id": {correlation},      '
        f'"cuda_sync_kind": "{kind}", "wait_on_stream": {waited[0]}, '
        f'"wait_on_cuda_event_record_corr_id": {waited[1]}, '
        f'"wait_on_cuda_event_id": {waited[2]},      "stream": {lane[1]}, '
        f'"correlation": {correlation}, "device": {lane[0]}, "context": 1\n    }}\n  }}'
    )


def flow_start(correlation: int, lane: tuple[int, int], ts: str) -> str:
    """Write the start of the arrow from a launch to its kernel."""
    return (
        f'  {{\n    "ph": "s", "id": {correlation}, "pid": {lane[0]}, "tid": {lane[1]}, '
        f'"ts": {ts},\n    "cat": "ac2g", "name": "ac2g"\n  }}'
    )


def flow_end(correlation: int, lane: tuple[int, int], ts: str) -> str:
    """Write the end of the arrow from a launch to its kernel."""
    return (
        f'  {{\n    "ph": "f", "id": {correlation}, "pid": {lane[0]}, "tid": {lane[1]}, '
        f'"ts": {ts},\n    "cat": "ac2g", "name": "ac2g", "bp": "e"\n  }}'
    )


def metadata_event(name: str, lane: tuple[int, int], ts: str, args: str) -> str:
    """Write a name or a sort index of a process or thread."""
    return (
        f'  {{\n    "name": "{name}", "ph": "M", "ts": {ts}, "pid": {lane[0]}, '
        f'"tid": {lane[1]},\n    "args": {{\n      {args}\n    }}\n  }}'
    )


def instant_event(name: str, where: str, ts: str) -> str:
    """Write a mark of the profiler; `where` is its pid and tid as JSON text."""
    return (
        f'  {{\n    "name": "{name}", "ph": "i", "s": "g",\n    {where}, "ts": {ts}\n  }}'
    )
