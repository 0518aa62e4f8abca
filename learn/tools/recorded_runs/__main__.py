"""
Renews the live page's recordings: `python -m tools.recorded_runs [NAME ...]`. Without a name, it renews all.

It writes them to docs/live-page/runs, prints a summary of each, and writes the page with all recordings. With
`--retell`, it keeps the steps, so that their addresses stay valid, and renews only the sentences. With
`--page`, it writes only the page.
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
