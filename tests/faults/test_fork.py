"""A process that is forked while a manager runs: its threads stay behind."""

from __future__ import annotations

import subprocess
import sys
from typing import Final

PROGRAM: Final = """
import os, threading
from prometheus_client import CollectorRegistry
from handloop.apis.core_v1 import Service
from handloop.controller.runtime.manager import Manager
from handloop.client.resource_client import Client
from handloop.seams.locks import set_lock_factory
from handloop_sandbox.server import Sandbox

locks = []

def kept_lock(name, rank):
    locks.append(threading.Lock())
    return locks[-1]

set_lock_factory(kept_lock)
stop = threading.Event()
manager = Manager(Client(Sandbox(token="").transport(), stop=stop), registry=CollectorRegistry())
manager.lister_for(Service)
running = threading.Thread(target=manager.run, args=(stop,))
running.start()
informer = manager.informer_for(Service)
while not informer.has_synced():
    stop.wait(0.01)
child = os.fork()
if child == 0:
    for lock in locks:  # as if threads of the parent had held them
        lock.acquire(blocking=False)
    try:
        manager.run(stop)
    except Exception as error:
        print(error, flush=True)
    os._exit(0)
os.waitpid(child, 0)
stop.set()
running.join()
"""


def test_a_manager_that_runs_is_refused_to_a_child() -> None:
    """It has the manager of its parent, and of its threads none, but the locks that they held."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "once" in done.stdout
