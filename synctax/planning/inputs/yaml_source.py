"""YAML that is asked for by the name of what is built in, or else by its path."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib.resources.abc import Traversable
from pathlib import Path
from stat import S_ISDIR, S_ISREG

from synctax.errors import SynctaxError
from synctax.planning.inputs.yaml_file import LARGEST_FILE_BYTES, read_yaml
from synctax.planning.inputs.yaml_values import Section


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """What is built in of one kind.

    Parameters
    ----------
    folder : Traversable
        With a file `NAME.yaml` for each.
    kind : str
        What each describes (`a model`), for messages.
    aliases : dict of str to str
        Other names.
    """

    folder: Traversable
    kind: str
    aliases: Mapping[str, str] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """All there are, sorted."""
        return tuple(
            sorted(one.name.removesuffix(".yaml") for one in self.folder.iterdir())
        )


def find(asked: str | Path, built_in: BuiltIn) -> tuple[str, Section]:
    """Read what is built in under a name, or a file.

    Parameters
    ----------
    asked : str or Path
        A name, in any case; else a path.
    built_in : BuiltIn

    Returns
    -------
    name : str
        That of what is built in, else the file's without its suffix.
    section : Section
        The whole file.

    Raises
    ------
    SynctaxError
        If there is neither such a name nor such a file.
    BadInputError
        If the file is no mapping in YAML.
    """
    name = str(asked).strip().lower()
    name = built_in.aliases.get(name, name)
    if name in built_in.names:
        resource = built_in.folder.joinpath(f"{name}.yaml")
        return name, read_yaml(
            resource.read_bytes(), name=resource.name, kind=built_in.kind
        )
    text = file_bytes(str(asked), kind=built_in.kind, names=built_in.names)
    return Path(asked).stem, read_yaml(text, name=str(asked), kind=built_in.kind)


def file_bytes(asked: str, *, kind: str, names: tuple[str, ...]) -> bytes:
    """Read a small file as it is.

    Parameters
    ----------
    asked : str
        Its path.
    kind : str
        What it should describe (`a model`), for messages.
    names : tuple of str
        What could be asked for instead.

    Returns
    -------
    bytes
        No more than just above what a YAML file may have.

    Raises
    ------
    SynctaxError
        If it cannot be read, or is no regular file.
    """
    advice = f"give a YAML file, or one that is built in: {', '.join(names)}"
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
            near = get_close_matches(asked.strip().lower(), names, n=1, cutoff=0.75)
            meant = f"did you mean {near[0]}? " if near else ""
            raise SynctaxError(
                f"no {kind.partition(' ')[2]} {asked!r} is built in; {meant}there are "
                f"{', '.join(names)}; or give a YAML file"
            ) from error
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise SynctaxError(f"{asked[:200]}: {reason}; {advice}") from error


def _is_path(path: Path) -> bool:
    return path.suffix.lower() in {".yaml", ".yml", ".json"} or len(path.parts) > 1
