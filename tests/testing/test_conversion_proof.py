"""The proof of conversions: it holds for right ones, and finds mistakes without a case written by hand."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Annotated, Any, ClassVar, Final, Literal

import msgspec
import pytest
from msgspec import Meta

from handloop.apis.meta import EMPTY_MAP, APIStruct, FrozenMap, Kind, MapOf, ObjectMeta
from handloop.apis.schema_annotations import Rule, list_map
from handloop.testing import assert_converts


class Port(APIStruct):
    """An entry of a list."""

    name: Annotated[str, Meta(pattern=r"^[a-z]+\Z", max_length=15)]
    number: Annotated[int, Meta(ge=1, le=65535)] = 80


class Status(APIStruct):
    """The same in both."""

    ready: int = 0
    phase: str = ""
    messages: tuple[str, ...] = ()


class OldStore(APIStruct):
    """A part."""

    path: str
    read_only: bool = False


class OldSpec(APIStruct):
    """As it was."""

    size: Annotated[int, Meta(ge=0, le=100)] = 1
    address: Annotated[str, Meta(pattern=r"^[a-z]+(\.[a-z]+)*:[1-9][0-9]{0,3}\Z")]
    mode: Literal["fast", "safe", "slow"] = "safe"
    ports: Annotated[tuple[Port, ...], list_map("name")] = ()
    hosts: tuple[str, ...] = ()
    labels: FrozenMap = EMPTY_MAP
    limits: MapOf[int] = MapOf[int]()
    store: OldStore | None = None
    paused: bool = False
    note: str | None = None
    weight: float = 0.5


class Old(Kind, group="example.org", version="v1beta1", kind="Site"):
    """As it was."""

    spec: OldSpec
    status: Status = Status()


class Store(APIStruct):
    """A part, with a name that is another."""

    folder: str
    is_writable: bool = True


class Spec(APIStruct):
    """One field split, one turned around, most have another name."""

    replicas: Annotated[int, Meta(ge=0, le=100)] = 1
    host: Annotated[str, Meta(pattern=r"^[a-z]+(\.[a-z]+)*\Z")]
    port: Annotated[int, Meta(ge=1, le=9999)]
    speed: Literal["fast", "safe", "slow"] = "safe"
    listens: Annotated[tuple[Port, ...], list_map("name")] = ()
    names: tuple[str, ...] = ()
    tags: FrozenMap = EMPTY_MAP
    quotas: MapOf[int] = MapOf[int]()
    storage: Store | None = None
    is_paused: bool = False
    comment: str | None = None
    share: float = 0.5


Fault = Callable[[Any], Any]


def _same(value: Any) -> Any:
    return value


def _site(fault: Fault = _same) -> type[Kind]:
    """The kind whose functions have one mistake: fault is applied to what either gives."""

    class Site(Kind, group="example.org", version="v1", kind="Site", previous=Old):
        spec: Spec
        status: Status = Status()

        @classmethod
        def from_previous(cls, old: Old) -> Any:
            was = old.spec
            host, _, port = was.address.partition(":")
            store = None
            if was.store is not None:
                store = Store(folder=was.store.path, is_writable=not was.store.read_only)
            spec = Spec(
                replicas=was.size,
                host=host,
                port=int(port),
                speed=was.mode,
                listens=was.ports,
                names=was.hosts,
                tags=was.labels,
                quotas=was.limits,
                storage=store,
                is_paused=was.paused,
                comment=was.note,
                share=was.weight,
            )
            return fault(cls(metadata=old.metadata, spec=spec, status=old.status))

        def to_previous(self) -> Any:
            now = self.spec
            store = None
            if now.storage is not None:
                store = OldStore(path=now.storage.folder, read_only=not now.storage.is_writable)
            spec = OldSpec(
                size=now.replicas,
                address=f"{now.host}:{now.port}",
                mode=now.speed,
                ports=now.listens,
                hosts=now.names,
                labels=now.tags,
                limits=now.quotas,
                store=store,
                paused=now.is_paused,
                note=now.comment,
                weight=now.share,
            )
            return fault(Old(metadata=self.metadata, spec=spec, status=self.status))

    return Site


def test_right_functions_are_proved() -> None:
    """With two parts of a text, a flag turned around, and names that are others."""
    assert_converts(_site())
    assert_converts(_site(), seed=2)


_MISTAKES: Final[dict[type, dict[str, Fault]]] = {
    int: {
        "doubled": lambda n: n * 2,
        "one more": lambda n: n + 1,
        "cut at 10": lambda n: min(n, 10),
        "0 is 1": lambda n: n or 1,
        "always 1": lambda _: 1,
        "one less": lambda n: n - 1,
        "even": lambda n: n // 2 * 2,
        "100 is 0": lambda n: n % 100,
    },
    float: {"doubled": lambda n: n * 2, "whole": int, "always 0.5": lambda _: 0.5, "negative": lambda n: -n},
    bool: {"turned": lambda b: not b, "never": lambda _: False, "always": lambda _: True},
    str: {
        "lower": str.lower,
        "three letters": lambda s: s[:3],
        "as path": lambda s: s.replace(".", "/"),
        "always a": lambda _: "a",
        "fast": lambda _: "fast",
        "empty is none": lambda s: s or "none",
        "upper": str.upper,
        "turned": lambda s: s[::-1],
        "all but the first": lambda s: s[1:],
        "twice": lambda s: s + s,
        "no digits": lambda s: "".join(each for each in s if not each.isdigit()),
    },
    type(None): {"empty": lambda s: s or "", "always none": lambda _: None},
    tuple: {
        "turned": lambda t: t[::-1],
        "all but the last": lambda t: t[:-1],
        "the first": lambda t: t[:1],
        "sorted": lambda t: tuple(sorted(t, key=repr)),
        "none": lambda _: (),
        "twice": lambda t: t + t,
        "all but the first": lambda t: t[1:],
    },
    dict: {
        "none": lambda _: EMPTY_MAP,
        "one": lambda m: type(m)(itertools.islice(m.items(), 1)),
        "all but one": lambda m: type(m)(itertools.islice(m.items(), 1, None)),
        "other keys": lambda m: type(m)({key.upper(): value for key, value in m.items()}),
    },
}
_FIELDS: Final[dict[Any, dict[str, type]]] = {
    Old: {
        "size": int, "address": str, "mode": str, "ports": tuple, "hosts": tuple, "labels": dict,
        "limits": dict, "store": type(None), "paused": bool, "note": str, "weight": float,
    },
    Kind: {
        "replicas": int, "host": str, "port": int, "speed": str, "listens": tuple, "names": tuple,
        "tags": dict, "quotas": dict, "storage": type(None), "is_paused": bool, "comment": str,
        "share": float,
    },
}  # fmt: skip
_STATUS: Final = {"ready": int, "phase": str, "messages": tuple}
_HARMLESS: Final = (
    # a name in lower case has nothing to lose, and neither has a value that is never empty
    *(("spec", name, "lower") for name in ("host", "address", "mode", "speed")),
    *(("spec", name, "empty is none") for name in ("host", "address", "mode", "speed")),
    *(("spec", name, "as path") for name in ("mode", "speed")),
    *(("spec", name, "no digits") for name in ("host", "mode", "speed")),
    *(("spec", name, "empty") for name in ("store", "storage")),
    ("spec", "port", "0 is 1"),
)


def _mistakes() -> Iterator[tuple[type, str, str, str]]:
    """(type of what is wrong, "spec" or "status", field, mistake)."""
    for target, fields in _FIELDS.items():
        for part, its in (("spec", fields), ("status", _STATUS)):
            for name, of in its.items():
                for mistake in _MISTAKES[of]:
                    if (part, name, mistake) not in _HARMLESS:
                        yield target, part, name, mistake


def _fault(target: type, part: str, name: str, mistake: str) -> Fault:
    of = (_STATUS if part == "status" else _FIELDS[target])[name]
    change = _MISTAKES[of][mistake]

    def fault(obj: Any) -> Any:
        if isinstance(obj, Old) != (target is Old):
            return obj
        inner = getattr(obj, part)
        value = getattr(inner, name)
        if value is None and mistake not in ("empty", "always none"):
            return obj
        made = msgspec.structs.replace(inner, **{name: change(value)})
        return msgspec.structs.replace(obj, **{part: made})

    return fault


def _without(obj: Any, **metadata: Any) -> Any:
    return msgspec.structs.replace(obj, metadata=msgspec.structs.replace(obj.metadata, **metadata))


def _tired() -> Fault:
    """Gives something else each time."""
    calls = itertools.count()
    return lambda obj: _without(obj, labels=FrozenMap(call=str(next(calls))))


def _at_least_one(obj: Any) -> Any:
    if not obj.status.ready:
        raise LookupError("nothing is ready")
    return obj


_OF_WHOLES: Final[dict[str, Callable[[], Fault]]] = {
    "no labels": lambda: lambda obj: _without(obj, labels=EMPTY_MAP),
    "no annotations": lambda: lambda obj: _without(obj, annotations=EMPTY_MAP),
    "no finalizers": lambda: lambda obj: _without(obj, finalizers=()),
    "no metadata": lambda: lambda obj: msgspec.structs.replace(obj, metadata=ObjectMeta()),
    "no status": lambda: lambda obj: msgspec.structs.replace(obj, status=Status()),
    "another each time": _tired,
    "not for all": lambda: _at_least_one,
}


@pytest.mark.parametrize("chosen", sorted(_mistakes(), key=repr), ids=lambda chosen: "-".join(chosen[1:]))
def test_each_mistake_in_a_field_is_found(chosen: tuple[type, str, str, str]) -> None:
    """A field forgotten, a default doubled, a list turned, a status dropped; in either function."""
    with pytest.raises(AssertionError, match="again: assert_converts"):
        assert_converts(_site(_fault(*chosen)))


@pytest.mark.parametrize("target", [Old, Kind])
@pytest.mark.parametrize("mistake", _OF_WHOLES)
def test_each_mistake_in_an_object_is_found(mistake: str, target: type) -> None:
    """In its metadata or its status; and a function that is not pure, or not defined for all."""
    change = _OF_WHOLES[mistake]()
    with pytest.raises(AssertionError, match="again: assert_converts"):
        assert_converts(_site(lambda obj: change(obj) if isinstance(obj, Old) == (target is Old) else obj))


def test_the_smallest_object_is_shown() -> None:
    """With the field, what it became, the way to keep it, and the line that shows it again."""
    with pytest.raises(AssertionError) as caught:
        assert_converts(_site(_fault(Old, "spec", "hosts", "turned")), seed=3)
    said = str(caught.value).splitlines()
    assert said[:2] == [
        "Site v1 -> v1beta1 loses spec.names",
        '  object: {"spec": {"host": "a", "port": 1, "names": ["b", "a"]}}',
    ]
    assert said[2].startswith(
        '  became: {"apiVersion": "example.org/v1", "kind": "Site", "metadata": {}, "spec"'
    )
    assert '"names": ["a", "b"]' in said[2]
    assert said[3:] == [
        '  fix: convert it in both functions, or preserve it with Site.kept_fields = ("spec.names",)',
        "  again: assert_converts(Site, seed=3)",
    ]


class Plain(Kind, group="example.org", version="v1beta1", kind="Shop"):
    """A list where there was one."""

    spec: OldStore


class ShopSpec(APIStruct):
    """With a rule, and a text that no list of words has."""

    crd_rules: ClassVar = (Rule(expression="self.paths.size() > 0", message="one is needed"),)
    paths: tuple[str, ...]
    code: Annotated[str, Meta(pattern=r"^[a-z]+\Z", min_length=80)] | None = None


class Shop(Kind, group="example.org", version="v1", previous=Plain):
    """What is not the first is kept."""

    kept_fields: ClassVar = ("spec.paths", "spec.code")
    spec: ShopSpec

    @classmethod
    def from_previous(cls, old: Plain) -> Shop:
        """One."""
        return cls(metadata=old.metadata, spec=ShopSpec(paths=(old.spec.path,)))

    def to_previous(self) -> Plain:
        """The first."""
        return Plain(metadata=self.metadata, spec=OldStore(path=self.spec.paths[0]))


def test_what_an_annotation_keeps_is_not_lost() -> None:
    """CEL rules are held, too; but a field for which no value is known has to be given, once."""
    with pytest.raises(ValueError, match=r"Shop.spec.code: no valid value is known; pass one in samples"):
        assert_converts(Shop)
    sample = Shop.named("a", spec=ShopSpec(paths=("a", "b"), code="c" * 80))
    with pytest.raises(AssertionError, match=r"v1beta1 -> v1 loses spec\.readOnly"):
        assert_converts(Shop, samples=[sample])


def test_without_functions_there_is_nothing_to_prove() -> None:
    """A test that cannot fail is none."""
    with pytest.raises(ValueError, match="no functions convert the versions of Old"):
        assert_converts(Old)
