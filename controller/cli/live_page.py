"""The live page of a running program. If the page is enabled, the extension `live-page` serves it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from handloop.client.config import ClientConfig
from handloop.controller.cli.extensions import extension, install_command, is_installed
from handloop.controller.cli.options import Options


class Running(Protocol):
    """The parts of a running program that the page shows. Program implements them; it is imported later."""

    @property
    def manager(self) -> Any:
        """The manager."""

    @property
    def controllers(self) -> Mapping[str, object]:
        """The controllers."""


class LivePage(Protocol):
    """The page of one run. Threads: main."""

    shown: str
    """The page's URL for the banner, or how to install the page; "" if the page is off."""

    def show(self, running: Running, config: ClientConfig) -> None:
        """Show a program from now on. Args: config connects the page's controls to the API server."""

    def end(self, why: str) -> None:
        """Tell the viewers why the program is ending. Returns immediately."""


class NoPage:
    """A LivePage that does nothing, for a run without a page."""

    def __init__(self, shown: str) -> None:
        self.shown = shown

    def show(self, running: Running, config: ClientConfig) -> None:
        """Nothing."""

    def end(self, why: str) -> None:
        """Nothing."""


@contextmanager
def live_page(options: Options) -> Iterator[LivePage]:
    """
    Serve the live page while the context is open.

    Raises: ListenError if the page cannot listen on its address.
    """
    if options.debug_listen is None:
        missing = options.sandbox and not is_installed("live-page")
        yield NoPage(f"off: {install_command('live-page')}" if missing else "")
        return
    with extension("live-page").served_page(options, options.debug_listen) as page:
        yield page
