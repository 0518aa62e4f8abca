"""A program that is left alone, in real time; test_program.py has ten minutes of it in virtual time."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from support.rigs.program import ON_FREE_PORTS, Program, Run, running
from support.servers.cluster import Cluster

SECONDS: Final = 180.0
"""Longer than two watches that are given up in silence."""


def assert_says_nothing(program: Program) -> None:
    """After the hint that there is nothing to do, a program without work logs nothing."""
    program.wait_line("E15")
    assert program.wait_more(len(program.log), seconds=SECONDS) == []
    assert program.page("health", "/readyz") == (200, "ok")
    assert program.stop() == 0


@pytest.mark.nightly
def test_three_idle_minutes_on_its_own_sandbox_are_no_line(tmp_path: Path) -> None:
    """`make run`, left alone."""
    with running("--sandbox", *ON_FREE_PORTS, folder=tmp_path) as program:
        assert_says_nothing(program)


@pytest.mark.nightly
def test_three_idle_minutes_on_a_server_are_no_line(cluster: Cluster, run: Run) -> None:
    """Also on the real server, which sends the first bookmark late if nothing moved since the watch began."""
    with run() as program:
        assert_says_nothing(program)
