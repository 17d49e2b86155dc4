"""YAML written by hand, read strictly.

PyYAML's loader reads YAML 1.1, in which `405e9` is a text, `yes` is true, `010` is 8,
`1:30` is 90, and of a key that stands twice the last one counts. So only its parser is
used; what a plain scalar means is decided where it is read.
"""

from typing import TYPE_CHECKING, Final

from synctax.errors import BadInputError
from synctax.planning.inputs.yaml_values import Node, Scalar, Section, Sequence, is_null

if TYPE_CHECKING:
    import yaml

LARGEST_FILE_BYTES: Final = 2**18
"""A model or a platform takes some lines; what is larger is something else."""

DEEPEST: Final = 8


def read_yaml(text: bytes, *, name: str, kind: str) -> Section:
    """Read a file of one mapping.

    Parameters
    ----------
    text : bytes
    name : str
        Of the file, for messages.
    kind : str
        What the file should describe (`a model`), for messages.

    Raises
    ------
    BadInputError
        If it is empty, no text, no YAML, no mapping, or has what is not read here: tags,
        aliases, several documents, keys that stand twice.
    """
    import yaml

    if len(text) > LARGEST_FILE_BYTES:
        raise BadInputError(
            f"{name}: expected {kind}, found more than {LARGEST_FILE_BYTES // 1024} KiB"
        )
    try:
        decoded = text.decode("utf-8-sig")
        tree = _Tree(name, kind)
        for event in yaml.parse(decoded, Loader=yaml.SafeLoader):
            tree.take(event)
    except UnicodeDecodeError as error:
        raise BadInputError(
            f"{name}: expected {kind} as UTF-8 text, found byte {text[error.start]:#04x} "
            f"at {error.start:,}"
        ) from error
    except yaml.YAMLError as error:
        raise BadInputError(_syntax(error, name, kind)) from error
    return tree.root()


class _Tree:
    """Builds nodes from the parser's events, without recursion: a file may nest deep."""

    def __init__(self, name: str, kind: str) -> None:
        self._name, self._kind = name, kind
        self._open: list[tuple[bool, int, list[Node]]] = []
        self._done: list[Node] = []

    def take(self, event: "yaml.Event") -> None:
        """Take the next event."""
        import yaml

        line = 0 if event.start_mark is None else event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent):
            raise self._bad(line, f"aliases (*{event.anchor}) are not read here")
        if isinstance(event, yaml.ScalarEvent):
            self._refuse_tag(event.tag, line)
            self._add(Scalar(event.value, event.style is None, line))
        elif isinstance(event, yaml.CollectionStartEvent):
            self._refuse_tag(event.tag, line)
            if len(self._open) == DEEPEST:
                raise self._bad(line, f"values are nested more than {DEEPEST} deep")
            self._open.append((isinstance(event, yaml.MappingStartEvent), line, []))
        elif isinstance(event, yaml.CollectionEndEvent):
            mapping, start, items = self._open.pop()
            whole = self._section if mapping else self._sequence
            self._add(whole(items, start))
        elif isinstance(event, yaml.DocumentStartEvent) and self._done:
            raise self._bad(line, "a second document begins; leave one")

    def root(self) -> Section:
        """Return what was read.

        Raises
        ------
        BadInputError
            If it is no mapping.
        """
        if not self._done or is_null(self._done[0]):
            raise BadInputError(f"{self._name}: expected {self._kind}, found an empty file")
        root = self._done[0]
        if not isinstance(root, Section):
            raise BadInputError(
                f"{self._name}: expected {self._kind} as lines of 'key: value', "
                f"found {root}"
            )
        return _with_paths(root, "")

    def _add(self, node: Node) -> None:
        (self._open[-1][2] if self._open else self._done).append(node)

    def _section(self, items: list[Node], line: int) -> Node:
        entries: dict[str, Node] = {}
        lines: dict[str, int] = {}
        for key, value in zip(items[::2], items[1::2], strict=True):
            if not isinstance(key, Scalar):
                raise self._bad(key.line, f"{key} cannot be a key")
            name = key.text[:40]
            if key.text in lines:
                first = lines[key.text]
                raise self._bad(key.line, f"the key {name} stands in line {first} already")
            entries[key.text], lines[key.text] = value, key.line
        return Section(self._name, "", entries, line)

    def _sequence(self, items: list[Node], line: int) -> Node:
        return Sequence(tuple(items), line)

    def _refuse_tag(self, tag: str | None, line: int) -> None:
        if tag is not None:
            raise self._bad(line, f"tags ({tag[:40]}) are not read here; leave it out")

    def _bad(self, line: int, problem: str) -> BadInputError:
        return BadInputError(f"{self._name}, line {line}: {problem}")


def _with_paths(section: Section, path: str) -> Section:
    entries = {
        key: _placed(value, f"{path}{key}.") for key, value in section.entries.items()
    }
    return Section(section.file, path, entries, section.line)


def _placed(node: Node, path: str) -> Node:
    if isinstance(node, Section):
        return _with_paths(node, path)
    if isinstance(node, Sequence):
        items = (_placed(item, f"{path[:-1]}[{at}].") for at, item in enumerate(node.items))
        return Sequence(tuple(items), node.line)
    return node


def _syntax(error: "yaml.YAMLError", name: str, kind: str) -> str:
    mark = getattr(error, "problem_mark", None)
    place = f", line {mark.line + 1}" if mark is not None else ""
    problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
    if r"'\t'" in problem:
        problem = "a tab indents the line, and YAML allows spaces only"
    return f"{name}{place}: expected {kind}, found no YAML: {problem}"
