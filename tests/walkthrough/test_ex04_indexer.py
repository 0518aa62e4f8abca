from __future__ import annotations

import pytest

from handloop.walkthrough.exercise_catalog import EXERCISES
from support.checks.chapters import judged

RIGHT = """
from handloop.apis.meta import controller_of

def by_foo(deployment):
    owner = controller_of(deployment)
    if owner is None or owner.kind != "Foo":
        return []
    return [f"{deployment.metadata.namespace}/{owner.name}"]

def deployments_of(indexer, namespace, name):
    return indexer.by_index("foo", f"{namespace}/{name}")
"""


def test_a_right_solution() -> None:
    """An index by the controlling Foo, and a look-up in it."""
    report = judged(4, RIGHT)
    assert (report.wrong, len(report.right)) == ("", 3)


@pytest.mark.parametrize(
    ("text", "happened", "hint"),
    [
        # as it starts: it finds nothing
        (EXERCISES[4].start, "returned nothing", "controller_of"),
        (
            RIGHT.replace("return [f", "return (f").replace('name}"]', 'name}")'),
            "the string 'default/a'",
            "a list of strings",
        ),
        (RIGHT.replace("owner is None or ", ""), "without an owner: 'NoneType'", "returns None"),
        (RIGHT.replace(' or owner.kind != "Foo"', ""), "`bars`, which no Foo controls", "Only a Foo counts"),
        (RIGHT.replace("{deployment.metadata.namespace}/", ""), "returned ['a']", "`namespace/name`"),
        (
            RIGHT.replace(
                "controller_of(deployment)", "next(iter(deployment.metadata.owner_references), None)"
            ),
            "`loose`, which no Foo controls",
            "the controller counts",
        ),
        (
            RIGHT.replace('indexer.by_index("foo", ', "[d for d in indexer.list() if by_foo(d) == ").replace(
                '{name}")', '{name}".split()]'
            ),
            "looked at all 5",
            "by_index",
        ),
    ],
)
def test_a_wrong_solution_gets_its_own_hint(text: str, happened: str, hint: str) -> None:
    """What happened, and where to look."""
    report = judged(4, text)
    assert happened in report.wrong
    assert hint in report.hint
