"""
The page `/why?name=NAMESPACE/NAME`: what happens to a name, or why nothing does; `&o=json` for programs.

The page contains error texts and object names. It is therefore served only on loopback, or to clients that
`--metrics-auth` allows to read it; see PageServer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

import msgspec

from handloop.controller.runtime.reconciling.explainer import Why
from handloop.controller.runtime.serving.page_server import TEXT, Page
from handloop.informers.keys import ObjectName, parse_object_name

_JSON: Final = "application/json"


class Explaining(Protocol):
    """A manager."""

    def why(self, name: ObjectName, controller: str) -> Why:
        """Return what its controllers know about a name. Args: controller may be "", for all of them."""


def why_page(manager: Explaining) -> Page:
    """Return the page of a manager."""

    def page(query: Mapping[str, Sequence[str]]) -> tuple[int, str, bytes]:
        asked = query.get("name", [""])[0]
        if not asked:
            return 400, TEXT, b"say which: /why?name=NAMESPACE/NAME, or ?name=NAME without a namespace\n"
        try:
            name = parse_object_name(asked)
        except ValueError as error:
            return 400, TEXT, f"{_shown(str(error))}\n".encode()
        why = manager.why(name, query.get("controller", [""])[0])
        if query.get("o", [""])[0] == "json":
            return 200, _JSON, msgspec.json.encode(why)
        return 200, TEXT, "".join(f"{_shown(line)}\n" for line in lines(why)).encode()

    return page


def lines(why: Why) -> list[str]:
    """Return the answer for people, newest first."""
    found = [why.elsewhere] if why.elsewhere else []
    for each in why.explanations:
        found.append(f"{each.controller}: {each.kind} {each.name}")
        found += [f"  {line}" for line in each.says]
        if each.near:
            found.append(f"  is it one of {', '.join(each.near)}?")
    return found or ["no controller that can be asked runs here"]


def _shown(text: str) -> str:
    """Put a text on one line, because an error may contain anybody's text."""
    return text if text.isprintable() else repr(text)[1:-1]
