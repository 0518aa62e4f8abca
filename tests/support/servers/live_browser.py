"""Debian's Chromium, driven by playwright: a page that keeps its complaints."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Literal

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, sync_playwright

CHROMIUM: Final = (
    os.environ.get("CHROMIUM") or shutil.which("chromium-headless-shell") or shutil.which("chromium") or ""
)
"""The engine without windows where it is installed: the same pages for half the CPU."""
REQUIRED: Final = "REQUIRE_CHROMIUM"
"""The variable that makes a missing browser a failure."""

FLAGS: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
SECONDS: Final = 20.0


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser with a fresh profile; skips the test without a browser."""
    if not CHROMIUM:
        reason = "there is no chromium: apt-get install chromium-headless-shell"
        if os.environ.get(REQUIRED):
            pytest.fail(reason)
        pytest.skip(reason)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


class Tab:
    """One page of the browser; complaints are console errors, failures, and requests to other origins."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.complaints: list[str] = []
        self._origin = url.partition("/debug")[0].removesuffix("/index.html")
        page.set_default_timeout(SECONDS * 1000)
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("request", self._on_request)

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.type}: {message.text}")

    def _on_request(self, request: Request) -> None:
        if not request.url.startswith(self._origin + "/"):
            self.complaints.append(f"request to {request.url}")


@contextmanager
def tab(
    browser: Browser,
    url: str,
    *,
    width: int = 1280,
    height: int = 720,
    scheme: Literal["light", "dark"] = "light",
    still: bool = False,
    at: str = "#play",
) -> Iterator[Tab]:
    """The live page at an address within it, once it is connected, or has loaded its run."""
    with browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme=scheme,
        reduced_motion="reduce" if still else "no-preference",
    ) as context:
        page = context.new_page()
        opened = Tab(page, url)
        page.goto(url + at)
        is_there = "body[data-snapshots]" if url.startswith("http") else "#recorded a"
        page.wait_for_selector(is_there, state="attached")
        yield opened
