"""sandbox/docs/with-python.md: other people's tests pass on the server that sandbox/README.md starts."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from handloop.testing.eventually import eventually as until

ROOT = Path(__file__).parents[3]
TEXT = "".join((ROOT / "sandbox" / page).read_text("utf-8") for page in ("README.md", "docs/with-python.md"))
BLOCKS = dict(re.findall(r"^```\w+ (\S+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL))
PATHS = {"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]}


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Iterator[Path]:
    """That of the server, which runs in this folder; Ctrl-C ends it in order."""
    _pip, command = BLOCKS["start"].splitlines()
    _python, *words = command.split()
    path = tmp_path / ".sandbox" / "kubeconfig"
    with subprocess.Popen(
        [sys.executable, *words], cwd=tmp_path, env={**PATHS, "HOME": str(tmp_path)}, stderr=subprocess.PIPE
    ) as server:
        try:
            until(path.exists, "ready", seconds=60)
            yield path
        finally:
            server.send_signal(signal.SIGINT)
            _, said = server.communicate(timeout=60)
    assert server.returncode == 0
    assert not path.exists()
    assert b"export USE_EXISTING_CLUSTER=true" in said


def test_the_tests_of_the_page_pass(kubeconfig: Path, tmp_path: Path) -> None:
    """Those of lightkube, kopf and kr8s, with no more than the two variables."""
    files = {name: text for name, text in BLOCKS.items() if name.endswith(".py")}
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    script = f'{BLOCKS["variables"]}"{sys.executable}" -m pytest -q -p no:cacheprovider -p no:randomly'
    done = subprocess.run(
        ["bash", "-ec", script],
        cwd=tmp_path,
        env={**PATHS, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{sum(text.count('def test_') for text in files.values())} passed" in done.stdout
    assert kubeconfig.exists()
