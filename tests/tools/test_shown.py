from __future__ import annotations

from pathlib import Path

import pytest

from tools.shown import Row, figures, main, nodes, rows

PAGE = """\
| | guaranteed | tests |
|---|---|---|
| G01 | One. | `test_each_step_stands_once_in_the_source` |
| G02 | Two. | `tests_no`, `explore FOO_LIFE` |
"""


def row(shown: str) -> Row:
    """One with that in its last cell."""
    return Row("X01", ("What.", shown))


def test_a_row_names_tests_and_plans(tmp_path: Path) -> None:
    """By name, by file, by case; and workloads with a plan, or with as many as a minute holds."""
    page = tmp_path / "page.md"
    page.write_text(PAGE, encoding="utf-8")
    first, second = rows(page=page)
    assert (first.number, first.tests) == ("G01", ("test_each_step_stands_once_in_the_source",))
    assert (second.tests, second.plans, second.explored) == ((), (), ("FOO_LIFE",))
    assert row("`a/test_b.py::test_c[d e]`, `FOO_LIFE 3:409,4:lost/7`").plans == (
        ("FOO_LIFE", "3:409,4:lost/7"),
    )
    assert nodes(first) == ["tests/test_steps.py::test_each_step_stands_once_in_the_source"]
    assert nodes(row("`test_steps.py::test_each_step_stands_once_in_the_source[x]`"))[0].endswith("[x]")
    with pytest.raises(ValueError, match="X01: there is no test_nothing_at_all"):
        nodes(row("`test_nothing_at_all`"))


def test_what_came_of_it_is_a_figure() -> None:
    """How many passed, and in which time; of a plan the first line of its report."""
    passed, played = figures(
        row("`test_steps.py::test_each_step_stands_once_in_the_source`, `FOO_LIFE 4:409`")
    )
    assert passed.startswith("1 passed in ")
    assert played.startswith("1 plan")


def test_a_row_that_is_not_there_is_told() -> None:
    """With what to type."""
    with pytest.raises(SystemExit, match="there is no row Z99"):
        main(["Z99"])
