"""The services around a manager: connections, pages, and their close at the end."""

from __future__ import annotations

import socket

import pytest

from handloop.client.config import ClientConfig
from handloop.controller.runtime.process_services import ProcessServices
from handloop.controller.runtime.servers import Pages
from handloop.controller.runtime.serving.bind_address import BindAddress
from handloop.controller.runtime.serving.health import Check
from handloop.controller.runtime.serving.listening import PortInUseError
from handloop.controller.runtime.serving.page_server import Page
from support.servers.served_pages import fetch

FREE = BindAddress("127.0.0.1", 0)


class ManagerToServe:
    """A manager, as far as its services use it, and something to close."""

    def __init__(self) -> None:
        self.closed = 0

    def liveness_checks(self) -> dict[str, Check]:
        """Alive."""
        return {}

    def readiness_checks(self) -> dict[str, Check]:
        """Not ready."""
        return {"mine": lambda: "not yet"}

    def why_page(self) -> Page:
        """It knows nothing of any name."""
        return lambda query: (200, "text/plain", repr(query).encode())

    def close(self) -> None:
        """Count it."""
        self.closed += 1


def services_of(pages: Pages) -> ProcessServices:
    """ProcessServices of a manager on a server that is not there."""
    return ProcessServices(ClientConfig(host="http://127.0.0.1:1"), user_agent="u", pages=pages)


@pytest.mark.parametrize("first", ["manager", "pages"])
def test_probes_are_answered_by_the_manager(first: str) -> None:
    """Whether it is there before the pages, as in a library, or after them, as in a program with checks."""
    one, manager = services_of(Pages(metrics=FREE, health=FREE)), ManagerToServe()
    if first == "manager":
        one.attach(manager, manager)
    with one:
        if first == "pages":
            assert "preflight" in fetch(f"http://{one.health}/readyz")[1]
            one.attach(manager, manager)
        assert "[-]mine failed: not yet" in fetch(f"http://{one.health}/readyz")[1]
        assert fetch(f"http://{one.metrics}/metrics")[0] == 200
        assert fetch(f"http://{one.metrics}/why?name=n/a") == (200, "{'name': ['n/a']}")
        assert manager.closed == 0
    assert manager.closed == 1


def test_a_taken_port_leaves_nothing_open() -> None:
    """It is raised, and the parts opened before are closed."""
    manager = ManagerToServe()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        one = services_of(Pages(health=BindAddress("127.0.0.1", taken.getsockname()[1])))
        one.attach(manager, manager)
        with pytest.raises(PortInUseError), one:
            pass
    assert (manager.closed, one.health) == (1, "off")
