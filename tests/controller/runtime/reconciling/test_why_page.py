"""The page `/why` without a manager: a pure function of its answer."""

from __future__ import annotations

import msgspec
import pytest

from handloop.controller.runtime.reconciling.explainer import Explanation, Why
from handloop.controller.runtime.reconciling.why_page import why_page
from handloop.informers.keys import ObjectName

SAYS = "failed: \x1b[2J\nfoo: Foo n/b"
KNOWN = Explanation(controller="foo", kind="Foo", name="n/a", says=(SAYS,), known=True)
NEAR, NOBODY = ("m/a", "n/b"), ("nobody knows",)
UNKNOWN = Explanation(controller="bar", kind="Foo", name="n/a", says=NOBODY, known=False, near=NEAR)


class Answers:
    """A manager with one answer."""

    def __init__(self, *explanations: Explanation, elsewhere: str = "") -> None:
        self.asked: list[tuple[ObjectName, str]] = []
        self.answer = Why(process="me", elsewhere=elsewhere, holder="", explanations=explanations)

    def why(self, name: ObjectName, controller: str) -> Why:
        self.asked.append((name, controller))
        return self.answer

    def get(self, **query: str) -> tuple[int, str, str]:
        status, content, body = why_page(self)({key: [value] for key, value in query.items()})
        return status, content, body.decode()


def test_a_line_is_a_line() -> None:
    """An error is anybody's text: it cannot look like another line, nor do anything to a terminal."""
    assert Answers(KNOWN, UNKNOWN, elsewhere="another process works").get(name="n/a")[2].splitlines() == [
        "another process works",
        "foo: Foo n/a",
        r"  failed: \x1b[2J\nfoo: Foo n/b",
        "bar: Foo n/a",
        "  nobody knows",
        "  did you mean m/a, n/b?",
    ]


def test_programs_read_json() -> None:
    """The whole answer."""
    answers = Answers(KNOWN)
    status, content, body = answers.get(name="a", controller="foo", o="json")
    assert (status, content, answers.asked) == (200, "application/json", [(ObjectName("", "a"), "foo")])
    assert msgspec.json.decode(body, type=Why) == answers.answer


@pytest.mark.parametrize(
    ("query", "text"), [({}, "say which"), ({"name": ""}, "say which"), ({"name": "a/b/c"}, "unexpected key")]
)
def test_what_is_no_name_is_refused(query: dict[str, str], text: str) -> None:
    """Before the manager is asked."""
    answers = Answers()
    status, _, body = answers.get(**query)
    assert (status, answers.asked) == (400, [])
    assert body.startswith(text)


def test_nobody_may_be_there() -> None:
    """A controller that is written by hand may say nothing."""
    assert Answers().get(name="a")[2] == "no controller that can explain a name runs in this process\n"
