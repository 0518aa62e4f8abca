"""The installation: one root name, that collides with nothing of a user's and leaves nothing behind."""

from __future__ import annotations

import email
import io
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Sequence
from itertools import chain, combinations
from pathlib import Path
from typing import Final

import pytest
from packaging.requirements import Requirement

import handloop
from handloop.controller.cli.extensions import NEIGHBOURS, install_command
from handloop.controller.cli.own_wheel import neighbour_wheels, own_wheel
from handloop.controller.cli.shipped_manifests import shipped_manifests
from support.checks.docs_page import blocks_of
from support.rigs.environment import make_environment

ROOT = Path(__file__).parent.parent
FOLDERS: Final = (
    "apis",
    "client",
    "controller",
    "informers",
    "manifests",
    "workqueue",
)

LOCAL: Final = "+g123456789abc"
COMBINATIONS: Final = [*chain.from_iterable(combinations(NEIGHBOURS, count) for count in range(4))]
OPERATOR_TEST = """
import json
import os
import signal
import subprocess
import sys
import time

from greeter import Greeting
from handloop import custom_resource_definition


def test_the_operator_runs(sandbox):
    sandbox.apply(custom_resource_definition(Greeting))
    metadata = {"name": "world", "namespace": "default"}
    greeting = {"apiVersion": "example.org/v1", "kind": "Greeting", "metadata": metadata}
    sandbox.apply({**greeting, "spec": {"name": "World"}})
    environment = {**os.environ, "KUBECONFIG": str(sandbox.kubeconfig)}
    no_servers = ["--metrics-bind-address=0", "--health-probe-bind-address=0"]
    operator = subprocess.Popen([sys.executable, "greeter.py", *no_servers], env=environment)
    try:
        deadline = time.monotonic() + 30
        while True:
            maps = sandbox.get("/api/v1/namespaces/default/configmaps")["items"]
            if any(one.get("data") == {"text": "Hello, World!"} for one in maps):
                break
            assert time.monotonic() < deadline, "the ConfigMap was not made"
            time.sleep(0.05)
    finally:
        operator.send_signal(signal.SIGINT)
    assert operator.wait(30) == 0
"""


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command that must succeed; its standard output. pip fetches nothing, by its options."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(cwd), "PIP_NO_INDEX": "1", "PIP_NO_CACHE_DIR": "1"}
    # a copy of the checkout is without git
    environment["HANDLOOP_LOCAL_VERSION"] = LOCAL
    # pytest keeps its own byte code of packages that have a plugin, and no uninstall knows of it
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    ended = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def build(source: Path, out: Path, package: str, folders: Sequence[str] = ()) -> tuple[Path, Path]:
    """The sdist and the wheel of a project, from a copy of it in which an older version was built."""
    project = ROOT if folders else ROOT / package.removeprefix("handloop_")
    source.mkdir()
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(project / name, source / name)
    for name in (package, *folders):
        ignored = shutil.ignore_patterns("__pycache__")
        # handloop's links lead to folders that are copied, too
        shutil.copytree(project / name, source / name, symlinks=bool(folders), ignore=ignored)
    renamed_since = source / "build/lib" / package / "renamed_since.py"
    renamed_since.parent.mkdir(parents=True)
    renamed_since.touch()
    code = f"import setuptools.build_meta as b; b.build_sdist({str(out)!r}); b.build_wheel({str(out)!r})"
    run(sys.executable, "-c", code, cwd=source)
    return next(out.glob(f"{package}-*.tar.gz")), next(out.glob(f"{package}-*.whl"))


class Environment:
    """A fresh environment. Its dependencies, and the pip that changes it, are the tests' own."""

    def __init__(self, folder: Path) -> None:
        self.bin = make_environment(folder)
        (self._site,) = folder.glob("lib/python*/site-packages")

    def pip(self, *arguments: str | Path) -> None:
        """Install or uninstall."""
        run(self.bin / "python", "-m", "pip", *arguments, "--quiet", cwd=self.bin)

    def names(self) -> set[str]:
        """The content of its site-packages."""
        return {path.name for path in self._site.iterdir()}

    def files(self) -> dict[str, bytes]:
        """The installed files: each file's content, but for byte code and pip's own notes."""
        notes = ("RECORD", "direct_url.json", "dependencies.pth")
        files = (path for path in self._site.rglob("*") if path.is_file())
        return {
            str(path.relative_to(self._site)): path.read_bytes()
            for path in files
            if path.name not in notes and path.suffix != ".pyc"
        }


