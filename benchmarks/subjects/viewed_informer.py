"""handloop's informer as in handloop_informer.py, while a viewer in another process reads the live page."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from handloop_informer import PROGRAM_OPTIONS, main

from handloop_learn.live.guard import LOOPBACK_NAMES
from handloop_learn.live.server import LiveServer

VIEWER = """
import sys, urllib.request
with urllib.request.urlopen(sys.argv[1]) as stream:
    print(stream.readline(), flush=True)
    while stream.read1(65536):
        pass
"""


if __name__ == "__main__":
    server = LiveServer("127.0.0.1", 0, names=LOOPBACK_NAMES, controls=False)
    server.start()
    url = f"http://127.0.0.1:{server.port}/debug/live/events"
    viewer = subprocess.Popen([sys.executable, "-c", VIEWER, url], stdout=subprocess.PIPE)
    assert viewer.stdout is not None
    viewer.stdout.readline()
    main(PROGRAM_OPTIONS)
