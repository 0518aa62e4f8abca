"""docs/kinds.md: its blocks run, and its words are true."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handloop.apis.declaration import KindType
from handloop.kinds import __path__ as modules
from support.checks.docs_page import blocks_of
from support.rigs.managed_sandbox import ManagedSandbox

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/kinds.md").read_text(encoding="utf-8")
BLOCKS = blocks_of("kinds.md")


def run(folder: Path, name: str) -> dict[str, Any]:
    """What a block defines."""
    (folder / name).write_text(BLOCKS[name], encoding="utf-8")
    return runpy.run_path(str(folder / name))


@pytest.mark.parametrize("name", BLOCKS)
def test_a_block_runs(name: str, tmp_path: Path) -> None:
    """With its own assertions."""
    run(tmp_path, name)


def test_its_claims_about_a_greeting(tmp_path: Path) -> None:
    """The URL, the sent fields, and the wire name in the repr."""
    greeting = run(tmp_path, "greeting.py")
    assert greeting["Greeting"].resource.path() == "/apis/example.org/v1/greetings"
    spec = greeting["GreetingSpec"](name="a")
    assert msgspec.json.encode(spec) == b'{"name":"a","size":0}'
    assert "podIP" in repr(greeting["GreetingSpec"](name="a", pod_ip="10.0.0.1"))


def test_every_keyword_and_module_is_named() -> None:
    """The table and the list of modules are complete."""
    code = KindType.__new__.__code__
    keywords = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    assert all(f"`{keyword}`" in PAGE for keyword in keywords)
    assert all(f"`{path.stem}`" in PAGE for path in Path(modules[0]).glob("[a-z]*.py"))


def test_a_view_of_a_foreign_kind_is_not_put(tmp_path: Path) -> None:
    """Nothing is sent."""
    certificate = run(tmp_path, "certificate.py")["Certificate"]
    objects = ManagedSandbox().client.resource(certificate)
    with pytest.raises(TypeError, match="partial view"):
        objects.update(certificate.named("a", namespace="default"))
