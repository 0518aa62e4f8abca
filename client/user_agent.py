"""How we introduce ourselves: `handloop/<version> (<system>) python/<version>`."""

from __future__ import annotations

import sys
from functools import cache


@cache
def default_user_agent() -> str:
    """The User-Agent of this installation."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return f"handloop/{_version()} ({sys.platform}) python/{python}"


def _version() -> str:
    # imported here because it costs more than everything else in this module, and once is enough
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415

    try:
        return version("handloop")
    except PackageNotFoundError:
        return "0.0.0+source"
