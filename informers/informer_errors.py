"""The errors with which an informer refuses a call or a kind."""

from __future__ import annotations

from handloop.apis.meta import Kind


class InformerError(Exception):
    """Root of an informer's refusals."""


class InformerStopped(InformerError):  # noqa: N818 - a state
    """Too late: the informer has stopped, for good."""


class MutableKind(InformerError, TypeError):  # noqa: N818 - what it is
    """Readers of the cache could change objects of this kind."""

    def __init__(self, kind: type[Kind], parts: tuple[str, ...]) -> None:
        super().__init__(
            f"{kind.__name__} is mutable at {', '.join(parts)}: cached objects are shared, "
            "so structs must be frozen, lists tuples, maps FrozenMap or MapOf, and parts without a shape JSON"
        )
