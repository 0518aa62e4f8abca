"""The house rules that can be read from the source: layering, names, test files, docstrings."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Final

from handloop.controller.cli.extensions import NEIGHBOURS

ROOT = Path(__file__).parent.parent
TESTS: Final = (ROOT / "tests", *(ROOT / folder / "tests" for folder in NEIGHBOURS))
SANDBOX, EXPLORE, LEARN = NEIGHBOURS.values()
FOLDERS: Final = {package: folder for folder, package in NEIGHBOURS.items()}
"""The folders of the other projects, by their packages."""
UNIT_TESTS: Final = {SANDBOX: "unit", EXPLORE: "exploration", LEARN: "walkthrough"}
"""Where the tests of their modules are."""
LINKS: Final = ("apis", "client", "workqueue", "informers", "controller")
"""The folders at the root, which are links in handloop/."""
SHARED: Final = "handloop.apis.grammar"
"""The folder that the sandbox has, too, by a link, so that it needs no handloop."""
_STACK: Final = {"apis", "seams", "client", "workqueue", "informers", "controller"}
MAY_IMPORT: Final = {
    "apis": {"apis"},
    "kinds": {"apis", "kinds"},
    "seams": {"seams"},
    "workqueue": {"seams", "workqueue"},
    "client": {"apis", "seams", "client", "workqueue"},
    "informers": _STACK - {"controller"},
    "controller": {*_STACK, "kinds"},
    SANDBOX: {SANDBOX},
    "picture": {*_STACK, "picture"},
    "testing": {*_STACK, SANDBOX, EXPLORE, "kinds", "testing"},
    EXPLORE: {*_STACK, SANDBOX, "kinds", "testing", "picture", EXPLORE},
    LEARN: {*_STACK, SANDBOX, "kinds", "picture", LEARN},
}
HANDS_ON: Final = ("handloop.testing.explore", "handloop.testing.explore.cluster")
"""The public path of exploration: the only modules of handloop that import it."""
ROOMS_OF_THE_CONTROLLER: Final = {
    "runtime": {"runtime"},
    "foo": {"foo", "runtime"},
    "myapp": {"myapp", "runtime"},
    "cli": {"cli", "runtime"},
}
RUNTIME: Final = Path("controller/runtime")
PARTS_OF_THE_SANDBOX: Final = (
    "wire",
    "storage",
    "kinds",
    "cluster",
    "cel",
    "custom",
    "patches",
    "tables",
    "rules",
    "requests",
    "verbs",
    "faults",
    "controls",
)
NOT_A_NOUN: Final = {"utils", "util", "common", "helpers", "helper", "misc", "base", "core", "lib"}
NO_TESTS_OF_THEIR_OWN: Final = {
    "__main__": "two lines, run by the end-to-end tests",
    "access": "declarations, compared with the requests of whole runs",
    "stage": "the cluster of most chapters, whose tests assert what they show",
    **dict.fromkeys(
        (path.stem for path in (ROOT / "learn/handloop_learn").glob("ex[0-9]*.py")),
        "exercises, whose solutions are judged in test_exercise_catalog.py",
    ),
}


def modules() -> dict[str, Path]:
    """Every module of the products: `handloop.apis.meta` -> its path below the root."""
    found = {}
    for package in MAY_IMPORT:
        root = ROOT if package in LINKS else ROOT / FOLDERS.get(package, "handloop")
        for path in (root / package).rglob("*.py"):
            parts = path.relative_to(root).with_suffix("").parts
            name = ".".join(parts if package in FOLDERS else ("handloop", *parts))
            found[name.removesuffix(".__init__")] = path.relative_to(ROOT)
    return found


MODULES: Final = modules()
FILES: Final = {name: path for name, path in MODULES.items() if path.name != "__init__.py"}


@cache  # at first use: every worker of a run collects this file, and one of them runs it
def tree_of(name: str) -> ast.Module:
    """The syntax of a module."""
    return ast.parse((ROOT / MODULES[name]).read_text(encoding="utf-8"))


@cache
def imports_of(name: str) -> set[str]:
    """The modules of ours that a module imports, wherever in the file."""
    return {used for used in imported_modules(name) if used in MODULES}


def imported_modules(name: str) -> Iterator[str]:
    """The same, with what `from package import name` may mean."""
    for node in ast.walk(tree_of(name)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in MODULES)
        elif isinstance(node, ast.ImportFrom) and node.module:
            module = f"{name.rpartition('.')[0]}.{node.module}" if node.level else node.module
            for alias in node.names:
                # `from package import module` imports the module, not the package's face
                nearest = f"{module}.{alias.name}"
                yield nearest if nearest in MODULES else module


def package_of(name: str) -> str:
    """The package of a module: `apis`."""
    first, _, rest = name.partition(".")
    return first if first in FOLDERS else rest.partition(".")[0]


def room(name: str) -> str:
    """
    The folder of a module, or the package's name for its face.

    The modules of controller/runtime itself put the parts in its folders together: each is a room of its own.
    """
    path = MODULES[name]
    joins = path.parent == RUNTIME and path.name != "__init__.py"
    return str(path if joins else path.parent)


def test_imports_point_one_way() -> None:
    """A module imports its own package and those before it, never a later one."""
    wrong = [
        (name, used)
        for name in MODULES
        for used in imports_of(name)
        if package_of(used) not in MAY_IMPORT[package_of(name)]
    ]
    assert not wrong


def test_only_the_public_path_of_exploration_leads_to_it() -> None:
    """Whoever has handloop alone can import every other module of the testing kit that needs no sandbox."""
    ours = {name for name in MODULES if package_of(name) not in FOLDERS}
    found = {name for name in ours for used in imports_of(name) if package_of(used) in (EXPLORE, LEARN)}
    assert found == set(HANDS_ON)


def test_who_imports_the_workqueue_wants_a_queue() -> None:
    """It holds queues, their order, their rate limiters and their metrics; what all parts use is in seams."""
    assert {path.stem for path in FILES.values() if path.parts[0] == "workqueue"} == {
        "queue",
        "rate_limiting_queue",
        "rate_limiters",
        "queue_metrics",
        "priority_queue",
        "schedule",
    }


def test_the_runtime_knows_no_example_and_no_program() -> None:
    """controller/runtime stands alone; an example and the command line know only it, and not each other."""
    wrong = [
        (name, used)
        for name, path in FILES.items()
        if path.parts[0] == "controller" and len(path.parts) > 2
        for used in imports_of(name)
        if used.startswith("handloop.controller.")
        and used.split(".")[2] not in ROOMS_OF_THE_CONTROLLER[path.parts[1]]
    ]
    assert not wrong


def test_the_parts_of_the_sandbox_point_one_way() -> None:
    """A part imports itself and those before it in the list, and never the modules that join the parts."""
    wrong = []
    for index, part in enumerate(PARTS_OF_THE_SANDBOX):
        allowed = {f"sandbox/{SANDBOX}/{name}" for name in PARTS_OF_THE_SANDBOX[: index + 1]}
        inside = [name for name, path in FILES.items() if path.parts[1:3] == (SANDBOX, part)]
        assert inside, part
        used = {(name, used) for name in inside for used in imports_of(name) if used in FILES}
        wrong += [
            pair for pair in used if room(pair[1]).startswith("sandbox") and room(pair[1]) not in allowed
        ]
    assert not wrong


def test_no_module_imports_the_face_of_its_own_package() -> None:
    """`from handloop.client import X` inside client would tie a knot through the package's root."""
    faces = {name: name[: name.index(package_of(name))] + package_of(name) for name in FILES}
    assert not [name for name in FILES if faces[name] in imports_of(name)]


