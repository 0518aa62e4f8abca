"""
Predicates decide which watch events trigger a reconcile. They run on the listener's thread.

A resync arrives as an update between two states with the same resource version. Predicates such as
GenerationChanged drop it. A predicate on a kind that other programs write must not drop changes to the fields
that the reconcile reads. On a Deployment, for example, GenerationChanged would drop changes to the status.
Follows: controller-runtime pkg/predicate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol

from handloop.apis.grammar.labels import parse_selector
from handloop.apis.meta import Object
from handloop.apis.resource import Resource


class Predicate(Protocol):
    """Selects the events that trigger a reconcile. Must be pure and fast, without requests or locks."""

    def create(self, obj: Any, /) -> bool:
        """Return whether the event for an added object passes. The first list adds all its objects."""

    def update(self, old: Any, new: Any, /) -> bool:
        """Decide about an object that was changed."""

    def delete(self, obj: Any, /) -> bool:
        """Return whether the event for a deleted object passes. Args: obj is its last known state."""


def _yes(*_: object) -> bool:
    return True


class PredicateFuncs:
    """A predicate made of up to three functions. Events for which there is no function pass."""

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
    """Lets all creates and deletes pass, and those updates that change a certain aspect of the object."""

    create = delete = staticmethod(_yes)

    def update(self, old: Object, new: Object) -> bool:
        """Return whether the aspect differs."""
        return self.aspect(old) != self.aspect(new)

    def aspect(self, obj: Object) -> object:
        """Return the value to compare."""
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
    ("scheduling.k8s.io", "priorityclasses"),  # its generation stays 1
)


def has_generation(resource: Resource) -> bool:
    """Return whether kube-apiserver increments a kind's generation. The lists above are for version 1.36."""
    if resource.group in _WITHOUT_GENERATION:
        return resource.plural in _WITH_GENERATION
    return (resource.group, resource.plural) not in _ALSO_WITHOUT


class GenerationChanged(_Changed):
    """Lets updates of the spec pass, but not of the status, which do not increment the generation."""

    def aspect(self, obj: Object) -> object:
        """Return the generation, and whether a deletion has started."""
        return obj.metadata.generation, obj.metadata.deletion_timestamp is None


class LabelsChanged(_Changed):
    """Lets updates of the labels pass."""

    def aspect(self, obj: Object) -> object:
        """Return the labels."""
        return obj.metadata.labels


class AnnotationsChanged(_Changed):
    """Lets updates of the annotations pass."""

    def aspect(self, obj: Object) -> object:
        """Return the annotations."""
        return obj.metadata.annotations


class ResourceVersionChanged(_Changed):
    """Lets all updates pass except resyncs."""

    def aspect(self, obj: Object) -> object:
        """Return the resource version."""
        return obj.metadata.resource_version


class LabelsMatch:
    """
    Lets watch events pass if a label selector, such as "app=web,tier!=cache", matches the object.

    An update also passes if the selector matched only the old state. A reconciler that counts the matching
    objects, for example, must notice that the count has changed.
    """

    def __init__(self, selector: str) -> None:
        """Raises: SelectorError."""
        self._selector = parse_selector(selector)

    def create(self, obj: Object) -> bool:
        """Return whether the object matches."""
        return self._selector.matches(obj.metadata.labels)

    def update(self, old: Object, new: Object) -> bool:
        """Return whether the old or the new state matches."""
        return self.create(old) or self.create(new)

    def delete(self, obj: Object) -> bool:
        """Return whether the object matched."""
        return self.create(obj)


def all_of(*predicates: Predicate) -> Predicate:
    """Return a predicate that lets an event pass if all predicates do. If there are none, all events pass."""
    return PredicateFuncs(
        create=lambda obj: all(each.create(obj) for each in predicates),
        update=lambda old, new: all(each.update(old, new) for each in predicates),
        delete=lambda obj: all(each.delete(obj) for each in predicates),
    )


def any_of(*predicates: Predicate) -> Predicate:
    """Return a predicate that lets an event pass if any predicate does. If there are none, none passes."""
    return PredicateFuncs(
        create=lambda obj: any(each.create(obj) for each in predicates),
        update=lambda old, new: any(each.update(old, new) for each in predicates),
        delete=lambda obj: any(each.delete(obj) for each in predicates),
    )


def negate(predicate: Predicate) -> Predicate:
    """Return the opposite predicate, which lets an event pass if the given predicate drops it."""
    return PredicateFuncs(
        create=lambda obj: not predicate.create(obj),
        update=lambda old, new: not predicate.update(old, new),
        delete=lambda obj: not predicate.delete(obj),
    )
