"""What is installed: one root name, that collides with nothing of a user's and leaves nothing behind."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Final

import pytest

import handloop

ROOT = Path(__file__).parent.parent
FOLDERS: Final = ("apis", "client", "controller", "informers", "sandbox", "walkthrough", "workqueue")
GUIDE = (ROOT / "docs/your-first-controller.md").read_text(encoding="utf-8")

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
    """Run a command that must succeed; its standard output. Nothing is fetched: pip is told so."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(cwd), "PIP_NO_INDEX": "1", "PIP_NO_CACHE_DIR": "1"}
    # pytest keeps its own byte code of packages that have a plugin, and no uninstall knows of it
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    ended = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.fixture(params=["wheel", "sdist"])
def archive(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The wheel or the sdist, built from a copy of what belongs to the repository."""
    source, out = tmp_path / "source", tmp_path / "out"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    for name in ("handloop", *FOLDERS):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, source / name, symlinks=True, ignore=ignored)
    code = f"import setuptools.build_meta as b, sys; b.build_{request.param}(sys.argv[1])"
    run(sys.executable, "-c", code, out, cwd=source)
    (built,) = out.iterdir()
    return built


def site_packages(environment: Path) -> Path:
    """Where an environment keeps what is installed into it."""
    return next(environment.glob("lib/python*/site-packages"))


def names_in(folder: Path) -> set[str]:
    """What stands in a folder."""
    return {path.name for path in folder.iterdir()}


@pytest.fixture
def environment(archive: Path, tmp_path: Path) -> tuple[Path, set[str]]:
    """A fresh environment with handloop in it, and what was in it before. Dependencies are the tests' own."""
    folder = tmp_path / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=tmp_path)
    site = site_packages(folder)
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    before = names_in(site)
    pip(folder, "install", "--no-deps", "--no-build-isolation", archive)
    return folder, before


def pip(environment: Path, *arguments: str | Path) -> None:
    """The tests' pip on another environment."""
    target = ("--python", environment / "bin/python")
    run(sys.executable, "-m", "pip", *target, *arguments, "--quiet", cwd=environment)


def test_an_operator_lives_beside_folders_of_our_names(
    environment: tuple[Path, set[str]], tmp_path: Path
) -> None:
    """Beside folders of the same names the guide runs, and so does pytest; an uninstall leaves nothing."""
    folder, before = environment
    python, site = folder / "bin/python", site_packages(folder)
    installed = {name for name in names_in(site) - before if not name.endswith(".dist-info")}
    assert installed == {"handloop"}

    project = tmp_path / "project"
    for name in FOLDERS:
        (project / name).mkdir(parents=True)
        (project / name / "__init__.py").write_text(
            "raise ImportError('this is not yours')\n", encoding="utf-8"
        )
    block = re.search(r"^```python greeter.py\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
    assert block is not None
    (project / "greeter.py").write_text(block[1], encoding="utf-8")
    (project / "test_operator.py").write_text(OPERATOR_TEST, encoding="utf-8")
    run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", cwd=project)
    assert "handloop" in run(folder / "bin/handloop", "version", cwd=project)
    assert "delta_fifo.py:" in run(folder / "bin/handloop", "walkthrough", "3", "--no-pause", cwd=project)

    pip(folder, "uninstall", "--yes", "handloop")
    assert names_in(site) == before


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
    """Each name of the face exists, is in the stub and in the docstring, and nothing else is."""
    stub = (ROOT / "handloop/__init__.pyi").read_text(encoding="utf-8")
    assert set(re.findall(r'^    "(\w+)",$', stub, re.MULTILINE)) == set(handloop.__all__)
    table = re.findall(r"^\| [a-z ]+ \| ([\w, ]+) \|$", handloop.__doc__ or "", re.MULTILINE)
    assert sorted(name for row in table[1:] for name in row.split(", ")) == sorted(handloop.__all__)
    for name in handloop.__all__:
        assert getattr(handloop, name).__name__ == name if name not in {"DONE", "EMPTY_MAP"} else True
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        handloop.Nothing  # type: ignore[attr-defined] # noqa: B018 - what a typing mistake gets
