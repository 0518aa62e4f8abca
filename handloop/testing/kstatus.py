"""
kstatus: what `helm --wait`, Flux and others take an object of a custom kind for, by its fields alone.

Follows: sigs.k8s.io/cli-utils pkg/kstatus/status/{generic,status}.go @5895ad6c1, differs: built-in kinds, for
which it has rules of their own (core.go), are refused where those would decide.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple

from handloop.apis.declaration import is_built_in
from handloop.apis.meta import Kind
from handloop.client.resource_client import codec_of

State = Literal["InProgress", "Failed", "Current", "Terminating"]

_ABNORMAL: Final[Mapping[str, State]] = {"Reconciling": "InProgress", "Stalled": "Failed"}
_READY: Final[Mapping[str, State]] = {"True": "Current", "False": "InProgress", "Unknown": "InProgress"}


class Kstatus(NamedTuple):
    """The state of an object, and why, for people."""

    state: State
    why: str

    def __str__(self) -> str:
        return f"{self.state}, as {self.why}"


def kstatus(obj: Kind | Mapping[str, Any]) -> Kstatus:
    """
    What kstatus says of an object, typed or as JSON.

    The first that holds decides: its deletion, a generation that was not observed, a condition Reconciling or
    Stalled, the condition Ready. An object without any of these counts as done.
    Raises: ValueError for a built-in kind that only its own rules decide on.
    """
    document = json.loads(codec_of(type(obj)).encode(obj)) if isinstance(obj, Kind) else obj
    metadata, status = document.get("metadata") or {}, document.get("status") or {}
    conditions = status.get("conditions") or ()
    if metadata.get("deletionTimestamp"):
        return Kstatus("Terminating", "it is being deleted")
    wanted, observed = metadata.get("generation"), status.get("observedGeneration")
    if None not in (wanted, observed) and wanted != observed:
        return Kstatus("InProgress", f"generation {observed} was observed, and this is {wanted}")
    for each in conditions:
        if each["type"] in _ABNORMAL and each["status"] == "True":
            return Kstatus(_ABNORMAL[each["type"]], _told(each))
    if is_built_in(document.get("apiVersion", "").rpartition("/")[0]):
        raise ValueError(
            f"kstatus has rules for a {document['kind']}, and the kit only those for custom kinds"
        )
    for each in conditions:
        if each["type"] == "Ready" and each["status"] in _READY:
            return Kstatus(_READY[each["status"]], _told(each))
    return Kstatus("Current", "nothing says that it is not")


def _told(condition: Mapping[str, Any]) -> str:
    words = (condition.get("reason"), condition.get("message"))
    return " ".join([condition["type"], "is", condition["status"], *(f"({each})" for each in words if each)])


def assert_kstatus(obj: Kind | Mapping[str, Any], state: State = "Current") -> None:
    """Raises: AssertionError with the object, if kstatus takes it for anything else."""
    found = kstatus(obj)
    assert found.state == state, f"for kstatus it is {found}, and not {state}: {obj!r}"
