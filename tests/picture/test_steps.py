from __future__ import annotations

from pathlib import Path

from handloop.picture.steps import PACKAGE, Place, steps


def test_a_step_is_done_by_the_line_of_its_comment_or_the_next() -> None:
    """The line has code."""
    found = steps()
    assert [step.number for step in found] == list(range(1, 13))
    for step in found:
        lines = Path(step.place.file).read_text(encoding="utf-8").splitlines()
        assert f"# ({step.number}) {step.words}" in lines[step.comment.line - 1]
        assert step.place.line - step.comment.line in (0, 1)
        assert not lines[step.place.line - 1].strip().startswith("#")


def test_a_place_is_named_as_in_the_repository() -> None:
    """A folder of the stack and a neighbour stand in its root; a file from elsewhere has its whole path."""
    root = PACKAGE.parent
    assert str(Place(str(PACKAGE / "informers/lister.py"), 3)) == "informers/lister.py:3"
    assert str(Place(str(PACKAGE / "seams/clock.py"), 3)) == "handloop/seams/clock.py:3"
    assert str(Place(str(root / "learn/handloop_learn/a.py"), 3)) == "learn/handloop_learn/a.py:3"
    assert str(Place("/somewhere/else.py", 3)) == "/somewhere/else.py:3"
