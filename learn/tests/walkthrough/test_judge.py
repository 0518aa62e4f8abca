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
    assert report.hint == "line 2 is not valid Python."


def test_a_missing_name() -> None:
    """An empty file lacks what the task names."""
    report = judged(7, "")
    assert "has no attribute 'Backoff'" in report.wrong
    assert report.hint == "check the names that the task asks for."


def test_the_wrong_call_is_named_and_not_the_line_that_it_leads_back_to() -> None:
    """indexer.index() takes an object, and hands the reader's text to the reader's own function."""
    report = judged(
        4,
        "from handloop.apis.meta import controller_of\n"
        "def by_foo(d):\n"
        "    owner = controller_of(d)\n"
        "    is_foo = owner is not None and owner.kind == 'Foo'\n"
        "    return [f'{d.metadata.namespace}/{owner.name}'] if is_foo else []\n"
        "def asked(indexer, key):\n"
        "    return indexer.index('foo', key)\n"
        "def deployments_of(indexer, namespace, name):\n"
        "    return asked(indexer, f'{namespace}/{name}')\n",
    )
    assert report.hint.startswith("line 7: return indexer.index('foo', key), which led to line 3: ")
