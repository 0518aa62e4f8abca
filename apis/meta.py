"""
The parts of every object (metadata and owner references), and the two base classes of typed views.

A typed view declares only the fields that we own or read. Decoding skips the others. Views are completely
frozen: structs reject assignment, lists are tuples, and maps are `FrozenMap` and `MapOf`.
Follows: apimachinery pkg/apis/meta/v1 (types.go, controller_ref.go).
Decision: Typed views instead of dicts or generated models.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, ClassVar, Final, NoReturn, Protocol, Self, TypeVar, dataclass_transform

import msgspec

from handloop.apis.declaration import KindType, StructType, fields_of, shown, wire_name
from handloop.apis.decoders import decoder_of
from handloop.apis.json_value import JSON
from handloop.apis.resource import Resource

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"

V = TypeVar("V")


class _MapType(type):
    """
    The metaclass of map types. `MapOf[V]` only declares the value type V; its instances are plain MapOf
    objects.
    """

    def __instancecheck__(cls, instance: object) -> bool:
        return issubclass(type(instance), cls.__dict__.get("plain", cls))


class MapOf(dict[str, V], metaclass=_MapType):
    """
    An immutable map with values of the type V, such as `MapOf[int]`.

    A subclass may limit the number of entries: `class Limits(MapOf[int], max_length=9)`.
    """

    __slots__ = ()

    values_type: ClassVar[Any] = str
    min_length: ClassVar[int] = 0
    max_length: ClassVar[int | None] = None

    def __class_getitem__(cls, values_type: Any, /) -> type[Any]:  # type: ignore[override]
        members = {"__slots__": (), "values_type": values_type, "plain": cls}
        return _MapType(f"{cls.__name__}[{values_type}]", (cls,), members)

    def __init_subclass__(cls, *, min_length: int = 0, max_length: int | None = None) -> None:
        cls.min_length, cls.max_length = min_length, max_length

    def _read_only(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("objects from the cache are shared and immutable: build a new map")

    __setitem__ = __delitem__ = __ior__ = _read_only
    clear = pop = popitem = setdefault = update = _read_only

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[type[Any], tuple[dict[str, V]]]:
        return type(self).__dict__.get("plain", type(self)), (dict(self),)


class FrozenMap(MapOf[str]):
    """An immutable map of strings: labels, annotations, match labels."""

    __slots__ = ()


EMPTY_MAP: Final = FrozenMap()


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(msgspec.field,))
class APIStruct(
    msgspec.Struct, metaclass=StructType, frozen=True, gc=False, rename=wire_name, omit_defaults=True
):
    """
    A part of an object.

    Its fields are in snake_case here and in camelCase on the wire (see StructType).
    """

    def __repr__(self) -> str:
        return shown(self)


class OwnerReference(APIStruct, omit_defaults=False):
    """An owner of an object. When all owners are gone, the garbage collector deletes the object."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False
    block_owner_deletion: bool = False


class ObjectMeta(APIStruct, omit_defaults=True):
    """The metadata we read or write. Times are RFC 3339 strings in the server's spelling."""

    name: str = ""
    """Unique among the objects of a kind in a namespace."""

    generate_name: str = ""
    """The prefix of a name that the server generates."""

    namespace: str = ""
    """"" for a cluster-scoped kind."""

    uid: str = ""
    """Identifies this object. A later object with the same name has another UID."""

    resource_version: str = ""
    """Identifies this state of the object. Each change of the object produces a new version."""

    generation: int = 0
    """Counts the changes to the spec."""

    creation_timestamp: str | None = None
    """Set by the server."""

    deletion_timestamp: str | None = None
    """The object is being deleted, and waits for its finalizers."""

    labels: FrozenMap = EMPTY_MAP
    """Selectors match these."""

    annotations: FrozenMap = EMPTY_MAP
    """No selector matches these."""

    owner_references: tuple[OwnerReference, ...] = ()
    """The object is deleted when the last of its owners is deleted."""

    finalizers: tuple[str, ...] = ()
    """The finalizers. All of them have to be removed before the object is deleted."""

    def __repr__(self) -> str:
        return shown(self, _without_copy(self))

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        """Return the fields and values that tracebacks with local variables show."""
        return _rich(self, _without_copy(self))


