"""Chapter 16: the parts of the exercises keep a Foo's promise together."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from handloop_learn import ch16_your_own, ex16_your_own
from handloop_learn.ex16_your_own import TRIALS
from handloop_learn.screen import Screen
from support.checks.chapters import told


def test_without_solutions_all_parts_are_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And pass the same trials."""
    monkeypatch.chdir(tmp_path)
    end, text = told(ch16_your_own.chapter)
    assert (end.own, end.passed) == ([], [trial.comes for trial in TRIALS])
    assert "yours" not in text.partition("Informers")[0]


def test_a_part_that_does_not_work_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The chapter ends there, with a hint."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ex16_your_own, "PATIENCE_SECONDS", 1.0)
    lazy = "from threading import Event\ndef work(queue, sync):\n    Event().wait(3)\n"
    (tmp_path / "exercise_06_workqueue.py").write_text(lazy, encoding="utf-8")
    out = io.StringIO()
    end = ch16_your_own.chapter(Screen(out))
    text = " ".join(out.getvalue().split())
    assert (end.own, end.passed) == (["work"], [])
    assert "No: a Foo is created. Expected: it has its Deployment" in text
    assert "Your parts: work. Check each one separately." in text
