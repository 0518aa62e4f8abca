"""
Declares types. A kind's names are written once, as class keywords, and everything else is derived from them.

    class Greeting(Kind, group="example.org", version="v1"):     tag, apiVersion, URL, CRD names
        spec: GreetingSpec

Two metaclasses, derived from msgspec's, check and derive the names when the class is created. Contradictory
names therefore raise an error at import, and decoding costs nothing extra. Constructors check the types of
their arguments only under pytest and with `python -X dev`.
Decision: A kind is declared once, in class keywords.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from itertools import repeat
from types import MappingProxyType
from typing import Any, Final, Literal

import msgspec

from handloop.apis.decoders import converted
from handloop.apis.resource import Resource

if sys.version_info >= (3, 14):
    import annotationlib

Scope = Literal["Namespaced", "Cluster"]

_ACRONYMS: Final = {
    **{word: word.upper() for word in ("api", "cidr", "cpu", "fqdn", "id", "ip", "ipc", "pid")},
    **{word: word.upper() for word in ("tls", "uri", "url", "uuid")},
    **{f"{word}s": f"{word.upper()}s" for word in ("cidr", "ip", "url", "wwn")},
}
_DNS_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_GROUP: Final = re.compile(rf"({_DNS_LABEL.pattern}(\.{_DNS_LABEL.pattern})*)?")
# The server checks the kind in lower case, as a DNS label: acid.zalan.do really has a kind `postgresql`.
_KIND: Final = re.compile(r"[A-Za-z]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?")

CHECKS_TYPES: Final = sys.flags.dev_mode or "PYTEST_VERSION" in os.environ


def wire_name(name: str) -> str:
    """
    Return a field's name on the wire: `pod_cidrs` becomes `podCIDRs`, as the API conventions require.

    All 896 fields of Kubernetes 1.36's built-in kinds follow this rule, except `scaleIO` and the `Port` in a
    Node's status.
    """
    head, *tail = name.split("_")
    return head + "".join(_ACRONYMS.get(word) or word[:1].upper() + word[1:] for word in tail)


class StructType(msgspec.StructMeta):
    """
    Creates frozen types with keyword-only fields that are camelCase on the wire.

    A default with content, such as a number, a boolean or a string, is sent even if the field was not set,
    because the server would otherwise not learn it. None, "", () and empty maps are left out. The class
    keyword `omit_defaults=True` leaves out all defaults, and `omit_defaults=False` sends all of them.
    """

    def __new__(
        mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], /, **keywords: Any
    ) -> StructType:
        """The keywords are those of msgspec."""
        if "omit_defaults" not in keywords:
            _send_defaults_with_content(namespace)
        made = super().__new__(mcls, name, bases, namespace, **{"frozen": True, "kw_only": True} | keywords)
        if made.__struct_config__.frozen:
            # Do this after the class is created, because msgspec would replace these methods with its own,
            # whose errors do not suggest a fix.
            for change in ("__setattr__", "__delattr__"):
                setattr(made, change, _refuse_change)
        return made

    if CHECKS_TYPES:

        def __call__(cls, *args: Any, **fields: Any) -> Any:
            """
            Create an object of the type.

            Raises: TypeError with the field's name if the type has no field of that name, or if a value has
            the wrong type.
            """
            known = fields_of(cls)
            for name in fields:
                if name not in known:
                    raise TypeError(f"{cls.__name__} {no_field(known, name)}")
            obj: msgspec.Struct = super().__call__(*args, **fields)
            for name, value in fields.items():
                if type(value) is not known[name].type:
                    _check(cls.__name__, known[name], value)
            return obj


class KindType(StructType):
    """Creates top-level types. The class keywords name the kind and the URL path of its objects."""

    def __new__(
        mcls,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        /,
        *,
        group: str | None = None,
        version: str = "",
        kind: str = "",
        plural: str = "",
        singular: str = "",
        scope: Scope = "Namespaced",
        short_names: tuple[str, ...] = (),
        partial: bool | None = None,
        abstract: bool = False,
        wire: tuple[str, str] | None = None,
        previous: type[Any] | None = None,
        **keywords: Any,
    ) -> StructType:
        """
        Create the class of a kind, and check the kind's names.

        Args: group is "" for the core group. kind defaults to the class's name, plural to the kind's English
        plural, and singular to the kind in lower case. partial says that objects have fields that the type
        does not declare, so that an update would erase them; it defaults to True for Kubernetes' own groups
        and to False for others. abstract creates a base class for several kinds, which has no names of its
        own. wire gives the apiVersion and kind in the objects, if they differ from those of the URL. previous
        is the class of the kind's previous version, which the CRD still contains.
        Raises: TypeError for names that are missing, are given twice, or would be refused by a server.
        """
        if any(isinstance(base, KindType) for base in bases):
            if group is None:
                _check_inherits(name, bases, abstract=abstract)
            else:
                kind = kind or name
                resource = Resource(
                    group, version, plural or plural_of(kind), kind, scope == "Namespaced",
                    singular or kind.lower(), tuple(short_names),
                )  # fmt: skip
                _check_names(name, resource, scope, namespace, keywords)
                _check_previous(name, resource, previous)
                _check_functions(name, namespace, previous)
                namespace["resource"], namespace["previous"] = resource, previous
                namespace["partial"] = is_built_in(group) if partial is None else partial
                api_version, keywords["tag"] = wire or (resource.api_version, kind)
                _declare_api_version(namespace, api_version)
        return super().__new__(mcls, name, bases, namespace, **keywords)


def plural_of(kind: str) -> str:
    """Return the English plural of a kind, in lower case: `policies`, `ingresses`, `foos`."""
    word = kind.lower()
    if re.search(r"[^aeiou]y$", word):
        return f"{word[:-1]}ies"
    return f"{word}es" if re.search(r"(s|x|z|ch|sh)$", word) else f"{word}s"


# These are the built-in groups whose name contains a dot, without the suffix .k8s.io.
_BUILT_IN: Final = frozenset(
    {
        "admissionregistration",
        "apiextensions",
        "apiregistration",
        "authentication",
        "authorization",
        "certificates",
        "coordination",
        "discovery",
        "events",
        "flowcontrol.apiserver",
        "internal.apiserver",
        "metrics",
        "networking",
        "node",
        "rbac.authorization",
        "resource",
        "scheduling",
        "storage",
        "storagemigration",
    }
)


def is_built_in(group: str) -> bool:
    """
    Return whether a group is Kubernetes' own.

    Not every group of k8s.io is Kubernetes' own: gateway.networking.k8s.io holds custom kinds.
    """
    return "." not in group or group.removesuffix(".k8s.io") in _BUILT_IN


@cache  # msgspec would read the annotations again on every call
def fields_of(kind: type[msgspec.Struct]) -> dict[str, msgspec.structs.FieldInfo]:
    """Return the fields of a type, by their names in Python."""
    return {field.name: field for field in msgspec.structs.fields(kind)}


def no_field(fields: Mapping[str, msgspec.structs.FieldInfo], name: str) -> str:
    """Return a message saying that a type has no field of that name. It suggests the closest name."""
    by_wire = {field.encode_name: field.name for field in fields.values()}
    near = [by_wire[name]] if name in by_wire else get_close_matches(name, fields, 1)
    hint = f": did you mean {near[0]}?" if near else ""
    return f"has no field {name}{hint}"


def shown(obj: msgspec.Struct, masked: Mapping[str, Any] = MappingProxyType({})) -> str:
    """
    Format the fields of a struct that were set. A wire name is added if it is not plain camelCase.

    Args: masked maps field names to the values that are shown instead of the real ones.
    """
    parts = []
    for field in fields_of(type(obj)).values():
        value = getattr(obj, field.name)
        if value is not field.default:
            plain = _camel(field.name)
            wire = "" if field.encode_name == plain else f" ({field.encode_name})"
            parts.append(f"{field.name}{wire}={masked.get(field.name, value)!r}")
    return f"{type(obj).__name__}({', '.join(parts)})"


def _camel(name: str) -> str:
    head, *tail = name.split("_")
    return head + "".join(word[:1].upper() + word[1:] for word in tail)


def _refuse_change(obj: msgspec.Struct, name: str, _value: object = None) -> None:
    raise AttributeError(
        f'{type(obj).__name__} is immutable: evolve(obj, "{name}", value) returns a copy with a new {name}; '
        "a path can name nested fields"
    )


def _annotations(namespace: Mapping[str, Any]) -> dict[str, Any]:
    """
    Return the annotations in a class body.

    From Python 3.14 on, a class body without the __future__ import contains a function that creates them.
    """
    if sys.version_info >= (3, 14) and "__annotations__" not in namespace:
        annotate = annotationlib.get_annotate_from_class_namespace(namespace)
        if annotate is not None:
            # A name that does not exist yet remains a reference, which msgspec resolves later.
            return annotationlib.call_annotate_function(annotate, annotationlib.Format.FORWARDREF)
    return dict(namespace.get("__annotations__", {}))


def _send_defaults_with_content(namespace: dict[str, Any]) -> None:
    """Replace each default with content by a factory, because msgspec always sends a field with a factory."""
    for name, annotation in _annotations(namespace).items():
        if "ClassVar" in str(annotation):
            continue
        given = namespace.get(name, msgspec.NODEFAULT)
        wire = None
        if isinstance(given, _FIELD):
            given, wire = given.default, given.name
        if _has_content(given):
            namespace[name] = msgspec.field(default_factory=repeat(given).__next__, name=wire)


_FIELD: Final[Any] = type(msgspec.field(name="any"))


def _has_content(default: Any) -> bool:
    if isinstance(default, msgspec.Struct):
        return msgspec.json.encode(default) != b"{}"
    return isinstance(default, int | float) or (isinstance(default, str | tuple | Mapping) and bool(default))


def _check_previous(name: str, resource: Resource, previous: Any) -> None:
    """
    Check that the previous version belongs to the same kind.

    Raises: TypeError for a previous version that belongs to another kind, or is not a kind.
    """
    if previous is None:
        return
    if not hasattr(previous, "resource"):
        raise TypeError(f"{name}: previous={previous!r} is not a kind")
    there: Resource = previous.resource
    for what in ("group", "kind", "plural", "namespaced"):
        mine, its = getattr(resource, what), getattr(there, what)
        if mine != its:
            raise TypeError(
                f"{name}: {what} is {mine}, but {its} in {previous.__name__}: all versions must share it"
            )
    if is_built_in(resource.group):
        raise TypeError(
            f"{name}: Kubernetes itself defines the versions of the kinds in "
            f"{resource.group or 'the core group'}"
        )
    older = previous
    while older is not None:
        if older.resource.version == resource.version:
            raise TypeError(f"{name}: {older.__name__} also has the version {resource.version}")
        older = older.previous


def _check_functions(name: str, namespace: Mapping[str, Any], previous: Any) -> None:
    """
    Check that a version has both conversion functions or neither.

    Raises: TypeError if only one of the two functions exists, or if there is no previous version.
    """
    both = ("from_previous", "to_previous")
    if given := [function for function in both if function in namespace]:
        if previous is None:
            raise TypeError(
                f"{name}.{given[0]} needs a previous version: write previous=... in the class line"
            )
        for missing in set(both) - set(given):
            raise TypeError(
                f"{name} has {given[0]} but no {missing}: objects are converted in both directions"
            )


def _declare_api_version(namespace: dict[str, Any], api_version: str) -> None:
    namespace["__annotations__"] = {"api_version": Literal[api_version], **_annotations(namespace)}
    namespace["api_version"] = api_version


def _check_inherits(name: str, bases: tuple[type, ...], *, abstract: bool) -> None:
    if not abstract and not any(hasattr(base, "resource") for base in bases):
        raise TypeError(
            f'{name} does not name its kind: write `class {name}(Kind, group="example.org", version="v1")`'
        )


def _check_names(
    name: str, resource: Resource, scope: str, namespace: Mapping[str, Any], keywords: Mapping[str, Any]
) -> None:
    in_body = {*namespace, *_annotations(namespace)}
    said: list[str] = [key for key in ("resource", "api_version", "kind") if key in in_body]
    said += [key for key in ("tag", "tag_field") if key in keywords]
    if said:
        raise TypeError(
            f"{name}: remove {' and '.join(said)}, because the class keywords already name the kind"
        )
    for what, value, pattern, example in (
        ("group", resource.group, _GROUP, 'a DNS name such as "example.org", or "" for the core group'),
        ("version", resource.version, _DNS_LABEL, 'a DNS label such as "v1"'),
        (
            "kind",
            resource.kind,
            _KIND,
            'a name such as "Greeting", of up to 63 letters, digits and hyphens',
        ),
        ("plural", resource.plural, _DNS_LABEL, 'in lower case such as "greetings"'),
        ("singular", resource.singular, _DNS_LABEL, 'in lower case such as "greeting"'),
    ):
        if not pattern.fullmatch(value):
            raise TypeError(f"{name}: {what}={value!r} is not {example}")
    if scope not in ("Namespaced", "Cluster"):
        raise TypeError(f'{name}: scope={scope!r} is neither "Namespaced" nor "Cluster"')


def _check(type_name: str, field: msgspec.structs.FieldInfo, value: Any) -> None:
    try:
        same = checked(f"{type_name}.{field.name}", field.type, value)
    except TypeError as error:
        raise TypeError(f"{error}{_in_words(value)}") from None
    if type(same) is not type(value):
        raise TypeError(f"{type_name}.{field.name}: expected a {type(same).__name__}{_in_words(value)}")


def _in_words(value: Any) -> str:
    """Format a value for an error message. A map is left out, because it may be a Secret's data."""
    return "" if isinstance(value, dict) else f": {value!r}"