def check_it_holds_the_same(made: Path, built: Path) -> None:
    """The wheel that `init` puts into a project is as good as the one that setuptools builds."""
    assert made.name == built.name
    ours, theirs = zipfile.ZipFile(made), zipfile.ZipFile(built)
    unlike = {name for name in ours.namelist() if name.endswith(("/METADATA", "/RECORD", "/WHEEL"))}
    assert {
        *ours.namelist(),
        next(name for name in theirs.namelist() if name.endswith("/top_level.txt")),
    } == {*theirs.namelist()}
    assert len(unlike) == 3
    for name in set(ours.namelist()) - unlike:
        assert ours.read(name).split() == theirs.read(name).split(), name
    metadata = next(name for name in unlike if name.endswith("/METADATA"))
    facts = [email.message_from_bytes(each.read(metadata)) for each in (ours, theirs)]
    for field in ("Name", "Version", "Requires-Python", "Provides-Extra"):
        assert facts[0].get_all(field) == facts[1].get_all(field)
    needs = [{str(Requirement(each)) for each in told.get_all("Requires-Dist", [])} for told in facts]
    # the one that is an extra in projects
    assert needs[0] == {each for each in needs[1] if not re.fullmatch(r"kubernetes[^;]*", each)}


@pytest.mark.timeout(900)  # pip builds and installs eight distributions
def test_an_operator_lives_beside_folders_of_our_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    The sdist and the wheel of each project install the same files, under one name.

    With them the guide runs beside folders of our names, and so does pytest; an uninstall leaves nothing.
    """
    monkeypatch.setenv("HANDLOOP_LOCAL_VERSION", LOCAL)
    sdist, wheel = build(tmp_path / "source", tmp_path / "out", "handloop", FOLDERS)
    built = {name: build(tmp_path / name, tmp_path / "out", name) for name in NEIGHBOURS.values()}
    sdists, wheels = ([files[of] for files in built.values()] for of in (0, 1))
    environment = Environment(tmp_path / "venv")
    before = environment.names()
    environment.pip("install", "--no-deps", "--no-build-isolation", "--no-compile", sdist, *sdists)
    from_sdist = environment.files()
    environment.pip("install", "--no-deps", "--force-reinstall", wheel, *wheels)
    assert environment.files() == from_sdist
    installed = {name for name in environment.names() - before if not name.endswith(".dist-info")}
    assert installed == {"handloop", *built}

    project = tmp_path / "project"
    for name in (*FOLDERS, *NEIGHBOURS):
        (project / name).mkdir(parents=True)
        (project / name / "__init__.py").write_text(
            "raise ImportError('this is not yours')\n", encoding="utf-8"
        )
    greeter = blocks_of("your-first-controller.md")["greeter.py"]
    (project / "greeter.py").write_text(greeter, encoding="utf-8")
    (project / "test_operator.py").write_text(OPERATOR_TEST, encoding="utf-8")
    (project / "pytest.ini").touch()  # no folder above it has a say
    bin_ = environment.bin
    options = ("-q", f"--rootdir={project}", "--assert=plain", "-p", "no:cacheprovider", "-p", "no:randomly")
    run(bin_ / "python", "-m", "pytest", *options, cwd=project)
    assert "handloop" in run(bin_ / "handloop", "version", cwd=project)
    assert "**leadership was lost.**" in run(bin_ / "handloop", "errors", "E12", cwd=project)
    run(bin_ / "handloop", "init", "my-operator", "--domain", "example.com", cwd=project)
    templates = ROOT / "controller/cli/templates/project"
    made = [path for path in (project / "my-operator").rglob("*") if path.is_file()]
    again = sorted((project / "my-operator/wheels").iterdir())
    shipped = [*(path for path in templates.rglob("*") if path.is_file()), *shipped_manifests("my-operator")]
    assert len(made) == len(shipped) + len(again)
    of_checkout = sorted((own_wheel(), *neighbour_wheels().values()))
    for one, copied, (name, content) in zip(sorted((wheel, *wheels)), again, of_checkout, strict=True):
        check_it_holds_the_same(copied, one)
        (project / name).write_bytes(content)
        check_it_holds_the_same(project / name, one)
    assert "delta_fifo.py:" in run(bin_ / "handloop", "walkthrough", "3", "--no-pause", cwd=project)

    assert "--bare" in run(bin_ / "python", "-m", "handloop_sandbox", "--help", cwd=project)

    environment.pip("uninstall", "--yes", "handloop", *(f"handloop-{name}" for name in NEIGHBOURS))
    assert environment.names() == before


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python with our dependencies and nothing of ours; beside it each project's wheel, unpacked."""
    folder = tmp_path_factory.mktemp("bare")
    for name, wheel in {"handloop": own_wheel(), **neighbour_wheels()}.items():
        zipfile.ZipFile(io.BytesIO(wheel[1])).extractall(folder / name)
    return Environment(folder / "venv").bin / "python"


