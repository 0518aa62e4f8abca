"""
Selections: which objects of a kind an informer caches, by labels, by fields, or by one name.

    selection_of(Pod, labels="app=web", fields="spec.nodeName=worker-1")
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Protocol, TypeAlias

from msgspec.structs import replace

from handloop.apis.declaration import is_built_in
from handloop.apis.grammar.fields import (
    NAME,
    NAMESPACE,
    FieldTerm,
    built_in_fields,
    check_offered,
    exact,
    matcher,
    offered_fields,
    parse_fields,
)
from handloop.apis.grammar.labels import Operator, Requirement, Selector, SelectorError, parse_selector
from handloop.apis.label_selector import SelectingStruct
from handloop.apis.meta import Kind
from handloop.apis.unstructured import Unstructured
from handloop.client.options import ListOptions
from handloop.informers.keys import ObjectName

Labels: TypeAlias = Selector | SelectingStruct | str
"""A label selector, as a string such as `app=web,tier!=cache` or as a LabelSelector."""


class OutsideSelection(LookupError):  # noqa: N818 - like NamespaceNotWatched
    """A cache of some of a kind's objects was asked for others, about which it has no data."""

    def __init__(self, what: str, selection: Selection) -> None:
        super().__init__(
            f"unable to {what} from the cache, which contains only objects with {selection}: "
            "widen the selection, or read from the server with a client"
        )


class Selected(Protocol):
    """A cache of some of a kind's objects."""

    selection: Selection


class SeveralSelections(LookupError):  # noqa: N818 - like OutsideSelection
    """A controller that watches several selections of a kind must name the one to read."""

    def __init__(self, kind: type[Kind], caches: Sequence[Selected]) -> None:
        parts = ", or ".join(str(each.selection) for each in caches)
        super().__init__(
            f"this controller watches several selections of {kind.resource.plural}, objects with {parts}: "
            f"name one, lister_for({kind.__name__}, labels=..., fields=...)"
        )
        self.caches = caches


class MetadataOnly(LookupError):  # noqa: N818 - like OutsideSelection
    """Whole objects were requested from a cache that contains only metadata."""

    def __init__(self, kind: type[Kind]) -> None:
        name = kind.__name__
        super().__init__(
            f"this controller holds only the metadata of {kind.resource.plural}: read "
            f"lister_for(PartialObjectMetadata[{name}]), or get a whole object with "
            f"client.resource({name}).get(...)"
        )


@dataclass(frozen=True)
class Selection:
    """
    The objects that an informer caches; without terms, all objects of the kind.

    selection_of sorts the terms, so that selections with the same terms are equal. An object that no longer
    matches leaves the cache, as if it were deleted.
    """

    labels: Selector = Selector()  # noqa: RUF009 - immutable
    fields: tuple[FieldTerm, ...] = ()
    custom: bool = False
    """Whether the kind is custom. If so, its fields have no second names such as a Pod's `spec.host`."""

    def __bool__(self) -> bool:
        """Return whether any objects are left out."""
        return bool(self.labels.requirements or self.fields)

    def __str__(self) -> str:
        parts = {"labels": str(self.labels), "fields": self.field_text}
        return " and ".join(f"{name} {text}" for name, text in parts.items() if text)

    @property
    def suffix(self) -> str:
        """The suffix of the informer's name, as in `pods[app=web,.spec.nodeName=a]`; "" for all objects."""
        parts = [str(self.labels)] if self.labels.requirements else []
        return f"[{','.join(parts + [f'.{term}' for term in self.fields])}]" if self else ""

    @property
    def field_text(self) -> str:
        """The field selector as a string, as list and watch requests contain it."""
        return ",".join(map(str, self.fields))

    @property
    def name(self) -> str:
        """The only name that is selected, or "" if any name can be."""
        return exact(self.fields, NAME) or ""

    def narrowed(self, options: ListOptions) -> ListOptions:
        """Add this selection to the selectors of a list's or watch's options, and return the result."""
        return replace(
            options,
            label_selector=",".join(filter(None, (options.label_selector, str(self.labels)))),
            field_selector=",".join(filter(None, (options.field_selector, self.field_text))),
        )

    def matches(self, obj: Mapping[str, Any]) -> bool:
        """Return whether an object is selected. obj is its decoded JSON."""
        labels = (obj.get("metadata") or {}).get("labels") or {}
        return self.labels.matches(labels) and (self._by_fields is None or self._by_fields(obj))

    @cached_property
    def _by_fields(self) -> Any:
        return matcher(self.fields, custom=self.custom)

    def check_name(self, what: str, name: ObjectName) -> None:
        """
        Check whether the selection excludes an object with this name.

        Raises: OutsideSelection if it does. The message begins with `unable to {what}`.
        """
        self._check(what, {NAME: name.name, NAMESPACE: name.namespace})

    def check_list(self, what: str, labels: Selector, namespace: str) -> None:
        """
        Check whether the selection excludes all objects with these labels in this namespace, "" for any.

        Raises: OutsideSelection if it does. The message begins with `unable to {what}`.
        """
        for ours in self.labels.requirements:
            if any(_contradict(ours, theirs) for theirs in labels.requirements):
                raise OutsideSelection(what, self)
        self._check(what, {NAMESPACE: namespace})

    def _check(self, what: str, known: Mapping[str, str]) -> None:
        """Args: known maps fields to the values that the requested objects have; "" stands for any value."""
        for term in self.fields:
            value = known.get(term.field, "")
            if value and (value == term.value) is not term.equal:
                raise OutsideSelection(what, self)


