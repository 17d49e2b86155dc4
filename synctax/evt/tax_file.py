"""Tax models as files: `synctax.tax/1`, read strictly, and the ones that are built in."""

import codecs
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields, is_dataclass, replace
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from synctax.errors import BadInputError, SynctaxError
from synctax.evt.tax import Gumbel, Origin, TaxModel
from synctax.evt.tax_check import problems
from synctax.urls import without_secrets

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

The paper prints neither its fit nor a table; b·σ and τ(128) are those that give, to the
digits printed, two reductions of its section 6.2 for α = 5 µs: 37.26 % (ring, n = 128) and
81.67 % (torus, n = 512).
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
        JSON; `from_json` gives the same model back, to the last digit. Of URLs, what gives
        access is left out.
    """
    import msgspec

    values = asdict(model)
    del values["unknown"]
    for key in ("names", "targets"):  # a tax is passed on
        values["source"][key] = [without_secrets(one) for one in values["source"][key]]
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
    advice = (
        "give a file that fit-evt --tax FILE wrote, or the name of a built-in tax: "
        f"{', '.join(BUILTINS)}"
    )
    if not str(source).strip():
        raise SynctaxError(f"the name of the tax is empty; {advice}")
    path = Path(source)
    if path.exists() and not (path.is_file() or path.is_dir()):
        # a pipe may have nobody who writes, a device no end
        raise SynctaxError(f"{source}: no regular file; {advice}")
    try:
        with path.open("rb") as file:
            text = file.read(LARGEST_FILE_BYTES + 1)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise SynctaxError(f"{source}: {reason}; {advice}") from error
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
        text = _utf8(text)
        document = msgspec.json.decode(text)
        values = dict(_head(document, name))
        model = msgspec.convert(values, TaxModel, strict=True)
    except msgspec.ValidationError as error:
        raise BadInputError(_invalid(name, str(error))) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        reason = str(error)
        first = reason[:1] if reason.startswith("JSON") else reason[:1].lower()
        raise BadInputError(
            f"{name}: expected a tax model ({SCHEMA}), found no JSON: {first}{reason[1:]}"
        ) from error
    for key in _repeated(text):
        raise BadInputError(f"{name}: the key {key!r} stands twice; leave one")
    for problem in problems(model):
        raise BadInputError(f"{name}: {problem}")
    return replace(model, unknown=tuple(_unknown(values, TaxModel)))


def _utf8(text: bytes) -> bytes:
    """Take off the mark that editors put before UTF-8, and turn UTF-16 into it."""
    if text.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return text.decode("utf-16").encode()
    return text.removeprefix(codecs.BOM_UTF8)


def _repeated(text: bytes) -> list[str]:
    """Name the keys that an object has twice: of these readers take the last."""
    found: list[str] = []

    def look(pairs: list[tuple[str, Any]]) -> None:
        keys = [key for key, _ in pairs]
        if len(set(keys)) < len(keys):
            found.extend(key for key in dict.fromkeys(keys) if keys.count(key) > 1)

    # numbers as text: Python does not parse thousands of digits
    json.loads(text, object_pairs_hook=look, parse_int=str, parse_float=str)
    return found


def _head(document: object, name: str) -> Iterator[tuple[str, Any]]:
    """Check the schema; yield what is known or may be, without nulls and the schema."""
    if not isinstance(document, dict):
        raise BadInputError(f"{name}: expected a tax model ({SCHEMA}), found no object")
    schema = document.get("schema")
    family, _, number = str(schema).partition("/")
    if family != FORMAT:
        found = "no schema" if schema is None else f"schema {str(schema)[:40]!r}"
        raise BadInputError(
            f'{name}: expected a tax model with "schema": "{SCHEMA}", found {found}; '
            "fit-evt --tax FILE writes one"
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
