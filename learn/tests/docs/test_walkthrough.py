"""learn/docs/walkthrough.md: its blocks, its steps, and the tests that it names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from handloop_learn.live.scenes import SCENES
from support.checks.rows import check_rows
from tools.example_foo import sightings
from tools.snippets import PAGE, filled, seen
from tools.step_tracer import Sighting
from tools.steps import ROOT, Step, steps

TEXT = PAGE.read_text(encoding="utf-8")
PROSE = re.sub(r"^```.*?^```$", "", TEXT, flags=re.MULTILINE | re.DOTALL)
SECTIONS = {title: text for title, _, text in (part.partition("\n") for part in TEXT.split("\n## ")[1:])}
NAMED = set(re.findall(r"`(test_\w+)`", TEXT))
TABLES = (ROOT / "docs/internals/threads-and-locks.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def run() -> list[Sighting]:
    """What the steps of a running controller see."""
    return sightings()


def title(step: Step) -> str:
    """The heading of a step's section."""
    return f"({step.number}) {step.words}"


def names_below(*folders: str) -> set[str]:
    """The names of the tests in some folders."""
    return {
        node.name
        for folder in folders
        for path in (ROOT / folder).rglob("test_*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


def test_its_blocks_are_those_of_the_source_and_of_a_run(run: Sequence[Sighting]) -> None:
    """Run `python -m tools.snippets` if this fails: it would write another page."""
    assert filled(TEXT, run) == TEXT


def test_every_block_of_code_is_filled_by_the_tool() -> None:
    """Nobody types a snippet: each fence follows a link of the tool, or a comment."""
    fences = re.findall(r"^(.*)\n```(?:python|text)$", TEXT, re.MULTILINE)
    typed = [line for line in fences if not line.startswith(("[`", "<!-- seen: "))]
    assert fences
    assert not typed


def test_each_section_leads_to_its_scene() -> None:
    """To the first one of its step on the live page."""
    first = {scene.step: number for number, scene in reversed([*enumerate(SCENES)])}
    for step in steps():
        assert f"[this step](live-page/#follow&scene={first[step.number]})" in SECTIONS[title(step)]


def test_it_has_the_twelve_steps_in_order() -> None:
    """A section for each step, under the words of the source."""
    assert [name for name in SECTIONS if name.startswith("(")] == [title(step) for step in steps()]


@pytest.mark.parametrize("step", steps(), ids=lambda step: str(step.number))
def test_a_step_has_all_its_parts(step: Step) -> None:
    """The step's line, its sighting, thread, lock, hand-over, and its failure, with a test."""
    text = SECTIONS[title(step)]
    assert f"# ({step.number}) {step.words}\n" in text
    assert f"<!-- seen: {step.number} -->\n```text\n" in text
    assert [part for part in ("Thread and lock.", "Hand-over.", "Without") if f"**{part}**" not in text] == []
    assert re.search(r"\(`test_\w+`", text.partition("**Without**")[2])


@pytest.mark.parametrize("step", steps(), ids=lambda step: str(step.number))
def test_the_words_name_the_thread_and_the_lock_that_were_seen(step: Step, run: Sequence[Sighting]) -> None:
    """The paragraph about thread and lock is true of the run: the thread, and the lock taken last."""
    paragraph = SECTIONS[title(step)].partition("**Thread and lock.**")[2].partition("\n\n")[0]
    for sighting in run:
        if sighting.step == step.number:
            lock = sighting.locks[-1].split(".")[1] if sighting.locks else "no lock"
            assert f"`{sighting.thread}`" in paragraph or "same thread" in paragraph
            assert lock.replace(" (", "` (") in paragraph or "same locks" in paragraph


def test_the_locks_that_were_seen_stand_in_the_table(run: Sequence[Sighting]) -> None:
    """The page on threads and locks has each with its rank, and a thread takes them in rising rank."""
    for sighting in run:
        ranks = [int(lock.partition("(")[2][:-1]) for lock in sighting.locks]
        assert ranks == sorted(set(ranks))
        for lock in sighting.locks:
            name, _, rank = lock.partition(".")[2].partition(" ")
            assert re.search(rf"\b{name}` {re.escape(rank)} \|", TABLES), lock


def test_all_steps_were_seen_in_the_order_of_the_way(run: Sequence[Sighting]) -> None:
    """The Foo comes in as bytes, and goes out as a Deployment: the threads of the page, each at its steps."""
    threads = {sighting.step: sighting.thread for sighting in run}
    assert threads == (
        dict.fromkeys((1, 2), "reflector-foos")
        | dict.fromkeys((3, 4, 5, 6), "informer-foos")
        | {7: "listener-foos-1"}
        | dict.fromkeys((8, 9, 10, 11, 12), "worker-0")
    )
    assert "again after 5 ms" in seen(11, run)


def test_each_claim_has_its_test() -> None:
    """Each failure that the page claims is shown."""
    assert NAMED - names_below("tests", "explore/tests", "learn/tests") == set()


def test_each_test_has_its_claim() -> None:
    """The tests that take a part away show only failures that the page claims."""
    taken_away = names_below("learn/tests/claims")
    assert len(taken_away) > len(steps())
    assert taken_away - NAMED == set()


def test_the_way_through_the_source_is_short() -> None:
    """The functions of its last table are there, pass every step, and have at most 900 lines."""
    rows = re.findall(r"^\|[ ()\d]*\| `([\w/]+\.py)` \| (`.*`) \|$", TEXT, re.MULTILINE)
    lines = sum(len(text.splitlines()) for path, names in rows for text in functions(path, names))
    assert 800 < lines <= 900
    read = "".join(text for path, names in rows for text in functions(path, names))
    assert [step.number for step in steps() if f"# ({step.number}) {step.words}" not in read] == []


def functions(path: str, names: str) -> Iterator[str]:
    """The sources of functions and methods; a method without its class is of the last class named."""
    source, owner = (ROOT / path).read_text(encoding="utf-8"), ""
    known = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef):
            known[node.name] = node
        if isinstance(node, ast.ClassDef):
            known |= {f"{node.name}.{one.name}": one for one in node.body if isinstance(one, ast.FunctionDef)}
    for name in re.findall(r"`([\w.]+)`", names):
        owner = name.partition(".")[0] if "." in name else owner
        node = known.get(name) or known[f"{owner}.{name}"]
        yield "\n".join(source.splitlines()[node.lineno - 1 : node.end_lineno])


def test_its_links_lead_somewhere() -> None:
    """To a file, and to a heading in it where one is named."""
    check_rows(sorted(set(re.findall(r"\]\(([^)]+)\)", PROSE))), leads_somewhere)


def leads_somewhere(target: str) -> None:
    path, _, heading = target.partition("#")
    if path == "live-page/":
        return  # test_recorded_page.py follows it
    linked = (PAGE.parent / path).resolve()
    assert linked.is_file()
    if heading and not re.fullmatch(r"L\d+", heading):
        assert heading in headings(linked)


def headings(page: Path) -> set[str]:
    """The anchors of a page."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles}


def test_it_is_about_two_hundred_and_fifty_lines_of_prose() -> None:
    """A page that one reads in a sitting."""
    lines = [line for line in PROSE.splitlines() if line.strip() and not line.startswith(("<!--", "[`"))]
    assert 200 <= len(lines) <= 300
    assert max(map(len, lines)) <= 140