def _without_copy(metadata: ObjectMeta) -> dict[str, Any]:
    """Return the values to show in a repr. LAST_APPLIED is masked, as it may contain a Secret's data."""
    if LAST_APPLIED not in metadata.annotations:
        return {}
    return {"annotations": FrozenMap({**metadata.annotations, LAST_APPLIED: "***"})}


def _rich(obj: msgspec.Struct, masked: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [(name, masked.get(name, getattr(obj, name))) for name in fields_of(type(obj))]


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(msgspec.field,))
class Kind(
    msgspec.Struct,
    metaclass=KindType,
    frozen=True,
    gc=False,
    rename=wire_name,
    omit_defaults=True,
    tag_field="kind",
):
    """
    A top-level object. The class keywords of KindType name its kind.

    List items of built-in kinds have no `kind` and `apiVersion`. Decoding an object of another kind or
    version fails. The keywords create three class attributes: resource contains the names on the wire;
    partial says whether objects have fields that this type does not declare; previous is the kind's previous
    version. A partial view drops the annotation LAST_APPLIED, unless it sets `keeps_last_applied = True`.
    """

    resource: ClassVar[Resource]
    partial: ClassVar[bool]
    previous: ClassVar[type[Kind] | None] = None
    keeps_last_applied: ClassVar[bool] = False

    api_version: str = ""
    metadata: ObjectMeta = ObjectMeta()

    @classmethod
    def named(cls, name: Object | str, /, *, namespace: str = "", **fields: Any) -> Self:
        """
        Return a new object with a name, or with another object's name and namespace, and with the given
        fields.

        Dicts and lists in the fields become the immutable maps and tuples of the declared types.
        """
        if isinstance(name, str):
            metadata = ObjectMeta(name=name, namespace=namespace)
        else:
            there = name.metadata
            metadata = ObjectMeta(name=there.name, namespace=namespace or there.namespace)
        return cls(metadata=metadata, **{field: frozen(value) for field, value in fields.items()})

    def __repr__(self) -> str:
        return shown(self, _masked(self))

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        """Return the fields and values that tracebacks with local variables show."""
        return _rich(self, _masked(self))


def _masked(obj: Kind) -> dict[str, Any]:
    """Return the values to show in a repr, with a Secret's data masked."""
    if obj.resource.group_resource != "secrets":
        return {}
    fields = fields_of(type(obj)).values()
    masked: dict[str, Any] = {}
    for field in fields:
        value = getattr(obj, field.name)
        if field.encode_name in ("data", "stringData"):
            masked[field.name] = dict.fromkeys(value, "***") if isinstance(value, dict) else "***"
    return masked


def encodable(text: str) -> str:
    """Return text, such as a program's output, with lone surrogates escaped, so that JSON can encode it."""
    return text.encode(errors="backslashreplace").decode()


def frozen(value: Any) -> Any:
    """Convert dicts to immutable maps and lists to tuples, recursively. Other values are unchanged."""
    if isinstance(value, dict):
        entries = {key: frozen(each) for key, each in value.items()}
        return (FrozenMap if all(isinstance(each, str) for each in entries.values()) else MapOf)(entries)
    if isinstance(value, list):
        return tuple(frozen(each) for each in value)
    return value


class Object(Protocol):
    """Anything with object metadata. Stores, informers and listers accept every such object."""

    @property
    def metadata(self) -> ObjectMeta:
        """The object's metadata."""


def controller_of(obj: Object) -> OwnerReference | None:
    """Return the first owner reference with controller = true, or None."""
    for reference in obj.metadata.owner_references:
        if reference.controller:
            return reference
    return None


