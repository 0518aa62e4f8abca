"""Writes the file from which `top` reads the address of a sandbox's live page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

URL_FILE: Final = Path(".sandbox/live-url")
"""A program with `--sandbox` writes this file beside its kubeconfig, and removes it when it ends."""


@contextmanager
def url_beside(kubeconfig: str, url: str) -> Iterator[None]:
    """Write the URL into the file, and remove the file when the context ends."""
    path = Path(kubeconfig).with_name(URL_FILE.name)
    # Without the file, `top` needs --address. So an error here must not stop the program.
    with suppress(OSError):
        path.write_text(f"{url}\n", encoding="utf-8")
    try:
        yield
    finally:
        with suppress(OSError):
            # Another sandbox may have written its own URL in the meantime.
            if path.read_text(encoding="utf-8") == f"{url}\n":
                path.unlink()
