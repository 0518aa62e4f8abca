"""
Runs a soak test: `make soak SOAK=30m`, or `python -m soak --seconds=30m`.

It writes the server's log, the processes' logs and its own record to build/soak, and the results to
docs/soak.md.

Exit codes: 0 = all invariants hold; 1 = an invariant is violated.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path
from typing import Final

import msgspec

from handloop.controller.cli.values import duration
from soak.judge import Evidence, resources, verdicts
from soak.page import drawing, page
from soak.record import Record
from soak.run import LOG, NAMESPACE, control_plane, soak
from soak.server_log import read
from support.rigs.program import ROOT

_RECORD: Final = "record.json"


def main() -> int:
    """Run and judge a soak, or judge an earlier one. Returns: the exit code."""
    given = _parser().parse_args()
    folder: Path = given.folder.resolve()
    if not given.again:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        with control_plane(given.controlplane.resolve(), folder, NAMESPACE) as kubeconfig:
            done = soak(kubeconfig, folder, seconds=given.seconds, seed=given.seed)
        (folder / _RECORD).write_bytes(msgspec.json.encode(done))
    record = msgspec.json.decode((folder / _RECORD).read_bytes(), type=Record)
    evidence = Evidence(record, list(read(folder / LOG)))
    findings = verdicts(evidence)
    for one in findings:
        lines = (f"{'no ' if one.wrong else 'yes'}  {one.invariant}: {one.figure}", *one.wrong[:10])
        sys.stdout.write("\n       ! ".join(lines) + "\n")
    figures = resources(evidence)
    requests = sum(bool(one.agent) for one in evidence.entries)
    (given.page / "soak.md").write_text(page(record, findings, figures, requests), encoding="utf-8")
    (given.page / "soak.svg").write_text(drawing(record), encoding="utf-8")
    sys.stdout.write(f"written to {given.page}/soak.md\n")
    return any(one.wrong for one in findings)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="soak")
    parser.add_argument(
        "--seconds", type=duration, default="30m", help="how long users and faults are active (30m)"
    )
    parser.add_argument("--seed", type=int, default=1, help="the seed of the plan of changes and faults (1)")
    parser.add_argument(
        "--controlplane", type=Path, default=ROOT / "../shared/controlplane", help="folder of up and down"
    )
    parser.add_argument(
        "--folder", type=Path, default=ROOT / "build/soak", help="for logs; emptied at the beginning"
    )
    parser.add_argument("--page", type=Path, default=ROOT / "docs", help="folder of the page")
    parser.add_argument("--again", action="store_true", help="judge the earlier run in the folder")
    return parser


sys.exit(main())