def is_controlled_by(obj: Object, owner: Object) -> bool:
    """Return whether the controller's owner reference has the owner's UID. Names are not compared."""
    reference = controller_of(obj)
    return reference is not None and reference.uid == owner.metadata.uid


def new_controller_ref(owner: Kind) -> OwnerReference:
    """
    Return the owner reference that makes owner the object's controller.

    Raises: ValueError for an owner without a UID, because the server would refuse the reference.
    """
    if not owner.metadata.uid:
        what = f"{owner.resource.kind} {owner.metadata.name}"
        raise ValueError(f"{what} has no UID: use an object that was read from the server")
    return OwnerReference(
        api_version=owner.resource.api_version,
        kind=owner.resource.kind,
        name=owner.metadata.name,
        uid=owner.metadata.uid,
        controller=True,
        block_owner_deletion=True,
    )


def decode_hook(kind: type, value: Any) -> Any:
    """
    Build values of the types that msgspec does not know: maps and `JSON`.

    Raises: TypeError or ValueError if a value does not fit. msgspec turns it into a ValidationError with the
    path.
    """
    if kind is FrozenMap and value.__class__ is dict:
        for entry in value.values():
            if entry.__class__ is not str:
                raise _not_a_string(entry)
        return FrozenMap(value)
    return _decode_other(kind, value)


def decode_hook_of_views(kind: type, value: Any) -> Any:
    """Decode like decode_hook, but drop LAST_APPLIED, so that no view holds kubectl's copy of the object."""
    # Do not call decode_hook here: with four maps per object, it would cost an eighth of a first list's time.
    if kind is FrozenMap and value.__class__ is dict:
        if LAST_APPLIED in value:
            del value[LAST_APPLIED]
        for entry in value.values():
            if entry.__class__ is not str:
                raise _not_a_string(entry)
        return FrozenMap(value)
    return _decode_other(kind, value)


def _decode_other(kind: type, value: Any) -> Any:
    if kind is FrozenMap:
        return _made_map(value)
    if kind is JSON:
        return value if isinstance(value, JSON) else JSON(value)
    if issubclass(kind, MapOf):
        return _typed_map(kind, value)
    raise NotImplementedError(f"no decoder for {kind}")


def _not_a_string(entry: object) -> TypeError:
    return TypeError(f"expected a map of strings, got a value {entry!r}")


def encode_hook(value: Any) -> Any:
    """
    Return the value that msgspec encodes in place of a `JSON`.

    Raises: NotImplementedError for other types.
    """
    if isinstance(value, JSON):
        return value.value()
    raise NotImplementedError(f"no encoder for {type(value)}")


def _made_map(value: Any) -> FrozenMap:
    """Return an empty map for null. Check that a map given to msgspec.convert holds only strings."""
    if value is None:
        return EMPTY_MAP
    if not isinstance(value, MapOf):
        raise TypeError(f"expected a map of strings, got {value!r}")
    made = decode_hook(FrozenMap, dict(value))
    return value if isinstance(value, FrozenMap) else made


def _typed_map(kind: type[MapOf[Any]], value: Any) -> MapOf[Any]:
    try:
        entries = _entries_of(kind).decode(msgspec.json.encode(value, enc_hook=encode_hook))
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None  # msgspec adds the path only to errors of other classes
    return value if isinstance(value, kind) else kind.__dict__.get("plain", kind)(entries)


@cache
def _entries_of(kind: type[MapOf[Any]]) -> msgspec.json.Decoder[dict[str, Any]]:
    """Return a decoder of a map's entries. Encoding and decoding a map is 3 times as fast as convert()."""
    bounds = msgspec.Meta(min_length=kind.min_length, max_length=kind.max_length)
    values: Any = kind.values_type
    return decoder_of(Annotated[dict[str, values], bounds], decode_hook)
