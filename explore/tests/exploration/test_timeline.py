"""Two runs as a drawing in lanes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from handloop_explore.plan import Plan
from handloop_explore.played import Played, Told, Write
from handloop_explore.record import Act, Arrival
from handloop_explore.story import lines, parting
from handloop_explore.timeline import MOST_LINES, timeline, window


def obj(name: str) -> dict[str, Any]:
    return {"kind": "ConfigMap", "metadata": {"name": name, "namespace": "default", "uid": name}}


def run(plan: str, writes: Sequence[Write], acts: Sequence[Act], *story: Told) -> Played:
    return Played(Plan.parse(plan), [*writes], [*story], [], 0, {}, [], "", [], 0, acts=acts)


def write(number: int, status: int = 201) -> Write:
    arrival = Arrival(0, 10 * number - 1, 10 * number)
    return Write(number, 2.0, "POST", "/api/v1/namespaces/default/configmaps", status, arrival=arrival)


A, B, C = (Act(2.0, "operator", 10 * number, None, obj(name)) for number, name in enumerate("abc", 1))
CREATE = Told(1.0, "user", "the user: create <a>")
FIRST, SECOND, THIRD = (
    Told(2.0 + number // 3, "process 1", f"write {number}: creates it -> 201", number) for number in (1, 2, 3)
)
GOOD = run("", [write(1), write(2), write(3)], [A, B, C], CREATE, FIRST, SECOND, THIRD)
RIVAL = Act(2.0, "rival", 11, obj("a"), None)
CLUSTER = Act(2.0, "garbage-collector", 12, obj("x"), None)
BAD = run(
    "2:crash-after",
    [write(1), write(2, 200), write(3, 409)],
    [A, RIVAL, CLUSTER, B],
    CREATE,
    FIRST,
    Told(2.0, "plan", "the plan strikes write 2, POST /a: crash-after", 2),
    Told(2.0, "process 1", "the process ends, as by kill -9"),
    Told(3.0, "process 2", "another process starts"),
    Told(3.0, "process 2", "write 3: tries -> 409", 3),
)


def test_the_drawing_parts_where_the_sentence_says() -> None:
    """At the write that is another one, not at the strike; readings of the clock do not count."""
    shown = window(GOOD, BAD)
    assert "(write 3)" in parting(GOOD, BAD)
    assert shown.undisturbed[shown.parting[0]] == THIRD
    assert shown.failing[shown.parting[1]].write == 3
    later = GOOD._replace(story=[told._replace(at=told.at + 1e-6) for told in GOOD.story])
    assert window(GOOD, later).parting == (4, 4)
    assert window(GOOD, later).lengths == (4, 4)


def test_others_are_in_their_lanes() -> None:
    """Changes of a rival and the cluster, and a write whose answer never came, as the text report tells."""
    told = [(one.who, one.words) for one in window(GOOD, BAD).failing]
    others = [
        ("rival", "the rival deletes ConfigMap default/a"),
        ("server", "the cluster deletes ConfigMap default/x"),
        ("server", "write 2: creates ConfigMap default/b -> no answer"),
    ]
    assert {words for _, words in others} <= {line.partition(" s  ")[2] for line in lines(GOOD, BAD)}
    assert set(others) <= set(told)
    svg = timeline(window(GOOD, BAD), GOOD, BAD)
    y = {lane: float(at) for at, lane in re.findall(r'y="([\d.]+)" class="now">([a-z][^<]*)<', svg)}
    for lane, words in others:
        (cy,) = re.findall(rf'<title>{words.replace(">", "&gt;")}</title><circle [^>]*cy="([\d.]+)"', svg)
        assert float(cy) == y[lane] - 4


def test_a_window_shows_what_is_around_the_strike() -> None:
    """A page of a storm stays small; both runs begin at the same line."""
    before = [Told(0.5, "process 1", f"write {number}", 0) for number in range(40)]
    after = [Told(9.0, "process 2", f"write {number}", 0) for number in range(500)]
    shown = window(GOOD._replace(story=before + GOOD.story), BAD._replace(story=before + BAD.story + after))
    assert (shown.begin, len(shown.failing)) == (30, MOST_LINES)
    assert shown.undisturbed[0] == shown.failing[0] == before[30]


def test_the_same_line_is_at_the_same_place_in_both_runs() -> None:
    """With its number and its words; no answer is shown where the operator got none."""
    svg = timeline(window(GOOD, BAD), GOOD, BAD)
    places = re.findall(r'<title>([^<]*)</title><circle cx="([\d.]+)"', svg)
    assert [words for words, _ in places][:2] == [
        "the user: create &lt;a&gt;",
        FIRST.words.replace(">", "&gt;"),
    ]
    assert [x for _, x in places[:2]] == [x for _, x in places[4:6]]
    seen = re.findall(r">(\d{3}|none|they diverge|failing|crash-after|process 2|[13] s)<", svg)
    good, bad = ["201", "201", "they diverge", "201"], ["201", "crash-after", "none", "they diverge", "409"]
    assert seen == ["failing", "process 2", "1 s", "3 s", *good, *bad]


def test_a_write_that_never_arrives_is_lost() -> None:
    """It is drawn at its strike."""
    never = BAD._replace(writes=[write(1), write(2, 0)._replace(arrival=None), write(3)], acts=[A])
    svg = timeline(window(GOOD, never), GOOD, never)
    assert len(re.findall(r'class="lost"', svg)) == svg.count(">none<") == 1
