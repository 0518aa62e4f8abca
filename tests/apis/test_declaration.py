"""Kinds declared once: class keywords, wire names, sent fields, and checks of constructors."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import msgspec
import pytest

from handloop.apis.core_v1 import PodSpec
from handloop.apis.declaration import is_built_in, plural_of, wire_name
from handloop.apis.meta import APIStruct, FrozenMap, Kind, ObjectMeta, decode_hook


class GreetingSpec(APIStruct):
    name: str
    size: int = 0
    colour: str = "blue"
    loud: bool = False
    clear: bool = True
    pod_ip: str = ""
    tags: tuple[str, ...] = ()
    limit: int | None = None


class Greeting(Kind, group="example.org", version="v1", short_names=("gr",)):
    spec: GreetingSpec


class PodView(Kind, group="", version="v1", kind="Pod"):
    """A view of a kind that is not ours."""


def untyped(kind: type[msgspec.Struct]) -> Any:
    """A constructor that mypy does not check."""
    return kind


def encoded(obj: msgspec.Struct) -> Any:
    return msgspec.json.decode(msgspec.json.encode(obj))


def test_all_names_follow_from_the_keywords() -> None:
    """Group, version and the class's name make the tag, apiVersion, plural, singular and URL."""
    assert Greeting.resource.path(namespace="n") == "/apis/example.org/v1/namespaces/n/greetings"
    assert Greeting.resource.singular == "greeting"
    assert Greeting.resource.short_names == ("gr",)
    greeting = Greeting(spec=GreetingSpec(name="a"))
    assert (encoded(greeting)["kind"], encoded(greeting)["apiVersion"]) == ("Greeting", "example.org/v1")
    read = msgspec.json.Decoder(Greeting, dec_hook=decode_hook).decode
    assert read(msgspec.json.encode(greeting)) == greeting
    for wrong in ({"kind": "Other"}, {"apiVersion": "example.org/v2"}):
        with pytest.raises(msgspec.ValidationError):
            read(msgspec.json.encode(encoded(greeting) | wrong))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("class A(Kind): pass", "A does not name its kind"),
        ("class A(Kind, group='example.org'): pass", "version=''"),
        ("class A(Kind, group='Example', version='v1'): pass", "group='Example'"),
        ("class A(Kind, group='a.b', version='V1'): pass", "version='V1'"),
        ("class a_b(Kind, group='a.b', version='v1'): pass", "kind='a_b'"),
        ("class A(Kind, group='a.b', version='v1', plural='As'): pass", "plural='As'"),
        ("class A(Kind, group='a.b', version='v1', scope='cluster'): pass", "scope='cluster'"),
        ("class A(Kind, group='a.b', version='v1', tag='B'): pass", "remove tag, because"),
        (
            "class A(Kind, group='a.b', version='v1'): api_version: str = 'a.b/v2'",
            "remove api_version, because",
        ),
        ("class A(Kind, group='a.b', version='v1', plurals='as'): pass", "plurals"),
    ],
)
def test_a_contradiction_is_an_error_when_the_class_is_made(body: str, message: str) -> None:
    """Nobody else's object is blamed for it later."""
    with pytest.raises(TypeError, match=message.replace("?", r"\?")):
        exec(body, {"Kind": Kind})  # noqa: S102 - a class statement of the table above


def test_plurals_are_english() -> None:
    """As kubebuilder makes them."""
    words = {
        "Foo": "foos",
        "Policy": "policies",
        "Ingress": "ingresses",
        "Gateway": "gateways",
        "Box": "boxes",
    }
    assert {kind: plural_of(kind) for kind in words} == words


def test_acronyms_have_their_wire_names() -> None:
    """The API's convention; a name can still be given by msgspec.field."""
    names = {
        "cluster_ip": "clusterIP",
        "pod_ip": "podIP",
        "external_ips": "externalIPs",
        "cluster_cidr": "clusterCIDR",
        "pod_cidrs": "podCIDRs",
        "target_cpu_utilization_percentage": "targetCPUUtilizationPercentage",
        "non_resource_urls": "nonResourceURLs",
        "host_ipc": "hostIPC",
        "api_version": "apiVersion",
        "uid": "uid",
        "replicas": "replicas",
    }
    assert {name: wire_name(name) for name in names} == names


def test_a_default_with_content_is_sent() -> None:
    """Scaling to 0 and switching off are sent, though they are defaults; empty values and None are not."""
    assert encoded(GreetingSpec(name="a", size=0, loud=False)) == {
        "name": "a",
        "size": 0,
        "colour": "blue",
        "loud": False,
        "clear": True,
    }
    assert encoded(GreetingSpec(name="a", limit=0))["limit"] == 0


