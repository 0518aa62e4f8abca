"""What the annotations of fields come to on a server: each in one kind, which both servers take."""

from __future__ import annotations

import json
import uuid
from typing import Annotated, Any, ClassVar

from msgspec import Meta

from handloop.apis.crd import PrinterColumn, custom_resource_definition
from handloop.apis.meta import EMPTY_MAP, APIStruct, FrozenMap, Kind
from handloop.apis.schema_annotations import (
    MAP_ATOMIC,
    NO_FORMAT,
    SERVER_DEFAULT,
    DateTime,
    Rule,
    property_counts,
    rules,
    schema_format,
)
from handloop.client.resource_client import codec_of
from support.builders.widgets import defined
from support.servers.api_server import APPLY, MERGE, APIServer

GROUP = f"an{uuid.uuid4().hex[:8]}.contract.example.com"


class Limits(APIStruct):
    """With defaults inside."""

    most: int = 5
    strict: Annotated[bool, SERVER_DEFAULT] = False
    note: Annotated[str, SERVER_DEFAULT] = ""


class Choice(APIStruct):
    """One of two."""

    left: str = ""
    right: str = ""


class PlanSpec(APIStruct):
    """What a user wants."""

    crd_rules = (
        Rule(
            expression="!has(self.first) || self.size >= self.first",
            message_expression="self.first > 9 ? 'size is large' : 'size is at least first'",
            message="size is too small",
            reason="FieldValueForbidden",
            field_path=".size",
        ),
    )

    at: DateTime = ""
    net: Annotated[str, schema_format("cidr")] = ""
    size: Annotated[int, NO_FORMAT, rules(Rule(expression="self != 13", message="no thirteen"))] = 1
    first: int | None = None
    words: Annotated[
        tuple[Annotated[str, Meta(max_length=9)], ...],
        Meta(max_length=5),
        rules(Rule(expression="self.all(word, word != 'x')", message="no x")),
    ] = ()
    limits: Annotated[Limits, SERVER_DEFAULT] = Limits()
    choice: Annotated[Choice, property_counts(least=1, most=1)] | None = None
    whole: Annotated[FrozenMap, MAP_ATOMIC] = EMPTY_MAP


class Plan(Kind, group=GROUP, version="v1"):
    """A kind with a rule at the root, and a status that anybody writes."""

    crd_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            expression="!oldSelf.hasValue() || oldSelf.value().spec.size <= self.spec.size",
            message="size never falls",
            optional_old_self=True,
        ),
    )
    printer_columns: ClassVar[tuple[PrinterColumn, ...]] = (
        PrinterColumn(name="At", type="string", format="date-time", json_path=".spec.at"),
    )
    status_subresource = False
    spec: PlanSpec = PlanSpec()
    status: Choice = Choice()


def _plan(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": f"{GROUP}/v1", "kind": "Plan", "metadata": {"name": "a"}, "spec": spec}


def test_each_annotation_comes_to_what_it_says(server: APIServer, namespace: str) -> None:
    """Formats, counts, rules with their reasons, numbers of any size, atomic maps, a status for everybody."""
    path = f"/apis/{GROUP}/v1/namespaces/{namespace}/plans"
    with defined(server, custom_resource_definition(Plan)):
        for wrong, *cause in (
            ({"at": "yesterday"}, "FieldValueTypeInvalid", "spec.at", "date-time"),
            ({"net": "10.0.0.0/99"}, "FieldValueTypeInvalid", "spec.net", "cidr"),
            ({"choice": {}}, "FieldValueInvalid", "spec.choice", "at least 1"),
            ({"choice": {"left": "a", "right": "b"}}, "FieldValueTooMany", "spec.choice", "at most 1"),
            ({"size": 13}, "FieldValueInvalid", "spec.size", "no thirteen"),
            ({"words": ["x"]}, "FieldValueInvalid", "spec.words", "no x"),
            ({"size": 2, "first": 3}, "FieldValueForbidden", "spec.size", "size is at least first"),
        ):
            refused = server.create(path, _plan(**wrong))
            assert refused.status == 422, wrong
            (found,) = (each for each in refused.causes if each[1] == cause[1])
            assert found[0] == cause[0], wrong
            assert cause[2] in found[2], wrong
        for size in (2**40, -1):
            assert server.create(f"{path}?dryRun=All", _plan(size=size)).body["spec"]["size"] == size
        made = server.create(path, _plan(size=4, at="2026-01-01T00:00:00Z", net="10.0.0.0/8")).body
        assert made["spec"]["limits"] == {"most": 5, "strict": False, "note": ""}
        assert codec_of(Plan).decode(json.dumps(made).encode()).spec.limits == Limits()
        falls = server.patch(f"{path}/a", {"spec": {"size": 3}}, MERGE)
        assert (falls.status, "size never falls" in falls.message) == (422, True)
        written = server.patch(f"{path}/a", {"status": {"left": "b"}}, MERGE)
        assert written.body["status"] == {"left": "b"}
        assert server.get(f"{path}/a/status").status == 404
        server.delete(f"{path}/a")
        _check_that_an_atomic_map_has_one_manager(server, f"{path}/b")


def _check_that_an_atomic_map_has_one_manager(server: APIServer, path: str) -> None:
    """A second one that applies another key takes all of it, and is told whose it is."""
    plan = {**_plan(size=1), "metadata": {"name": "b"}}
    first, second = ({**plan, "spec": {"size": 1, "whole": whole}} for whole in ({"a": "1"}, {"b": "2"}))
    assert server.patch(f"{path}?fieldManager=one", first, APPLY).status == 201
    refused = server.patch(f"{path}?fieldManager=two", second, APPLY)
    assert (refused.status, ".spec.whole" in refused.message) == (409, True)
    forced = server.patch(f"{path}?fieldManager=two&force=true", second, APPLY)
    assert forced.body["spec"]["whole"] == {"b": "2"}
