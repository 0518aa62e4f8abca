"""The official client's SharedInformer, with one handler."""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

from kubernetes import client
from kubernetes.informer import ADDED, MODIFIED, SharedInformer
from meter import EVENT_TIMEOUT_SECONDS, Meter, report


def main() -> None:
    """List, and then receive events until the handler has received all of them."""
    port, objects, events = (int(argument) for argument in sys.argv[1:4])
    configuration = client.Configuration()
    configuration.host = f"http://127.0.0.1:{port}"
    api = client.AppsV1Api(client.ApiClient(configuration))
    synced, done = threading.Event(), threading.Event()
    seen = {ADDED: 0, MODIFIED: 0}

    def count(kind: str, limit: int, reached: threading.Event) -> Any:
        def handler(_: object) -> None:
            seen[kind] += 1
            if seen[kind] == limit:
                reached.set()

        return handler

    shared: Any = SharedInformer
    informer = shared(api.list_deployment_for_all_namespaces)
    informer.add_event_handler(ADDED, count(ADDED, objects, synced))
    if events:
        informer.add_event_handler(MODIFIED, count(MODIFIED, events, done))
    meter = Meter()
    informer.start()
    synced.wait(EVENT_TIMEOUT_SECONDS)
    first = meter.lap()
    if events:
        done.wait(EVENT_TIMEOUT_SECONDS)
    report(sync=first, events=meter.lap())
    os._exit(0 if seen == {ADDED: objects, MODIFIED: events} else 1)


if __name__ == "__main__":
    main()
