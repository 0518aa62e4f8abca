"""lightkube: list, then watch, into a dict. Its users write this by hand, because it has no informer."""

from __future__ import annotations

import os
import sys

from lightkube import Client, KubeConfig
from lightkube.config.models import Cluster, User
from lightkube.resources.apps_v1 import Deployment
from meter import Meter, report


def main() -> None:
    """List in pages of 500, and then receive all events."""
    port, objects, events = (int(argument) for argument in sys.argv[1:4])
    cluster = Cluster(server=f"http://127.0.0.1:{port}")
    api = Client(KubeConfig.from_one(cluster=cluster, user=User(token="none")))  # noqa: S106 - no secret
    cache: dict[tuple[str, str], object] = {}
    meter = Meter()
    listed = api.list(Deployment, namespace="*", chunk_size=500)
    for item in listed:
        cache[item.metadata.namespace, item.metadata.name] = item
    first = meter.lap()
    seen = 0
    if events:
        for _, item in api.watch(Deployment, namespace="*", resource_version=str(objects)):
            cache[item.metadata.namespace, item.metadata.name] = item
            seen += 1
            if seen == events:
                break
    report(sync=first, events=meter.lap())
    os._exit(0 if len(cache) == objects and seen == events else 1)


if __name__ == "__main__":
    main()
