from __future__ import annotations

import io
import threading

import pytest

from handloop.workqueue.queue import Queue
from handloop_learn.screen import Screen
from handloop_learn.source import Snippet, cut


def test_a_question_keeps_the_prediction_until_the_answer() -> None:
    """The grade stands before the answer, once; an answer that is no number is not repeated."""
    out = io.StringIO()
    screen = Screen(out, io.StringIO("seven\nno idea at all\n"))
    screen.ask("How many?")
    screen.reveal("8", 8)
    screen.reveal("9", 9)
    screen.break_it("all of it", "How many now?")
    screen.reveal("10", 10)
    assert out.getvalue().count("you predicted") == 1
    assert "you predicted 'seven': near.\n\n= 8" in out.getvalue()


def test_the_end_of_the_input_ends_the_waiting() -> None:
    """Without keys any more nothing waits, nothing is predicted, and the next chapter comes."""
    out = io.StringIO()
    screen = Screen(out, io.StringIO(""))
    screen.ask("How many?")
    screen.break_it("all of it")
    screen.reveal("8", 8)
    assert screen.wait_for_next("more")
    assert "predicted" not in out.getvalue()
    assert "Enter: " not in out.getvalue().partition("Break it")[2]


def test_a_reader_ends_between_chapters() -> None:
    """By q; anything else goes on."""
    screen = Screen(io.StringIO(), io.StringIO("\nq\n"))
    assert screen.wait_for_next("one")
    assert not screen.wait_for_next("two")


def test_a_full_terminal_waits_for_a_key() -> None:
    """Nothing leaves it at the top unread; another thread is not held up; without keys nothing waits."""
    out = io.StringIO()
    screen = Screen(out, io.StringIO("\n" * 9), rows=10)
    for _ in range(9):
        screen.line("a line")
    assert out.getvalue().count("(Enter for more)") == 1
    thread = threading.Thread(target=lambda: screen.table(("another's",), [("row",)] * 20))
    thread.start()
    thread.join()
    assert out.getvalue().count("(Enter for more)") == 1
    screen.line("a line")
    assert out.getvalue().count("(Enter for more)") == 2
    silent = Screen(out := io.StringIO(), rows=10)
    for _ in range(20):
        silent.line("a line")
    assert "Enter" not in out.getvalue()


LONG_WORD = "controller/foo/a_very_long_name_of_a_file_that_fits_nowhere.py"
WIDE = "a sentence with many words " * 6


@pytest.mark.parametrize("columns", [10, 40, 79, 120, 300])
def test_no_line_is_wider_than_the_terminal(columns: int) -> None:
    """Whatever is written, from 40 columns on; beyond 120 lines get no longer. No word is lost."""
    out = io.StringIO()
    screen = Screen(out, columns=columns)
    screen.title(WIDE, "1/1, about 3 min")
    screen.tell(WIDE)
    screen.show(a_name=WIDE, path=LONG_WORD)
    screen.line(WIDE)
    screen.table(("name", "what"), [("x", WIDE), (LONG_WORD, "y")])
    screen.code(Snippet(cut(Queue.done, "def done").file, 1, ("if it:", " " * 8 + WIDE, "")), {2: "*"})
    screen.break_it(WIDE, WIDE)
    screen.reveal(WIDE)
    screen.recap(WIDE)
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= max(40, min(columns, 120))
    assert out.getvalue().count("sentence") == 10 * 6


def test_a_table_narrows_its_widest_columns_and_then_becomes_sentences() -> None:
    """Words stay whole in either form."""
    tables = []
    for what in ("a b c d", "aaaaa bbbbbbbbbbbb cccccccccc dd", f"{'a' * 30} b"):
        out = io.StringIO()
        Screen(out, columns=40).table(("case", "", "what"), [("new", "", what), ("old", "*", "c")])
        tables.append(out.getvalue())
    assert tables == [
        "  case     what\n  new      a b c d\n  old   *  c\n",
        "  case     what\n  new      aaaaa bbbbbbbbbbbb cccccccccc\n           dd\n  old   *  c\n",
        f"  case: new; what:\n      {'a' * 30} b\n  case: old; *; what: c\n",
    ]


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
