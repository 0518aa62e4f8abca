"""A hundred thousand objects in one cache."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.nightly
def test_a_hundred_thousand_objects_fit(tmp_path: Path) -> None:
    """Deployments of 4 kB with every field: at most 1.1 GiB, and a new list needs no second copy of them."""
    tables = tmp_path / "tables.json"
    command = [sys.executable, str(ROOT / "benchmarks/relists.py"), "--objects", "100000", "--relists", "2"]
    command += ["--only", "pages, all fields", "--json", str(tables)]
    subprocess.run(command, check=True, timeout=390)
    mebibytes, *ratios = json.loads(tables.read_text())[0]["rows"]["pages, all fields"].values()
    assert mebibytes < 1126
    assert max(ratios) < 1.3
