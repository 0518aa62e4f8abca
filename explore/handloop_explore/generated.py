"""
Generates a workload's random steps from a kind's schema. After the last step, the object equals the sample.

    explore(Workload(set_up, generated(Site, SITE, seed=7))).check()

The steps create an object, change it, undo changes, delete it and create it again. The server accepts each
change, but the operator may be unable to carry it out. The plan `0:late` shows whether the cluster finally
looks as if only the sample had ever been created.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from random import Random
from typing import Any, Final

from handloop.apis.crd import custom_resource_definition
from handloop.apis.meta import Kind
from handloop.testing.schema_values import other_values
from handloop_explore.administrator import RefusedError
from handloop_explore.cluster import VirtualCluster
from handloop_explore.virtual_threads import VirtualThreads
from handloop_explore.workload import Manifest, Step, applied, changed, deleted, document_of, settled

_TRIES: Final = 100
_ACTS: Final = ("edit", "edit", "edit", "edit", "revert", "again", "wait")
_NOT_EDITED: Final = ("apiVersion", "kind", "metadata", "status")
_DEEPER: Final = 0.9


def generated(
    kind: type[Kind], sample: Manifest, *, seed: int = 1, changes: int = 6, leave: Collection[str] = ()
) -> list[Step]:
    """
    Return steps for one object of your own kind. The same arguments produce the same steps.

    Args: sample: the final object, which the operator must be able to reconcile. changes: the approximate
    number of changes. leave: names of fields that are never changed, for example because the operator assumes
    that they are fixed.
    Raises: RefusedError if the server refuses the sample. Blocks: for a tenth of a second.
    """
    with VirtualThreads() as threads:
        author = _Author(VirtualCluster(threads, (kind,)), kind, document_of(sample), Random(seed), leave)
        return author.steps(changes)


class _Author:
    """
    Chooses the steps, and tries each of them on a server without the operator.

    State: _document, the users' current object; _before, its earlier versions.
    """

    def __init__(
        self,
        cluster: VirtualCluster,
        kind: type[Kind],
        sample: dict[str, Any],
        random: Random,
        leave: Collection[str],
    ) -> None:
        version = custom_resource_definition(kind)["spec"]["versions"][0]
        self._schema = version["schema"]["openAPIV3Schema"]
        self._cluster = cluster
        self._random = random
        self._leave = {*_NOT_EDITED, *leave}
        # Changing the whole spec at once would also change the fields in `leave`.
        self._deeper = 1.0 if leave else _DEEPER
        self._document = sample
        self._before: list[dict[str, Any]] = []

    def steps(self, changes: int) -> list[Step]:
        """Return all steps."""
        sample = self._document
        self._cluster.send("POST", self._cluster.path_of(sample, named=False), sample)
        self._changed(self._edited)
        steps = [applied(self._document)]
        for _ in range(changes):
            steps += self._next(self._random.choice(_ACTS))
        return [*steps, *self._changed(lambda: sample)]

    def _next(self, act: str) -> list[Step]:
        if act == "wait":
            return [settled()]
        if act == "again":
            return [settled(), deleted(self._document), settled(), applied(self._document)]
        if act == "revert" and self._before:
            return self._changed(lambda: self._random.choice(self._before))
        return self._changed(self._edited)

    def _changed(self, wanted: Callable[[], dict[str, Any]]) -> list[Step]:
        """Return a step with a change that the server accepts, or [] if none is found."""
        for _ in range(_TRIES):
            document = wanted()
            patch = merge_patch(self._document, document)
            if patch and self._takes(patch):
                step = changed(self._document, patch)
                self._before.append(self._document)
                self._document = document
                return [replace(step, words=f"{step.words} by {json.dumps(patch)}")]
        return []

    def _takes(self, patch: Mapping[str, Any]) -> bool:
        try:
            self._cluster.send("PATCH", self._cluster.path_of(self._document), patch)
        except RefusedError:
            return False
        return True

    def _edited(self) -> dict[str, Any]:
        kept = {name: value for name, value in self._document.items() if name in _NOT_EDITED}
        return kept | self._with_one_other(self._schema, self._document)

    def _with_one_other(self, schema: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields after a random change or removal of one field, which can be nested."""
        properties = {name: one for name, one in schema["properties"].items() if name not in self._leave}
        name = self._random.choice(sorted(properties))
        inner, required = properties[name], schema.get("required", ())
        if name in fields and inner.get("properties") and self._random.random() < self._deeper:
            return {**fields, name: self._with_one_other(inner, fields[name])}
        others = other_values(inner, fields.get(name), self._random)
        if name in fields and name not in required:
            others.append(None)
        value = self._random.choice(others or [fields.get(name)])
        rest = {key: one for key, one in fields.items() if key != name}
        return rest if value is None else {**rest, name: value}


def merge_patch(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON merge patch that turns old into new."""
    patch: dict[str, Any] = dict.fromkeys(old.keys() - new.keys())
    for name, value in new.items():
        if isinstance(value, dict) and isinstance(old.get(name), dict):
            patch |= {name: inner} if (inner := merge_patch(old[name], value)) else {}
        elif name not in old or old[name] != value:
            patch[name] = value
    return dict(sorted(patch.items()))
