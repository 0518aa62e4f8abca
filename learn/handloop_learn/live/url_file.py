"""The file in which `top` finds the live page of the sandbox that runs in a folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

URL_FILE: Final = Path(".sandbox/live-url")
"""Written by `--sandbox` beside its kubeconfig, and removed at its end."""


@contextmanager
def url_beside(kubeconfig: str, url: str) -> Iterator[None]:
    """Keep the URL in the file for as long as the context lasts."""
    path = Path(kubeconfig).with_name(URL_FILE.name)
    # without the file, `top` only needs --address, which is no reason not to run
    with suppress(OSError):
        path.write_text(f"{url}\n", encoding="utf-8")
    try:
        yield
    finally:
        with suppress(OSError):
            # another sandbox may have written its own URL meanwhile
            if path.read_text(encoding="utf-8") == f"{url}\n":
                path.unlink()
