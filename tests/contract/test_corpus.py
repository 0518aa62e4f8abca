"""The recorded answers of a kube-apiserver and its controllers, asked of the sandbox in virtual time."""

from __future__ import annotations

import pytest

from handloop.sandbox.differences import DIFFERENCES
from support.corpus_replay import differences, record, recorded_ids

EXPLAINED = {answer for difference in DIFFERENCES for answer in difference.answers}
MOST = 10


@pytest.fixture(scope="module")
def differing(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What differs, by the id of the answer."""
    rows = record()
    assert [row["id"] for row in rows] == recorded_ids()
    return differences(rows, tmp_path_factory.mktemp("corpus"))


def test_answers_are_the_recorded_ones(differing: dict[str, str]) -> None:
    """No answer differs but those that are explained."""
    assert {answer: told for answer, told in differing.items() if answer not in EXPLAINED} == {}


@pytest.mark.parametrize("answer", sorted(EXPLAINED))
def test_what_is_explained_still_differs(differing: dict[str, str], answer: str) -> None:
    """An explanation that explains nothing any more is taken off the list."""
    assert answer in differing


def test_the_list_is_short() -> None:
    """At most ten recorded answers differ."""
    assert len(EXPLAINED) <= MOST
