"""A hundred thousand objects in one cache."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.nightly
def test_a_hundred_thousand_objects_fit() -> None:
    """Deployments of 4 kB with every field: at most 1.1 GiB, and a new list needs no second copy of them."""
    command = [sys.executable, str(ROOT / "benchmarks/relists.py"), "--objects", "100000", "--relists", "2"]
    done = subprocess.run(
        [*command, "--only", "pages, all fields"], check=True, capture_output=True, text=True, timeout=390
    )
    mebibytes, *ratios = done.stdout.splitlines()[-1].removeprefix("pages, all fields").split()
    assert float(mebibytes.replace(",", "")) < 1126
    assert max(float(ratio.rstrip("x")) for ratio in ratios) < 1.3
