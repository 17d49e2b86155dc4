"""Models and platforms, by the names of those that are built in or from YAML files."""

from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Final

from synctax.errors import SynctaxError
from synctax.planning.inputs.counted import counted, doubts
from synctax.planning.inputs.model_file import model_of
from synctax.planning.inputs.platform_file import platform_doubts, platform_of
from synctax.planning.inputs.yaml_file import LARGEST_FILE_BYTES, read_yaml
from synctax.planning.inputs.yaml_values import Section
from synctax.planning.platform import Platform
from synctax.planning.shape import Model

__all__ = [
    "counted",
    "doubts",
    "model_names",
    "platform_doubts",
    "platform_names",
    "read_model",
    "read_platform",
]

ALIASES: Final = {"deepseek-v3-16b": "deepseek-v2-lite"}
"""torchtitan calls it the 16B of DeepSeek-V3: layers of the same kinds."""

_MODELS: Final = "models"
_PLATFORMS: Final = "platforms"


def model_names() -> tuple[str, ...]:
    """Name the models that are built in."""
    return _names(_MODELS)


def platform_names() -> tuple[str, ...]:
    """Name the platforms that are built in."""
    return _names(_PLATFORMS)


def read_model(name_or_path: str | Path) -> Model:
    """Read a model from a YAML file, or take one that is built in.

    Parameters
    ----------
    name_or_path : str or Path
        One of `model_names`, in any case; else a file.

    Returns
    -------
    Model
        `doubts` says what is odd about it.

    Raises
    ------
    SynctaxError
        If there is neither such a name nor such a file.
    BadInputError
        If the file is no model; names the key, its line, and what was expected.

    Examples
    --------
    >>> read_model("llama3-8b").layers
    32
    """
    name, section = _find(name_or_path, _MODELS, "a model")
    return model_of(section, name=name)


def read_platform(name_or_path: str | Path) -> Platform:
    """Read a platform from a YAML file, or take one that is built in.

    Parameters
    ----------
    name_or_path : str or Path
        One of `platform_names`, in any case; else a file.

    Returns
    -------
    Platform
        `platform_doubts` says what is odd about it.

    Raises
    ------
    SynctaxError
        If there is neither such a name nor such a file.
    BadInputError
        If the file is no platform; names the key, its line, and what was expected.

    Examples
    --------
    >>> read_platform("gb200-nvl72").domain
    72
    """
    name, section = _find(name_or_path, _PLATFORMS, "a platform")
    return platform_of(section, name=name)


@cache
def _names(folder: str) -> tuple[str, ...]:
    found = files("synctax.planning.inputs").joinpath(folder).iterdir()
    return tuple(sorted(one.name.removesuffix(".yaml") for one in found))


def _find(asked: str | Path, folder: str, kind: str) -> tuple[str, Section]:
    name = str(asked).strip().lower()
    name = ALIASES.get(name, name) if folder == _MODELS else name
    if name in _names(folder):
        resource = files("synctax.planning.inputs").joinpath(folder, f"{name}.yaml")
        return name, read_yaml(resource.read_bytes(), name=resource.name, kind=kind)
    text = _bytes(str(asked), folder, kind)
    return Path(asked).stem, read_yaml(text, name=str(asked), kind=kind)


def _bytes(asked: str, folder: str, kind: str) -> bytes:
    advice = f"give a YAML file, or one that is built in: {', '.join(_names(folder))}"
    if not asked.strip():
        raise SynctaxError(f"the name of {kind} is empty; {advice}")
    if asked.strip() == "-":
        raise SynctaxError(f"-: {kind} is not read from stdin; save it first; {advice}")
    path = Path(asked)
    try:
        mode = path.stat().st_mode
        if not (S_ISREG(mode) or S_ISDIR(mode)):
            # a pipe may have nobody who writes, a device no end
            raise SynctaxError(
                f"{asked}: no regular file, and pipes are not read; save it first; {advice}"
            )
        with path.open("rb") as file:
            return file.read(LARGEST_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        if isinstance(error, FileNotFoundError) and not _is_path(path):
            near = get_close_matches(
                asked.strip().lower(), _names(folder), n=1, cutoff=0.75
            )
            meant = f"did you mean {near[0]}? " if near else ""
            raise SynctaxError(
                f"no {kind[2:]} {asked!r} is built in; {meant}there are "
                f"{', '.join(_names(folder))}; or give a YAML file"
            ) from error
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise SynctaxError(f"{asked[:200]}: {reason}; {advice}") from error


def _is_path(path: Path) -> bool:
    return path.suffix.lower() in {".yaml", ".yml", ".json"} or len(path.parts) > 1
