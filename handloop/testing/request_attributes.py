"""One request to an API server, in RBAC's terms."""

from __future__ import annotations

from typing import Final, NamedTuple

WRITES: Final = frozenset({"create", "update", "patch", "delete", "deletecollection"})


class RequestAttributes(NamedTuple):
    """One request for a resource, such as `foos/status`. creates is true if a patch created its object."""

    verb: str
    resource: str
    group: str
    streaming_list: bool
    namespace: str = ""
    name: str = ""
    user_agent: str = ""
    creates: bool = False

    @property
    def writes(self) -> bool:
        """Whether the request can change something."""
        return self.verb in WRITES

    def __str__(self) -> str:
        """Return, for example, `patch configmaps default/world` or `list deployments.apps default`."""
        resource = f"{self.resource}.{self.group}" if self.group else self.resource
        where = "/".join(part for part in (self.namespace, self.name) if part)
        return " ".join(part for part in (self.verb, resource, where) if part)
