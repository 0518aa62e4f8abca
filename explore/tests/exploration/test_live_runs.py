"""The runs of an exploration as a live page in a folder."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from handloop.controller.foo.runnable import add_plain_foo
from handloop.picture.page_data import INDEX
from handloop_explore.explorer import run_plans
from handloop_explore.live_runs import is_free_for_page, links, remove_page, write_live_page
from handloop_explore.plan import Plan
from handloop_explore.play import play
from handloop_explore.report import Failure, Report
from handloop_explore.workload import applied, deleted
from support.builders.workloads import FOO, foo_workload


def test_each_failure_is_a_run_beside_the_undisturbed_one(tmp_path: Path) -> None:
    """With the marks to which the report's links lead; before the strike they are the same."""
    workload = foo_workload(applied(FOO), deleted(FOO), add=add_plain_foo)
    report = run_plans(workload, replay="1:silent")
    write_live_page(tmp_path, workload, report, "foo, explored")
    runs = {name: read(tmp_path, name) for name in ("undisturbed", "plan-1")}
    places = links(1, report.failures[0]).values()
    named = [dict(pair.split("=") for pair in place[1:].split("&")) for place in places]
    assert all(place["at"] in runs[place["run"]]["marks"] for place in named)
    failing, undisturbed = runs["plan-1"], runs["undisturbed"]
    strike = failing["marks"]["strike"]
    assert "the plan strikes write 1" in failing["steps"][strike - 1]["why"]
    assert failing["about"] == "; ".join(report.failures[0].verdicts)
    both = [[step["why"] for step in run["steps"][1 : strike - 1]] for run in (undisturbed, failing)]
    assert both[0] == both[1]
    assert undisturbed["marks"]["plan-1"] == strike
    assert (tmp_path / INDEX).is_file()


def test_each_process_of_several_has_a_run_of_its_own(tmp_path: Path) -> None:
    """The first one has the name to which the links lead; another one begins without caches."""
    workload = replace(foo_workload(applied(FOO)), replicas=2)
    plan = Plan.parse("1:crash-after")
    report = Report(play(workload, Plan()), failures=[Failure(play(workload, plan), ["wrong"])])
    write_live_page(tmp_path, workload, report, "foo, explored")
    names = ("plan-1", "plan-1-process-2", "plan-1-process-3")
    runs = [read(tmp_path, name) for name in names]
    assert [run["title"].partition(", ")[2] for run in runs] == ["process 1", "process 2", "process 3"]
    assert {8, 12} <= {step["step"] for step in runs[1]["steps"]}
    assert not runs[2]["states"][0]["changes"]["ready"]


def test_a_folder_of_something_else_is_not_free(tmp_path: Path) -> None:
    """One that does not exist, is empty, or has such a page is; a page that is taken away leaves it so."""
    assert is_free_for_page(tmp_path / "new")
    assert is_free_for_page(tmp_path)
    workload = foo_workload(applied(FOO))
    write_live_page(tmp_path, workload, Report(play(workload, Plan())), "foo, explored")
    remove_page(tmp_path)
    assert not (tmp_path / INDEX).exists()
    assert is_free_for_page(tmp_path)
    for name in ("notes.txt", INDEX):
        (tmp_path / name).write_text("of somebody else", encoding="utf-8")
        assert not is_free_for_page(tmp_path)
        (tmp_path / name).unlink()


def read(folder: Path, name: str) -> Any:
    page = (folder / INDEX).read_text(encoding="utf-8")
    return json.loads(page.partition(f'id="run-{name}">')[2].partition("</script>")[0])
