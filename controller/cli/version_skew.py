"""Whether the server is of a version that this was tested with."""

from __future__ import annotations

import re
from typing import Final

from handloop.controller.cli.problems import EXIT_OK, Problem

OLDEST: Final = (1, 28)
NEWEST: Final = (1, 36)
_VERSION: Final = re.compile(r"v?(\d+)\.(\d+)")
# the first version that offers it by default, and what is done without it
_FEATURES: Final = (
    ((1, 32), "streamed first lists (lists in pages instead)"),
    ((1, 29), "CEL rules in CRDs as a stable feature (invalid objects may be stored)"),
    ((1, 28), "the server's word on who we are (the kubeconfig's user instead)"),
)


def version_skew(server_version: str) -> Problem | None:
    """
    E13: the server is older or newer than what was tested; None when it is not, or not known.

    Args: server_version as `v1.31.4`.
    """
    match = _VERSION.match(server_version)
    if match is None:
        return None
    version = (int(match[1]), int(match[2]))
    if OLDEST <= version <= NEWEST:
        return None
    age = "older" if version < OLDEST else "newer"
    lost = [text for since, text in _FEATURES if version < since]
    return Problem(
        code="E13",
        exit_code=EXIT_OK,
        severity="warning",
        what=f"server {server_version} is {age} than the tested range {_spell(OLDEST)}-{_spell(NEWEST)}",
        causes=(f"going on without {'; '.join(lost)}" if lost else "going on; nothing known is missing",),
        fixes=("kubectl version   (the server's version)",),
    )


def _spell(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))
