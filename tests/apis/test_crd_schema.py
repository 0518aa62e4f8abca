"""The schema of each type, and the types without one; tests/contract/test_types.py asks servers."""

from __future__ import annotations

import enum
import types
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Generic, Literal, TypeVar

import msgspec
import pytest
from msgspec import UNSET, Meta, UnsetType

from handloop.apis.crd_schema import default_of, object_schema
from handloop.apis.json_value import JSON
from handloop.apis.meta import EMPTY_MAP, APIStruct, FrozenMap, Kind, MapOf, ObjectMeta
from handloop.apis.schema_annotations import ANY_FIELDS, LIST_ATOMIC, LIST_SET, list_map

T = TypeVar("T")


class Colour(enum.Enum):
    """Texts."""

    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    """Numbers."""

    LOW = 1


class Port(APIStruct):
    """A port."""

    number: Annotated[int, Meta(gt=0, lt=65536)]
    name: str = ""
    protocol: Literal["TCP", "UDP"] = "TCP"


class Box(APIStruct, Generic[T]):
    """Holds one."""

    one: T


class Bounded(MapOf[int], min_length=1, max_length=3):
    """One to three numbers."""


class Node(APIStruct):
    """Holds its own kind."""

    nodes: tuple[Node, ...] = ()


class Leaf(APIStruct):
    """Has a field that no schema can express."""

    x: list[str] | None = None


class Open(msgspec.Struct):
    """Can be changed."""


class Lenient(enum.Enum):
    """Takes any text."""

    ONE = "1"

    @classmethod
    def _missing_(cls, _value: object) -> Lenient:
        return cls.ONE


def kind_of(annotation: Any, default: Any = UNSET) -> type[Kind]:
    """A kind whose spec has a field x of this type, with this default if one is given."""
    spec = types.new_class(
        "Spec", (APIStruct,), {}, lambda body: body.update(field("x", annotation, default))
    )
    names = {"group": "example.org", "version": "v1"}
    return types.new_class("Thing", (Kind,), names, lambda body: body.update(field("spec", spec, UNSET)))


def field(name: str, annotation: Any, default: Any) -> dict[str, Any]:
    """The body of a class with one field."""
    return {"__annotations__": {name: annotation}} | ({} if default is UNSET else {name: default})


def schema_of(annotation: Any, default: Any = UNSET) -> Any:
    """The schema of a field of this type."""
    return object_schema(kind_of(annotation, default))["properties"]["spec"]["properties"]["x"]


FREE = {"x-kubernetes-preserve-unknown-fields": True, "nullable": True}
INT32 = {"type": "integer", "format": "int32"}
INT64 = {"type": "integer", "format": "int64"}
TEXT = {"type": "string"}
EITHER = {"x-kubernetes-int-or-string": True}
WORDS = {"type": "array", "items": TEXT}
FLAGS = {"type": "object", "additionalProperties": {"type": "boolean"}}
NUMBERS = {"type": "object", "additionalProperties": INT64}
SHARE = {"type": "number", "minimum": 0, "exclusiveMinimum": True, "maximum": 1}
TOLD = {"title": "T", "description": "D"}
TOLD_META = Meta(title="T", description="D", examples=["e"])


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (int, INT64),
        (Annotated[int, Meta(gt=0)], {**INT64, "minimum": 1}),
        (Annotated[int, Meta(gt=0, lt=9)], {**INT32, "minimum": 1, "maximum": 8}),
        (Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)], INT32),
        (Annotated[float, Meta(gt=0, le=1)], SHARE),
        (bool, {"type": "boolean"}),
        (Annotated[str, Meta(max_length=3, pattern=r"^a\Z")], {**TEXT, "maxLength": 3, "pattern": "^a$"}),
        (Annotated[str, TOLD_META], {**TEXT, **TOLD, "example": "e"}),
        (Literal[1, 2], {"type": "integer", "enum": [1, 2]}),
        (Literal[True], {"type": "boolean", "enum": [True]}),
        (Colour, {**TEXT, "enum": ["red", "blue"]}),
        (Level, {"type": "integer", "enum": [1]}),
        (int | str, EITHER),
        (
            Annotated[int, Meta(ge=0)] | Annotated[str, Meta(max_length=4)],
            EITHER | {"minimum": 0, "maxLength": 4},
        ),
        (
            Annotated[tuple[str, ...], Meta(min_length=1, max_length=2)],
            {**WORDS, "minItems": 1, "maxItems": 2},
        ),
        (Annotated[tuple[str, ...], LIST_SET], {**WORDS, "x-kubernetes-list-type": "set"}),
        (Annotated[tuple[str, ...], LIST_ATOMIC], {**WORDS, "x-kubernetes-list-type": "atomic"}),
        (MapOf[MapOf[bool]], {"type": "object", "additionalProperties": FLAGS}),
        (Bounded, {**NUMBERS, "minProperties": 1, "maxProperties": 3}),
        (JSON, FREE),
    ],
)
def test_what_a_type_becomes(annotation: Any, schema: Any) -> None:
    """Types, bounds, enums, lists, maps, a number or a text, and values without a shape."""
    assert schema_of(annotation) == schema


