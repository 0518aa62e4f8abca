"""Plain urllib3 with msgspec, as one would write it by hand: lines of a stream into the same types."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import msgspec
import urllib3

sys.path.insert(0, str(Path(__file__).parents[2]))

from floor import Event
from meter import Meter, report

from handloop.apis.apps_v1 import Deployment
from handloop.apis.meta import decode_hook

PATH = "/apis/apps/v1/deployments"


class Meta(msgspec.Struct):
    """Where a list goes on."""

    continue_token: str = msgspec.field(default="", name="continue")


class Page(msgspec.Struct):
    """A list page."""

    metadata: Meta
    items: list[Deployment]


def main() -> None:
    """List in pages of 500, then take events until all were seen."""
    port, objects, events = (int(argument) for argument in sys.argv[1:4])
    pool = urllib3.HTTPConnectionPool("127.0.0.1", port, timeout=75)
    page_decoder = msgspec.json.Decoder(Page, dec_hook=decode_hook)
    event_decoder = msgspec.json.Decoder(Event, dec_hook=decode_hook)
    cache: dict[tuple[str, str], object] = {}
    meter = Meter()
    token, more = "0", True
    while more:
        answer = pool.request("GET", f"{PATH}?limit=500&continue={token}")
        page = page_decoder.decode(answer.data)
        cache |= {(item.metadata.namespace, item.metadata.name): item for item in page.items}
        token = page.metadata.continue_token
        more = bool(token)
    first = meter.lap()
    seen, tail = 0, b""
    stream = pool.request("GET", f"{PATH}?watch=true", preload_content=False)
    for block in stream.stream(None) if events else ():
        lines, newline, tail = (tail + block).rpartition(b"\n")
        for event in event_decoder.decode_lines(lines + newline):
            cache[event.object.metadata.namespace, event.object.metadata.name] = event.object
            seen += 1
        if seen == events:
            break
    report(sync=first, events=meter.lap())
    os._exit(0 if len(cache) == objects else 1)


if __name__ == "__main__":
    main()
