from __future__ import annotations

from support.checks.chapters import judged


def test_an_exception_is_a_sentence_with_its_line() -> None:
    """The raised error, and the reader's own last line on its way."""
    report = judged(7, "class Backoff:\n    def when(self, key):\n        return {}[key]\n")
    assert report.wrong == "your code raised KeyError: 'a'"
    assert report.hint == "line 3: return {}[key]"


def test_an_exit_is_only_an_exception() -> None:
    """A solution cannot end its judge by SystemExit."""
    assert judged(7, "import sys\nsys.exit(0)\n").wrong == "your code raised SystemExit: 0"


def test_a_file_that_is_no_python() -> None:
    """The line that does not parse."""
    report = judged(7, "class Backoff:\n    def when(self key):\n")
    assert report.wrong.startswith("your code raised SyntaxError")
    assert report.hint == "line 2 is no Python."


def test_a_missing_name() -> None:
    """An empty file lacks what the task names."""
    report = judged(7, "")
    assert "has no attribute 'Backoff'" in report.wrong
    assert report.hint == "look at what the task asks for by name."
