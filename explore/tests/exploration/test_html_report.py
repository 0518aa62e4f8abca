"""The report as a page, and its way to the live page, in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect

from handloop.controller.foo.runnable import add_plain_foo
from handloop.picture.page_data import INDEX
from handloop_explore.explorer import run_plans
from handloop_explore.html_report import html_report
from handloop_explore.live_runs import write_live_page
from handloop_explore.workload import applied, deleted
from support.builders.workloads import FOO, foo_workload
from support.servers.live_browser import Tab, chromium

COMMAND: Final = "handloop explore foos:set_up --apply a&b.yaml"
RULES: Final = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a storm and its live page."""
    made = tmp_path_factory.mktemp("explored")
    workload = foo_workload(applied(FOO), deleted(FOO), add=add_plain_foo)
    report = run_plans(workload, replay="1:silent")
    write_live_page(made / "page", workload, report, "foos:set_up, explored")
    text = html_report(report, "foos:set_up", COMMAND, f"page/{INDEX}")
    (made / "report.html").write_text(text, encoding="utf-8")
    return made


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (768, "light"), (1280, "dark")])
def test_the_report_is_whole_at_any_width(
    browser: Browser, folder: Path, width: int, scheme: Literal["light", "dark"]
) -> None:
    """Axe finds nothing, only the timeline scrolls, and nothing is loaded from elsewhere."""
    with browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme) as context:
        opened = Tab(context.new_page(), folder.as_uri())
        opened.page.goto((folder / "report.html").as_uri())
        expect(opened.page.locator("#plan-1 h2")).to_have_text("Plan 1:silent")
        expect(opened.page.locator("#plan-1 .failed").first).to_contain_text("a storm")
        expect(opened.page.locator("#plan-1 p").nth(1)).to_contain_text("The runs diverge: undisturbed")
        expect(opened.page.locator("#plan-1 code")).to_have_text(f"{COMMAND} --replay 1:silent")
        assert opened.page.evaluate("document.documentElement.scrollWidth") == width
        found = Axe().run(opened.page, options=RULES).response["violations"]
    assert [(rule["id"], [node["html"] for node in rule["nodes"]]) for rule in found] == []
    assert opened.complaints == []


def test_a_link_leads_to_the_strike_in_the_live_page(browser: Browser, folder: Path) -> None:
    """From a file; there it is played step by step, for any controller."""
    with browser.new_context() as context:
        opened = Tab(context.new_page(), folder.as_uri())
        page = opened.page
        page.goto((folder / "report.html").as_uri())
        page.get_by_role("link", name="the failing run, where the plan strikes").click()
        expect(page.locator("#why")).to_contain_text("the plan strikes write 1, POST")
        expect(page.locator("#play")).to_have_text("Play")
        page.keyboard.press("ArrowRight")
        expect(page.locator("#why")).to_contain_text("creates a Deployment in default")
        expect(page.locator("h1")).to_have_text("foos:set_up, explored")
        expect(page.locator("#follow")).to_be_hidden()
    assert opened.complaints == []
