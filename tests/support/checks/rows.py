"""A table of cases as one test: each row is checked, and each that fails is reported."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")


def check_rows(rows: Iterable[T], check: Callable[[T], object]) -> None:
    """
    Check every row of a table, for cases that are too cheap to be tests of their own.

    Raises: an ExceptionGroup with the failure of each row that fails, and the row as its note.
    """
    failures: list[Exception] = []
    count = 0
    for row in rows:
        count += 1
        try:
            check(row)
        except Exception as failure:
            failure.add_note(f"row {count}: {row!r}")
            failures.append(failure)
    assert count, "the table has no row"
    if failures:
        raise ExceptionGroup(f"{len(failures)} of {count} rows fail", failures)
