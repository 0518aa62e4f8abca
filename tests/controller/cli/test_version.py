"""`version`."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from handloop.controller.cli import version as version_module
from handloop.controller.cli.version import exact_version, local_version, version, version_text
from handloop.controller.program import PROGRAM


def test_the_version_is_the_projects() -> None:
    """Three numbers, from the project file."""
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", version())


def test_text_and_json_agree() -> None:
    """One line for people, one object for programs."""
    facts = json.loads(version_text(PROGRAM, "json"))
    assert facts["handloop"] == exact_version()
    assert version_text(PROGRAM, "").startswith(f"handloop {exact_version()} (python {facts['python']}")


@pytest.mark.parametrize("beside", [None, "[tool.black]", '[project]\nname = "other"\nversion = "6"', "a["])
def test_installed_it_asks_for_its_distribution(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, beside: str | None
) -> None:
    """Some packages leave their project file among those that are installed."""
    if beside is not None:
        (tmp_path / "pyproject.toml").write_text(beside)
    monkeypatch.setattr(version_module, "__file__", str(tmp_path / "handloop/controller/cli/version.py"))
    monkeypatch.setattr("importlib.metadata.version", lambda name: f"{name}-9.9.9")
    assert version() == "handloop-9.9.9"


class Repository:
    """A repository with a package in it; what it adds to the version of a build."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.package = top / "handloop"
        self.package.mkdir(parents=True)
        (self.package / "a.py").write_text("a = 1\n")

    def git(self, *words: str) -> str:
        """Run a command of it, as somebody."""
        who = {f"GIT_{role}_{fact}": "a@b" for role in ("AUTHOR", "COMMITTER") for fact in ("NAME", "EMAIL")}
        command = ["git", "-C", str(self.top), *words]
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        return subprocess.run(
            command, env=kept | who, capture_output=True, text=True, check=True
        ).stdout.strip()

    def commit(self) -> str:
        """Commit all there is. Returns: the beginning of the commit's name."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message=more")
        return self.git("rev-parse", "--short=12", "HEAD")

    def local(self) -> str:
        return local_version(self.package, self.top)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """With one commit; no build has been told its version."""
    monkeypatch.delenv("HANDLOOP_LOCAL_VERSION", raising=False)
    made = Repository(tmp_path / "top")
    made.git("init", "--quiet")
    made.commit()
    return made


def test_a_build_of_a_clone_tells_its_commit(repository: Repository) -> None:
    """The same commit gives the same version; what Python has compiled is no change."""
    commit = repository.commit()
    assert repository.local() == repository.local() == f"+g{commit}"
    (repository.top / ".gitignore").write_text("__pycache__/\n")
    commit = repository.commit()
    (repository.package / "__pycache__").mkdir()
    (repository.package / "__pycache__/a.pyc").touch()
    assert repository.local() == f"+g{commit}"


@pytest.mark.parametrize("changed", ["a.py", "new.py"])
def test_changes_that_nobody_has_committed_are_told_by_their_content(
    repository: Repository, changed: str
) -> None:
    """Other content is another version, also of one commit, and where git does not know the file."""
    commit = repository.commit()
    found = []
    for text in ("b = 1\n", "b = 2\n", "b = 1\n"):
        (repository.package / changed).write_text(text)
        found.append(repository.local())
    assert found[0] == found[2] != found[1]
    assert all(re.fullmatch(rf"\+g{commit}\.d[0-9a-f]{{8}}", one) for one in found)


def test_without_git_the_version_says_so(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    """No program, or only a repository around the folder; the content is told all the same."""
    inner = Repository(repository.top / "vendor")
    found = {inner.local()}
    with monkeypatch.context() as without_program:
        without_program.setenv("PATH", "")
        found.add(repository.local())
    assert len(found) == 1
    assert re.fullmatch(r"\+nogit\.c[0-9a-f]{8}", found.pop())


def test_a_release_and_an_image_are_told(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a variable: the plain version, or what git said outside of the build."""
    for given in ("", "+g123456789abc"):
        monkeypatch.setenv("HANDLOOP_LOCAL_VERSION", given)
        assert repository.local() == given


def test_the_repository_of_a_hook_is_not_asked(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Git names it in the environment of its hooks."""
    expected = repository.local()
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    assert repository.local() == expected


def test_a_local_version_orders_and_fits_as_pip_reads_it() -> None:
    """The sandbox of the same version is still the one that is needed."""
    for local in ("+g1a2b3c4d5e6f", "+g1a2b3c4d5e6f.d5f0e9a1b", "+nogit.c00000001"):
        assert str(Version(f"0.1.0{local}")) == f"0.1.0{local}"
        assert Version(f"0.1.0{local}") in SpecifierSet("==0.1.0")
