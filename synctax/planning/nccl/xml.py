"""Elements of a topology that NCCL dumped (NCCL_TOPO_DUMP_FILE), each with its line.

Such a file is data from elsewhere: a DTD, without which XML has no entities to expand,
is refused, and so is a file that no machine's topology is as long as.
"""

from dataclasses import dataclass, field
from typing import Final, NoReturn
from xml.parsers import expat

from synctax.errors import BadInputError
from synctax.trace.source import Damage, open_file, plain_blocks

LARGEST_BYTES: Final = 2**26
"""No topology is longer: 72 GPUs of 18 hosts take less than a megabyte."""

_LAST: Final = True

_CUT: Final = (
    expat.errors.XML_ERROR_NO_ELEMENTS,
    expat.errors.XML_ERROR_UNCLOSED_TOKEN,
)

DEEPEST: Final = 256
"""Elements within each other; PCI trees have a dozen."""


@dataclass(frozen=True, slots=True, eq=False)
class Element:
    """One element of the file.

    Parameters
    ----------
    tag : str
    attributes : dict
    line : int
    parent : Element or None
    children : list of Element
    """

    tag: str
    attributes: dict[str, str]
    line: int
    parent: "Element | None"
    children: "list[Element]" = field(default_factory=list)


@dataclass(slots=True)
class _Tree:
    path: str
    parser: expat.XMLParserType
    roots: list[Element] = field(default_factory=list)
    open: list[Element] = field(default_factory=list)

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if len(self.open) == DEEPEST:
            self.refuse(f"more than {DEEPEST} elements within each other")
        parent = self.open[-1] if self.open else None
        element = Element(tag, attributes, self.parser.CurrentLineNumber, parent)
        if parent is None:
            self.roots.append(element)
        else:
            parent.children.append(element)
        self.open.append(element)

    def end(self, _tag: str) -> None:
        self.open.pop()

    def doctype(self, *_: object) -> None:
        self.refuse("a document type (<!DOCTYPE ...>)")

    def refuse(self, found: str) -> NoReturn:
        raise BadInputError(
            f"{self.path}, line {self.parser.CurrentLineNumber}: expected a topology as "
            f"NCCL writes it, found {found}; give what NCCL_TOPO_DUMP_FILE wrote"
        )


def read_elements(path: str) -> Element:
    """Read the root of an XML file, compressed or not.

    Parameters
    ----------
    path : str

    Raises
    ------
    BadInputError
        If the file cannot be read, is no XML, is cut, or has a document type.
    """
    # whatever the file says of its encoding: NCCL writes ASCII
    parser = expat.ParserCreate("utf-8")
    tree = _Tree(path, parser)
    parser.StartElementHandler = tree.start
    parser.EndElementHandler = tree.end
    parser.StartDoctypeDeclHandler = tree.doctype
    damage, size = Damage(), 0
    try:
        with open_file(path) as file:
            for block in plain_blocks(file, damage):
                size += len(block)
                if size > LARGEST_BYTES:
                    tree.refuse(f"more than {LARGEST_BYTES >> 20} MiB")
                parser.Parse(block)
            parser.Parse(b"", _LAST)
    except expat.ExpatError as error:
        cut = f" ({damage.detail})" if damage.reason else ""
        raise BadInputError(
            f"{path}, line {error.lineno}: expected XML as NCCL_TOPO_DUMP_FILE writes it, "
            f"found {_what(error, size)}{cut}"
        ) from error
    return tree.roots[0]


def _what(error: expat.ExpatError, size: int) -> str:
    if not size:
        return "an empty file"
    what = expat.errors.messages[error.code]
    if what in _CUT:
        return f"the end of the file ({what}); was the job killed while it wrote?"
    return what
