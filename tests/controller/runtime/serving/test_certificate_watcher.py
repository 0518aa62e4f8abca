"""The certificate of a server, read again when it has been replaced."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from handloop.controller.runtime.serving.certificate_watcher import CertificateMetrics, CertificateWatcher
from handloop.testing.fake_clock import FakeClock
from support.checks.captured_logs import captured_logs
from support.servers.certificates import CertificateAuthority, Issued


class Mounted:
    """A folder with a pair in it, and what watches it."""

    def __init__(self, folder: Path, issued: Issued) -> None:
        self.folder = folder
        folder.mkdir()
        self.mount(issued)
        self.clock = FakeClock()
        self.registry = CollectorRegistry(auto_describe=True)
        self.watcher = CertificateWatcher(folder, CertificateMetrics(self.registry), self.clock)

    def mount(self, issued: Issued) -> None:
        """Replace the pair, as a Secret that changed."""
        for source, name in ((issued.certificate, "tls.crt"), (issued.key, "tls.key")):
            fresh = self.folder / f"{name}.new"
            shutil.copyfile(source, fresh)
            fresh.rename(self.folder / name)

    def counts(self) -> tuple[float | None, float | None]:
        """Reads and errors."""
        names = ("read_certificate_total", "read_certificate_errors_total")
        reads, errors = (self.registry.get_sample_value(f"certwatcher_{name}") for name in names)
        return reads, errors


@pytest.fixture
def authority(tmp_path: Path) -> CertificateAuthority:
    """Who issues."""
    return CertificateAuthority(tmp_path / "ca")


@pytest.fixture
def mounted(tmp_path: Path, authority: CertificateAuthority) -> Mounted:
    """A first pair."""
    return Mounted(tmp_path / "certs", authority.issue("first"))


def test_a_pair_that_stays_is_read_once(mounted: Mounted) -> None:
    """Whoever connects gets the same context."""
    first = mounted.watcher.context()
    mounted.clock.advance(100.0)
    assert mounted.watcher.context() is first
    assert mounted.counts() == (1, 0)


def test_a_new_pair_is_used_from_the_next_connection_on(
    mounted: Mounted, authority: CertificateAuthority
) -> None:
    """It is looked for once a second at most."""
    first = mounted.watcher.context()
    mounted.mount(authority.issue("second"))
    assert mounted.watcher.context() is first
    mounted.clock.advance(1.0)
    assert mounted.watcher.context() is not first
    assert mounted.counts() == (2, 0)


def test_a_broken_pair_changes_nothing(mounted: Mounted, authority: CertificateAuthority) -> None:
    """It is counted and logged once; the one before stays until there is a good one."""
    first = mounted.watcher.context()
    (mounted.folder / "tls.crt").write_text("not a certificate", encoding="utf-8")
    with captured_logs() as entries:
        for _ in range(3):
            mounted.clock.advance(1.0)
            assert mounted.watcher.context() is first
    assert [entry["event"] for entry in entries] == ["Could not read the certificate"]
    assert mounted.counts() == (2, 1)
    mounted.mount(authority.issue("second"))
    mounted.clock.advance(1.0)
    assert mounted.watcher.context() is not first


def test_a_pair_that_is_gone_for_a_moment_is_waited_for(mounted: Mounted) -> None:
    """Files that are being replaced are no reason to refuse connections; the try counts as a read."""
    first = mounted.watcher.context()
    (mounted.folder / "tls.key").rename(mounted.folder / "away")
    mounted.clock.advance(1.0)
    assert mounted.watcher.context() is first
    (mounted.folder / "away").rename(mounted.folder / "tls.key")
    mounted.clock.advance(1.0)
    assert mounted.watcher.context() is first
    assert mounted.counts() == (2, 1)