def test_there_is_no_circle_of_modules() -> None:
    """Modules can be put in an order in which each imports only earlier ones."""
    assert circle({name: imports_of(name) - {name} for name in MODULES}) == []


def test_there_is_no_circle_of_folders() -> None:
    """Nor do folders import each other, a folder and its subfolders included."""
    folders: dict[str, set[str]] = {}
    for name in FILES:
        folders.setdefault(room(name), set()).update(room(used) for used in imports_of(name) if used in FILES)
    assert circle({folder: used - {folder} for folder, used in folders.items()}) == []


def test_the_runtime_is_rooms_and_what_joins_them() -> None:
    """Nine files: what puts a controller and a process together, and what a reconcile returns."""
    flat = {path.stem for path in FILES.values() if path.parent == RUNTIME}
    joins = {"builder", "controller_spec", "assembly", "manager", "lifetime", "roster", "process_services"}
    assert flat == {*joins, "servers", "reconcile"}


def circle(graph: dict[str, set[str]]) -> list[str]:
    """A circle in the graph, or []."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_a_module_is_named_after_a_noun() -> None:
    """A name that is a job collects everything without a place."""
    assert not [name for name, path in FILES.items() if path.stem in NOT_A_NOUN]


def test_a_module_that_does_something_has_its_tests() -> None:
    """
    tests/<package>/test_<module>.py, for each module with a function in it that is no Protocol's.

    One test_rules.py replays the recorded judgements for all rules of the sandbox.
    """
    missing = [
        name
        for name, path in FILES.items()
        if path.stem not in NO_TESTS_OF_THEIR_OWN
        and does_something(tree_of(name))
        and not (folder_of_tests(path) / f"test_{path.name}").exists()
        and not (folder_of_tests(path).parent / f"test_{path.parent.name}.py").exists()
    ]
    assert not missing


def folder_of_tests(path: Path) -> Path:
    """The folder of a module's tests: its own below the package."""
    if path.parts[1] in UNIT_TESTS:
        folder, package, *rooms = path.parent.parts
        return ROOT.joinpath(folder, "tests", UNIT_TESTS[package], *rooms)
    return (
        ROOT / "tests" / (path.parent.relative_to("handloop") if path.parts[0] == "handloop" else path.parent)
    )


