"""The site of the docs: `make docs`."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from html import unescape
from pathlib import Path
from urllib.parse import parse_qs

import pytest

import handloop
from docs.extensions.live_page import DOCS_OF_STEPS, FIGURE, FOLDER, LINK, figure_from, link_from
from docs.extensions.source_page import address
from docs.extensions.source_page import shown as source_of
from handloop import testing
from handloop.controller.cli.options import FLAGS, spelling
from handloop_learn.catalog import CHAPTERS
from handloop_learn.exercise_catalog import EXERCISES
from handloop_learn.live.scenes import SCENES
from support.checks.docs_page import DOCS
from support.checks.metric_table import TABLE
from tools.chapter_pages import file_of
from tools.recorded_runs.shelf import read

KIT = (*testing.__all__, "RunningSandbox", "RefusedError", "RunningOperator", "SettableClock", "Faults")


def test_the_site(tmp_path: Path) -> None:
    """`make docs` meets no warning, and what it makes is whole. One test: a build takes ten seconds."""
    for package in ("sphinx", "furo", "myst_parser"):
        pytest.importorskip(package)
    site = built(tmp_path)
    texts = {page: page.read_text(encoding="utf-8") for page in site.rglob("*.html")}
    names_are_in_the_reference(texts)
    docstrings_are_as_written(texts[site / "api/runtime.html"])
    flags_have_their_variables(texts[site / "flags.html"])
    metrics_are_those_of_the_code(texts[site / "metrics.html"])
    assert "Failed to watch" in shown(texts[site / "errors.html"])
    assert 'href="architecture.html' in texts[site / "walkthrough.html"]
    assert "Objects enter through the reflector" in texts[site / "architecture.html"]
    assert dead_links(site, texts) == []
    pages_are_found(site)
    each_chapter_and_step_has_its_figure(site, texts)
    walkthrough = texts[site / "walkthrough.html"]
    assert [
        place for place in DOCS_OF_STEPS.values() if f'id="{place.partition("#")[2]}"' not in walkthrough
    ] == []


def built(folder: Path) -> Path:
    """The site, with every warning as an error."""
    ended = subprocess.run(
        [
            sys.executable,
            "-m",
            "sphinx",
            "-q",
            "-W",
            "--keep-going",
            "-d",
            folder / "trees",
            DOCS,
            folder / "html",
        ],
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return folder / "html"


def names_are_in_the_reference(texts: Mapping[Path, str]) -> None:
    """Each name of the face has its entry, once; and so does each of the testing kit."""
    entries = [
        entry
        for page, text in texts.items()
        if page.parent.name == "api"
        for entry in re.findall(r'<dt class="sig [^>]*id="handloop(?:_sandbox)?\.([\w.]+)"', text)
    ]
    homes = vars(handloop)["_HOME"]
    names = [
        name for name in handloop.__all__ if entries.count(name) + entries.count(f"{homes[name]}.{name}") == 1
    ]
    assert names == list(handloop.__all__)
    assert set(KIT) <= {entry.rpartition(".")[2] for entry in entries}


def flags_have_their_variables(text: str) -> None:
    """Each flag has an entry, with its default and its variable where it has them."""
    flags = [*map(spelling, FLAGS), "--domain", "--scope", "--for", "--image"]
    assert [flag for flag in flags if f">{flag}</span>" not in text] == []
    resync = text.rpartition(">--resync</span>")[2].partition("<dt")[0]
    assert shown(resync).rstrip().endswith("Default 30s; $GREETER_RESYNC.")


def metrics_are_those_of_the_code(text: str) -> None:
    """Each metric has a row with its type, labels and meaning; each alert stands in both tables."""
    rows = {cells[0]: cells[1:] for cells in map(cells_of, re.findall(r"<tr.*?</tr>", text, re.DOTALL))}
    found = {name: (rows[name][0], frozenset(re.findall(r"\w+", rows[name][1]))) for name in TABLE}
    assert found == {name: (row.type, row.labels) for name, row in TABLE.items()}
    assert [name for name in TABLE if len(rows[name][2]) < 10] == []
    read = {alert for name in TABLE for alert in re.findall(r"\w+", rows[name][3])}
    assert read == {name for name in rows if name.startswith("Handloop")}


def cells_of(row: str) -> list[str]:
    """What a reader sees of the cells of a row."""
    return [shown(cell).strip() for cell in re.findall(r"<t[dh].*?</t[dh]>", row, re.DOTALL)]


def docstrings_are_as_written(text: str) -> None:
    """Their sections are named, their code is code, and nothing else in them is markup."""
    assert "<strong>Returns:</strong> the stored object" in text
    assert '<span class="pre">run_until_signalled</span>' in text
    assert "*Raises" not in shown(text)


def pages_are_found(site: Path) -> None:
    """A search for these words puts an entry of the index first, and each leads to one page."""
    text = (site / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(text.removeprefix("Search.setIndex(").removesuffix(")"))
    found = {
        words: [index["docnames"][entry[0]] for entry in entries if entry[2]]
        for words, entries in index["indexentries"].items()
    }
    for chapter in CHAPTERS:
        assert found[f"chapter {chapter.number}"] == [f"chapters/{file_of(chapter).stem}"]
    assert {
        f"chapters/{file_of(chapter).stem}" for chapter in CHAPTERS if chapter.number in EXERCISES
    } == set(found["exercise"])
    assert (found["why resync"], found["follow one foo"]) == (["glossary"], ["live"])


def each_chapter_and_step_has_its_figure(site: Path, texts: Mapping[Path, str]) -> None:
    """A recording, if one shows it, which is loaded when a reader comes to it; no block is a download."""
    figure = '<iframe class="live" loading="lazy"'
    for chapter in CHAPTERS:
        assert texts[site / f"chapters/{file_of(chapter).stem}.html"].count(figure) == bool(chapter.run)
    walkthrough = texts[site / "walkthrough.html"]
    assert walkthrough.count(figure) == len(DOCS_OF_STEPS)
    assert "_downloads" not in walkthrough
    assert '<span class="linenos">' in walkthrough


def shown(text: str) -> str:
    """What a reader sees of a page."""
    return unescape(re.sub(r"<[^>]+>", "", text))


def dead_links(site: Path, texts: Mapping[Path, str]) -> list[str]:
    """The links inside that lead to no page, to no file, or to no place in a page."""
    anchors = {page: set(re.findall(r'\bid="([^"]+)"', text)) for page, text in texts.items()}
    dead = []
    for page, text in texts.items():
        for target in set(re.findall(r'<a [^>]*href="([^":]+)"', text)):
            path, _, anchor = unescape(target).partition("#")
            there = (page.parent / path).resolve() if path else page
            if there.parent.name == FOLDER and there in texts:
                is_there = not anchor or is_shown(parse_qs(anchor, keep_blank_values=True))
            else:
                is_there = there.exists() and (not anchor or anchor in anchors.get(there, {anchor}))
            if not is_there:
                dead.append(f"{page.relative_to(site)}: {target}")
    return dead


def is_shown(place: Mapping[str, list[str]]) -> bool:
    """Whether the live page has the step that an address names."""
    if "follow" in place:
        return set(place.get("scene", [])) <= {str(number) for number in range(len(SCENES))}
    (name,) = place["run"]
    run = read(name)
    steps = [str(step["seq"]) for step in run["steps"]]
    return set(place.get("at", [])) <= run["marks"].keys() and set(place.get("step", [])) <= set(steps)


def test_a_link_to_a_step_that_is_not_there_is_dead() -> None:
    """An address by mark, by number; and one without either."""
    assert all(
        is_shown(parse_qs(place)) for place in ("run=merge", "run=merge&at=merged", "run=merge&step=1")
    )
    assert not any(is_shown(parse_qs(place)) for place in ("run=merge&at=x", "run=merge&step=0"))


def test_a_link_to_the_live_page_leads_there_from_any_folder() -> None:
    """In the repository it leads to the folder; in the site, to the page in it."""
    text = "[a](learn/docs/live-page/#run=merge) [![b](b.gif)](learn/docs/live-page/index.html) [c](live.md)"
    assert LINK.sub(link_from(DOCS), text) == (
        "[a](live:live-page/index.html#run=merge) [![b](b.gif)](live:live-page/index.html) [c](live.md)"
    )
    assert LINK.sub(link_from(DOCS / "how-to"), "[a](../live-page/)") == "[a](live:../live-page/index.html)"


def test_a_link_to_a_line_leads_to_the_repository_or_to_a_page_of_the_file() -> None:
    """One address in pyproject.toml decides for all of them."""
    file = DOCS.parent / "workqueue/queue.py"
    assert address(file, "#L12", DOCS / "how-to", "") == "source:../source/workqueue/queue.py.html#L12"
    there = "https://example.org/handloop"
    assert address(file, "#L12", DOCS, there) == f"{there}/blob/main/workqueue/queue.py#L12"


def test_a_page_of_a_file_has_its_lines_and_nothing_else() -> None:
    """Each with its number and an address; also of a file whose language nobody knows."""
    for name in ("workqueue/queue.py", "LICENSE"):
        page, lines = source_of(name), (DOCS.parent / name).read_text(encoding="utf-8").splitlines()
        assert page.count('<span id="L') == len(lines)
        code = re.search(r"<pre>(.*)</pre>", page, re.DOTALL)
        assert code is not None
        rows = [shown(row) for row in re.split(r'<span id="L\d+"><a [^>]*>\d+</a>', code[1])[1:]]
        assert rows == [line.rstrip("\n") for line in lines]


def test_a_figure_stands_below_each_link_to_a_recording() -> None:
    """At the moment of the link; nowhere else."""
    links = "[a](x/live-page/#follow&scene=1), and [b](x/live-page/#run=merge&at=merged)"
    text = f"On the live page: {links}.\nMore.\n"
    made = FIGURE.sub(figure_from(DOCS / "how-to"), text)
    assert 'src="../live-page/index.html#embed&amp;run=merge&amp;at=merged"' in made
    assert made.startswith(text.partition("\n")[0])
    assert FIGURE.sub(figure_from(DOCS), "[b](live-page/#run=merge)\n") == "[b](live-page/#run=merge)\n"
