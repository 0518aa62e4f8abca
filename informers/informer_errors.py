"""The errors that an informer raises to refuse a call or a kind."""

from __future__ import annotations

from handloop.apis.meta import Kind


class InformerError(Exception):
    """The base class for an informer's refusals."""


class InformerStopped(InformerError):  # noqa: N818 - it is a state
    """The call was refused, because the informer has stopped permanently."""


class MutableKind(InformerError, TypeError):  # noqa: N818 - it says what the kind is
    """A kind's objects are mutable, so readers of the cache could change them."""

    def __init__(self, kind: type[Kind], parts: tuple[str, ...]) -> None:
        super().__init__(
            f"{kind.__name__} is mutable at {', '.join(parts)}: cached objects are shared, "
            "so use frozen structs, tuples, FrozenMap or MapOf, and for parts without a fixed type, JSON"
        )
