"""
The live page of the program: whether it is served, where, and of which controllers.

It needs the extra `learn`, which is loaded only where the page is served.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

from handloop.client.config import ClientConfig
from handloop.client.transport import HTTPTransport
from handloop.controller.cli.flags import LEARN_INSTALL, is_live_page_installed
from handloop.controller.cli.options import Options
from handloop.seams.logs import get_logger

log = get_logger("controller")


class Running(Protocol):
    """What the page shows: a manager, and its controllers by name. A Program, which is loaded later."""

    @property
    def manager(self) -> Any:
        """The manager."""

    @property
    def controllers(self) -> Mapping[str, object]:
        """The controllers."""


class LivePage:
    """
    The page of one run. Threads: main's.

    shown is its URL for the banner, or how to get it; "" = off.
    """

    def __init__(self, options: Options, stack: ExitStack) -> None:
        """
        Serve the page, if it is on. Args: stack ends what was started.

        Raises: ListenError.
        """
        self._options = options
        self._stack = stack
        self._server: Any = None
        self.shown = f"off: {LEARN_INSTALL}" if options.sandbox and not is_live_page_installed() else ""
        address = options.debug_listen
        if address is None:
            return
        from handloop.walkthrough.live.server import LiveServer  # noqa: PLC0415 - an extra

        names = address.served_names()
        self._server = LiveServer(address.host, address.port, names=names, controls=options.debug_controls)
        stack.callback(self._server.stop)
        self._server.start()
        self.shown = self._server.url
        if options.sandbox:
            stack.enter_context(_url_beside(options.sandbox_kubeconfig, self.shown))
        if names is None:
            log.warning(
                "The live page is open to other machines: they see names, versions and stacks",
                address=str(address),
            )

    def show(self, running: Running, config: ClientConfig) -> None:
        """Show what runs from here on. Args: config of the server, which the controls ask."""
        if self._server is None:
            return
        from handloop.walkthrough.live.cluster_acts import ClusterActs  # noqa: PLC0415 - an extra
        from handloop.walkthrough.live.controls import Controls  # noqa: PLC0415 - an extra
        from handloop.walkthrough.live.parts import Parts  # noqa: PLC0415 - an extra

        parts = Parts(running.manager, running.controllers)
        controls = None
        if self._options.debug_controls:
            transport = self._stack.enter_context(closing(HTTPTransport(config)))
            controls = Controls(parts, ClusterActs(transport), in_sandbox=self._options.sandbox)
        informer_options = self._options.operator.informer_options()
        self._server.show(parts, controls, None if informer_options is None else informer_options.transform)


@contextmanager
def _url_beside(kubeconfig: str, url: str) -> Iterator[None]:
    """The URL in a file, in which `top` looks, for as long as the context lasts."""
    from handloop.walkthrough.top.address import URL_FILE  # noqa: PLC0415 - an extra

    path = Path(kubeconfig).with_name(URL_FILE.name)
    # without the file, `top` needs --address: no reason not to run
    with suppress(OSError):
        path.write_text(f"{url}\n", encoding="utf-8")
    try:
        yield
    finally:
        with suppress(OSError):
            # another sandbox may have written its own meanwhile
            if path.read_text(encoding="utf-8") == f"{url}\n":
                path.unlink()


@contextmanager
def live_page(options: Options) -> Iterator[LivePage]:
    """
    The live page for as long as the context lasts.

    Raises: ListenError.
    """
    with ExitStack() as stack:
        yield LivePage(options, stack)
