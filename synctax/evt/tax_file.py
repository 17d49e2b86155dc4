"""Tax models as files: `synctax.tax/1`, read strictly, and the ones that are built in."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, fields, is_dataclass, replace
from itertools import pairwise
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from synctax.errors import BadInputError, SynctaxError
from synctax.evt.tax import Curve, Gumbel, Origin, TaxModel

FORMAT = "synctax.tax"
VERSION = 1
SCHEMA = f"{FORMAT}/{VERSION}"

LARGEST_FILE_BYTES = 64 * 2**20
"""A tax model has some kilobytes; what is larger is something else."""

BUILTINS: Mapping[str, TaxModel] = {
    "llama3-70b-h200": TaxModel(
        n_fit=4,
        payload_bytes=4 * 4096 * 8192 * 2,
        alpha_us=5.0,
        gumbel=Gumbel(b_scale_us=130.73, tau_us=754.27, n=128.0),
        source=Origin("built-in", ("llama3-70b-h200",)),
    )
}
"""Known by name. `llama3-70b-h200`: Llama-3 70B, BF16, local batch 4, on H200.

The paper prints neither its fit nor a table; b·σ and τ(128) are those that give the
reductions that its section 6.2 prints (37.26 %, 98.69 %, 81.67 %) for α = 5 µs.
"""


def builtin(name: str) -> TaxModel:
    """Return a built-in tax model.

    Raises
    ------
    SynctaxError
        If there is none of that name.

    Examples
    --------
    >>> builtin("llama3-70b-h200").n_fit
    4
    """
    if name not in BUILTINS:
        raise SynctaxError(f"no built-in tax {name!r}; there is {', '.join(BUILTINS)}")
    return BUILTINS[name]


def to_json(model: TaxModel) -> bytes:
    """Write a model as `synctax.tax/1`: every field, null where it is not known.

    Parameters
    ----------
    model : TaxModel

    Returns
    -------
    bytes
        JSON; `from_json` gives the same model back, to the last digit.
    """
    import msgspec

    values = asdict(model)
    del values["unknown"]
    text = msgspec.json.encode({"schema": SCHEMA, **values})
    return msgspec.json.format(text, indent=1) + b"\n"


def read_tax(source: str | Path) -> TaxModel:
    """Read a tax model from a file, or take a built-in one by its name.

    Parameters
    ----------
    source : str or Path
        A name of `BUILTINS`, else a file.

    Returns
    -------
    TaxModel
        `unknown` names keys of the file that mean nothing to this version.

    Raises
    ------
    SynctaxError
        If there is no such file.
    BadInputError
        If it is no tax model of this version, or its numbers contradict each other.
    """
    if str(source) in BUILTINS:
        return builtin(str(source))
    path = Path(source)
    try:
        with path.open("rb") as file:
            text = file.read(LARGEST_FILE_BYTES + 1)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise SynctaxError(
            f"{source}: {reason}; give a file that fit-evt wrote, or the name of a "
            f"built-in tax: {', '.join(BUILTINS)}"
        ) from error
    if len(text) > LARGEST_FILE_BYTES:
        raise BadInputError(f"{source}: expected a tax model, found more than 64 MiB")
    return from_json(text, name=str(source))


def from_json(text: bytes, *, name: str) -> TaxModel:
    """Read a model from JSON.

    Parameters
    ----------
    text : bytes
    name : str
        Of the file, for messages.

    Raises
    ------
    BadInputError
        If it is no tax model of this version, or its numbers contradict each other.
    """
    import msgspec

    try:
        document = msgspec.json.decode(text)
        values = dict(_head(document, name))
        model = msgspec.convert(values, TaxModel, strict=True)
    except msgspec.ValidationError as error:
        raise BadInputError(_invalid(name, str(error))) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        reason = str(error)
        raise BadInputError(
            f"{name}: expected a tax model ({SCHEMA}), found no JSON: "
            f"{reason[:1].lower()}{reason[1:]}"
        ) from error
    for problem in _problems(model):
        raise BadInputError(f"{name}: {problem}")
    return replace(model, unknown=tuple(_unknown(values, TaxModel)))


def _head(document: object, name: str) -> Iterator[tuple[str, Any]]:
    """Check the schema; yield what is known or may be, without nulls and the schema."""
    if not isinstance(document, dict):
        raise BadInputError(f"{name}: expected a tax model ({SCHEMA}), found no object")
    schema = document.get("schema")
    family, _, number = str(schema).partition("/")
    if family != FORMAT:
        found = "no schema" if schema is None else f"schema {str(schema)[:40]!r}"
        raise BadInputError(
            f'{name}: expected a tax model with "schema": "{SCHEMA}", found {found}'
        )
    if number != str(VERSION):
        raise BadInputError(
            f"{name}: expected {SCHEMA}, found {str(schema)[:40]}; this version of "
            "synctax does not read it: fit again, or use the synctax that wrote it"
        )
    for key, value in document.items():
        if key == "source" and isinstance(value, str):
            yield key, {"kind": "written", "names": [value]}
        elif key not in ("schema", "unknown") and value is not None:
            yield key, value


def _invalid(name: str, reason: str) -> str:
    """Turn `Expected `float`, got `str` - at `$.gumbel.loc`` into key, expected, found."""
    what, _, where = reason.replace("`", "").partition(" - at $.")
    what = what.replace(", got ", ", found ").replace("Object missing", "missing")
    what = f"{what[:1].lower()}{what[1:]}"
    return f"{name}: {where}: {what}" if where else f"{name}: {what}"


def _unknown(values: Mapping[str, Any], kind: Any, prefix: str = "") -> Iterator[str]:
    """Name the keys that a type does not have."""
    types = get_type_hints(kind)
    names = {one.name for one in fields(kind)}
    for key, value in values.items():
        if key not in names:
            yield f"{prefix}{key}"
        elif isinstance(value, Mapping):
            for inner in _choices(types[key]):
                if is_dataclass(inner):
                    yield from _unknown(value, inner, f"{prefix}{key}.")


def _choices(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


# -------------------------------------------------------- what numbers cannot be


def _problems(model: TaxModel) -> Iterator[str]:
    if model.n_fit < 2:
        yield f"n_fit: expected 2 ranks or more, found {model.n_fit}"
    yield from _signs(model, "")
    if not model.methods:
        yield "expected at least one of gumbel, gev, lmoments and deviations, found none"
    for name in model.methods:
        part = getattr(model, name)
        yield from _signs(part, f"{name}.")
        if part.curve is not None:
            yield from _curve(part.curve, f"{name}.curve")
    yield from _covariance(model, "gumbel", 2)
    yield from _covariance(model, "gev", 3)
    if model.gumbel is not None:
        yield from _enough(model.gumbel)
    if model.coverage is not None:
        yield from _signs(model.coverage, "coverage.")


_Rule = tuple[str, Callable[[float], bool]]
_POSITIVE: _Rule = ("more than 0", lambda value: value > 0)
_NOT_NEGATIVE: _Rule = ("0 or more", lambda value: value >= 0)
_SHARE: _Rule = ("a share from 0 to 1", lambda value: 0 <= value <= 1)

_RULES: Mapping[str, _Rule] = {
    "a_us": _POSITIVE,
    "b_us": _POSITIVE,
    "r": _POSITIVE,
    "payload_bytes": _POSITIVE,
    "alpha_us": _NOT_NEGATIVE,
    "blocks": _NOT_NEGATIVE,
    "maxima": _NOT_NEGATIVE,
    "scale": _POSITIVE,
    "b_scale_us": _POSITIVE,
    "n": ("2 ranks or more", lambda value: value >= 2),
    "loc_se": _NOT_NEGATIVE,
    "scale_se": _NOT_NEGATIVE,
    "shape_se": _NOT_NEGATIVE,
    "lr_p": _SHARE,
    "unit_us": _POSITIVE,
    "tail_share": _SHARE,
    "instances": _NOT_NEGATIVE,
    "share_of_collectives": _SHARE,
    "share_of_tax": _SHARE,
    "collectives": _NOT_NEGATIVE,
    "entered": _NOT_NEGATIVE,
}


def _signs(owner: Any, prefix: str) -> Iterator[str]:
    for one in fields(owner):
        value = getattr(owner, one.name)
        if one.name in _RULES and value is not None:
            expected, holds = _RULES[one.name]
            if not holds(value):
                yield f"{prefix}{one.name}: expected {expected}, found {value:g}"


def _curve(curve: Curve, where: str) -> Iterator[str]:
    lengths = {
        name: len(getattr(curve, name))
        for name in ("n", "tau_us", "tau_lo_us", "tau_hi_us")
    }
    if len(set(lengths.values())) > 1 or not curve.n:
        found = ", ".join(f"{count} {name}" for name, count in lengths.items())
        yield f"{where}: expected lists of one length, found {found}"
        return
    if curve.n[0] <= 0 or any(low >= high for low, high in pairwise(curve.n)):
        yield f"{where}.n: expected ascending numbers of ranks"
    if not 0 < curve.level < 1:
        yield f"{where}.level: expected a level between 0 and 1, found {curve.level:g}"
    for n, lo, hi in zip(curve.n, curve.tau_lo_us, curve.tau_hi_us, strict=True):
        if lo is not None and hi is not None and lo > hi:
            yield f"{where}: expected lo below hi, found {lo:g} and {hi:g} at n = {n:g}"


def _covariance(model: TaxModel, name: str, size: int) -> Iterator[str]:
    part = getattr(model, name)
    cov = None if part is None else part.cov
    if cov is None:
        return
    if [len(row) for row in cov] != [size] * size:
        rows = " + ".join(str(len(row)) for row in cov) or "0"
        yield f"{name}.cov: expected {size} rows of {size} numbers, found {rows}"
    elif any(cov[i][i] < 0 for i in range(size)):
        yield f"{name}.cov: expected variances of 0 or more on its diagonal"


def _enough(part: Gumbel) -> Iterator[str]:
    """A law by two parameters, or a slope through one point."""
    ways = (("loc", "scale"), ("b_scale_us", "tau_us", "n"))
    missing = [[name for name in way if getattr(part, name) is None] for way in ways]
    least: list[str] = min(missing, key=len)
    if least:
        yield (
            "gumbel: expected loc and scale, or b_scale_us, tau_us and n; "
            f"{' and '.join(least)} missing"
        )
