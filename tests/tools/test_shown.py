from __future__ import annotations

from pathlib import Path

import pytest

from tools.shown import Row, figures, main, nodes, renewed, rows

PAGE = """\
| | guaranteed | tests | last run |
|---|---|---|---|
| G01 | One. | `test_each_step_stands_once_in_the_source` | `make show ROW=G01` |
| G02 | Two. | `tests_no`, `explore FOO_LIFE` | `make show ROW=G02` 3 passed in 1.0 s |
"""


def row(shown: str) -> Row:
    """One with that in its last cell."""
    return Row("X01", ("What.", shown))


def test_a_row_names_tests_and_plans(tmp_path: Path) -> None:
    """By name, by file, by case; and workloads with a plan, or with as many as a minute holds."""
    page = tmp_path / "page.md"
    page.write_text(PAGE, encoding="utf-8")
    first, second = rows(page)
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


def test_a_new_figure_takes_the_place_of_the_old() -> None:
    """In its row alone."""
    text = renewed(renewed(PAGE, "G01", "1 passed in 0.2 s"), "G02", "5 passed in 2.0 s")
    assert text.splitlines()[2].endswith("| `make show ROW=G01` 1 passed in 0.2 s |")
    assert text.splitlines()[3].endswith("| `make show ROW=G02` 5 passed in 2.0 s |")
    with pytest.raises(SystemExit, match="there is no row Z99"):
        main(["Z99"])
