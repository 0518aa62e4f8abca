"""A served resource: its names, verbs and subresources, and the properties of its kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol

Schema = Mapping[str, Any]
"""A node of an OpenAPI v3 schema. In built-in kinds it may have `$ref`: read it with structure.py only."""


class GroupResource(NamedTuple):
    """The name of one stored collection; every served version of a kind shares it."""

    group: str
    plural: str

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural


class Conversion(Protocol):
    """Converts the objects of a definition."""

    @property
    def revision(self) -> tuple[str, int]:
        """The uid and generation of the definition. When they change, earlier results are no longer used."""

    @property
    def filled(self) -> set[str]:
        """The versions to which objects were converted since the definition changed."""

    def convert(self, objects: Sequence[dict[str, Any]], api_version: str) -> list[dict[str, Any]]:
        """Return objects in another version. Raises: ConversionNeededError, ConversionFailedError."""


class ScalePaths(NamedTuple):
    """The JSON paths of the numbers in `/scale`, such as `.spec.replicas`; label_selector may be ""."""

    spec_replicas: str
    status_replicas: str
    label_selector: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subresource:
    """A subresource, named by its last path segment; group and version are "" if they are the parent's."""

    name: str
    kind: str
    group: str = ""
    version: str = ""
    verbs: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class ServedResource:
    """
    One combination of group, version and plural that clients can address.

    Reviews (SelfSubjectAccessReview, ...) have verbs == ("create",) and are never stored. schemas holds the
    schemas of all versions of a custom resource. conversion converts between the versions, or is None if they
    have the same fields.
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
        """The collection in which its objects are stored."""
        return GroupResource(self.group, self.plural)

    @cached_property
    def api_version(self) -> str:
        """`group/version`, or only the version for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @cached_property
    def storage_api_version(self) -> str:
        """The apiVersion of stored objects."""
        return f"{self.group}/{self.storage_version}" if self.group else self.storage_version

    @property
    def qualified(self) -> str:
        """`plural.group` as in messages, or only the plural for the core group."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def qualified_kind(self) -> str:
        """`Kind.group` as in validation messages."""
        return f"{self.kind}.{self.group}" if self.group else self.kind

    def subresource(self, name: str) -> Subresource | None:
        """Return the subresource of that name, if served."""
        return next((sub for sub in self.subresources if sub.name == name), None)
