"""
Predicates decide which watch events trigger a reconcile, before a name is queued, on the listener's thread.

A resync arrives as an update between two states with the same resource version. Predicates such as
GenerationChanged drop it. A predicate on a kind that others write must let changes pass in the fields that
the reconcile reads. GenerationChanged on a Deployment, for example, would hide its status.
Follows: controller-runtime pkg/predicate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol

from handloop.apis.grammar.labels import parse_selector
from handloop.apis.meta import Object
from handloop.apis.resource import Resource


class Predicate(Protocol):
    """Returns True for watch events that are worth a reconcile. Pure and fast: no requests, no locks."""

    def create(self, obj: Any, /) -> bool:
        """An object is new to the cache. So are the objects of the first list."""

    def update(self, old: Any, new: Any, /) -> bool:
        """An object was replaced."""

    def delete(self, obj: Any, /) -> bool:
        """An object is gone. Args: obj is its last known state."""


def _yes(*_: object) -> bool:
    return True


class PredicateFuncs:
    """A predicate made from up to three functions. If a function is missing, its events pass."""

    def __init__(
        self,
        *,
        create: Callable[[Any], bool] = _yes,
        update: Callable[[Any, Any], bool] = _yes,
        delete: Callable[[Any], bool] = _yes,
    ) -> None:
        self.create = create
        self.update = update
        self.delete = delete


class _Changed:
    """Lets updates that change some aspect of an object pass, and all creates and deletes."""

    create = delete = staticmethod(_yes)

    def update(self, old: Object, new: Object) -> bool:
        """Whether the aspect differs."""
        return self.aspect(old) != self.aspect(new)

    def aspect(self, obj: Object) -> object:
        """The value to compare."""
        raise NotImplementedError


_WITHOUT_GENERATION: Final = (
    "",
    "apiregistration.k8s.io",
    "autoscaling",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "events.k8s.io",
    "node.k8s.io",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
)
_WITH_GENERATION: Final = ("pods", "podtemplates", "replicationcontrollers")
_ALSO_WITHOUT: Final = (
    ("apps", "controllerrevisions"),
    ("networking.k8s.io", "ipaddresses"),
    ("networking.k8s.io", "servicecidrs"),
    ("resource.k8s.io", "resourceclaims"),
    ("resource.k8s.io", "resourceclaimtemplates"),
)


def has_generation(resource: Resource) -> bool:
    """Return whether the server maintains a kind's generation, as far as is known for kube-apiserver 1.36."""
    if resource.group in _WITHOUT_GENERATION:
        return resource.plural in _WITH_GENERATION
    return (resource.group, resource.plural) not in _ALSO_WITHOUT


class GenerationChanged(_Changed):
    """Lets updates of the spec pass, for which the server increments the generation, unlike the status."""

    def aspect(self, obj: Object) -> object:
        """Return the generation, and whether a deletion has begun."""
        return obj.metadata.generation, obj.metadata.deletion_timestamp is None


class LabelsChanged(_Changed):
    """Updates of the labels."""

    def aspect(self, obj: Object) -> object:
        """The labels."""
        return obj.metadata.labels


class AnnotationsChanged(_Changed):
    """Updates of the annotations."""

    def aspect(self, obj: Object) -> object:
        """The annotations."""
        return obj.metadata.annotations


class ResourceVersionChanged(_Changed):
    """Lets all updates pass, but not resyncs."""

    def aspect(self, obj: Object) -> object:
        """The resource version."""
        return obj.metadata.resource_version


class LabelsMatch:
    """
    Lets watch events pass if a label selector, such as "app=web,tier!=cache", matches the object.

    An update that ends the match also passes, because a reconciler that counts such objects needs it.
    """

    def __init__(self, selector: str) -> None:
        """Raises: SelectorError."""
        self._selector = parse_selector(selector)

    def create(self, obj: Object) -> bool:
        """Whether the object matches."""
        return self._selector.matches(obj.metadata.labels)

    def update(self, old: Object, new: Object) -> bool:
        """Whether either state matches."""
        return self.create(old) or self.create(new)

    def delete(self, obj: Object) -> bool:
        """Whether the object matched."""
        return self.create(obj)


def all_of(*predicates: Predicate) -> Predicate:
    """An event passes if every predicate lets it pass. Without predicates, it passes."""
    return PredicateFuncs(
        create=lambda obj: all(each.create(obj) for each in predicates),
        update=lambda old, new: all(each.update(old, new) for each in predicates),
        delete=lambda obj: all(each.delete(obj) for each in predicates),
    )


def any_of(*predicates: Predicate) -> Predicate:
    """An event passes if any of the predicates lets it pass. Without predicates, no event passes."""
    return PredicateFuncs(
        create=lambda obj: any(each.create(obj) for each in predicates),
        update=lambda old, new: any(each.update(old, new) for each in predicates),
        delete=lambda obj: any(each.delete(obj) for each in predicates),
    )


def negate(predicate: Predicate) -> Predicate:
    """An event passes if the predicate drops it. This includes creates and deletes."""
    return PredicateFuncs(
        create=lambda obj: not predicate.create(obj),
        update=lambda old, new: not predicate.update(old, new),
        delete=lambda obj: not predicate.delete(obj),
    )
