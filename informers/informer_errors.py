"""The errors that an informer raises to refuse a call or a kind."""

from __future__ import annotations

from handloop.apis.meta import Kind


class InformerError(Exception):
    """Root of an informer's refusals."""


class InformerStopped(InformerError):  # noqa: N818 - it is a state
    """The call came too late: the informer has stopped permanently."""


class MutableKind(InformerError, TypeError):  # noqa: N818 - it says what the kind is
    """Readers of the cache could change this kind's objects."""

    def __init__(self, kind: type[Kind], parts: tuple[str, ...]) -> None:
        super().__init__(
            f"{kind.__name__} is mutable at {', '.join(parts)}: cached objects are shared, "
            "so structs must be frozen, lists tuples, maps FrozenMap or MapOf, and parts without a shape JSON"
        )
