"""
kstatus, the rules by which `helm --wait`, Flux and others derive an object's state from its fields.

Follows: sigs.k8s.io/cli-utils pkg/kstatus/status/{generic,status,core}.go @5895ad6c1, differs: no rules
for the API group extensions. ConfigMap, Secret, CronJob and PodDisruptionBudget need no rules, because they
have no condition Ready and are always ready once their generation has been observed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import Any, Final, Literal, NamedTuple

from handloop.apis.grammar.times import parse_time
from handloop.apis.meta import Kind
from handloop.client.resource_client import codec_of

State = Literal["InProgress", "Failed", "Current", "Terminating"]

_ABNORMAL: Final[Mapping[str, State]] = {"Reconciling": "InProgress", "Stalled": "Failed"}
_READY: Final[Mapping[str, State]] = {"True": "Current", "False": "InProgress", "Unknown": "InProgress"}
_NO_DEADLINE: Final = 2**31 - 1
_SCHEDULING_SECONDS: Final = 15


class Kstatus(NamedTuple):
    """An object's state, and a reason that people can read."""

    state: State
    why: str

    def __str__(self) -> str:
        return f"{self.state}, as {self.why}"


class _Parts(NamedTuple):
    """An object as JSON. A missing part is an empty dict."""

    metadata: Mapping[str, Any]
    spec: Mapping[str, Any]
    status: Mapping[str, Any]

    def conditions(self, kind: str, **fields: str) -> Iterator[Mapping[str, Any]]:
        """Yield the conditions of a type whose fields have these values."""
        wanted = {"type": kind, **fields}.items()
        return (each for each in self.status.get("conditions") or () if each.items() >= wanted)


# A rule yields the states that apply. The first one is used.
_Rule = Callable[[_Parts], Iterator[Kstatus]]


def kstatus(obj: Kind | Mapping[str, Any]) -> Kstatus:
    """
    Return the state that kstatus gives an object, which is either typed or JSON.

    The first of these that applies decides: a deletion; a generation that has not been observed; a condition
    Reconciling or Stalled; the rules of a built-in kind, or the condition Ready of any other kind. If none of
    these applies, the object is Current.
    Raises: ValueError for a Pod in a phase that kstatus does not know.
    """
    document = json.loads(codec_of(type(obj)).encode(obj)) if isinstance(obj, Kind) else obj
    parts = _Parts(*(document.get(each) or {} for each in _Parts._fields))
    group = document.get("apiVersion", "").rpartition("/")[0]
    rule = _RULES.get((group, document.get("kind", "")), _by_ready)
    return next(chain(_of_any_kind(parts), rule(parts)), Kstatus("Current", "nothing says that it is not"))


def assert_kstatus(obj: Kind | Mapping[str, Any], state: State = "Current") -> None:
    """Check an object's state by the rules of kstatus. Raises: AssertionError with the object."""
    found = kstatus(obj)
    assert found.state == state, f"kstatus is {found}; expected {state}: {obj!r}"


def _of_any_kind(parts: _Parts) -> Iterator[Kstatus]:
    if parts.metadata.get("deletionTimestamp"):
        yield Kstatus("Terminating", "it is being deleted")
    wanted, observed = parts.metadata.get("generation"), parts.status.get("observedGeneration")
    if None not in (wanted, observed) and wanted != observed:
        yield Kstatus("InProgress", f"the observed generation is {observed}, but the current one is {wanted}")
    for each in parts.status.get("conditions") or ():
        if each["type"] in _ABNORMAL and each["status"] == "True":
            yield Kstatus(_ABNORMAL[each["type"]], _told(each))


def _by_ready(parts: _Parts) -> Iterator[Kstatus]:
    for each in parts.conditions("Ready"):
        if each["status"] in _READY:
            yield Kstatus(_READY[each["status"]], _told(each))


def _deployment(parts: _Parts) -> Iterator[Kstatus]:
    for each in parts.conditions("Progressing", reason="ProgressDeadlineExceeded"):
        yield Kstatus("Failed", _told(each))
    wanted, updated = _number(parts.spec, "replicas", 1), _number(parts.status, "updatedReplicas")
    yield from _too_few(parts, wanted, "replicas", "updatedReplicas")
    yield from _too_many(parts, wanted)
    yield from _too_few(parts, updated, "availableReplicas")
    yield from _too_few(parts, wanted, "readyReplicas")
    rolled_out = parts.conditions("Progressing", status="True", reason="NewReplicaSetAvailable")
    if _number(parts.spec, "progressDeadlineSeconds", _NO_DEADLINE) != _NO_DEADLINE and not any(rolled_out):
        yield Kstatus("InProgress", "Progressing is not True (NewReplicaSetAvailable)")
    if not any(parts.conditions("Available", status="True")):
        yield Kstatus("InProgress", "Available is not True")


def _replica_set(parts: _Parts) -> Iterator[Kstatus]:
    for each in parts.conditions("ReplicaFailure", status="True"):
        yield Kstatus("InProgress", _told(each))
    wanted = _number(parts.spec, "replicas", 1)
    yield from _too_few(parts, wanted, "fullyLabeledReplicas", "availableReplicas", "readyReplicas")
    yield from _too_many(parts, wanted)


