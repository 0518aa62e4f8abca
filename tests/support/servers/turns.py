"""
The real server that TEST_KUBECONFIG names, and turns on it.

Many tests may rely on what it has only once, or one alone may change it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def real_kubeconfig() -> Path:
    """The kubeconfig of the real server; skips the test without one."""
    path = os.environ.get("TEST_KUBECONFIG")
    if not path:
        pytest.skip("TEST_KUBECONFIG names no real server")
    return Path(path)


@contextmanager
def turn(kubeconfig: Path, thing: str, *, alone: bool) -> Iterator[None]:
    """
    Hold one thing of a server for as long as the context lasts: beside others who rely on it, or alone.

    Workers of one run and other runs on this machine take turns. A test that waits to be alone keeps later
    ones behind it, so its turn comes.
    Blocks: until the holders whom this one cannot be beside are done.
    """
    server = hashlib.sha256(kubeconfig.read_bytes()).hexdigest()[:12]
    path = Path(tempfile.gettempdir()) / f"handloop-tests-{os.getuid()}-{server}-{thing}"
    with path.with_suffix(".queue").open("w") as queue, path.with_suffix(".held").open("w") as held:
        fcntl.flock(queue, fcntl.LOCK_EX)
        fcntl.flock(held, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        fcntl.flock(queue, fcntl.LOCK_UN)
        yield
