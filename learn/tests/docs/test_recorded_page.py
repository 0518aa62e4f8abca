"""The live page of the site, opened from its folder: no server, no other file."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs

import pytest
from docutils.nodes import make_id
from playwright.sync_api import Browser, expect

from docs.extensions.live_page import DOCS_OF_STEPS, FOLDER, LINK
from handloop.picture.page_data import INDEX
from handloop.picture.recording import GAP
from handloop_learn.catalog import CHAPTERS
from support.servers.live_browser import Tab, chromium
from tools.recorded_runs.catalog import RUNS, Run
from tools.recorded_runs.page import FOLDER as KEPT
from tools.recorded_runs.page import write_live_page
from tools.recorded_runs.shelf import read
from tools.steps import COUNT, ROOT

LONGEST_SECONDS: Final = 90
"""For a recording at the default pace: its moments."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page with its runs."""
    made = tmp_path_factory.mktemp("site") / FOLDER
    write_live_page(made, DOCS_OF_STEPS)
    return made


@pytest.fixture
def opened(browser: Browser, folder: Path) -> Iterator[Tab]:
    """The page, opened from its folder, with a clock that only the test moves, so it skips no moment."""
    with browser.new_context() as context:
        page = context.new_page()
        page.clock.install(time=0)
        page.clock.pause_at(60)
        yield Tab(page, folder.as_uri())


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_a_recording_plays_to_its_end(run: Run, opened: Tab, folder: Path) -> None:
    """By itself, from its address, moment by moment, in 90 s; and nothing is loaded from elsewhere."""
    page, document = opened.page, read(run.name)
    page.goto(f"{folder.as_uri()}/index.html#run={run.name}")
    expect(page.locator("#recorded [aria-current]")).to_have_text(run.title)
    expect(page.locator("#pace")).to_have_value("moments")
    steps, moments = document["steps"], document["says"]
    told = [step["why"] for step in steps if step["step"] == GAP] + list(moments.values())
    heard: list[str] = []
    seconds = 0
    while page.evaluate("at") < len(steps) or not seconds:
        page.clock.run_for(1000)
        seconds += 1
        assert seconds < LONGEST_SECONDS
        words = page.inner_text("#says")
        if words not in heard[-1:]:
            heard.append(words)
    assert sorted(heard) == sorted(told)
    expect(page.locator("#why")).to_have_text(steps[-1]["why"])
    assert opened.complaints == []


def test_the_page_of_the_repository_is_what_is_built(tmp_path: Path) -> None:
    """So a clone, or a download of this one file, opens it without a build."""
    write_live_page(tmp_path)
    (built,) = tmp_path.iterdir()
    assert (KEPT / INDEX).read_bytes() == built.read_bytes(), "make page"


@pytest.mark.parametrize("browser_command", ["echo opened %s", ""], ids=["browser", "none"])
def test_one_command_opens_the_page(browser_command: str, tmp_path: Path) -> None:
    """With a Python and nothing else; where no browser is found it names the file."""
    for name in ("sh", "echo"):
        (tmp_path / name).symlink_to(str(shutil.which(name)))
    told = subprocess.run(
        [str(shutil.which("make")), "-C", str(ROOT), "see", f"PYTHON={sys.executable}"],
        env={"PATH": str(tmp_path), "BROWSER": browser_command},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    page = KEPT / INDEX
    wanted = f"opened {page.as_uri()}" if browser_command else f"no browser was found: open {page}"
    assert wanted in told


def test_each_address_leads_to_its_step(opened: Tab, folder: Path) -> None:
    """Those in README, docs and chapters, and each mark of each run."""
    marks = {f"run={run.name}&at={mark.name}" for run in RUNS for mark in run.marks}
    opened.page.goto(f"{folder.as_uri()}/index.html#run=apply")
    for place in sorted(marks | links()):
        opened.page.evaluate("place => { location.hash = place; }", place)
        named = parse_qs(place)
        run = read(named["run"][0])
        seq = place_of(run, named)
        expect(opened.page.locator("#position")).to_have_text(f"step {seq} of {len(run['steps'])}")
        expect(opened.page.locator("#why")).to_have_text(run["steps"][seq - 1]["why"])
    assert opened.complaints == []


def test_each_section_of_the_walkthrough_leads_to_its_scene_and_back(opened: Tab, folder: Path) -> None:
    """The scene is of the section's step; and it has a link to the section."""
    text = (ROOT / "learn/docs/walkthrough.md").read_text(encoding="utf-8")
    sections = re.findall(r"^## \((\d+)\) (.*)\n\n.*live-page/#(follow&scene=\d+)\)", text, re.MULTILINE)
    assert len(sections) == COUNT
    page = opened.page
    page.goto(f"{folder.as_uri()}/index.html#follow")
    for number, words, place in sections:
        page.evaluate("place => { location.hash = place; }", place)
        expect(page.locator("#scene-title")).to_contain_text(f"({number})")
        expect(page.locator("#docs")).to_have_attribute("href", f"../walkthrough.html#{make_id(words)}")
    assert opened.complaints == []


def links() -> set[str]:
    """The addresses of steps in README, docs and at the ends of chapters."""
    pages = [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("learn/docs/*.md")]
    found = {match["place"] for page in pages for match in LINK.finditer(page.read_text(encoding="utf-8"))}
    found |= {f"#{chapter.page.partition('#')[2]}" for chapter in CHAPTERS}
    return {place[1:] for place in found if place and ("at=" in place or "step=" in place)}


def place_of(run: dict[str, Any], named: dict[str, list[str]]) -> int:
    """The number of the step that an address names."""
    seq: int = run["marks"][named["at"][0]] if "at" in named else int(named["step"][0])
    return seq
