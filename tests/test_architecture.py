"""The house rules that can be read from the source: layering, file names, test files, docstrings of tests."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("apis", "client", "workqueue", "informers", "controller", "sandbox")
MAY_IMPORT = {
    "apis": {"apis"},
    "workqueue": {"workqueue"},
    "client": {"apis", "client", "workqueue"},
    "informers": {"apis", "client", "workqueue", "informers"},
    "controller": {"apis", "client", "workqueue", "informers", "controller"},
    "sandbox": {"apis", "sandbox"},
}
KNOWS_THE_SANDBOX = {"controller/cli/sandbox_command.py", "controller/cli/sandbox_help.py"}
HANDS_OUT_A_CLIENT = {"sandbox/fixture.py"}
"""For other people's tests; nothing of the server imports it."""
PARTS_OF_THE_SANDBOX = (
    "wire",
    "storage",
    "kinds",
    "cluster",
    "custom",
    "patches",
    "tables",
    "rules",
    "requests",
    "verbs",
    "faults",
)
NOT_A_NOUN = {"utils", "util", "common", "helpers", "helper", "misc", "base", "core", "tools", "lib"}
MODULES = sorted(
    path.relative_to(ROOT)
    for package in PACKAGES
    for path in (ROOT / package).rglob("*.py")
    if path.name != "__init__.py"
)
TESTS = sorted(path.relative_to(ROOT) for path in (ROOT / "tests").rglob("test_*.py"))


def imported_modules(path: Path) -> Iterator[str]:
    """Every module a file imports, wherever in the file; relative imports are an error of their own."""
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield from (_imported(node.module or "", alias.name) for alias in node.names)


def _imported(module: str, name: str) -> str:
    """`from package import module` imports the module, not the package's face."""
    return f"{module}.{name}" if (ROOT / module.replace(".", "/") / f"{name}.py").exists() else module


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_imports_point_one_way(path: Path) -> None:
    """A module imports its own package and those before it, never a later one."""
    package = path.parts[0]
    allowed = MAY_IMPORT[package] | ({"sandbox"} if str(path) in KNOWS_THE_SANDBOX else set())
    allowed |= {"client"} if str(path) in HANDS_OUT_A_CLIENT else set()
    ours = {name.split(".")[0] for name in imported_modules(path)} & set(PACKAGES)
    assert ours <= allowed


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_no_module_imports_the_face_of_its_own_package(path: Path) -> None:
    """`from client import X` inside client would tie a knot through the package's root."""
    assert path.parts[0] not in set(imported_modules(path))


def test_there_is_no_circle() -> None:
    """Modules can be put in an order in which each imports only earlier ones."""
    names = {str(path.with_suffix("")).replace("/", "."): path for path in MODULES}
    needs = {name: {used for used in imported_modules(path) if used in names} for name, path in names.items()}
    while ready := [name for name, used in needs.items() if not used & needs.keys()]:
        for name in ready:
            del needs[name]
    assert not needs


@pytest.mark.parametrize("part", PARTS_OF_THE_SANDBOX)
def test_the_parts_of_the_sandbox_point_one_way(part: str) -> None:
    """A part imports itself and those before it in the list, and never the modules that join the parts."""
    allowed = {f"sandbox.{name}" for name in PARTS_OF_THE_SANDBOX[: PARTS_OF_THE_SANDBOX.index(part) + 1]}
    modules = [path for path in MODULES if path.parts[:2] == ("sandbox", part)]
    used = {name for path in modules for name in imported_modules(path) if name.startswith("sandbox.")}
    assert modules
    assert {name.rpartition(".")[0] for name in used} <= allowed


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_a_module_is_named_after_a_noun(path: Path) -> None:
    """A name that is a job collects whatever nobody wants to place."""
    assert path.stem not in NOT_A_NOUN


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_a_module_has_its_tests(path: Path) -> None:
    """Each module is tested by name: tests/<package>/test_<module>.py."""
    if path.name == "__main__.py":
        pytest.skip("two lines, run by the end-to-end tests")
    assert (ROOT / "tests" / path.parent / f"test_{path.name}").exists()


@pytest.mark.parametrize("path", TESTS, ids=str)
def test_a_test_states_its_claim(path: Path) -> None:
    """Every test function has a docstring: the one sentence that it proves."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    silent = [
        node.name for node in functions if node.name.startswith("test_") and not ast.get_docstring(node)
    ]
    assert not silent


def test_tests_are_no_package() -> None:
    """An __init__.py under tests would let `import workqueue` find the tests' folder."""
    assert not list((ROOT / "tests").rglob("__init__.py"))


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_no_escape_from_the_layering(path: Path) -> None:
    """`if TYPE_CHECKING:` would hide an import from those who read the order."""
    assert "TYPE_CHECKING" not in (ROOT / path).read_text(encoding="utf-8")
