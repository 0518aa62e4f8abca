"""Measures the handler's delays in handloop: an informer, a handler that adds keys, and busy workers."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from meter import EVENT_TIMEOUT_SECONDS

from handloop.apis.apps_v1 import Deployment
from handloop.client.config import ClientConfig
from handloop.client.resource_client import Client
from handloop.client.transport import HTTPTransport
from handloop.controller.bundled import ABRIDGED
from handloop.controller.runtime.life.collector import relax_collector
from handloop.informers.factory import SharedInformerFactory
from handloop.informers.handlers import ResourceEventHandlerFuncs
from handloop.informers.informer_options import InformerOptions
from handloop.informers.keys import object_name
from handloop.workqueue.queue import Queue

WORK_SECONDS = 0.0005


def work(queue: Queue[object]) -> None:
    """For each key, compute for half a millisecond, and then wait for as long, as if for a response."""
    while True:
        key = queue.get()
        end = time.perf_counter() + WORK_SECONDS
        while time.perf_counter() < end:
            json.dumps({"key": str(key)})
        time.sleep(WORK_SECONDS)
        queue.done(key)


def main() -> None:
    """List, and then receive events, each of which carries its send time in nanoseconds."""
    port, _, events, workers = (int(argument) for argument in sys.argv[1:5])
    api = Client(HTTPTransport(ClientConfig(host=f"http://127.0.0.1:{port}")))
    factory = SharedInformerFactory(api, options=InformerOptions(abridged=ABRIDGED))
    queue: Queue[object] = Queue()
    done = threading.Event()
    delays: list[int] = []

    def on_update(_old: Deployment, obj: Deployment) -> None:
        delays.append(time.time_ns() - obj.metadata.generation)
        queue.add(object_name(obj))
        if len(delays) == events:
            done.set()

    factory.informer_for(Deployment).add_event_handler(ResourceEventHandlerFuncs(update_func=on_update))
    for _ in range(workers):
        threading.Thread(target=work, args=(queue,), daemon=True).start()
    relax_collector()
    factory.start(threading.Event())
    done.wait(EVENT_TIMEOUT_SECONDS)
    print(json.dumps(delays), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
