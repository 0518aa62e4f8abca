"""
Re-records the live page's runs, or only those named: `python -m tools.recorded_runs [NAME ...]`.

The tool writes the recordings to docs/live-page/runs, prints a summary of each, and then writes the page
with all recordings. `--retell` keeps the steps, so that their addresses stay valid, and updates only the
sentences. `--page` writes only the page.
"""

from __future__ import annotations

import sys

from handloop.seams.quiet_logs import quiet_logs
from tools.recorded_runs.catalog import RUNS
from tools.recorded_runs.page import write_live_page
from tools.recorded_runs.recording import recording, retold
from tools.recorded_runs.scripts import SCRIPTS
from tools.recorded_runs.shelf import read, write

names = {word for word in sys.argv[1:] if not word.startswith("--")}
for run in RUNS:
    if "--page" not in sys.argv and run.name in (names or SCRIPTS):
        with quiet_logs():
            document = (
                retold(run, read(run.name)) if "--retell" in sys.argv else recording(run, SCRIPTS[run.name]())
            )
        size = write(document)
        steps, seconds = document["steps"], document["steps"][-1]["t"]
        print(f"{run.name}: {len(steps)} steps in {seconds:.1f} s, {size:,} bytes, {document['marks']}")  # noqa: T201
write_live_page()
