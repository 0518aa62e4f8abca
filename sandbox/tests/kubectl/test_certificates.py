from __future__ import annotations

import base64

import pytest

from support.builders.signing_request import signing_request
from support.servers.kubectl import Kubectl

pytestmark = pytest.mark.kubectl

_REQUEST = """
apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata: {{name: {name}}}
spec:
  request: {request}
  signerName: example.com/robots
  expirationSeconds: 3600
  usages: [client auth]
"""


@pytest.mark.parametrize(("verb", "word"), [("approve", "approved"), ("deny", "denied")])
def test_requests_are_approved_and_denied(kubectl: Kubectl, verb: str, word: str) -> None:
    """A condition and the row show the decision."""
    name = f"{kubectl.namespace}-{verb}"
    text = _REQUEST.format(name=name, request=base64.b64encode(signing_request()).decode())
    kubectl("create", "-f", "-", stdin=text)
    try:
        told = f"certificatesigningrequest.certificates.k8s.io/{name} {word}\n"
        assert kubectl("certificate", verb, name).out == told
        conditions = kubectl.json("get", "csr", name)["status"]["conditions"]
        (found,) = [(entry["type"], entry["reason"]) for entry in conditions]
        assert found == (word.title(), f"Kubectl{verb.title()}")
        row = kubectl("get", "csr", name, "--no-headers").out.split()
        assert (row[0], row[2], row[4:]) == (name, "example.com/robots", ["60m", word.title()])
    finally:
        kubectl("delete", "csr", name)
