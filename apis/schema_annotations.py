"""
Annotations that tell the API server what a Python type cannot express.

An example is `Annotated[tuple[str, ...], LIST_SET]`. A field can have several annotations. crd_schema.py
writes them into the CRD's schema, and docs/types.md lists them. The decoder does not check them; only the
server does.
Follows: apiextensions.k8s.io/v1 JSONSchemaProps and ValidationRule; kube-openapi pkg/validation/strfmt.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Annotated, Any, Final, Literal

import msgspec

MARK_OF_ANY_FIELDS: Final = "x-handloop-any-fields"
"""In a Meta's extra_json_schema, marks a struct whose fields are left out of the CRD, like the mark."""

MARK_OF_DEFAULT: Final = "x-handloop-server-default"
"""
In a Meta's extra_json_schema, marks a field whose default is in the CRD, even if empty. The mark is not.
"""

VALIDATIONS: Final = "x-kubernetes-validations"

TEXT_FORMATS: Final = (
    *("bsonobjectid", "byte", "cidr", "creditcard", "date", "date-time", "duration", "email", "hexcolor"),
    *("hostname", "ipv4", "ipv6", "isbn", "isbn10", "isbn13", "mac", "password", "rgbcolor", "ssn", "uri"),
    *("uuid", "uuid3", "uuid4", "uuid5", "k8s-short-name", "k8s-long-name"),
)
"""The string formats. A server checks all of them except password."""
NUMBER_FORMATS: Final = ("int32", "int64", "float", "double")
"""The number formats, which nobody checks."""

Reason = Literal["FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate"]
_REASONS: Final = ("FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """
    A CEL validation rule. A struct or kind lists its rules in `crd_rules`, and a field in `rules(...)`.

    Raises: TypeError for a rule without a message, or with a reason or field path that the server refuses.
    """

    expression: str
    """`self` is the value to which the rule applies; `oldSelf` is the value before an update."""

    message: str = ""
    """
    The message for the user who writes the object. It is used only if there is no message_expression, or if
    the expression fails.
    """

    message_expression: str = ""
    """A CEL expression of limited cost for the message: `self.limit > 9 ? 'too many' : 'at most ten'`."""

    reason: Reason | None = None
    """The machine-readable reason of the refusal. The default is FieldValueInvalid."""

    field_path: str = ""
    """The nested field that the error is about, such as `.replicas`."""

    optional_old_self: bool | None = None
    """If true, a rule with oldSelf is also evaluated for new objects. oldSelf is then an optional value."""

    def __post_init__(self) -> None:
        if not self.message and not self.message_expression:
            raise TypeError(f"the rule {self.expression!r} has no message for the user who writes the object")
        if self.reason is not None and self.reason not in _REASONS:
            raise TypeError(f"reason={self.reason!r} is none of {', '.join(_REASONS)}")
        if self.field_path and not self.field_path.startswith((".", "[")):
            raise TypeError(f'field_path={self.field_path!r} must start with a dot: ".{self.field_path}"')

    def schema(self) -> dict[str, Any]:
        """Return the rule as an entry of the schema's `x-kubernetes-validations`."""
        said = {
            "rule": self.expression,
            "message": self.message,
            "messageExpression": self.message_expression,
            "reason": self.reason,
            "fieldPath": self.field_path,
            "optionalOldSelf": self.optional_old_self,
        }
        return {name: value for name, value in said.items() if value not in ("", None)}


def _says(**schema: Any) -> msgspec.Meta:
    return msgspec.Meta(extra_json_schema={name.replace("_", "-"): value for name, value in schema.items()})


LIST_SET: Final = _says(x_kubernetes_list_type="set")
"""The annotation for a list of numbers or strings without duplicates. An apply merges it item by item."""

LIST_ATOMIC: Final = _says(x_kubernetes_list_type="atomic")
"""
The annotation for a list that an apply replaces as a whole. A list without annotations behaves the same.
"""

MAP_ATOMIC: Final = _says(x_kubernetes_map_type="atomic")
"""
The annotation for a map or struct that an apply replaces as a whole, so that one manager owns all of it.
"""

ANY_FIELDS: Final = msgspec.Meta(extra_json_schema={MARK_OF_ANY_FIELDS: True})
"""
The annotation for a struct whose fields are not in the CRD, for example the long PodTemplateSpec.

The server keeps all fields in it. The controller detects objects that do not fit the struct.
"""

SERVER_DEFAULT: Final = msgspec.Meta(extra_json_schema={MARK_OF_DEFAULT: True})
"""
The annotation for a field whose default the server fills in although it is empty (false, "", or an empty list
or map) or a struct. For a struct, the defaults inside it are also filled in if an author leaves it out.
"""

NO_FORMAT: Final = _says(format="")
"""The annotation for an int of any size. Without it, the schema says int64, or int32 if the bounds fit."""


def list_map(*keys: str) -> msgspec.Meta:
    """Return the annotation for a list of type map: an apply merges its entries by these key fields."""
    schema = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)}
    return msgspec.Meta(extra_json_schema=schema)


def rules(*given: Rule) -> msgspec.Meta:
    """Return the annotation that adds CEL rules to a field. In these rules, `self` is the field's value."""
    return msgspec.Meta(extra_json_schema={VALIDATIONS: [rule.schema() for rule in given]})


def property_counts(*, least: int | None = None, most: int | None = None) -> msgspec.Meta:
    """
    Return the annotation that limits how many fields of a struct may be set.

    For a map, use the class arguments min_length and max_length of MapOf.
    """
    bounds = {"minProperties": least, "maxProperties": most}
    said = {name: bound for name, bound in bounds.items() if bound is not None}
    return msgspec.Meta(extra_json_schema=said)


def schema_format(name: str) -> msgspec.Meta:
    """
    Return the annotation for an OpenAPI format, such as "cidr", "hostname", "uuid" or "double".

    Raises: TypeError for an unknown format, because the server would ignore it.
    """
    known = (*TEXT_FORMATS, *NUMBER_FORMATS)
    if name not in known:
        near = get_close_matches(name, known, 1)
        raise TypeError(
            f"no server checks the format {name!r}" + (f": did you mean {near[0]!r}?" if near else "")
        )
    return _says(format=name)


DateTime = Annotated[str, schema_format("date-time")]
"""
The type of an RFC 3339 time, like `metav1.Time`: `parse_time` reads it, and `format_time` writes it.

Like Go, the server also accepts a lower-case t and an offset such as +99:99, which a reader refuses.
"""