def tried(
    python: Path, present: Iterable[str], folder: Path, *words: str
) -> subprocess.CompletedProcess[str]:
    """What a command comes to where handloop and some of its neighbours are installed."""
    paths = os.pathsep.join(str(python.parents[2] / name) for name in ("handloop", *present))
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "PYTHONPATH": f"{paths}{os.pathsep}{folder}"}
    command = [str(python), *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("present", COMBINATIONS, ids=lambda names: "+".join(names) or "none")
def test_the_projects_work_in_any_combination(bare: Path, present: tuple[str, ...], tmp_path: Path) -> None:
    """What is there works; a command of what is not ends with what to type, and no traceback."""
    page = blocks_of("your-first-controller.md")
    for name, block in {"greeter.py": "greeter.py", "hello.yaml": "greeting"}.items():
        (tmp_path / name).write_text(page[block], encoding="utf-8")
    explored = ("explore", "greeter:set_up", "--apply=hello.yaml", "--plans=2", "--page=page")
    commands = {
        "explore": (explored, {"sandbox", "explore"}),
        "walkthrough": (("walkthrough", "1", "--no-pause"), {"sandbox", "learn"}),
    }
    assert tried(bare, present, tmp_path, "-m", "handloop", "version").returncode == 0
    for name, (words, needed) in commands.items():
        ended = tried(bare, present, tmp_path, "-m", "handloop", *words)
        works = needed <= set(present)
        assert ended.returncode == (0 if works else 2), ended.stderr
        if not works:
            assert ended.stderr == f"error: {words[0]} is not installed: {install_command(name)}\n"
    ended = tried(bare, present, tmp_path, "-c", "import handloop.testing.explore.cluster")
    last = ended.stderr.splitlines()[-1:]
    told = f"ImportError: handloop.testing.explore: explore is not installed: {install_command('explore')}"
    assert last == ([] if {"sandbox", "explore"} <= set(present) else [told])
    assert (tmp_path / "page/index.html").exists() == ({"sandbox", "explore"} <= set(present))


def test_the_sandbox_needs_no_handloop(bare: Path, tmp_path: Path) -> None:
    """Who tests an operator in Go installs neither the framework nor the Kubernetes client of Python."""
    alone = "import sys, handloop_sandbox.program; print(*{name.partition('.')[0] for name in sys.modules})"
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(bare.parents[2] / "sandbox")}
    command = [str(bare), "-c", alone]
    ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert "handloop_sandbox" in ended.stdout.split()
    assert not {"handloop", "kubernetes", "structlog", "prometheus_client"} & {*ended.stdout.split()}


def test_the_face_is_lazy() -> None:
    """`import handloop` loads no module of ours nor of a library."""
    code = (
        "import sys, importlib; before = set(sys.modules); import handloop; print(*set(sys.modules) - before)"
    )
    loaded = run(sys.executable, "-c", code, cwd=ROOT).split()
    assert "handloop" in loaded
    assert {name.partition(".")[0] for name in loaded} - sys.stdlib_module_names == {"handloop"}
    assert not [name for name in loaded if name.startswith("handloop.")]


def test_the_face_is_what_type_checkers_see() -> None:
    """The face is made of the stub: each of its names exists, and the docstring has them all."""
    table = re.findall(r"^\| [a-z ]+ \| ([\w, ]+) \|$", handloop.__doc__ or "", re.MULTILINE)
    assert sorted(name for row in table[1:] for name in row.split(", ")) == sorted(handloop.__all__)
    values = {"Amount", "DONE", "Duration", "EMPTY_MAP", "ANY_FIELDS", "LIST_ATOMIC", "LIST_SET"}
    values |= {"EVENT_TYPE_NORMAL", "EVENT_TYPE_WARNING"}
    values |= {"DateTime", "MAP_ATOMIC", "NO_FORMAT", "SERVER_DEFAULT"}
    for name in handloop.__all__:
        assert getattr(handloop, name).__name__ == name if name not in values else True
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        handloop.Nothing  # type: ignore[attr-defined] # noqa: B018 - what a typing mistake gets
