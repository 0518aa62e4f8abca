"""A reader's solutions to the exercises, by the part of a controller that each one implements."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Mapping
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple

from handloop.picture.snippets import Snippet as Lit
from handloop.picture.steps import Place, steps
from handloop_learn.source import Snippet


class Part(NamedTuple):
    """
    A part that a reader can write: its file, the names that it defines, and the steps that it carries out.

    steps maps the number of each step in ARCHITECTURE's picture to a fragment of the line that carries it
    out.
    """

    file: str
    names: tuple[str, ...]
    steps: Mapping[int, str] = {}


PARTS: Final = {
    "reflector": Part("exercise_02_reflector.py", ("reflect",), {1: ".watch("}),
    "process": Part("exercise_03_delta_fifo.py", ("process",), {5: "store.add", 6: "tell("}),
    "index": Part("exercise_04_indexer.py", ("by_foo", "deployments_of"), {4: "    return "}),
    "work": Part("exercise_06_workqueue.py", ("work",), {8: ".get(", 11: ".forget", 12: ".done("}),
    "back-off": Part("exercise_07_backoff.py", ("Backoff",)),
    "sync": Part("exercise_08_sync_handler.py", ("sync",), {9: "foos.get_by_key", 10: "server.create"}),
}
_NUMBERS: Final = itertools.count()


class Pieces:
    """
    The parts that a reader has written, and their lines.

    files and modules map each part's name to its file and its module.
    """

    def __init__(self, files: Mapping[str, Path]) -> None:
        """Load the files. Raises: any error that a file raises; AttributeError if a file lacks a name."""
        self.files = dict(files)
        self.modules: dict[str, Any] = {}
        for name, file in files.items():
            self.modules[name] = module = load(file)
            for each in PARTS[name].names:
                if not hasattr(module, each):
                    raise AttributeError(f"{file.name} has no {each}")

    @property
    def ours(self) -> list[str]:
        """The names of the parts that the reader has not written, and for which ours are used."""
        return [name for name in PARTS if name not in self.files]

    def places(self) -> list[Place]:
        """Return the places of all lines in the files."""
        counts = {str(file): len(source_of(file).lines) for file in self.files.values()}
        return [Place(file, number + 1) for file, count in counts.items() for number in range(count)]

    def lit(self) -> dict[int, Lit]:
        """Return the reader's lines for the live page, by the number of the step that they carry out."""
        words = {step.number: step.words for step in steps()}
        found = {}
        for name, file in self.files.items():
            lines = source_of(file).lines
            for number, piece in PARTS[name].steps.items():
                # the last match, because comments before it may contain the same text
                at = max((at for at, line in enumerate(lines, 1) if piece in line), default=0)
                if at:
                    found[number] = Lit(number, words[number], file.name, at, 1, "\n".join(lines))
        return found


def own_pieces(names: Mapping[str, str], folder: Path) -> Pieces:
    """Load the named files that exist in the folder. Raises: any error that Pieces raises."""
    files = {part: (folder / name).resolve() for part, name in names.items()}
    return Pieces({part: file for part, file in files.items() if file.is_file()})


def source_of(file: Path) -> Snippet:
    """Return a whole file."""
    return Snippet(str(file), 1, tuple(file.read_text(encoding="utf-8").splitlines()))


def load(file: Path) -> ModuleType:
    """Run a file as a separate module. Raises: any error that the file raises."""
    spec = spec_from_file_location(f"exercise_{next(_NUMBERS)}", file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look up their module here
    spec.loader.exec_module(module)
    return module
