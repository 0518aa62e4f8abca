from __future__ import annotations

import io

from handloop.walkthrough.screen import Screen
from handloop.walkthrough.source import Snippet, cut
from handloop.workqueue.queue import Queue


def test_a_question_keeps_the_prediction_until_the_answer() -> None:
    """The reader's words stand beside the answer, once."""
    out = io.StringIO()
    screen = Screen(out, io.StringIO("seven\n"))
    screen.ask("How many?")
    screen.reveal("8")
    screen.reveal("9")
    assert out.getvalue().count("you predicted: seven") == 1
    assert "= 8" in out.getvalue()


def test_the_end_of_the_input_ends_the_waiting() -> None:
    """Without keys any more nothing waits, and nothing is predicted."""
    out = io.StringIO()
    screen = Screen(out, io.StringIO(""))
    screen.ask("How many?")
    screen.break_it("all of it")
    screen.reveal("8")
    assert "predicted" not in out.getvalue().replace("your prediction", "")
    assert "Enter: " not in out.getvalue().partition("Break it")[2]


def test_plain_has_no_escapes() -> None:
    """A terminal gets colours, anything else the same text without."""
    texts = []
    for plain in (True, False):
        out = io.StringIO()
        screen = Screen(out, plain=plain)
        screen.title("a", "1/1")
        screen.tell("b")
        screen.show(c_d=1)
        screen.line("e")
        screen.table(("f", "g"), [(1, 22), (333, 4)])
        screen.code(Snippet(cut(Queue.done, "def done").file, 1, ("h",)), {1: "*"})
        screen.ask("i")
        screen.reveal("j")
        texts.append(out.getvalue())
    plain_text, coloured = texts
    assert "\x1b" not in plain_text
    assert "\x1b[" in coloured
    assert "    f    g\n    1    22\n    333  4\n" in plain_text
    assert "   1 * | h" in plain_text
