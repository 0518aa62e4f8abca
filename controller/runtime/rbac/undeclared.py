"""Find writes that the set-up does not declare. They succeed only in a sandbox, or with an admin's rights."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from handloop.client.http.response import Response
from handloop.client.rest_client import Call
from handloop.controller.runtime.rbac.access import Access
from handloop.seams.locks import new_lock
from handloop.seams.logs import get_logger

_CREATED: Final = 201
_VERBS: Final = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


def what_to_declare(kind: str, *verbs: str, subresource: str = "") -> str:
    """Return the line of set-up code that makes a role allow these verbs."""
    of = f', subresource="{subresource}"' if subresource else ""
    also = ' (an apply needs "create", too)' if verbs == ("patch",) and not of else ""
    named = ", ".join(f'"{verb}"' for verb in verbs)
    return f"declare it in the set-up: .writes({kind}, {named}{of}){also}; then apply the roles again"


class UndeclaredWrites:
    """
    Logs a warning about undeclared writes, once for each verb on a resource.

    State: _known, the checked resources, subresources and verbs, under _lock. Threads: workers.
    """

    def __init__(self, controller: str, access: Callable[[], Iterable[Access]]) -> None:
        """Args: access returns the declared access of all controllers."""
        self._log = get_logger(controller, controller=controller)
        self._access = access
        self._lock = new_lock("UndeclaredWrites._lock", 95)
        self._known: set[tuple[str, str, str]] = set()

    def accepted(self, call: Call, response: Response) -> None:
        """Check a write that the server accepted. The client calls this as its OnWrite."""
        made = ("create",) if (call.method, response.status) == ("PATCH", _CREATED) else ()
        asked = {(call.resource, call.subresource, verb) for verb in (*made, _VERBS.get(call.method, ""))}
        with self._lock:
            news = asked - self._known
            self._known |= news
        if not news or not call.kind:
            return
        access = [((each.resource.group_resource, each.subresource), each.verbs) for each in self._access()]
        declared = {(*place, verb) for place, verbs in access for verb in verbs}
        verbs = sorted(one[2] for one in news if not {one, (*one[:2], "*")} & declared)
        if verbs:
            self._log.warning(
                "Undeclared write: no role of this program allows it",
                resource=f"{call.resource}/{call.subresource}".rstrip("/"),
                fix=what_to_declare(call.kind, *verbs, subresource=call.subresource),
                once=True,
            )
