from __future__ import annotations

import shutil
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from handloop.controller.runtime.serving.page_server import PASSED_ON
from handloop.testing.eventually import eventually as until
from support.rigs.program import ROOT, Program, Run
from support.servers.certificates import CertificateAuthority
from support.servers.cluster import RBAC, Cluster
from support.servers.service_account import bound, create_account, role_name, service_account, token_of

FLAGS = ("--controllers=foo", "--metrics-auth")

pytestmark = pytest.mark.parametrize("cluster", [pytest.param("real", marks=pytest.mark.real)], indirect=True)


class Scraper(NamedTuple):
    """Whoever reads the metrics of a program, over TLS."""

    program: Program
    context: ssl.SSLContext

    def status(self, token: str = "", path: str = "/metrics", header: str = "Authorization") -> int:
        """The answer to a request with a token in a header, "" = none."""
        address = self.program.wait_line(r'metrics="([^"]+)"')[1]
        headers = {header: f"Bearer {token}"} if token else {}
        request = urllib.request.Request(f"https://{address}{path}", headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=20, context=self.context) as answer:
                code: int = answer.status
                return code
        except urllib.error.HTTPError as error:
            with error:
                return error.code


@contextmanager
def scraped(cluster: Cluster, run: Run, folder: Path) -> Iterator[Scraper]:
    """A program with exactly the printed roles, and a certificate."""
    authority = CertificateAuthority(folder / "ca")
    issued, certificates = authority.issue("metrics"), folder / "certificates"
    certificates.mkdir()
    shutil.copyfile(issued.certificate, certificates / "tls.crt")
    shutil.copyfile(issued.key, certificates / "tls.key")
    context = ssl.create_default_context(cafile=str(authority.certificate))
    with (
        service_account(cluster, folder, *FLAGS) as kubeconfig,
        run(*FLAGS, f"--metrics-cert-dir={certificates}", kubeconfig=kubeconfig) as program,
    ):
        program.wait_ready()
        yield Scraper(program, context)


def test_only_a_metrics_reader_reads_metrics(cluster: Cluster, run: Run, tmp_path: Path) -> None:
    """The role of manifests/rbac opens them; without it 403, without a token, or with a bad one, 401."""
    reader = yaml.safe_load((ROOT / "manifests/rbac/metrics_reader_role.yaml").read_text(encoding="utf-8"))
    for name in ("scraper", "stranger"):
        create_account(cluster, name)
    with scraped(cluster, run, tmp_path) as scraper, bound(cluster, reader, "scraper"):
        assert scraper.status() == 401
        assert scraper.status("not-a-token") == 401
        assert scraper.status(token_of(cluster, "stranger")) == 403
        assert scraper.status(token_of(cluster, "scraper")) == 200


def test_why_is_read_through_a_proxy(cluster: Cluster, run: Run, tmp_path: Path) -> None:
    """The API server's proxy passes another one on. Metrics and why are two permissions."""
    reader, _ = yaml.safe_load_all((ROOT / "manifests/rbac/why_role.yaml").read_text(encoding="utf-8"))
    for name in ("asker", "stranger"):
        create_account(cluster, name)
    with scraped(cluster, run, tmp_path) as scraper, bound(cluster, reader, "asker"):
        token, other = token_of(cluster, "asker"), token_of(cluster, "stranger")
        assert scraper.status(token) == 403
        asked = [scraper.status(each, "/why?name=a", PASSED_ON) for each in ("", "not-a-token", other, token)]
        assert asked == [401, 401, 403, 200]


@pytest.mark.parametrize("resource", ["tokenreviews", "subjectaccessreviews"])
def test_nothing_of_the_role_for_it_can_be_left_out(
    cluster: Cluster, run: Run, tmp_path: Path, resource: str
) -> None:
    """Without either of its rules no client can be let in, and the answer is that it failed."""
    reader = yaml.safe_load((ROOT / "manifests/rbac/metrics_reader_role.yaml").read_text(encoding="utf-8"))
    create_account(cluster, "scraper")
    with scraped(cluster, run, tmp_path) as scraper, bound(cluster, reader, "scraper"):
        name = role_name(cluster, "handloop-metrics-auth")
        rules = cluster.get(f"{RBAC}/clusterroles", name)["rules"]
        left = [rule for rule in rules if resource not in rule["resources"]]
        assert len(left) == len(rules) - 1
        cluster.change(f"{RBAC}/clusterroles", name, {"rules": left})
        # each token is new to the program, so what it learnt before does not count
        until(lambda: scraper.status(token_of(cluster, "scraper")) == 500, "refused", seconds=cluster.seconds)
