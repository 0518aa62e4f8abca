"""handloop's client without an informer: pages and a watch, decoded into types and kept in a dict."""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from meter import Meter, report

from handloop.apis.apps_v1 import Deployment
from handloop.client.config import ClientConfig
from handloop.client.options import ListOptions
from handloop.client.resource_client import Client
from handloop.client.transport import HTTPTransport


def main() -> None:
    """List in pages of 500, then take events until all were seen."""
    port, objects, events = (int(argument) for argument in sys.argv[1:4])
    api = Client(HTTPTransport(ClientConfig(host=f"http://127.0.0.1:{port}"))).resource(Deployment)
    cache: dict[tuple[str, str], object] = {}
    meter = Meter()
    token: str | None = ""
    while token is not None:
        page = api.list(options=ListOptions(limit=500, continue_token=token))
        cache |= {(item.metadata.namespace, item.metadata.name): item for item in page.items}
        token = page.continue_token
    first = meter.lap()
    seen = 0
    stream = api.watch(options=ListOptions(resource_version=str(objects)))
    while seen < events:
        for event in stream.read():
            item = event.object
            assert isinstance(item, Deployment)
            cache[item.metadata.namespace, item.metadata.name] = item
            seen += 1
    report(sync=first, events=meter.lap())
    os._exit(0 if len(cache) == objects else 1)


if __name__ == "__main__":
    main()