def test_a_bound_that_the_server_would_round_is_a_rule() -> None:
    """It compares whole numbers with whole bounds, which it holds as float64."""
    bounded = schema_of(Annotated[float, Meta(ge=0.5, lt=1e300)])
    rules = [(rule["rule"], rule["message"]) for rule in bounded["x-kubernetes-validations"]]
    assert rules == [("self >= 0.5", "should be >= 0.5"), ("self < 1e+300", "should be < 1e+300")]
    (rule,) = schema_of(Annotated[int, Meta(multiple_of=5)])["x-kubernetes-validations"]
    assert rule == {"rule": "self % 5 == 0", "message": "should be a multiple of 5"}


@pytest.mark.parametrize(
    ("annotation", "default", "nullable"),
    [
        (int | None, UNSET, True),
        (int | None, None, False),
        (int | None, 3, True),
        (int | None | UnsetType, msgspec.field(default=UNSET), True),
        (int | UnsetType, msgspec.field(default=UNSET), False),
        (FrozenMap, UNSET, True),
        (FrozenMap, EMPTY_MAP, False),
        (MapOf[int], UNSET, False),
    ],
)
def test_null_is_allowed_where_it_differs_from_absence(annotation: Any, default: Any, nullable: bool) -> None:
    """Required, beside another default or beside UNSET; a map of strings decodes null as empty."""
    assert schema_of(annotation, default).get("nullable", False) == nullable


def test_items_and_values_may_be_null() -> None:
    """Nothing can be left out there."""
    assert schema_of(tuple[int | None, ...])["items"] == {**INT64, "nullable": True}
    assert schema_of(MapOf[str | None])["additionalProperties"] == {**TEXT, "nullable": True}


@pytest.mark.parametrize(
    ("annotation", "default", "told"),
    [
        (int, 0, 0),
        (float, 0.5, 0.5),
        (str, "a", "a"),
        (str, "", None),
        (bool, True, True),
        (bool, False, None),
        (tuple[str, ...], ("a",), ["a"]),
        (tuple[str, ...], (), None),
        (Colour, Colour.BLUE, "blue"),
        (MapOf[int], MapOf({"a": 1}), {"a": 1}),
        (JSON, JSON([1]), [1]),
        (Port | None, None, None),
        (str, msgspec.field(default_factory=lambda: "made"), "made"),
    ],
)
def test_defaults_with_content(annotation: Any, default: Any, told: Any) -> None:
    """Numbers, non-empty texts, true, non-empty lists and maps, also those that a factory makes."""
    assert schema_of(annotation, default).get("default") == told


class Settings(APIStruct):
    """Has a default."""

    size: int = 3


class Described(Kind, group="example.org", version="v1"):
    """Has defaults everywhere."""

    spec: Settings = Settings(size=5)
    template: ObjectMeta = ObjectMeta()
    status: Settings = Settings()


