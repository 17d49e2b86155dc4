# Types of the compiled module, whose source is in `_scan_c`.

from typing import Self

LAYOUT: int
MORE_TEXT: int
PADDING: int
REFUSED: int
VARIANTS: tuple[str, ...]

class Memory:
    def __buffer__(self, flags: int, /) -> memoryview: ...

class Scanner:
    def __new__(
        cls,
        event_keys: list[tuple[bytes, str]],
        args_keys: list[tuple[bytes, str]],
        categories: list[tuple[bytes, int]],
        communication: list[bytes],
        marks: list[bytes],
        longest: int,
        seed: int,
        variant: str,
    ) -> Self: ...
    def scan(self, text: bytearray, at: int, /) -> tuple[int, int]: ...
    def rows(self, table: str, /) -> int: ...
    def take(self, table: str, column: int, /) -> Memory: ...
    def go_on(self) -> None: ...
    def texts(self, dictionary: str, first: int = 0, /) -> list[bytes]: ...
    def counted(self) -> list[tuple[str, bytes, int]]: ...
