"""handloop's informer as in handloop_informer.py, but with whole objects: it decodes as much as the floor."""

from __future__ import annotations

from handloop_informer import main

from handloop.informers.informer_options import DEFAULT_OPTIONS

if __name__ == "__main__":
    main(DEFAULT_OPTIONS)
