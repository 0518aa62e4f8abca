"""What Secrets hold is in no report, and the Secrets of the how-to pass every plan."""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from handloop.picture.page_data import INDEX
from handloop_explore import Workload, applied, deleted, settled
from handloop_explore.explorer import run_plans
from handloop_explore.html_report import html_report
from handloop_explore.live_runs import write_live_page
from support.builders.planted import PLANTED
from support.checks.docs_page import blocks_of

PASSWORD = {"apiVersion": "example.org/v1", "kind": "Password", "metadata": {"name": "a"}, "spec": {}}


def test_no_report_holds_a_password(tmp_path: Path) -> None:
    """Neither the text, nor that for programs, the page, or the live page with its caches."""
    workload = PLANTED["a password is applied"].workload(is_wrong=True)
    report = run_plans(workload, replay="1:crash-sent")
    (failure,) = report.failures
    secrets = [act.new for act in failure.played.acts if act.new and act.obj["kind"] == "Secret"]
    stored = {secret["data"]["password"] for secret in secrets}
    assert len(stored) == 2
    write_live_page(tmp_path, workload, report, "passwords")
    page = html_report(report, "passwords", "handloop explore", INDEX)
    live = (tmp_path / INDEX).read_text(encoding="utf-8")
    assert "password" in live
    for text in (report.text("explore"), json.dumps(report.document()), page, live):
        assert not [one for one in stored if one in text or base64.b64decode(one).decode() in text]
    assert "data.password *** -> ***" in report.text("explore")


@pytest.mark.parametrize(
    "plans", [pytest.param(10, id="ten"), pytest.param(200, id="many", marks=pytest.mark.nightly)]
)
def test_the_passwords_of_the_how_to_pass(plans: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each process and run generates others: that is no difference."""
    module: Any = ModuleType("passwords")
    monkeypatch.setitem(sys.modules, "passwords", module)
    exec(blocks_of("how-to/secrets.md")["passwords.py"], module.__dict__)  # noqa: S102 - the page's
    steps = [applied(PASSWORD), settled(), deleted(PASSWORD)]
    run_plans(Workload(module.set_up, steps, settle_seconds=180), plans=plans).check()
