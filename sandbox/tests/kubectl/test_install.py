"""Manifests that install something: with webhooks, policies and other kinds that have no effect here."""

from __future__ import annotations

import json

import pytest

from support.builders.stored_kinds import STORED_KINDS
from support.servers.kubectl import Kubectl

pytestmark = pytest.mark.kubectl


@pytest.mark.usefixtures("sandbox_only")
def test_an_install_manifest(kubectl: Kubectl) -> None:
    """Every object of it is applied; webhooks and policies get a warning that they have no effect."""
    objects = [kind.new(kind.name) for kind in STORED_KINDS]
    objects.append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "last"}})
    text = "\n---\n".join(json.dumps(entry) for entry in objects)
    done = kubectl("apply", "-f", "-", stdin=text)
    assert len(done.lines) == len(objects)
    assert done.lines[-1] == "configmap/last created"
    assert sorted(set(done.err.splitlines())) == [
        "Warning: the sandbox does not call webhooks",
        "Warning: the sandbox does not evaluate admission policies",
    ]
    again = kubectl("apply", "-f", "-", stdin=text)
    assert {line.rpartition(" ")[2] for line in again.lines} == {"configured", "unchanged"}
    kubectl("delete", "-f", "-", stdin=text)


def test_names(cluster: Kubectl) -> None:
    """Kinds have the short names of a cluster."""
    rows = cluster("api-resources", "--no-headers").words
    short = {row[0]: row[1] for row in rows if len(row) == 5}
    assert (short["ipaddresses"], short["volumeattributesclasses"], short["componentstatuses"]) == (
        "ip",
        "vac",
        "cs",
    )
