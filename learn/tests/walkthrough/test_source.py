from __future__ import annotations

import pytest

from handloop.picture.steps import PACKAGE
from handloop.workqueue.queue import Queue
from handloop_learn.source import cut, whole


def test_a_snippet_is_what_stands_in_the_file() -> None:
    """File and line lead to the very lines, without their indent."""
    snippet = cut(Queue._take_back_locked, "self._processing.remove", "self._container.append")
    name, _, line = snippet.place.partition(":")
    lines = (PACKAGE / name).read_text(encoding="utf-8").splitlines()[int(line) - 1 :]
    assert [text.strip() for text in snippet.lines] == [text.strip() for text in lines[: len(snippet.lines)]]
    assert snippet.lines[0].startswith(" ") is False or snippet.lines[1].startswith("except")


def test_a_changed_source_is_noticed() -> None:
    """A fragment that is not there any more is an error, not an empty snippet."""
    with pytest.raises(LookupError, match=r"workqueue/queue\.py:\d+ has 'no such line'"):
        cut(Queue._take_back_locked, "no such line")
    with pytest.raises(LookupError):
        cut(Queue._take_back_locked, "self._processing.remove", "no such end")


def test_a_whole_function() -> None:
    """From its first line to its last."""
    function = whole(Queue.shutting_down)
    assert function.lines[0].strip().startswith("def shutting_down")
    assert function.lines[-1].strip() == "return self._shutting_down"
