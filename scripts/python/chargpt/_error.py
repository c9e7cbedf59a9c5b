"""The one exception of the package, and where its two binaries lie."""

from __future__ import annotations

import os
import pathlib


class Error(RuntimeError):
    """One line on what was wrong; `code` is the program's exit code: 2 usage, 65 data, 66 missing, 75 busy, ..."""

    __module__ = "chargpt"

    def __init__(self, line: str, code: int) -> None:
        super().__init__(line)
        self.code = code

    def __reduce__(self) -> tuple[type[Error], tuple[str, int]]:  # as other processes hand it on
        return Error, (self.args[0], self.code)


def binary(name: str) -> pathlib.Path:
    """A file of this package, or the one beside the program that $CHARGPT names: your own build, with LibTorch."""
    own = os.environ.get("CHARGPT")
    return pathlib.Path(own).resolve().with_name(name) if own else pathlib.Path(__file__).with_name(name)