def _stateful_set(parts: _Parts) -> Iterator[Kstatus]:
    strategy = parts.spec.get("updateStrategy") or {}
    if strategy.get("type") == "OnDelete":
        yield Kstatus("Current", "its update strategy is OnDelete")
    wanted = _number(parts.spec, "replicas", 1)
    yield from _too_few(parts, wanted, "replicas", "readyReplicas")
    yield from _too_many(parts, wanted)
    partition = (strategy.get("rollingUpdate") or {}).get("partition")
    if partition is not None:
        yield from _too_few(parts, wanted - partition, "updatedReplicas")
        yield Kstatus("Current", f"all pods from its partition {partition} on are updated")
    yield from _too_few(parts, wanted, "currentReplicas")
    current, update = (parts.status.get(f"{each}Revision") or "" for each in ("current", "update"))
    if current != update:
        yield Kstatus("InProgress", f"its revision is still {current!r}, not {update!r}")


def _daemon_set(parts: _Parts) -> Iterator[Kstatus]:
    if None in (parts.metadata.get("generation"), parts.status.get("observedGeneration")):
        yield Kstatus("InProgress", "no generation was observed")
    wanted = parts.status.get("desiredNumberScheduled")
    if wanted is None:
        yield Kstatus("InProgress", "it has no desiredNumberScheduled")
    else:
        yield from _too_few(parts, wanted, "currentNumberScheduled", "updatedNumberScheduled")
        yield from _too_few(parts, wanted, "numberAvailable", "numberReady")


def _job(parts: _Parts) -> Iterator[Kstatus]:
    ends: dict[str, State] = {"Complete": "Current", "Failed": "Failed"}
    if parts.spec.get("suspend"):
        ends["Suspended"] = "Current"
    for each in parts.status.get("conditions") or ():
        if each["type"] in ends and each["status"] == "True":
            yield Kstatus(ends[each["type"]], _told(each))
    if not parts.status.get("startTime"):
        yield Kstatus("InProgress", "it was not started")


def _pod(parts: _Parts) -> Iterator[Kstatus]:
    phase = parts.status.get("phase") or ""
    if phase in ("Succeeded", "Failed"):
        yield Kstatus("Current", f"its phase is {phase}")
    elif phase == "Running":
        for each in parts.conditions("Ready", status="True"):
            yield Kstatus("Current", _told(each))
        for each in parts.status.get("containerStatuses") or ():
            waiting = (each.get("state") or {}).get("waiting") or {}
            if waiting.get("reason") == "CrashLoopBackOff":
                yield Kstatus("Failed", f"its container {each['name']} is in CrashLoopBackOff")
        yield Kstatus("InProgress", "it runs, and is not Ready")
    elif phase == "Pending":
        created = parts.metadata.get("creationTimestamp")
        if not created or parse_time(created) <= time.time() - _SCHEDULING_SECONDS:
            for each in parts.conditions("PodScheduled", status="False", reason="Unschedulable"):
                yield Kstatus("Failed", _told(each))
    elif phase:
        raise ValueError(f"kstatus does not know the phase {phase} of a Pod")
    yield Kstatus("InProgress", f"its phase is {phase!r}")


def _persistent_volume_claim(parts: _Parts) -> Iterator[Kstatus]:
    if (phase := parts.status.get("phase") or "") != "Bound":
        yield Kstatus("InProgress", f"its phase is {phase!r}")


def _service(parts: _Parts) -> Iterator[Kstatus]:
    if parts.spec.get("type") == "LoadBalancer" and not parts.spec.get("clusterIP"):
        yield Kstatus("InProgress", "it is a LoadBalancer without a clusterIP")


def _custom_resource_definition(parts: _Parts) -> Iterator[Kstatus]:
    for each in parts.status.get("conditions") or ():
        match each["type"], each["status"], each.get("reason"):
            case ("NamesAccepted", "False", _):
                yield Kstatus("Failed", _told(each))
            case ("Established", "False", reason) if reason != "Installing":
                yield Kstatus("Failed", _told(each))
            case ("Established", "True", _):
                yield Kstatus("Current", _told(each))
    yield Kstatus("InProgress", "Established is not True")


_RULES: Final[Mapping[tuple[str, str], _Rule]] = {
    ("apps", "Deployment"): _deployment,
    ("apps", "ReplicaSet"): _replica_set,
    ("apps", "StatefulSet"): _stateful_set,
    ("apps", "DaemonSet"): _daemon_set,
    ("batch", "Job"): _job,
    ("", "Pod"): _pod,
    ("", "PersistentVolumeClaim"): _persistent_volume_claim,
    ("", "Service"): _service,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _custom_resource_definition,
}


def _number(part: Mapping[str, Any], name: str, default: int = 0) -> int:
    found = part.get(name)
    return default if found is None else int(found)


def _too_few(parts: _Parts, wanted: int, *counts: str) -> Iterator[Kstatus]:
    for each in counts:
        if (count := _number(parts.status, each)) < wanted:
            yield Kstatus("InProgress", f"{each} is {count} of {wanted}")


def _too_many(parts: _Parts, wanted: int) -> Iterator[Kstatus]:
    if (count := _number(parts.status, "replicas")) > wanted:
        yield Kstatus("InProgress", f"replicas is {count}, but {wanted} are wanted")


def _told(condition: Mapping[str, Any]) -> str:
    words = (condition.get("reason"), condition.get("message"))
    return " ".join([condition["type"], "is", condition["status"], *(f"({each})" for each in words if each)])