EVERYTHING: Final = Selection()

_ONE_OF: Final = (Operator.EQUALS, Operator.DOUBLE_EQUALS, Operator.IN)


def _contradict(one: Requirement, other: Requirement) -> bool:
    """Return True if surely no object matches both terms, such as `a=b` and `a=c`, or `a` and `!a`."""
    if one.key != other.key:
        return False
    for values, rule in ((one, other), (other, one)):
        if values.operator in _ONE_OF:
            return not any(rule.matches({rule.key: value}) for value in values.values)
    return {one.operator, other.operator} == {Operator.EXISTS, Operator.DOES_NOT_EXIST}


def selection_of(kind: type[Kind], *, labels: Labels = "", fields: str = "") -> Selection:
    """
    Return a selection of a kind's objects.

    Args: fields is a field selector such as `metadata.name=settings` or
    `spec.nodeName=a,status.phase!=Failed`.
    Raises: SelectorError if the server would refuse the selector, or if the selector selects nothing.
    """
    if not labels and not fields:
        return EVERYTHING
    # Set this only if there are fields, because a selection without fields is the same for all kinds.
    is_custom = bool(fields) and not is_built_in(kind.resource.group)
    return Selection(_labels(labels), _fields(kind, fields), custom=is_custom)


def _labels(labels: Labels) -> Selector:
    try:
        read = parse_selector(labels) if isinstance(labels, str) else labels
        selector = read.selector() if isinstance(read, SelectingStruct) else read
    except SelectorError as error:
        raise SelectorError(f"labels={labels!r}: {error}") from None
    if selector.nothing:
        raise SelectorError("labels select nothing: no object would ever be in the cache")
    return Selector(tuple(sorted({_with_one_equals(each) for each in selector.requirements}, key=str)))


def _with_one_equals(requirement: Requirement) -> Requirement:
    if requirement.operator is not Operator.DOUBLE_EQUALS:
        return requirement
    return Requirement(requirement.key, Operator.EQUALS, requirement.values)


def _fields(kind: type[Kind], text: str) -> tuple[FieldTerm, ...]:
    try:
        terms = parse_fields(text)
        _check_offered(kind, terms)
    except SelectorError as error:
        raise SelectorError(f"fields={text!r}: {error}") from None
    return tuple(sorted(set(terms)))


def _check_offered(kind: type[Kind], terms: tuple[FieldTerm, ...]) -> None:
    """
    Check that the server offers these fields.

    The fields of a partial or unstructured custom kind are not checked, because only its CRD lists them.

    Raises: SelectorError if a field is not offered.
    """
    resource, custom = kind.resource, not is_built_in(kind.resource.group)
    if custom and (kind.partial or issubclass(kind, Unstructured)):
        return
    own = getattr(kind, "selectable_fields", ()) if custom else built_in_fields(resource.group_resource)
    try:
        check_offered(terms, own, kind=resource.kind, namespaced=resource.namespaced, custom=custom)
    except SelectorError as error:
        offered = ", ".join(offered_fields(own, namespaced=resource.namespaced, custom=custom))
        raise SelectorError(f"{error}; the server offers {offered}") from None
