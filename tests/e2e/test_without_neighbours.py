"""handloop as `pip install handloop` leaves it, without its neighbours."""

from __future__ import annotations

import io
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from handloop.controller.cli.own_wheel import own_wheel
from support.rigs.foo_story import wait_available
from support.rigs.program import SECONDS, inherited
from support.servers.cluster import Cluster, arguments_for, foo


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """The interpreter of an environment with handloop's wheel and with what it needs of others."""
    folder = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    zipfile.ZipFile(io.BytesIO(own_wheel()[1])).extractall(site)
    # the lines of .pth files there lead on to nothing: the checkout's sandbox is out of reach
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return folder / "bin/python"


def test_it_runs_a_controller(python: Path, cluster: Cluster, tmp_path: Path) -> None:
    """A Foo gets its Deployment, on the server that there is."""
    command = [str(python), "-m", "handloop", *arguments_for(cluster)]
    environment = {"HOME": str(tmp_path), **inherited()}
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL) as program:
        try:
            cluster.create(cluster.foos, foo("alone", {"deploymentName": "alone", "replicas": 1}))
            wait_available(cluster, "alone", 1)
        finally:
            program.terminate()
        assert program.wait(SECONDS) == 0


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (["sandbox"], "sandbox"),
        (["--sandbox"], "sandbox"),
        (["init", "x", "--domain", "a.b"], "sandbox"),
        (["walkthrough", "1"], "learn"),
        (["explore", "x:set_up"], "explore"),
    ],
)
def test_what_needs_a_neighbour_shows_how_to_get_it(
    words: list[str], extra: str, python: Path, tmp_path: Path
) -> None:
    """In one sentence and no traceback; it exits with 2."""
    command = [str(python), "-m", "handloop", *words]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "not installed" in ended.stderr
    assert f'pip install "handloop[{extra}]"' in ended.stderr
    assert "Traceback" not in ended.stderr
