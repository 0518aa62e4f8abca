"""handloop: a shared informer as in a program, and one handler that adds keys to a workqueue."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from meter import EVENT_TIMEOUT_SECONDS, Meter, report

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

PROGRAM_OPTIONS = InformerOptions(abridged=ABRIDGED)


def main(options: InformerOptions) -> None:
    """List, and then receive events until the handler has received all of them."""
    port, objects, events = (int(argument) for argument in sys.argv[1:4])
    api = Client(HTTPTransport(ClientConfig(host=f"http://127.0.0.1:{port}")))
    factory = SharedInformerFactory(api, options=options)
    informer = factory.informer_for(Deployment)
    queue: Queue[object] = Queue()
    stop, synced, done = threading.Event(), threading.Event(), threading.Event()
    added = updated = 0

    def on_add(obj: Deployment) -> None:
        nonlocal added
        queue.add(object_name(obj))
        added += 1
        if added == objects:
            synced.set()

    def on_update(_old: Deployment, obj: Deployment) -> None:
        nonlocal updated
        queue.add(object_name(obj))
        updated += 1
        if updated == events:
            done.set()

    informer.add_event_handler(ResourceEventHandlerFuncs(add_func=on_add, update_func=on_update))
    relax_collector()
    meter = Meter()
    factory.start(stop)
    synced.wait(EVENT_TIMEOUT_SECONDS)
    first = meter.lap()
    if events:
        done.wait(EVENT_TIMEOUT_SECONDS)
    report(sync=first, events=meter.lap())
    os._exit(0 if (added, updated) == (objects, events) else 1)


if __name__ == "__main__":
    main(PROGRAM_OPTIONS)
