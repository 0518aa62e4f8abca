"""A controller as its author declared it: the kinds it watches, refers to and writes, and its options."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from handloop.apis.core_v1 import Event
from handloop.apis.meta import Kind
from handloop.controller.runtime.rbac.access import PAUSING_NAMESPACES, Access, owner_access
from handloop.controller.runtime.reconciling.controller import ControllerOptions
from handloop.controller.runtime.reconciling.stalled import can_stall
from handloop.controller.runtime.sources.external_source import SourceFunc
from handloop.controller.runtime.sources.informer_source import MapFunc
from handloop.controller.runtime.sources.predicates import GenerationChanged, Predicate, has_generation
from handloop.controller.runtime.sources.referred_objects import NamesFunc
from handloop.informers.selection import Selection


def checked_kind(kind: Any) -> Any:
    """Return the kind. Raises: TypeError for a value that is not a kind."""
    if not (isinstance(kind, type) and issubclass(kind, Kind)):
        what = f"an object: pass {type(kind).__name__}" if isinstance(kind, Kind) else repr(kind)
        raise TypeError(f"a controller watches a kind, such as Foo, and not {what}")
    return kind


def checked_predicates(kind: Any, predicates: Sequence[Predicate]) -> tuple[Predicate, ...]:
    """Return the predicates. Raises: TypeError for a wrong type, or a predicate that hides every update."""
    if not isinstance(predicates, Iterable):
        raise TypeError(f"predicates is a tuple: predicates=({predicates!r},)")
    for each in predicates:
        if isinstance(each, type):
            raise TypeError(f"a predicate is an object, not a class: call {each.__name__}(...)")
        if not all(callable(getattr(each, name, None)) for name in ("create", "update", "delete")):
            raise TypeError(
                f"a predicate must have create, update and delete, but {each!r} does not: "
                "PredicateFuncs(update=function) turns a function into one"
            )
        if isinstance(each, GenerationChanged) and not has_generation(kind.resource):
            raise TypeError(
                f"the server maintains no generation for a {kind.resource.kind}, so GenerationChanged would "
                "hide every update: use ResourceVersionChanged, which hides only resyncs"
            )
    return tuple(predicates)


class WatchSpec(NamedTuple):
    """
    One declared watch.

    If names_of is None, a change to an object reconciles its controlling owner. With every_owner, the change
    reconciles all of its owners.
    """

    kind: type[Any]
    selection: Selection
    names_of: MapFunc[Any] | None
    predicates: tuple[Predicate, ...]
    every_owner: bool = False


class ReferenceSpec(NamedTuple):
    """One refers_to as requested."""

    kind: type[Any]
    names: NamesFunc
    allowed: tuple[str, ...] | None

    @property
    def access(self) -> Access | None:
        """
        The access that the references need.

        If allowed is None, the access includes get, because objects are read when there are too many of them
        to watch.
        """
        if self.allowed is None:
            return Access(resource=self.kind.resource, verbs=("get", "list", "watch"), by_name=True)
        names = tuple(dict.fromkeys(self.allowed))
        return Access(resource=self.kind.resource, verbs=("list", "watch"), names=names) if names else None


@dataclass(slots=True)
class ControllerSpec:
    """
    A controller as its author declared it.

    Fields: watches, whose first entry comes from for_; written, whose keys are the kinds given to writes();
    access, which contains only the access that the author declared.
    """

    name: str
    options: ControllerOptions
    watches: list[WatchSpec] = field(default_factory=list)
    references: list[ReferenceSpec] = field(default_factory=list)
    sources: list[tuple[str, SourceFunc]] = field(default_factory=list)
    access: list[Access] = field(default_factory=list)
    written: dict[type[Any], None] = field(default_factory=dict)

    @property
    def kind(self) -> type[Any]:
        """The kind that is reconciled."""
        return self.watches[0].kind

    @property
    def owned(self) -> list[type[Any]]:
        """The kinds given to owns()."""
        return [each.kind for each in self.watches if each.names_of is None]

    def implied_access(self) -> list[Access]:
        """
        Return the access that follows from the declarations.

        It covers watches, owner references, the controller's Events, the condition Stalled, and paused
        namespaces. It also covers two reads from the server: of an owner whose children have disappeared, and
        of objects that we wrote but a cache does not reflect yet.
        """
        kind = self.kind
        owning = [owner_access(kind.resource)] if self.owned else []
        stalling = [Access(resource=kind.resource, verbs=("patch",), subresource="status")]
        watched = [(asked.kind.resource, asked.selection.name) for asked in self.watches]
        written = {each.resource for each in self.written}
        looked_up = [Access(resource=each, verbs=("get",)) for each, _ in watched if each in written]
        pausing = [PAUSING_NAMESPACES] if kind.resource.namespaced else []
        return [
            Access(resource=kind.resource, verbs=("get",)),
            *(stalling if can_stall(kind) else []),
            *(
                Access(resource=each, verbs=("list", "watch"), names=(name,) if name else ())
                for each, name in watched
            ),
            *looked_up,
            *(each.access for each in self.references if each.access),
            *owning,
            *pausing,
            Access(resource=Event.resource, verbs=("create", "patch")),
        ]
