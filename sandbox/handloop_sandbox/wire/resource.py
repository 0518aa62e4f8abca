"""A resource that the server offers: its names, verbs and subresources, and its kind's properties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol

Schema = Mapping[str, Any]
"""A node of an OpenAPI v3 schema. Built-in kinds' nodes can have a `$ref`; read them with structure.py."""


class GroupResource(NamedTuple):
    """The name of a stored collection, which all served versions of a kind have in common."""

    group: str
    plural: str

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural


class Conversion(Protocol):
    """Converts a definition's objects between versions."""

    @property
    def revision(self) -> tuple[str, int]:
        """The definition's uid and generation. If they change, earlier results are no longer valid."""

    @property
    def filled(self) -> set[str]:
        """The versions to which objects have been converted since the definition changed."""

    def convert(self, objects: Sequence[dict[str, Any]], api_version: str) -> list[dict[str, Any]]:
        """
        Return objects in another API version.

        Raises: ConversionNeededError if the converter must be called; ConversionFailedError if it fails.
        """


class ScalePaths(NamedTuple):
    """The JSON paths of a custom resource's scale fields, such as `.spec.replicas`."""

    spec_replicas: str
    status_replicas: str
    label_selector: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subresource:
    """A subresource, named by its last path segment. An empty group and version mean those of its parent."""

    name: str
    kind: str
    group: str = ""
    version: str = ""
    verbs: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class ServedResource:
    """
    A combination of group, version and plural that clients can address.

    Reviews (SelfSubjectAccessReview, ...) have verbs == ("create",) and are never stored. schemas contains
    the schemas of all versions of a custom resource. conversion converts between those versions; it is None
    if they have the same fields.
    """

    group: str
    version: str
    plural: str
    kind: str
    list_kind: str
    singular: str
    namespaced: bool
    verbs: tuple[str, ...]
    storage_version: str
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[Subresource, ...] = ()
    schema: Schema | None = None
    custom: bool = False
    schemas: Mapping[str, Schema | None] = field(default_factory=dict)
    conversion: Conversion | None = None
    printer_columns: tuple[Mapping[str, Any], ...] = ()
    scale_paths: ScalePaths | None = None
    selectable_fields: tuple[str, ...] = ()
    has_generation: bool = True
    create_on_update: bool = False
    unconditional_update: bool = True
    deprecation_warning: str = ""

    @cached_property
    def group_resource(self) -> GroupResource:
        """The collection in which the resource's objects are stored."""
        return GroupResource(self.group, self.plural)

    @cached_property
    def api_version(self) -> str:
        """`group/version`, or the version alone for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @cached_property
    def storage_api_version(self) -> str:
        """The apiVersion of stored objects."""
        return f"{self.group}/{self.storage_version}" if self.group else self.storage_version

    @property
    def qualified(self) -> str:
        """`plural.group` as in messages, or the plural alone for the core group."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def qualified_kind(self) -> str:
        """`Kind.group` as in validation messages."""
        return f"{self.kind}.{self.group}" if self.group else self.kind

    def subresource(self, name: str) -> Subresource | None:
        """Return the subresource with this name, or None if it is not served."""
        return next((sub for sub in self.subresources if sub.name == name), None)
