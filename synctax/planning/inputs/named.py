"""Models and platforms, by the names of those that are built in or from YAML files."""

from importlib.resources import files
from pathlib import Path
from typing import Final

from synctax.planning.inputs.counted import counted, doubts
from synctax.planning.inputs.model_file import model_of
from synctax.planning.inputs.platform_file import platform_doubts, platform_of
from synctax.planning.inputs.yaml_source import BuiltIn, find
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

_FOLDER: Final = files("synctax.planning.inputs")
_MODELS: Final = BuiltIn(_FOLDER / "models", "a model", ALIASES)
_PLATFORMS: Final = BuiltIn(_FOLDER / "platforms", "a platform")


def model_names() -> tuple[str, ...]:
    """Name the models that are built in."""
    return _MODELS.names


def platform_names() -> tuple[str, ...]:
    """Name the platforms that are built in."""
    return _PLATFORMS.names


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
    name, section = find(name_or_path, _MODELS)
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
    name, section = find(name_or_path, _PLATFORMS)
    return platform_of(section, name=name)
