"""Descriptors: the limit of the system, and one for the probes."""

from __future__ import annotations

import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from handloop.controller.runtime.serving.listening import PortInUseError
from handloop.controller.runtime.serving.open_files import SpareDescriptor
from handloop.controller.runtime.serving.page_server import PageServer
from handloop.testing.eventually import eventually as until

RAISE = """
import resource
from handloop.controller.runtime.serving.open_files import raise_open_files
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 128))
raise_open_files()
print(resource.getrlimit(resource.RLIMIT_NOFILE))
resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128))
raise_open_files()
"""

EXHAUST = """
import os, resource, sys, threading, urllib.request
from contextlib import suppress
from handloop.controller.runtime.serving.health import health_page
from handloop.controller.runtime.serving.page_server import PageServer
server = PageServer("127.0.0.1", 0, {"/healthz": health_page({"ping": lambda: None})}, purpose="health")
server.start()
urllib.request.urlopen(f"http://127.0.0.1:{server.port}/healthz", timeout=20).read()
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
held = []
with suppress(OSError):
    while True:
        held.append(os.open(os.devnull, os.O_RDONLY))
print(server.port, flush=True)
sys.stdin.read()
"""


def test_the_soft_limit_becomes_the_hard_one() -> None:
    """As in a Go program; where they are equal nothing changes."""
    made = subprocess.run([sys.executable, "-c", RAISE], capture_output=True, text=True, check=True)
    assert made.stdout == "(128, 128)\n"


def test_a_process_without_descriptors_answers_its_probes() -> None:
    """Again and again: else a kubelet kills it, and it begins anew."""
    with subprocess.Popen(
        [sys.executable, "-c", EXHAUST], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout is not None
        url = f"http://127.0.0.1:{int(program.stdout.readline())}/healthz"
        for _ in range(5):
            with urllib.request.urlopen(url, timeout=20) as answer:
                assert answer.read() == b"ok"


def descriptors() -> int:
    """How many this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


def test_a_spare_descriptor_is_given_up_once() -> None:
    """And there again when there is room."""
    spare = SpareDescriptor()
    before = descriptors()
    assert spare.give_up()
    assert not spare.give_up()
    assert descriptors() == before - 1
    spare.refill()
    spare.refill()
    assert descriptors() == before
    spare.give_up()


def test_a_server_that_has_ended_keeps_no_descriptor() -> None:
    """Nor does a connection that ends after it, nor a server that could not listen."""
    before = descriptors()
    server = PageServer("127.0.0.1", 0, {}, purpose="health")
    with pytest.raises(PortInUseError):
        PageServer("127.0.0.1", server.port, {}, purpose="health")
    server.start()
    with socket.create_connection(("127.0.0.1", server.port)):
        until(lambda: server._server.connections._open, "accepted")
        server.stop()
    until(lambda: not server._server.connections._open, "ended")
    until(lambda: descriptors() == before, "closed")
