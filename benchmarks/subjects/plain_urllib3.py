"""
urllib3 and only decoding: list, then watch, on one thread into a dict. It shows the minimal cost of a
wake-up.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import msgspec
import urllib3

sys.path.insert(0, str(Path(__file__).parents[2]))

from floor import Event, Page
from meter import Meter, report

from handloop.apis.meta import decode_hook

PATH = "/apis/apps/v1/deployments"


def main() -> None:
    """List in pages of 500, and then receive all events."""
    port, objects, events = (int(argument) for argument in sys.argv[1:4])
    pool = urllib3.HTTPConnectionPool("127.0.0.1", port)
    page_decoder = msgspec.json.Decoder(Page, dec_hook=decode_hook)
    event_decoder = msgspec.json.Decoder(Event, dec_hook=decode_hook)
    kept = {}
    meter = Meter()
    for start in range(0, objects, 500):
        answer = pool.request("GET", PATH, fields={"limit": "500", "continue": str(start)})
        for item in page_decoder.decode(answer.data).items:
            kept[item.metadata.namespace, item.metadata.name] = item
    first = meter.lap()
    seen, tail = 0, b""
    if events:
        watch = pool.request("GET", PATH, fields={"watch": "true"}, preload_content=False)
        for chunk in watch.stream():
            whole, newline, tail = (tail + chunk).rpartition(b"\n")
            for event in event_decoder.decode_lines(whole + newline):
                kept[event.object.metadata.namespace, event.object.metadata.name] = event.object
                seen += 1
            if seen == events:
                break
    report(sync=first, events=meter.lap())
    os._exit(0 if len(kept) == objects and seen == events else 1)


if __name__ == "__main__":
    main()
