"""The experiments of the page, from `top`."""

from __future__ import annotations

import pytest

from handloop_learn.top.actions import run_control
from support.builders.live_page import page_with_controls


@pytest.mark.parametrize(
    ("allowed", "control", "says"),
    [
        (True, "pause", "no worker gets a key"),
        (True, "fail", "no fail of 'default/a' here"),
        (False, "fail", "the experiments are off: start the program with --debug-controls"),
    ],
)
def test_the_program_answers(*, allowed: bool, control: str, says: str) -> None:
    """With its result, or with its reason; the answer for a program that is gone has one, too."""
    with page_with_controls(allowed=allowed) as server:
        url = f"http://127.0.0.1:{server.port}"
        assert run_control(url, control, "default/a") == says
    assert run_control(url, control, "default/a") == "the program did not answer"
