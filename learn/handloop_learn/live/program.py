"""Serves the live page of a program, and chooses what it shows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager

from handloop.client.config import ClientConfig
from handloop.client.transport import HTTPTransport
from handloop.controller.cli.live_page import Running
from handloop.controller.cli.options import Options
from handloop.controller.runtime.serving.bind_address import BindAddress
from handloop.picture.parts import Parts
from handloop.seams.logs import get_logger
from handloop.seams.step_trace import short_text
from handloop_learn.live.cluster_acts import ClusterActs
from handloop_learn.live.controls import Controls
from handloop_learn.live.server import LiveServer
from handloop_learn.live.url_file import url_beside

log = get_logger("controller")


class ServedPage:
    """The LivePage (handloop.controller.cli.live_page) of a program that serves it."""

    def __init__(self, options: Options, address: BindAddress, stack: ExitStack) -> None:
        """
        Serve the page. Args: stack stops everything that is started here.

        Raises: ListenError if the address cannot be used.
        """
        self._options = options
        self._stack = stack
        names = address.served_names()
        self._server = LiveServer(address.host, address.port, names=names, controls=options.debug_controls)
        stack.callback(self._server.stop)
        self._server.start()
        self.shown = self._server.url
        if options.sandbox:
            stack.enter_context(url_beside(options.sandbox_kubeconfig, self.shown))
        if names is None:
            log.warning(
                "The live page is open to other machines: they can read names, versions and stacks",
                address=str(address),
            )

    def show(self, running: Running, config: ClientConfig) -> None:
        """Show a running program from now on. Args: config is for the server of the experiments."""
        parts = Parts(running.manager, running.controllers)
        controls = None
        if self._options.debug_controls:
            transport = self._stack.enter_context(closing(HTTPTransport(config)))
            controls = Controls(parts, ClusterActs(transport), in_sandbox=self._options.sandbox)
        informer_options = self._options.operator.informer_options()
        self._server.show(parts, controls, None if informer_options is None else informer_options.transform)

    def end(self, why: str) -> None:
        """Show the viewers why the program is ending. Returns at once."""
        self._server.end(why)


@contextmanager
def served_page(options: Options, address: BindAddress) -> Iterator[ServedPage]:
    """
    Serve the live page at an address until the context ends.

    Raises: ListenError if the address cannot be used.
    """
    with ExitStack() as stack:
        page = ServedPage(options, address, stack)
        try:
            yield page
        except Exception as error:
            page.end(short_text(error))
            raise
