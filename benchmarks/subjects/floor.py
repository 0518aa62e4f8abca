"""Measures the floor: msgspec decodes the same bytes from memory into the same types, kept in a list."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[1]))

from load_server import EVENTS_PER_BURST, Load
from meter import Meter, report

from handloop.apis.apps_v1 import Deployment
from handloop.apis.meta import decode_hook


class Page(msgspec.Struct):
    """A list page."""

    items: list[Deployment]


class Event(msgspec.Struct):
    """A watch event."""

    type: str
    object: Deployment


def main() -> None:
    """Decode a list and a watch."""
    objects, events = int(sys.argv[2]), int(sys.argv[3])
    load = Load(objects, events)
    pages = [load.page(start, 500) for start in range(0, objects, 500)]
    lines = load.lines()
    blocks = [b"".join(lines[at : at + EVENTS_PER_BURST]) for at in range(0, events, EVENTS_PER_BURST)]
    page_decoder = msgspec.json.Decoder(Page, dec_hook=decode_hook)
    event_decoder = msgspec.json.Decoder(Event, dec_hook=decode_hook)
    meter = Meter()
    kept = [item for page in pages for item in page_decoder.decode(page).items]
    first = meter.lap()
    for block in blocks:
        for event in event_decoder.decode_lines(block):
            kept[0] = event.object
    report(sync=first, events=meter.lap())


if __name__ == "__main__":
    main()
