"""Explain what happens to a name, from the data that one controller has about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import msgspec

from handloop.controller.runtime.caching.multi_namespace_informer import MultiNamespaceInformer
from handloop.controller.runtime.children.finalizers import is_being_deleted
from handloop.controller.runtime.reconciling.explanation import Now, explained, near
from handloop.controller.runtime.sources.decisions import Decisions
from handloop.controller.runtime.sources.reconcile_queue import Standing
from handloop.informers.keys import ObjectName
from handloop.seams.clock import Clock

NOT_WATCHED: Final = "its namespace is not watched by this process"


_ILL: Final = {
    "Ready": "False",
    "Available": "False",
    "Degraded": "True",
    "Progressing": "True",
    "Reconciling": "True",
    "Stalled": "True",
}
"""The condition statuses that mean that an object is not ready, as in kstatus and the API conventions."""


class Explanation(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """
    One controller's explanation for a name.

    Fields: says, the sentences of the explanation, newest first; known, whether the controller has the object
    in its cache or has decided something about it; near, known names that resemble an unknown name.
    """

    controller: str
    kind: str
    name: str
    says: tuple[str, ...]
    known: bool
    near: tuple[str, ...] = ()


class Why(msgspec.Struct, frozen=True, kw_only=True):
    """
    A process's explanation for a name.

    Fields: process, the identity of this process, or "" if it has no Leases; elsewhere, the reason why
    another process reconciles the name, or "" if this one does; holder, the identity of the other process, or
    "" if unknown; explanations, one for each controller that knows the name or, if none does, for every
    controller.
    """

    process: str
    elsewhere: str
    holder: str
    explanations: tuple[Explanation, ...]


class Explainer:
    """
    Explains what happens to a name.

    The method explain reads the parts of a controller one after another, so one part can change while another
    is read. Threads: any thread can call explain.
    """

    def __init__(
        self,
        controller: str,
        informer: MultiNamespaceInformer[Any],
        decisions: Decisions,
        *,
        standing: Callable[[ObjectName], Standing],
        paused: Callable[[ObjectName], str],
        running: Callable[[ObjectName], tuple[float, str] | None] = lambda _name: None,
        troubles: Callable[[], Sequence[str]] = tuple,
        poke: str,
        clock: Clock,
    ) -> None:
        """Args: informer caches the reconciled kind. The callables and poke provide the fields of Now."""
        self._controller = controller
        self._informer = informer
        self._decisions = decisions
        self._standing = standing
        self._running = running
        self._paused = paused
        self._troubles = troubles
        self._poke = poke
        self._clock = clock

    def explain(self, name: ObjectName) -> Explanation:
        """Return the explanation for a name, without waiting for a cache."""
        kind = self._informer.kind.resource
        if kind.namespaced != bool(name.namespace):
            return self._unknown(name, f"a {kind.kind} has {'a' if kind.namespaced else 'no'} namespace")
        if not self._informer.watches(name.namespace):
            return self._unknown(name, NOT_WATCHED)
        decisions = self._decisions.of(name)
        obj = self._informer.get_by_key(str(name))
        now = Now(
            queue=self._standing(name),
            running=self._running(name),
            paused=self._paused(name),
            misfit=self._informer.is_quarantined(name),
            troubles=tuple(dict.fromkeys(self._troubles())),
            known=obj is not None,
            deleting=obj is not None and is_being_deleted(obj),
            poke=self._poke,
            status=tuple(_not_well(obj)),
        )
        if not (decisions or now.known or now.misfit or now.queue.causes or now.troubles):
            return self._unknown(name, "nobody knows this name")
        return Explanation(
            controller=self._controller,
            kind=kind.kind,
            name=str(name),
            says=explained(now, decisions, self._clock.now()),
            known=True,
        )

    def _unknown(self, name: ObjectName, why: str) -> Explanation:
        return Explanation(
            controller=self._controller,
            kind=self._informer.kind.resource.kind,
            name=str(name),
            says=(why,),
            known=False,
            near=near(str(name), self._names()),
        )

    def _names(self) -> list[str]:
        keys = (key for part in self._informer.informers for key in part.indexer.list_keys())
        return [*keys, *map(str, self._decisions.names())]


def _not_well(obj: Any) -> Iterator[str]:
    """Yield an object's conditions that report a problem, as text. A kind without conditions yields none."""
    for each in getattr(getattr(obj, "status", None), "conditions", ()):
        if each.status == _ILL.get(each.type):
            yield f"{each.type}={each.status} ({each.reason}){f': {each.message}' if each.message else ''}"
