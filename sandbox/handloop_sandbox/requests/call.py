"""A request for a resource while the sandbox carries it out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from handloop_sandbox.requests.conversion import collection_of
from handloop_sandbox.requests.presentation import Presentation, presentation
from handloop_sandbox.requests.request import Context, Headers, Request, Response
from handloop_sandbox.requests.routes import ResourcePath
from handloop_sandbox.storage.catalog import Catalog
from handloop_sandbox.storage.state import State
from handloop_sandbox.storage.stored import Change, Object, Stored
from handloop_sandbox.storage.transaction import Transaction
from handloop_sandbox.wire.negotiate import Form
from handloop_sandbox.wire.options import WriteOptions
from handloop_sandbox.wire.resource import GroupResource, ServedResource
from handloop_sandbox.wire.status import Status, StatusError, bad_request, forbidden

_MAX_MANAGER = 128
_CACHE = ("Cache-Control", "no-cache, private")
_INCLUDES = ("", "Metadata", "Object", "None")


@dataclass(slots=True)
class Call:
    """
    Everything that a verb needs to carry out a request. The verb adds to warnings and changes.

    trusted is true for writes by simulated controllers, which do not need a resource version.
    """

    request: Request
    context: Context
    state: State
    catalog: Catalog
    resource: ServedResource
    path: ResourcePath
    verb: str
    form: Form
    trusted: bool = False
    makes_name: bool = False
    warnings: list[str] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)

    @property
    def collection(self) -> GroupResource:
        """The collection in which the resource's objects are stored."""
        return collection_of(self.resource)

    @property
    def namespace(self) -> str:
        """The namespace in the path, or "" for all namespaces and for cluster-scoped kinds."""
        return self.path.namespace

    @property
    def name(self) -> str:
        """The object name in the path."""
        return self.path.name

    def stored(self) -> Stored | None:
        """Return the stored object at the path."""
        return self.state.stored(self.collection, self.namespace, self.name)

    def read(self) -> Stored | None:
        """
        Return the stored object without its cached conversions, so that a webhook converts it again.

        A real server reads a single object from etcd, but uses a cache for lists, watches and writes.
        """
        stored = self.stored()
        return (
            stored if stored is None or self.resource.conversion is None else Stored(stored.object, stored.rv)
        )

    def transaction(self, *, dry_run: bool) -> Transaction:
        """Start a transaction. Pass it to commit() afterwards."""
        return Transaction(self.state, dry_run=dry_run)

    def commit(self, transaction: Transaction) -> None:
        """Add the changes of a transaction to those of the request."""
        self.changes += transaction.changes

    def manager(self, options: WriteOptions) -> str:
        """Return the field manager in the options. If they do not name one, derive it from the user agent."""
        if options.field_manager:
            return options.field_manager
        agent = self.request.headers.get("user-agent", "").partition("/")[0]
        return "".join(char for char in agent if char.isprintable())[:_MAX_MANAGER] or "unknown"

    def warn(self, text: str) -> None:
        """Send a warning to the client in a Warning header. Each text is sent only once."""
        if text not in self.warnings:
            self.warnings.append(text)

    def refused(self, obj: Object, text: str) -> StatusError:
        """Return an admission error (403). If the server generates the name, the error shows generateName."""
        name, prefix = (obj["metadata"].get(member) or "" for member in ("name", "generateName"))
        return forbidden(
            self.resource, prefix if prefix and (self.makes_name or self.trusted) else name, text
        )

    def presentation(self, shown: ServedResource | None = None) -> Presentation:
        """
        Return the form of this request's answers.

        Args: shown is the resource whose objects are sent. The default is the resource in the path.
        """
        include = self.request.query.get("includeObject") or ""
        if self.form.shape == "Table" and include not in _INCLUDES:
            text = "must be 'Metadata', 'Object', 'None', or empty"
            raise bad_request(
                f'Unable to convert to Table as requested: includeObject: Invalid value: "{include}": {text}'
            )
        return presentation(self.form, shown or self.resource, include=include or "Metadata")

    def answer(self, stored: Stored, code: int = 200) -> Response:
        """Return an answer with a stored object."""
        parts = self.presentation().one(stored, self.context.now)
        return Response(code, self.headers(), parts)

    def answer_value(self, value: Object | Status, code: int = 200) -> Response:
        """Return an answer with a document that is not stored, such as a Status or a review."""
        return Response(code, self.headers(), (self.form.encode_value(value),))

    def headers(self) -> Headers:
        """Return the headers of an answer, including the warnings."""
        return (("Content-Type", self.form.content_type), _CACHE, *warning_headers(self.warnings))


def warning_headers(warnings: list[str]) -> Headers:
    """Return a Warning header for each text."""
    return tuple(("Warning", f'299 - "{_escaped(text)}"') for text in dict.fromkeys(warnings))


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def shallow_metadata(obj: Object, **changes: Any) -> Object:
    """Return a copy of an object with changed metadata. A value of None removes the member."""
    metadata = {**obj["metadata"], **changes}
    kept = {key: value for key, value in metadata.items() if value is not None}
    return {**obj, "metadata": kept}
