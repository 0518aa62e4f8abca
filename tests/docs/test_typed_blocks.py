"""Every block of Python in the docs, and a new project, as an author's type checkers see them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Final

import pytest

from handloop.controller.cli.project import Project
from support.checks.docs_page import DOCS

ROOT: Final = DOCS.parent
# mypy reads kopf for some ten seconds
_OF_OTHERS: Final = ROOT / "sandbox/docs/with-python.md"
PAGES: Final = {
    # chapters show pieces of the source, which is checked itself
    *(page for page in DOCS.rglob("*.md") if page.parent.name != "chapters"),
    *ROOT.glob("examples/*/README.md"),
    *(page for project in ("explore", "sandbox") for page in ROOT.glob(f"{project}/docs/*.md")),
}


def blocks_of(pages: Collection[Path]) -> dict[str, str]:
    """The blocks by their file names; one without a name gets one."""
    blocks: dict[str, str] = {}
    for page in pages:
        text = page.read_text(encoding="utf-8")
        found = re.findall(r"^```python ?(\S*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        for number, (given, block) in enumerate(found):
            name = given or f"{page.parent.name}_{page.stem}_{number}.py".replace("-", "_")
            assert name not in blocks, f"two blocks are {name}"
            blocks[name] = block
    return blocks


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all blocks: some import the program of another page."""
    made = tmp_path_factory.mktemp("blocks")
    for name, block in blocks_of(PAGES).items():
        (made / name).write_text(block, encoding="utf-8")
    return made


def checked(folder: Path, *command: str) -> str:
    """A type checker's output on a folder."""
    ended = subprocess.run(
        command,
        cwd=folder,
        env={"MYPYPATH": str(ROOT), "PATH": "/usr/local/bin:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return ended.stdout + ended.stderr


@pytest.mark.parametrize(
    "pages",
    [
        pytest.param(PAGES - {_OF_OTHERS}, id="handloop"),
        pytest.param({_OF_OTHERS}, id="others", marks=pytest.mark.nightly),
    ],
)
def test_mypy_is_content_with_every_block(folder: Path, pages: Collection[Path]) -> None:
    """With --strict."""
    options = ("--strict", "--follow-imports=silent", "--cache-dir=/dev/null")
    names = sorted(blocks_of(pages))
    said = checked(folder, sys.executable, "-m", "mypy", *options, *names)
    assert said.startswith(f"Success: no issues found in {len(names)} source files"), said


def test_pyright_is_content_with_every_block_and_a_new_project(folder: Path, tmp_path: Path) -> None:
    """As it comes, without settings. CI installs it, as it is no package of Python."""
    pyright = shutil.which("pyright")
    if pyright is None:
        pytest.skip(
            "pyright is not on PATH: npm ci --prefix tools/pyright puts it into node_modules/.bin there"
        )
    project = Project.new(tmp_path / "my-operator", "example.com")
    list(project.write())
    list(project.add_api(group="web", version="v1", kind="Site"))
    shutil.copytree(folder, tmp_path / "blocks")  # what it includes is below its own folder
    paths = ["blocks", project.folder.name, str(ROOT)]
    settings = {"extraPaths": paths, "typeCheckingMode": "standard"}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    said = checked(tmp_path, pyright, "--pythonpath", sys.executable, "--outputjson", "-p", str(tmp_path))
    report, _ = json.JSONDecoder().raw_decode(said[said.index("{") :])
    assert report["generalDiagnostics"] == []
    assert report["summary"]["filesAnalyzed"] > len(blocks_of(PAGES))
