from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.rigs.program import ROOT

CONTROLPLANE = Path(os.environ.get("CONTROLPLANE", ROOT / "../shared/controlplane"))


@pytest.mark.nightly
@pytest.mark.timeout(1200)
@pytest.mark.skipif(not (CONTROLPLANE / "up").exists(), reason="CONTROLPLANE names no control plane")
def test_a_minute_of_it(tmp_path: Path) -> None:
    """Everything holds, by the log of a server of its own; the page is written."""
    folders = [f"--controlplane={CONTROLPLANE}", f"--folder={tmp_path / 'run'}", f"--page={tmp_path}"]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "tests", ROOT / "sandbox"))),
    }
    ended = subprocess.run(
        [sys.executable, "-m", "soak", "--seconds=60s", *folders],
        check=False,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "| I8 only the holder of the lease writes |" in (tmp_path / "soak.md").read_text(encoding="utf-8")
    assert "<polyline" in (tmp_path / "soak.svg").read_text(encoding="utf-8")
