"""
Makes the recorded runs of the live page anew: `python -m tools.recorded_runs [NAME ...]`, no name = all.

It writes docs/live-page/runs, and prints what is in each.
"""

from __future__ import annotations

import sys

from handloop.walkthrough.quiet_logs import quiet_logs
from tools.recorded_runs.catalog import RUNS
from tools.recorded_runs.recording import recording
from tools.recorded_runs.scripts import SCRIPTS
from tools.recorded_runs.shelf import write

with quiet_logs():
    for run in RUNS:
        if run.name in (sys.argv[1:] or SCRIPTS):
            document = recording(run, SCRIPTS[run.name]())
            size = write(document)
            steps, seconds = document["steps"], document["steps"][-1]["t"]
            print(f"{run.name}: {len(steps)} steps in {seconds:.1f} s, {size:,} bytes, {document['marks']}")  # noqa: T201
