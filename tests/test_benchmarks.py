"""Every benchmark still runs: with tiny sizes, and a table of what it says it measures."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from handloop_sandbox.server import Sandbox

FOLDER: Final = Path(__file__).parents[1] / "benchmarks"
Told = tuple[list[str], set[str]]
# what a script is given beside --smoke, and columns that must hold figures
DAILY: Final[dict[str, Told]] = {
    "sync_and_events.py": (["--only", "floor: msgspec", "handloop"], {"sync us", "bytes", "event us"}),
    "latency.py": ([], {"p50 ms", "p99 ms"}),
    "queue_cycles.py": ([], {"cycle us, 1 thread", "cycle us, 4 threads"}),
    "relists.py": ([], {"first MiB", "peak"}),
    "start.py": ([], {"first request ms", "first Deployment ms", "CPU ms", "MiB"}),
    "why.py": ([], {"reconcile us", "ratio"}),
    "sandbox_start.py": ([], {"wall ms", "CPU ms"}),
    "api_requests.py": ([], {"per second", "p50 ms"}),
}
NIGHTLY: Final[dict[str, Told]] = {
    "live_page.py": ([], {"event us"}),
    "memcached_side_by_side.py": ([], set()),
}
ON_A_SERVER: Final[dict[str, Told]] = {
    "reconciling.py": (["--workers", "2"], {"owners /s", "CPU ms/owner"}),
    "wire.py": ([], {"MB"}),
    "conversions.py": ([], {"stored ms", "converted ms", "more ms"}),
}
NOT_HERE: Final = {
    "memcached_side_by_side.py": "its table is on docs/kopf-side-by-side.md, once",
    "shards.py": "takes minutes, and a server without controllers",
}
PARTS: Final = {"all.py", "tables.py", "servers.py", "load_server.py", "http_load.py", "sandbox_process.py"}


def tables_of(script: str, arguments: list[str], folder: Path) -> list[dict[str, Any]]:
    """What a script measures with --smoke."""
    written = folder / "tables.json"
    command = [sys.executable, str(FOLDER / script), *arguments, "--smoke", "--json", str(written)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    tables: list[dict[str, Any]] = json.loads(written.read_text(encoding="utf-8"))
    assert all(table["title"] in done.stdout or "|" in done.stdout for table in tables)
    return tables


def check(script: str, told: Told, folder: Path) -> None:
    """A row for each subject, and figures where they should be."""
    arguments, columns = told
    for table in tables_of(script, arguments, folder):
        assert table["rows"]
        for row in table["rows"].values():
            assert all(isinstance(row[column], int | float) for column in columns & row.keys())
        assert columns <= {column for row in table["rows"].values() for column in row}


@pytest.mark.parametrize("script", DAILY)
def test_it_still_runs(script: str, tmp_path: Path) -> None:
    """In seconds, without a real server."""
    check(script, DAILY[script], tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("script", NIGHTLY)
def test_a_long_one_still_runs(script: str, tmp_path: Path) -> None:
    """It waits for Pods, or measures what others measure, too."""
    check(script, NIGHTLY[script], tmp_path)


@pytest.mark.parametrize("script", ON_A_SERVER)
def test_one_that_needs_a_server_still_runs(script: str, tmp_path: Path) -> None:
    """A sandbox will do, with TLS."""
    arguments, columns = ON_A_SERVER[script]
    with Sandbox(controllers=(), tls=True) as sandbox:
        kubeconfig = str(sandbox.write_kubeconfig(tmp_path / "kubeconfig"))
        flag = ["--kubeconfig"] if script in ("wire.py", "conversions.py") else []
        check(script, ([*flag, kubeconfig, *arguments], columns), tmp_path)


def test_no_benchmark_is_forgotten() -> None:
    """A new script runs here, too, and in `make bench`; or a line here says why not."""
    scripts = {path.name for path in FOLDER.glob("*.py")} - PARTS
    assert scripts == {*DAILY, *NIGHTLY, *ON_A_SERVER, *NOT_HERE}
    runs = set(re.findall(r"[a-z_]+\.py", (FOLDER / "all.py").read_text(encoding="utf-8")))
    assert scripts - runs == set(NOT_HERE)


def test_the_page_has_a_table_of_each_and_says_what_was_left_out(tmp_path: Path) -> None:
    """A script whose server is not there is no failure."""
    page = tmp_path / "performance.md"
    command = [sys.executable, str(FOLDER / "all.py"), "--smoke", "--page", str(page)]
    command += ["--only", "queue_cycles.py", "start.py"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("BENCH_")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    text = page.read_text(encoding="utf-8")
    assert "| handloop Queue | " in text
    assert "* `start.py`: left out: BENCH_KUBECONFIG not set" in text