def does_something(tree: ast.Module) -> bool:
    """Whether there is a function with more in it than its docstring."""
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    return any(len(node.body) > 1 or not ast.get_docstring(node) for node in functions)


def test_a_test_states_its_claim() -> None:
    """Every test function has a docstring: the one sentence that it proves."""
    silent = [
        f"{path.relative_to(ROOT)}: {node.name}"
        for folder in TESTS
        for path in folder.rglob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_") and not ast.get_docstring(node)
    ]
    assert not silent


def test_no_docstring_begins_with_an_id() -> None:
    """Such as WQ-01 or T12: its table would be elsewhere. The errors E01 to E16 have theirs in errors.md."""
    begin = re.compile(r"\s*(?!E\d\d\b)(?:[A-Z]{1,5}-|[A-Z])\d\d?\b")
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for folder in TESTS
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and begin.match(str(node.value.value))
    ]
    assert found == []


def test_tests_are_no_package() -> None:
    """An __init__.py under tests would make two modules of one file."""
    assert not [path for folder in TESTS for path in folder.rglob("__init__.py")]


def test_no_escape_from_the_layering() -> None:
    """
    Neither relative imports nor `if TYPE_CHECKING:`: the order can be read from the source.

    But within the folder that has two names, of a neighbour beside one.
    """
    relative = [
        name
        for name in MODULES
        for node in ast.walk(tree_of(name))
        if isinstance(node, ast.ImportFrom) and node.level > name.startswith(f"{SHARED}.")
    ]
    hidden = [name for name, path in MODULES.items() if "TYPE_CHECKING" in (ROOT / path).read_text("utf-8")]
    assert not relative + hidden


def test_the_links_of_the_package_are_the_folders() -> None:
    """handloop/<folder> is the folder beside it: one source, one import name."""
    links = {path.name: path.resolve() for path in (ROOT / "handloop").iterdir() if path.is_symlink()}
    assert links == {name: ROOT / name for name in LINKS}


def test_the_sandbox_needs_no_handloop() -> None:
    """It has the grammar of the API by a link, and that imports only itself."""
    assert (ROOT / "sandbox" / SANDBOX / "grammar").resolve() == ROOT / "apis/grammar"
    inside = [name for name in MODULES if name.startswith(f"{SHARED}.")]
    assert {used for name in inside for used in imports_of(name)} <= {SHARED, *inside}
    assert inside


def test_the_tests_of_handloop_need_none_of_the_neighbours() -> None:
    """They use support/ of their own; the neighbours' tests may use that, too."""
    theirs = {path.stem for tests in TESTS[1:] for path in (tests / "support").rglob("*.py")}
    used = {
        found
        for path in (ROOT / "tests").rglob("*.py")
        for found in re.findall(r"^from support\.\w+\.(\w+) import", path.read_text("utf-8"), re.MULTILINE)
    }
    assert theirs
    assert not used & theirs


def test_a_module_names_its_decision() -> None:
    """By the words of docs/internals/decisions.md, as the last line of the module's docstring."""
    page = (ROOT / "docs/internals/decisions.md").read_text(encoding="utf-8")
    decisions = re.findall(r"^\*\*(.+?)\.\*\*", page, re.MULTILINE)
    named = [
        line.removeprefix("Decision: ").removesuffix(".")
        for folder in (*LINKS, "handloop/seams")
        for path in (ROOT / folder).rglob("*.py")
        for line in (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").splitlines()[-1:]
        if line.startswith("Decision:")
    ]
    assert set(named) <= set(decisions)
    assert len(named) == len(set(named)) >= 20
