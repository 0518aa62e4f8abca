"""The servers of the program's own pages."""

from __future__ import annotations

import http.client
import shutil
import socket
import ssl
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from handloop.client.rest_client import RESTClient
from handloop.controller.cli.problems import port_in_use
from handloop.controller.runtime.servers import Pages, Servers
from handloop.controller.runtime.serving.bind_address import BindAddress
from handloop.controller.runtime.serving.listening import ListenError, NoCertificateError
from handloop.seams.clock import REAL_CLOCK
from support.doubles.scripted_transport import ScriptedTransport, answer
from support.servers.certificates import CertificateAuthority, Issued
from support.servers.served_pages import fetch

LOOPBACK = BindAddress("127.0.0.1", 0)
PLAIN = Pages(metrics=LOOPBACK, health=LOOPBACK)
ANSWERS = (
    answer(201, b'{"status":{"authenticated":true,"user":{"username":"prometheus"}}}'),
    answer(201, b'{"status":{"allowed":true}}'),
    answer(201, b'{"status":{}}'),
)


@contextmanager
def serving(pages: Pages) -> Iterator[Servers]:
    """Servers that serve."""
    rest = RESTClient(ScriptedTransport(ANSWERS))
    servers = Servers(pages, CollectorRegistry(auto_describe=True), rest, REAL_CLOCK)
    servers.start()
    try:
        yield servers
    finally:
        servers.stop()


def mount(folder: Path, issued: Issued) -> None:
    """Put a pair where it is looked for."""
    folder.mkdir(exist_ok=True)
    shutil.copyfile(issued.certificate, folder / "tls.crt")
    shutil.copyfile(issued.key, folder / "tls.key")


@pytest.mark.parametrize(
    ("address", "in_cluster", "status"),
    [
        (LOOPBACK, False, 403),
        # behind a proxy in the same pod, which hands the Host of its clients on
        (LOOPBACK, True, 200),
        (BindAddress("", 0), False, 200),
        (BindAddress("", 0), True, 200),
    ],
)
def test_a_name_of_a_web_page_reaches_nothing_on_loopback(
    address: BindAddress, in_cluster: bool, status: int
) -> None:
    """Outside a cluster, where there are browsers, the loopback servers answer to its names alone."""
    pages = Pages(metrics=address, health=address, any_host=in_cluster)
    with serving(pages) as servers:
        for shown, path in ((servers.metrics, "/metrics"), (servers.health, "/healthz")):
            port = shown.split()[0].rpartition(":")[2]
            url = f"http://127.0.0.1:{port}{path}"
            assert fetch(url)[0] == 200
            assert fetch(url, host="evil.example")[0] == status


def test_metrics_with_tls_and_leave(tmp_path: Path) -> None:
    """The certificate of the folder; 401 without a token, 200 with a good one, 401 with a bad one."""
    authority = CertificateAuthority(tmp_path / "ca")
    mount(tmp_path / "certs", authority.issue("metrics"))
    context = ssl.create_default_context(cafile=str(authority.certificate))
    pages = Pages(
        metrics=LOOPBACK,
        health=LOOPBACK,
        certificate_folder=str(tmp_path / "certs"),
        metrics_auth=True,
    )
    with serving(pages) as servers:
        url = f"https://{servers.metrics}/metrics"
        assert fetch(url, context=context) == (401, "Unauthorized\n")
        status, text = fetch(url, context=context, token="good")
        assert status == 200
        assert "certwatcher_read_certificate_total 1.0" in text
        assert fetch(url, context=context, token="bad")[0] == 401
        # the probes of a kubelet bring neither certificate nor token
        assert fetch(f"http://{servers.health}/healthz")[0] == 200


def test_metrics_with_leave_and_no_certificate_have_one_of_their_own() -> None:
    """Over TLS that no client can check: 401 without a token, 200 with one; nothing over plain HTTP."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with serving(Pages(metrics=LOOPBACK, health=LOOPBACK, metrics_auth=True)) as servers:
        assert fetch(f"https://{servers.metrics}/metrics", context=context) == (401, "Unauthorized\n")
        assert fetch(f"https://{servers.metrics}/metrics", context=context, token="good")[0] == 200
        with pytest.raises((ConnectionError, OSError, http.client.HTTPException)):
            fetch(f"http://{servers.metrics}/metrics", token="good")


def test_what_a_certificate_of_its_own_needs_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """E10 with what to type: the package that makes it, or a folder that can be written."""
    pages, rest = Pages(metrics=LOOPBACK, metrics_auth=True), RESTClient(ScriptedTransport())

    def refused() -> str:
        with pytest.raises(NoCertificateError) as raised:
            Servers(pages, CollectorRegistry(), rest, REAL_CLOCK)
        return str(port_in_use(raised.value))

    with monkeypatch.context() as without_folder:
        without_folder.setattr("tempfile.tempdir", "/nowhere")
        assert "cannot create a certificate: [Errno 2] No such file or directory: '/nowhere" in refused()
    monkeypatch.setitem(sys.modules, "cryptography", None)
    said = refused()
    assert "without the package cryptography: pip install cryptography" in said
    assert "fix: --metrics-cert-dir with tls.crt and tls.key, or --metrics-auth=false for plain HTTP" in said


def test_a_client_without_tls_holds_no_other_up(tmp_path: Path) -> None:
    """A connection that never begins its handshake has a thread of its own."""
    authority = CertificateAuthority(tmp_path / "ca")
    mount(tmp_path / "certs", authority.issue("metrics"))
    context = ssl.create_default_context(cafile=str(authority.certificate))
    pages = Pages(
        metrics=LOOPBACK,
        health=None,
        certificate_folder=str(tmp_path / "certs"),
    )
    with serving(pages) as servers:
        host, _, port = servers.metrics.rpartition(":")
        with socket.create_connection((host, int(port)), timeout=20) as silent:
            assert fetch(f"https://{servers.metrics}/metrics", context=context)[0] == 200
            silent.sendall(b"GET / HTTP/1.1\r\n\r\n")
            assert fetch(f"https://{servers.metrics}/metrics", context=context)[0] == 200


def test_a_certificate_that_is_not_there_is_reported(tmp_path: Path) -> None:
    """E10: with the file's name; and no port is left behind."""
    with pytest.raises(ListenError, match=r"tls.crt and tls.key: no such file or directory"):
        Servers(
            Pages(metrics=LOOPBACK, certificate_folder=str(tmp_path)),
            CollectorRegistry(),
            RESTClient(ScriptedTransport()),
            REAL_CLOCK,
        )
