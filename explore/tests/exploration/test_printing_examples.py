"""The examples that write nothing: what they print last is true, under every strike at what they see."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

import pytest

import examples.plain.controller
import examples.sample.controller
from handloop.controller.runtime.manager import Manager
from handloop_explore import Step, Workload, applied, changed, deleted, explore, invariant


def sample(name: str, text: str = "good morning") -> dict[str, Any]:
    return {
        "apiVersion": "example.com/v1alpha1",
        "kind": "Sample",
        "metadata": {"name": name},
        "testString": text,
    }


def config_map(name: str, data: Mapping[str, str]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


SAMPLES = [applied(sample("a")), applied(sample("b")), changed(sample("a"), {"testString": "good night"})]
CONFIG_MAPS = [
    applied(config_map("a", {"colour": "blue"})),
    applied(config_map("b", {"wrong.json": "{"})),
    changed(config_map("a", {}), {"data": {"size": "3"}}),
]


@pytest.mark.parametrize(
    ("example", "steps", "last"),
    [
        (examples.sample.controller, [*SAMPLES, deleted(sample("b"))], "good night"),
        (examples.plain.controller, [*CONFIG_MAPS, deleted(config_map("b", {}))], "default/a: colour, size"),
    ],
)
def test_what_is_printed_last_is_true(
    example: ModuleType, steps: list[Step], last: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was missed in between is not told; what was told and is gone is told to be gone."""
    lines: list[str] = []
    monkeypatch.setattr(example, "print", lambda line, **_: lines.append(line), raising=False)

    def set_up(manager: Manager) -> None:
        lines.clear()
        example.set_up(manager)

    def the_last_lines_are_true(_: object) -> bool:
        of_a, of_b = ([line for line in lines if f"default/{name}" in line] for name in "ab")
        return of_a[-1].endswith(last) and (not of_b or of_b[-1] == "default/b is gone")

    workload = Workload(set_up, steps, settle_seconds=60)
    explore(workload, plans=120, invariants=[invariant(the_last_lines_are_true)]).check()
