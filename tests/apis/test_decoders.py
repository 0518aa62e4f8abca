"""Types meet msgspec under one lock."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from handloop.apis.decoders import converted, decoder_of

ROOT = Path(__file__).parents[2]

# msgspec's own race ends the process, so another one plays it; without the lock it ends within 300 types
RACE = """
import sys, threading, msgspec
from handloop.apis.decoders import decoder_of
sys.setswitchinterval(1e-6)
for n in range(300):
    inner = [msgspec.defstruct(f"I{n}x{i}", [("a", "list[str]", None)]) for i in range(5)]
    fields = [(f"g{i}", one, None) for i, one in enumerate(inner)]
    of = msgspec.defstruct(f"O{n}", [*fields, ("z", list[str], [])])
    go = threading.Barrier(4)
    def run():
        go.wait()
        assert decoder_of(of).decode(b'{"z":["x"]}').z == ["x"]
    threads = [threading.Thread(target=run) for _ in range(4)]
    [one.start() for one in threads]
    [one.join() for one in threads]
"""


def test_types_that_threads_use_first_at_once_are_read() -> None:
    """Preflight asks from four threads, and workers meet a kind together: the process lives."""
    ended = subprocess.run(
        [sys.executable, "-c", RACE], capture_output=True, text=True, timeout=100, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")


def test_one_decoder_for_all() -> None:
    """Also for a type that cannot be a key of a cache."""
    assert decoder_of(list[int]) is decoder_of(list[int])
    odd = type("Odd", (type,), {"__hash__": None})("odd", (), {})
    assert isinstance(decoder_of(odd, lambda _type, value: value), msgspec.json.Decoder)
    assert converted({"a": 1}, dict[str, int]) == {"a": 1}
    with pytest.raises(TypeError, match="may not contain"):
        decoder_of(dict[str, int] | dict[int, str])


@pytest.mark.parametrize("folder", ["apis", "client", "controller", "informers", "workqueue"])
def test_nothing_else_shows_msgspec_a_type(folder: str) -> None:
    """Only texts without a type are decoded directly."""
    for path in sorted((ROOT / folder).rglob("*.py")):
        # myapp converts into parts of kinds that it owns: their tables were made before a worker began
        if path not in {ROOT / "apis/decoders.py", ROOT / "controller/myapp/children.py"}:
            assert [*_shown_types(path)] == [], path


def _shown_types(path: Path) -> list[str]:
    calls = [
        node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)
    ]
    names = {id(call): ast.unparse(call.func) for call in calls}
    typed = [call for call in calls if any(one.arg == "type" for one in call.keywords)]
    return [
        *(name for name in names.values() if name in {"msgspec.json.Decoder", "msgspec.convert"}),
        *(name for name in (names[id(call)] for call in typed) if name == "msgspec.json.decode"),
    ]
