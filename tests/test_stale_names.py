"""The files, modules and names of ours that docstrings, comments, workflows and pages name are there."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path, PurePath
from typing import Final

from handloop.controller.cli.extensions import NEIGHBOURS

ROOT: Final = Path(__file__).parent.parent
ROOTS: Final = (ROOT, *(ROOT / folder for folder in NEIGHBOURS))
"""Of the four projects, for imports."""
RUNTIME: Final = Path("controller/runtime")
NOT_OURS: Final = {"build", "CHANGELOG.md"}
"""Made; and the history, which may name what is gone."""
OF_USERS: Final = {
    *("as-greeter.yaml", "crd.yaml", "foo.py", "k.yaml", "rbac.yaml", "monitoring.yaml"),
    *("Chart.yaml", "values.yaml", "values.schema.json", "manifests/charts"),
    *("manifests/GROUP_PLURAL.yaml", "manifests/NAME_KIND.yaml", "metadata/properties.yaml"),
    *("report.html", "runs/index.html", "fixtures.yaml", "types_v1beta1.py"),
    *("views/certificate.py", "my_operator/views/certificate.py"),
    *("controllers.py", "my_operator/controllers.py", "memcached_operator/controllers.py"),
    *("my_operator/site/types.py", "my_operator/site/reconciler.py", "/app/greeter.py"),
    *(
        "manifests/greeter.clusterserviceversion.yaml",
        "manifests/bundle",
        "metadata/annotations.yaml",
        "annotations.yaml",
    ),
}
"""Files that users make, or a command for them; beside the blocks of the docs that have a name."""
OF_OTHERS: Final = {
    *("docs/design/operator-bundle.md", "build/docs/index.html", "build/docs/live-page/index.html")
}
"""Of operator-framework; and pages that a build makes."""
FILE: Final = re.compile(
    r"(?<![\w./:*<{$)-])(?:\.\.?/)*(/?[\w./-]*\w\.(?:pyi?|md|ya?ml|toml|sh|html))\b(?![\w/(])"
)
FOLDER: Final = re.compile(r"`([\w.-]+(?:/[\w.-]+)+)/?`")
COMMENT: Final = re.compile(r"(?:^|\s)# .*$", re.MULTILINE)
COMMAND: Final = re.compile(
    r"python -m ((?:handloop(?:_sandbox|_explore|_learn)?|tools|benchmarks|examples)(?:\.\w+)*)"
)
DOTTED: Final = re.compile(
    r"(?<![\w./-])handloop(?:_sandbox|_explore|_learn)?\.(?!egg-info|v\d|dev/)\w+(?:\.\w+)*"
)
MAP_LINE: Final = re.compile(r"^    (?P<names>[a-z_]+(?:, [a-z_]+)*)  +\S", re.MULTILINE)


def files() -> Iterator[Path]:
    """Every file of ours, relative to the root; a link to a folder is not followed."""
    hidden = (".github", ".ci")
    for entry in ROOT.iterdir():
        if entry.name in NOT_OURS or (entry.name.startswith(".") and entry.name not in hidden):
            continue
        found = [entry] if entry.is_file() else entry.rglob("*")
        yield from (path.relative_to(ROOT) for path in found if path.is_file())


FILES: Final = tuple(sorted(files()))


@cache  # at first use: every worker of a run collects this file, and one of them runs it
def ends() -> frozenset[str]:
    """Each file and folder by each end of its path."""
    every = {path for file in FILES for path in (file, *file.parents)}
    return frozenset("/".join(path.parts[at:]) for path in every for at in range(len(path.parts)))


@cache
def words() -> dict[Path, str]:
    """What people read of each file: of Python its docstrings and comments, of other texts all."""
    return {path: words_of(path) for path in FILES if path.suffix in {".py", ".pyi"} or is_text(path)}


def is_text(path: PurePath) -> bool:
    """Whether a file that is not Python has words."""
    return path.suffix in {".md", ".yaml", ".toml", ".sh"} or path.name in {"Makefile", "Dockerfile", "run"}


def words_of(path: Path) -> str:
    """The words of one file."""
    text = (ROOT / path).read_text(encoding="utf-8")
    if path.suffix not in {".py", ".pyi"}:
        return text
    strings = [
        node.value.value
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    ]
    return "\n".join([*strings, *COMMENT.findall(text)])


def missing(pattern: re.Pattern[str], there: Callable[[str], bool]) -> list[str]:
    """`place: name` of each name that the pattern finds and that is not there."""
    return [
        f"{place}: {name}"
        for place, text in words().items()
        for name in sorted(set(pattern.findall(text)))
        if not there(name)
    ]


def test_a_file_that_words_name_is_there() -> None:
    """By the end of its path; a block of the docs with a name is a file, too."""
    blocks = {
        name
        for path, text in words().items()
        if path.suffix == ".md"
        for name in re.findall(r"^```\w+ (\S+)$", text, re.MULTILINE)
    }
    known = ends() | blocks | OF_USERS | OF_OTHERS
    assert missing(FILE, lambda name: name in known or (ROOT / name).exists()) == []


def test_a_folder_that_words_name_is_there() -> None:
    """A path in backquotes, where it begins with an entry of the root; Go's files are client-go's."""
    entries = {path.parts[0] for path in FILES}

    def there(name: str) -> bool:
        ours = (
            name.partition("/")[0] in entries
            and not name.endswith(".go")
            and name not in OF_USERS | OF_OTHERS
        )
        return not ours or name in ends() or (ROOT / name).exists()

    assert missing(FOLDER, there) == []


def test_a_module_that_words_run_is_there() -> None:
    """`python -m` with a module of ours."""

    def there(name: str) -> bool:
        paths = [root / name.replace(".", "/") for root in ROOTS]
        return any(path.with_suffix(".py").is_file() or (path / "__main__.py").is_file() for path in paths)

    assert missing(COMMAND, there) == []


def test_a_dotted_name_is_there() -> None:
    """A module, class or function of ours that words name in full."""
    assert missing(DOTTED, resolves) == []


def resolves(name: str) -> bool:
    """Whether a dotted name is a module of ours, or something that stands in one."""
    parts = name.split(".")
    root = ROOT / parts[0].partition("_")[2]
    for length in range(len(parts), 0, -1):
        path = root.joinpath(*parts[:length])
        module = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        if module.is_file():
            source = module.read_text(encoding="utf-8")
            return all(re.search(rf"\b{part}\b", source) for part in parts[length:])
    return False


def test_the_map_of_the_runtime_has_its_modules() -> None:
    """The docstring of controller/runtime lists all modules of the folder, each once, and no other."""
    text = words()[RUNTIME / "__init__.py"]
    listed = [name for line in MAP_LINE.finditer(text) for name in line["names"].split(", ")]
    modules = {path.stem for path in FILES if path.parent == RUNTIME and path.suffix == ".py"}
    assert sorted(listed) == sorted(modules - {"__init__"})


def test_each_folder_of_the_root_has_its_row() -> None:
    """In ARCHITECTURE's table."""
    table = words()[Path("ARCHITECTURE.md")]
    folders = {path.parts[0] for path in words() if len(path.parts) > 1} - {".ci", ".github", "dist"}
    assert [name for name in folders if not re.search(rf"^\|.*`{name}/", table, re.MULTILINE)] == []