def test_no_default_in_metadata_and_status() -> None:
    """Nobody writes these by hand. A template keeps its labels: all fields of its metadata are declared."""
    properties = object_schema(Described)["properties"]
    assert list(properties) == ["apiVersion", "kind", "metadata", "spec", "template", "status"]
    assert properties["spec"] == {
        "type": "object",
        "description": "Has a default.",
        "properties": {"size": {**INT64, "default": 3}},
    }
    assert "default" not in properties["status"]["properties"]["size"]
    assert properties["template"]["properties"]["labels"] == {"type": "object", "additionalProperties": TEXT}
    assert not [part for part in properties["template"]["properties"].values() if "default" in part]


class Seen(APIStruct):
    """A status that says what was observed."""

    observed_generation: int = 0
    ready: bool = False


class Counted(APIStruct):
    """A status whose generation has a bound that no new object keeps."""

    observed_generation: Annotated[int, Meta(ge=0)] = 0


class Demanding(APIStruct):
    """A status that a new object does not have."""

    observed_generation: int = 0
    ready: bool


class Insisting(APIStruct):
    """The same by its schema alone."""

    crd_required = ("ready",)

    observed_generation: int = 0
    ready: bool = False


def reporting(status: Any) -> type[Kind]:
    """A kind with such a status."""
    body = {"__annotations__": {"status": status | None, "last": status | None}, "status": None, "last": None}
    keywords = {"group": "example.org", "version": "v1"}
    return types.new_class("Reporting", (Kind,), keywords, lambda namespace: namespace.update(body))


def test_a_status_with_a_generation_has_a_default() -> None:
    """By the default of its whole status, so that kstatus does not take it for done; nowhere else."""
    properties = object_schema(reporting(Seen))["properties"]
    assert properties["status"]["default"] == {"observedGeneration": -1}
    assert "default" not in properties["last"]
    assert "default" not in object_schema(Described)["properties"]["status"]


@pytest.mark.parametrize(
    ("status", "complaint"),
    [
        (Counted, r"status: the default .* does not fit .*>= -?0"),
        (Demanding, "status: a new object has the status .*: give the other status fields a default"),
        (Insisting, "status: a new object has the status .*: give the other status fields a default"),
    ],
)
def test_a_status_that_refuses_its_default_is_refused(status: Any, complaint: str) -> None:
    """The server would refuse the definition."""
    with pytest.raises(TypeError, match=complaint):
        object_schema(reporting(status))


def test_a_default_is_read_in_one_place() -> None:
    """A field has a default, a factory of one, or neither."""
    (size,) = msgspec.inspect.type_info(Settings).fields  # type: ignore[attr-defined]
    assert default_of(size) == 3
    (number, *_) = msgspec.inspect.type_info(Port).fields  # type: ignore[attr-defined]
    assert default_of(number) is msgspec.NODEFAULT


def test_structs_of_structs() -> None:
    """Generic ones, too, and with their tag."""
    ports = schema_of(Annotated[tuple[Port, ...], list_map("number", "protocol")])
    assert ports["items"]["required"] == ["number"]
    assert ports["items"]["properties"]["protocol"]["default"] == "TCP"
    box = schema_of(Box[int])
    assert (box["properties"], box["required"], box["description"]) == ({"one": INT64}, ["one"], "Holds one.")
    tagged = types.new_class("Tagged", (APIStruct,), {"tag": "t", "tag_field": "is"})
    assert schema_of(tagged)["properties"] == {"is": {**TEXT, "enum": ["t"]}}