def checked(path: str, kind: Any, value: Any) -> Any:
    """
    Check that a value fits the field at a path, and return it in its decoded form.

    Raises: TypeError with the path for a value that does not fit, and for a dict in place of a struct.
    """
    try:
        same = converted(value, kind, _as_it_is)
    except msgspec.ValidationError as error:
        # msgspec calls every struct `object`
        is_other = isinstance(kind, StructType) and not isinstance(value, kind)
        raise TypeError(f"{path}: {_expected(kind, value) if is_other else error}") from None
    _refuse_dicts(path, value, same)
    return same


def _expected(kind: type, value: Any) -> str:
    what = f"dict: write {kind.__name__}(...)" if isinstance(value, dict) else type(value).__name__
    return f"expected a {kind.__name__}, not a {what}"


def _refuse_dicts(path: str, value: Any, same: Any) -> None:
    """
    Check that no struct was given as a dict, which msgspec would accept.

    Raises: TypeError for a dict in place of a struct.
    """
    if isinstance(same, msgspec.Struct) and same is not value:
        raise TypeError(f"{path}: {_expected(type(same), value)}")
    if isinstance(same, dict):
        for key, part in same.items():
            _refuse_dicts(f"{path}[{key!r}]", value[key], part)
    elif isinstance(same, tuple):
        for position, part in enumerate(same):
            _refuse_dicts(f"{path}[{position}]", value[position], part)


def _as_it_is(kind: Any, value: Any) -> Any:
    """
    Check a value, and the values of a map, without converting them. msgspec.convert calls this hook.

    Raises: TypeError if value is not of that type.
    """
    of = getattr(kind, "values_type", None)
    if not isinstance(value, kind):
        for key, entry in value.items() if isinstance(value, dict) and of is str else ():
            if not isinstance(entry, str):
                what = f"[{key!r}] is of type {type(entry).__name__}"
                raise TypeError(f"expected a map of strings, but {what}: write it as a string")
        raise TypeError(f"expected a {kind.__name__}")
    if of is None:
        return value
    return type(value)(converted({**value}, dict[str, of], _as_it_is))  # type: ignore[valid-type]
