from __future__ import annotations

import base64

from support.builders.signing_request import signing_request
from support.servers.local_server import LocalServer

_PATH = "/apis/certificates.k8s.io/v1/certificatesigningrequests"


def test_a_condition_keeps_the_time_of_its_status(server: LocalServer) -> None:
    """Sent without times, it was updated now, and changed when its status did."""
    request = base64.b64encode(signing_request()).decode()
    spec = {"request": request, "signerName": "example.com/robots", "usages": ["any"]}
    made = server.request("POST", _PATH, {"metadata": {"name": "a"}, "spec": spec}).body
    seen = []
    for status in ("True", "True", "False"):
        made["status"] = {"conditions": [{"type": "Mine", "status": status}]}
        made = server.request("PUT", f"{_PATH}/a/status", made).body
        (found,) = made["status"]["conditions"]
        seen.append((found["lastUpdateTime"][-3:], found["lastTransitionTime"][-3:]))
        server.clock.now += 1
    assert seen == [("20Z", "20Z"), ("21Z", "20Z"), ("22Z", "22Z")]
