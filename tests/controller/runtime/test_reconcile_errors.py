"""What a reconcile may raise on purpose."""

from __future__ import annotations

import pytest

from handloop.controller.runtime.reconcile_errors import DeadlineExceededError, ReconcileError, TerminalError


@pytest.mark.parametrize("error", [TerminalError("x"), DeadlineExceededError("x")])
def test_all_are_reconcile_errors(error: Exception) -> None:
    """One except clause catches what was raised on purpose."""
    assert isinstance(error, ReconcileError)


def test_a_terminal_error_keeps_its_cause() -> None:
    """`raise TerminalError(...) from error` shows both."""

    def refuse() -> None:
        try:
            int("many")
        except ValueError as error:
            raise TerminalError("bad spec") from error

    with pytest.raises(TerminalError, match="bad spec") as caught:
        refuse()
    assert "many" in str(caught.value.__cause__)