def test_a_type_can_leave_all_defaults_out_or_none() -> None:
    """Msgspec's own rule, if a class chooses it."""

    class Quiet(APIStruct, omit_defaults=True):
        size: int = 0

    class Loud(APIStruct, omit_defaults=False):
        size: int | None = None

    assert (encoded(Quiet(size=0)), encoded(Loud())) == ({}, {"size": None})


def test_the_wire_name_is_in_the_repr() -> None:
    """Where camelCase would mislead; unset fields are not shown."""
    spec = GreetingSpec(name="a", pod_ip="10.0.0.1")
    assert "name='a'" in repr(spec)
    assert "pod_ip (podIP)='10.0.0.1'" in repr(spec)
    assert "tags" not in repr(spec)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: untyped(GreetingSpec)(name=3), "GreetingSpec.name: Expected `str`, got `int`"),
        (lambda: untyped(GreetingSpec)(name="a", size="3"), "GreetingSpec.size: Expected `int`, got `str`"),
        (lambda: untyped(GreetingSpec)(name="a", tags=["b"]), "GreetingSpec.tags: expected a tuple"),
        (lambda: untyped(Greeting)(spec={"name": "a"}), "Greeting.spec: expected a GreetingSpec"),
        (lambda: untyped(GreetingSpec)(nam="a"), r"GreetingSpec has no field nam: did you mean name\?"),
        (lambda: untyped(GreetingSpec)(podIP="a"), r"GreetingSpec has no field podIP: did you mean pod_ip\?"),
        (lambda: untyped(Greeting)(spec=PodSpec()), "Greeting.spec: expected a GreetingSpec"),
        (lambda: untyped(ObjectMeta)(labels={"a": "b"}), "ObjectMeta.labels: expected a FrozenMap"),
    ],
)
def test_a_constructor_shows_which_field_is_wrong(make: Any, message: str) -> None:
    """Under pytest: what the server or a cache would find much later."""
    with pytest.raises(TypeError, match=message):
        make()


def test_constructors_check_nothing_in_production() -> None:
    """The check costs microseconds for each object."""
    script = "from handloop.apis.meta import ObjectMeta; print(ObjectMeta(name=3).name)"
    plain, checked = (
        subprocess.run(
            [sys.executable, *flags, "-c", script], check=False, capture_output=True, text=True, env={}
        )
        for flags in ((), ("-X", "dev"))
    )
    assert plain.stdout == "3\n"
    assert "ObjectMeta.name: Expected `str`, got `int`" in checked.stderr


def test_named_takes_name_and_namespace_of_another_object() -> None:
    """Lists and dicts are frozen on the way."""
    owner = Greeting(metadata=ObjectMeta(name="a", namespace="n"), spec=GreetingSpec(name="x"))

    class ConfigMap(Kind, group="", version="v1"):
        data: FrozenMap = FrozenMap()

    config_map = ConfigMap.named(owner, data={"text": "t"})
    assert config_map.metadata == ObjectMeta(name="a", namespace="n")
    assert config_map.data == FrozenMap({"text": "t"})
    assert ConfigMap.named("b", namespace="m").metadata.namespace == "m"


def test_views_of_built_in_kinds_are_partial() -> None:
    """An update of theirs would erase the fields that they do not hold."""
    assert is_built_in("apps")
    assert is_built_in("rbac.authorization.k8s.io")
    assert not is_built_in("gateway.networking.k8s.io")
    assert not Greeting.partial
    assert PodView.partial


def test_a_module_needs_no_future_import() -> None:
    """Its annotations are then no texts, and from Python 3.14 on they are made later."""
    module: dict[str, Any] = {"__name__": __name__, "APIStruct": APIStruct, "Kind": Kind}
    text = """
class SizeSpec(APIStruct):
    size: int = 3
    unit: str | None = None
class Size(Kind, group="example.org", version="v1"):
    spec: SizeSpec = SizeSpec()
"""
    exec(compile(text, "sizes.py", "exec", dont_inherit=True), module)  # noqa: S102 - a module of an author
    size = untyped(module["Size"]).named("a", spec=module["SizeSpec"](size=4))
    assert json.loads(msgspec.json.encode(size))["spec"] == {"size": 4}
    assert json.loads(msgspec.json.encode(module["SizeSpec"]())) == {"size": 3}
    assert [field.name for field in msgspec.structs.fields(module["Size"])][-1] == "spec"
