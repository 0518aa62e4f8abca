"""The checks behind `/healthz` and `/readyz`, and the page that lists them as in Kubernetes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from handloop.controller.runtime.serving.page_server import TEXT, Page
from handloop.seams.logs import get_logger, in_words

log = get_logger("health")


class Well(NamedTuple):
    """A healthy result with a detail to show, such as `standby, holder=pod-a`."""

    detail: str


Check = Callable[[], str | Well | None]
"""A health check. Returns: None or Well if healthy, otherwise the reason in words."""


def health_page(checks: Mapping[str, Check]) -> Page:
    """
    Return a page that answers as in Kubernetes: `ok`, or 500 with a line per check.

    `?verbose` lists all checks, and `?exclude=NAME` skips one. If the path ends in a check's name, the page
    answers for this check only.
    """

    def page(query: Mapping[str, list[str]]) -> tuple[int, str, bytes]:
        if "*" in query:
            return _single(checks, query["*"][0])
        excluded = set(query.get("exclude", []))
        results = {name: _result(name, check) for name, check in checks.items() if name not in excluded}
        healthy = not any(map(_is_bad, results.values()))
        if healthy and "verbose" not in query:
            return 200, TEXT, b"ok"
        lines = [_line(name, result) for name, result in results.items()]
        lines.append("healthz check passed" if healthy else "healthz check failed")
        return (200 if healthy else 500), TEXT, ("\n".join(lines) + "\n").encode()

    return page


def _single(checks: Mapping[str, Check], name: str) -> tuple[int, str, bytes]:
    if name not in checks:
        return 404, TEXT, b"404 page not found\n"
    result = _result(name, checks[name])
    if _is_bad(result):
        return 500, TEXT, f"internal server error: {_shown(str(result))}\n".encode()
    return 200, TEXT, b"ok"


def _result(name: str, check: Check) -> str | Well | None:
    """Return a check's result. An error counts as unhealthy."""
    try:
        return check()
    except BaseException as error:
        log.exception("Health check raised", check=name)
        return f"{type(error).__name__}: {in_words(error)}"


def _is_bad(result: str | Well | None) -> bool:
    return bool(result) and not isinstance(result, Well)


def _line(name: str, result: str | Well | None) -> str:
    if isinstance(result, Well):
        return f"[+]{name}: {_shown(result.detail)}"
    return f"[-]{name} failed: {_shown(result)}" if result else f"[+]{name} ok"


def _shown(text: str) -> str:
    """Return text on one line. Foreign text, such as a Lease's holder, must not look like another check."""
    return text if text.isprintable() else repr(text)[1:-1]