@pytest.mark.parametrize(
    ("annotation", "complaint"),
    [
        (list[str], "x: a list is mutable: write tuple"),
        (dict[str, int], "x: a dict is mutable: write FrozenMap"),
        (set[str], "x: a set is mutable: write Annotated"),
        (frozenset[str], "x: a frozenset has no order: write Annotated"),
        (tuple[int, str], "x: all items of a list must have one type: write tuple"),
        (Any, "x: Any has no shape: write JSON"),
        (msgspec.Raw, "x: a Raw keeps the whole response in memory: write JSON"),
        (datetime, "x: the server parses date-times differently from Python: write DateTime"),
        (bytes, "x: base64 is decoded differently by the server: write str"),
        (Decimal, "x: a decimal has no schema: write str"),
        (complex, "x: a schema cannot express Custom: write an APIStruct"),
        (int | float, "x: a float also accepts whole numbers: write float"),
        (int | bool, "x: a schema can express only the unions int | str"),
        (Literal["a"] | int, "x: a schema can express only the unions int | str"),
        (Literal[1, "a"], "x: the values of an enum must have one type"),
        (tuple[Colour | None, ...], "x[]: a schema's enum cannot allow null"),
        (enum.IntFlag("Bits", "A B"), "x: Bits allows values that it does not list"),
        (Lenient, "x: Lenient allows values that it does not list"),
        (Annotated[float, Meta(multiple_of=0.1)], "x: rounding makes multiples of a float unreliable"),
        (
            Annotated[int, Meta(ge=2**60)] | str,
            "x: int | str cannot have a multiple or a bound beyond 9007199254740992: write a Rule",
        ),
        (Annotated[str, Meta(pattern="^a$")], "x: $ does not mean the same in the server's Go patterns"),
        (tuple[MapOf[Leaf], ...], "x[]{}.x: a list is mutable"),
        (Node, "x.nodes[]: Node contains itself"),
        (Open, "x: Open is mutable or is not a JSON object: derive it from APIStruct"),
        (Annotated[tuple[Port, ...], LIST_SET], "x: the items of a set must be strings or whole numbers"),
        (
            Annotated[tuple[int | None, ...], LIST_SET],
            "x: the items of a set must be strings or whole numbers",
        ),
        (Annotated[tuple[Port, ...], list_map("size")], "x: size cannot be a key"),
        (Annotated[tuple[Port, ...], list_map("name")], "x: the key name may be absent"),
    ],
)
def test_types_that_no_schema_can_express_are_refused(annotation: Any, complaint: str) -> None:
    """With the path of the part, and the way out."""
    with pytest.raises(TypeError) as error:
        schema_of(annotation)
    assert str(error.value).startswith(f"Thing.spec.{complaint}")


class Cat(APIStruct, tag=True):
    """One of two."""


class Dog(APIStruct, tag=True):
    """The other."""


def test_a_union_of_structs_is_refused() -> None:
    """Even with tags that distinguish them."""
    with pytest.raises(TypeError, match=r"^Thing\.spec\.x: a schema cannot express a union of structs"):
        schema_of(Cat | Dog)


def test_a_default_must_fit_its_type() -> None:
    """The server would refuse the definition."""
    with pytest.raises(TypeError, match=r"^Thing\.spec\.x: the default 0 does not fit .* `int` >= 1"):
        schema_of(Annotated[int, Meta(ge=1)], 0)


class Marked(APIStruct):
    """With a struct that is not in the schema."""

    port: Annotated[Port, ANY_FIELDS, Meta(description="any port")]
    maybe: Annotated[Port, ANY_FIELDS] | None = None
    ports: tuple[Annotated[Port, ANY_FIELDS], ...] = ()


def test_the_fields_of_a_marked_struct_are_left_out() -> None:
    """It is an object still, wherever it stands; the mark is in no schema."""

    class Holder(Kind, group="example.org", version="v1"):
        """A kind."""

        spec: Marked

    spec = object_schema(Holder)["properties"]["spec"]
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    assert spec["properties"] == {
        "port": free | {"description": "any port"},
        "maybe": free,
        "ports": {"type": "array", "items": free},
    }
    assert spec["required"] == ["port"]


def test_only_a_struct_is_marked() -> None:
    """For the rest there is JSON."""

    class Wrong(Kind, group="example.org", version="v1"):
        """A kind."""

        spec: Annotated[int, ANY_FIELDS]

    with pytest.raises(TypeError, match="ANY_FIELDS is for a struct"):
        object_schema(Wrong)
