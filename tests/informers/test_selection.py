from __future__ import annotations

from typing import Any

import pytest

from handloop.apis.grammar.labels import SelectorError, nothing, parse_selector
from handloop.apis.meta import FrozenMap, Kind
from handloop.apis.unstructured import Unstructured
from handloop.client.options import ListOptions
from handloop.controller.foo.types import Foo
from handloop.informers.keys import ObjectName
from handloop.informers.selection import EVERYTHING, OutsideSelection, selection_of
from handloop.kinds.core_v1 import ConfigMap, Pod
from handloop.kinds.meta_v1 import LabelSelector

CronTab = Unstructured.of("stable.example.com/v1", "CronTab")


class Shirt(Kind, group="example.com", version="v1"):
    """A kind whose CRD offers a field to select by."""

    selectable_fields = ("spec.color",)


def test_equal_selections_are_one() -> None:
    """However they are spelt: otherwise each would be a watch and a cache."""
    one = selection_of(Pod, labels="tier!=db, app==web", fields="status.phase=Running,spec.nodeName==a")
    other = selection_of(
        Pod, labels="app=web,tier!=db,app=web", fields="spec.nodeName=a,status.phase=Running"
    )
    assert (one, hash(one)) == (other, hash(other))
    assert one.suffix == "[app=web,tier!=db,.spec.nodeName=a,.status.phase=Running]"
    by_struct = selection_of(Pod, labels=LabelSelector(match_labels=FrozenMap({"app": "web"})))
    assert by_struct == selection_of(Pod, labels=parse_selector("app=web")) != one
    assert selection_of(Pod) is EVERYTHING
    assert (bool(EVERYTHING), EVERYTHING.suffix) == (False, "")


def test_a_query_is_narrowed() -> None:
    """Besides the selectors that a tweak has set."""
    selection = selection_of(Pod, labels="app in (web,api)", fields=r"metadata.name=a")
    asked = selection.narrowed(ListOptions(label_selector="x", field_selector="spec.nodeName=n", limit=7))
    assert (asked.label_selector, asked.field_selector) == (
        "x,app in (api,web)",
        "spec.nodeName=n,metadata.name=a",
    )
    assert asked.limit == 7


@pytest.mark.parametrize(
    ("kind", "selectors", "message"),
    [
        (Pod, {"labels": "app in web"}, r"labels='app in web': .*expected: '\('"),
        (Pod, {"labels": nothing()}, "labels select nothing"),
        (Pod, {"fields": "spec.nodeName"}, "fields='spec.nodeName': .*can't understand"),
        (
            Pod,
            {"fields": "spec.node=a"},
            "field label not supported: spec.node; the server offers .*nodeName",
        ),
        (ConfigMap, {"fields": "data=a"}, "not a known field selector.*; the server offers metadata.name"),
        (Foo, {"fields": "spec.replicas=1"}, "field label not supported: spec.replicas"),
        (
            Shirt,
            {"fields": "spec.size=1"},
            "the server offers metadata.name, metadata.namespace, spec.color$",
        ),
    ],
)
def test_what_the_server_would_refuse_is_refused(
    kind: type[Kind], selectors: dict[str, Any], message: str
) -> None:
    """With the place and the server's words."""
    with pytest.raises(SelectorError, match=message):
        selection_of(kind, **selectors)


def test_fields_of_custom_kinds() -> None:
    """Those that our type declares; of a kind that is not ours, the server decides."""
    assert selection_of(Shirt, fields="spec.color=blue").matches({"spec": {"color": "blue"}})
    assert not selection_of(Shirt, fields="spec.color!=blue").matches({"spec": {"color": "blue"}})
    assert selection_of(CronTab, fields="spec.any=a").field_text == "spec.any=a"


@pytest.mark.parametrize(
    ("labels", "asked", "outside"),
    [
        ("app=web", "app=db", True),
        ("app=web", "app!=web", True),
        ("app in (a,b)", "app in (b,c)", False),
        ("app in (a,b)", "app notin (a,b,c)", True),
        ("app", "!app", True),
        ("!app", "app=web", True),
        ("app!=web", "app=web", True),
        ("app>3", "app=2", True),
        ("app=web", "tier=db", False),
        ("app!=web", "app!=db", False),
        ("app=web", "", False),
    ],
)
def test_labels_that_contradict_are_outside(labels: str, asked: str, outside: bool) -> None:
    """An empty list would mean that the server has none."""
    selection = selection_of(Pod, labels=labels)
    if outside:
        with pytest.raises(OutsideSelection, match="unable to list pods from the cache, which contains only"):
            selection.check_list("list pods", parse_selector(asked), "")
    else:
        selection.check_list("list pods", parse_selector(asked), "")


def test_names_and_namespaces_that_are_outside() -> None:
    """Where the fields pin them."""
    selection = selection_of(Pod, fields="metadata.name=a,metadata.namespace=demo")
    selection.check_name("get", ObjectName("demo", "a"))
    selection.check_list("list", parse_selector(""), "")
    for name in (ObjectName("demo", "b"), ObjectName("other", "a")):
        with pytest.raises(OutsideSelection, match=r"fields metadata\.name=a,metadata\.namespace=demo"):
            selection.check_name("get", name)
    with pytest.raises(OutsideSelection):
        selection.check_list("list", parse_selector(""), "other")
    others = selection_of(Pod, fields="metadata.name!=a,metadata.namespace!=demo")
    others.check_name("get", ObjectName("other", "b"))
    for name in (ObjectName("other", "a"), ObjectName("demo", "b")):
        with pytest.raises(OutsideSelection):
            others.check_name("get", name)


def test_a_field_of_a_custom_kind_has_no_other_name() -> None:
    """`spec.host` is a Pod's old name of its node, and nothing else."""
    site = Unstructured.of("example.org/v1", "Site")
    obj = {"spec": {"host": "h"}, "metadata": {}}
    assert selection_of(site, fields="spec.host=h").matches(obj)
