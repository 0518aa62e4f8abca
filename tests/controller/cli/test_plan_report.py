"""A plan as it is printed."""

from __future__ import annotations

import io
import json
from typing import Any

from handloop.controller.cli.plan_report import exit_code, json_report, summary, text_report
from handloop.controller.runtime.planning.attempt import MORE, PAUSED, WEBHOOK, PlannedWrite
from handloop.controller.runtime.planning.field_changes import FieldChange
from handloop.controller.runtime.planning.planner import Plan, Unshown


def write(
    name: str, kind: str = "Deployment", verb: str = "patch", *restarts: str, **more: Any
) -> PlannedWrite:
    """A write for the Site of that name; restarts are the reasons."""
    fields = more.pop("fields", (FieldChange("spec.a", 1, 2, "kubectl", restarts[0] if restarts else ""),))
    where = {"api_version": "v1", "namespace": "default", "subresource": "", "owner": f"Site default/{name}"}
    names = {"verb": verb, "kind": kind, "name": name, "restarts_for": restarts}
    return PlannedWrite(**{**where, **names, **more, "fields": fields})


def unshown(name: str, what: str, why: str = "") -> Unshown:
    """Of a Site."""
    return Unshown("sites", "Site", "default", name, what, why)


def plan_of(*writes: PlannedWrite, told: tuple[Unshown, ...] = ()) -> Plan:
    """With these."""
    plan = Plan()
    plan.add(writes, *told)
    return plan


def text(plan: Plan, **options: Any) -> str:
    """As people see it."""
    out = io.StringIO()
    text_report(plan, out, **options)
    return out.getvalue()


def test_the_summary_counts() -> None:
    """What starts pods and why, what changes, comes, goes, fails and is left out."""
    writes = [
        *(write(f"a{n}", "Deployment", "patch", "image") for n in range(31)),
        *(write(f"b{n}", "Deployment", "patch", "env") for n in range(5)),
        write("c", "Deployment", "patch", "env", "image"),
        *(write(f"s{n}", "Service") for n in range(3)),
        write("s0", "Service"),
        write("new", "ConfigMap", "create"),
        write("new", "ConfigMap"),
        write("old", "ConfigMap", "delete", fields=()),
        write("old", "Service", "delete", fields=()),
        write("a1", "Site", subresource="status"),
        write("p", "Pod", "create", subresource="eviction", fields=()),
    ]
    told = [unshown(name, "failed", f"Site default/{name}: no") for name in "xyz"]
    told += [unshown("v", "failed", "other"), unshown("p", PAUSED), unshown("w", WEBHOOK, "no.example.com")]
    told += [unshown("a1", MORE, "its pods are not ready yet")]
    assert summary(writes, {"Deployment": 412}, told) == (
        "of 412 Deployments 37 would start new pods: image 31, env 5, env and image 1; 3 Services change; "
        "1 ConfigMap would be created; 2 objects would be deleted: 1 ConfigMap, 1 Service; "
        "the eviction of 1 Pod changes; "
        "the status of 1 Site changes; 4 names fail, for 2 reasons; 1 name not planned; 1 name paused"
    )
    assert summary([], {}, []) == "nothing would change"


def test_what_people_see() -> None:
    """Each object with its writes, what follows, and the reasons with the names that share them."""
    fields = (FieldChange("spec.a", None, "x" * 200), FieldChange("spec.b", "\x1b[31m", None, "kubectl"))
    told = (unshown("a", MORE, "for\nit"), unshown("w", WEBHOOK, "no.example.com"), unshown("p", PAUSED))
    writes = (write("a", "Deployment", "patch", "image"), write("b", "Service", fields=fields))
    shown = text(plan_of(*writes, told=told)).splitlines()
    assert shown[1:] == [
        "",
        "Site default/a",
        "  patch Deployment default/a: starts new pods (image)",
        "    ~ spec.a: 1 -> 2  (of kubectl)",
        r"  and then more: for\nit",
        "",
        "Site default/b",
        "  patch Service default/b",
        f'    + spec.a: "{"x" * 119}...',
        r'    - spec.b: "\u001b[31m"  (of kubectl)',
        "",
        "not planned",
        '  admission webhook "no.example.com" does not support dry run',
        "    Site default/w",
        "",
        "paused",
        "  by an annotation",
        "    Site default/p",
    ]


def test_what_programs_read() -> None:
    """The shape, sorted by owner and object, without managers; the same whatever the order of the work."""
    told = (unshown("f", "failed", "no"), unshown("p", PAUSED))
    writes = [write("b", "Service"), write("a", "Service"), write("a", "Deployment", "patch", "image")]
    outs = []
    for order in (writes, writes[::-1]):
        out = io.StringIO()
        json_report(plan_of(*order, told=told), out)
        outs.append(out.getvalue())
    document = json.loads(outs[0])
    assert outs[0] == outs[1]
    assert [(each["name"], each["kind"]) for each in document["writes"]] == [
        ("a", "Deployment"),
        ("a", "Service"),
        ("b", "Service"),
    ]
    assert document["writes"][0] == {
        "verb": "patch",
        "apiVersion": "v1",
        "kind": "Deployment",
        "namespace": "default",
        "name": "a",
        "subresource": "",
        "owner": "Site default/a",
        "restarts": True,
        "fields": [{"path": "spec.a", "old": 1, "new": 2}],
    }
    where = {"controller": "sites", "kind": "Site", "namespace": "default"}
    assert document["failed"] == [{**where, "name": "f", "why": "no"}]
    assert document["unplanned"] == [{**where, "name": "p", "why": "", "what": "paused"}]


def test_only_restarts() -> None:
    """What starts no pods is neither shown nor counted, nor is it a change for the exit code."""
    plan = plan_of(write("a", "Service"), write("a", "Deployment", "patch", "image"))
    assert "Service" not in text(plan, only_restarts=True)
    assert exit_code(plan, only_restarts=True) == 1
    assert exit_code(plan_of(write("a", "Service")), only_restarts=True) == 0


def test_the_exit_code() -> None:
    """As kubectl diff: nothing, changes, and more for what fails or is not planned; not for a pause."""
    assert exit_code(plan_of()) == 0
    assert exit_code(plan_of(told=(unshown("p", PAUSED), unshown("m", MORE)))) == 0
    assert exit_code(plan_of(write("a"))) == 1
    assert exit_code(plan_of(write("a"), told=(unshown("w", WEBHOOK, "x"),))) == 2
    assert exit_code(plan_of(told=(unshown("f", "failed", "x"),))) == 2
