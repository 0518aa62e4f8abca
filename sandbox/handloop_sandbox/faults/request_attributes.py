"""The attributes of a request that faults match."""

from __future__ import annotations

from dataclasses import dataclass

from handloop_sandbox.requests.authorization import Attributes, attributes
from handloop_sandbox.requests.request import Request, User
from handloop_sandbox.requests.routes import resource_path, split
from handloop_sandbox.wire.options import boolean
from handloop_sandbox.wire.status import StatusError


@dataclass(frozen=True, slots=True)
class RequestAttributes:
    """
    The attributes of one request that faults match.

    attributes.plural is "" for requests for the server's documents, such as `/version` or discovery.
    resource_version is the text that the client sent, or "" if it sent none. continued is true if the request
    fetches a further page of a list, streamed if it is a watch that begins with the present objects.
    """

    attributes: Attributes
    user: User
    user_agent: str
    path: str
    resource_version: str = ""
    continued: bool = False
    streamed: bool = False

    @property
    def verb(self) -> str:
        """The request's RBAC verb: `get`, `list`, `watch`, `create`, ..."""
        return self.attributes.verb

    @property
    def is_read(self) -> bool:
        """Whether the request reads objects."""
        return bool(self.attributes.plural) and self.verb in ("get", "list", "watch")

    @property
    def is_resumed(self) -> bool:
        """Whether a watch continues from an older version, and does not begin with the present objects."""
        return self.resource_version not in ("", "0") and not self.streamed

    def is_about(self, resource: str) -> bool:
        """
        Return whether the request is for a resource such as `foos`, `foos.example.com` or `foos/status`.

        As in RBAC, `foos` does not match subresources such as `foos/status`, but `foos/*` matches each of
        them. `*` matches every request.
        """
        wanted = self.attributes
        plural, _, subresource = resource.partition("/")
        if resource == "*":
            return True
        if not wanted.plural or plural not in (wanted.plural, f"{wanted.plural}.{wanted.group}"):
            return False
        return bool(wanted.subresource) if subresource == "*" else subresource == wanted.subresource


def attributes_of(request: Request, user: User) -> RequestAttributes:
    """Return the attributes of a request."""
    query = request.query
    return RequestAttributes(
        attributes=_attributes(request),
        user=user,
        user_agent=request.headers.get("user-agent", ""),
        path=request.path,
        resource_version=query.get("resourceVersion") or "",
        continued=bool(query.get("continue")),
        streamed=boolean(query.get("sendInitialEvents")),
    )


def _attributes(request: Request) -> Attributes:
    try:
        path = resource_path(split(request.path))
    except StatusError:
        path = None
    if path is None:
        return Attributes(request.method.lower(), "", "")
    verb = path.verb(request.method)
    if verb == "list" and boolean(request.query.get("watch")):
        verb = "watch"
    return attributes(path, verb, request.query.get("fieldSelector") or "")
