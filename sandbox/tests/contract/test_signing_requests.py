"""CertificateSigningRequests: their author, their approval, and who may give it."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from support.builders.signing_request import signing_request
from support.servers.api_server import APPLY, Answer, APIServer, Object
from support.servers.certificates import CertificateAuthority

_PATH = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
_RBAC = "/apis/rbac.authorization.k8s.io/v1"
_REVIEW = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
_FALSE = b"-----BEGIN CERTIFICATE REQUEST-----\nMAMCAQE=\n-----END CERTIFICATE REQUEST-----\n"
_SIGNER = "spec.signerName"


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def condition(kind: str, status: str = "True") -> Object:
    """A condition as a client writes it."""
    return {"type": kind, "status": status, "reason": "Because"}


@dataclass
class Requests:
    """The requests of one test, whose signer nothing in a cluster signs for."""

    server: APIServer
    domain: str = field(default_factory=lambda: f"c{uuid.uuid4().hex[:8]}.example.com")
    made: list[str] = field(default_factory=list)

    @property
    def signer(self) -> str:
        """The signer of each request."""
        return f"{self.domain}/robots"

    def new(self, **spec: Any) -> Object:
        """A request; None leaves a field out."""
        usual = {"request": _base64(signing_request()), "signerName": self.signer, "usages": ["client auth"]}
        chosen = {key: value for key, value in {**usual, **spec}.items() if value is not None}
        name = f"contract-{uuid.uuid4().hex[:10]}"
        identity = {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest"}
        return {**identity, "metadata": {"name": name}, "spec": chosen}

    def create(self, **spec: Any) -> Object:
        """Create a request, which has to succeed."""
        answer = self.server.create(_PATH, self.new(**spec))
        assert answer.status == 201, answer
        self.made.append(answer.body["metadata"]["name"])
        found: Object = answer.body
        return found

    def write(self, request: Object, subresource: str = "", **options: Any) -> Answer:
        """PUT a request, or one of its subresources; refusals are answers, too."""
        path = f"{_PATH}/{request['metadata']['name']}/{subresource}".removesuffix("/")
        return self.server.update(path, request, **options)

    def with_conditions(self, request: Object, *conditions: Object) -> Object:
        """The request with these conditions."""
        return {**request, "status": {**request["status"], "conditions": list(conditions)}}


@pytest.fixture
def requests(server: APIServer) -> Iterator[Requests]:
    """Makes requests, and deletes them."""
    found = Requests(server)
    yield found
    for name in found.made:
        server.delete(f"{_PATH}/{name}")


def test_a_request_names_its_author(requests: Requests) -> None:
    """User, groups and status are the server's, in place of the client's."""
    reviews = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    author = requests.server.create(reviews, _REVIEW).body["status"]["userInfo"]
    made = requests.create(
        username="somebody", groups=["system:masters", "others"], extra={"a": ["b"]}, uid="u"
    )
    spec = made["spec"]
    assert (spec["username"], spec["groups"]) == (author["username"], author["groups"])
    assert spec.get("uid") == author.get("uid")
    assert spec.get("extra") == author.get("extra")
    assert made["status"] == {}
    sent = requests.with_conditions({**requests.new(), "status": {}}, condition("Approved"))
    sent["status"]["certificate"] = _base64(b"x")
    assert requests.server.create(f"{_PATH}?dryRun=All", sent).body["status"] == {}


@pytest.mark.parametrize(("name", "status"), [("Any Thing", 201), ("a/b", 422)])
def test_names_fit_into_a_path(requests: Requests, name: str, status: int) -> None:
    """They have no other rule."""
    request = {**requests.new(), "metadata": {"name": name}}
    assert requests.server.create(f"{_PATH}?dryRun=All", request).status == status


@pytest.mark.parametrize("subresource", ["approval", "status"])
def test_no_conditions_are_no_list(requests: Requests, subresource: str) -> None:
    """A status without any is empty, and writing it changes nothing."""
    made = requests.create()
    answer = requests.write(requests.with_conditions(made), subresource)
    assert (answer.status, answer.body) == (200, made)


def test_the_request_itself_never_changes(requests: Requests) -> None:
    """A PUT changes metadata only, without a word."""
    made = requests.create()
    sent = requests.with_conditions(
        {**made, "spec": {**made["spec"], "usages": ["any"]}}, condition("Approved")
    )
    sent["metadata"] = {**made["metadata"], "labels": {"a": "b"}}
    answer = requests.write(sent)
    assert answer.status == 200, answer
    assert (answer.body["spec"], answer.body["status"]) == (made["spec"], {})
    assert answer.body["metadata"]["labels"] == {"a": "b"}


def test_approval_takes_conditions_only(requests: Requests) -> None:
    """The times of a condition are filled in; the certificate and the spec stay."""
    made = requests.create()
    sent = requests.with_conditions(
        {**made, "spec": {**made["spec"], "usages": ["any"]}}, condition("Approved")
    )
    sent["status"]["certificate"] = _base64(b"x")
    answer = requests.write(sent, "approval")
    assert answer.status == 200, answer
    assert (answer.body["spec"], set(answer.body["status"])) == (made["spec"], {"conditions"})
    (found,) = answer.body["status"]["conditions"]
    assert found["lastUpdateTime"] == found["lastTransitionTime"] is not None
    assert {key: found[key] for key in ("type", "status", "reason")} == condition("Approved")
    assert requests.server.get(f"{_PATH}/{made['metadata']['name']}/approval").body == answer.body


def test_status_takes_the_certificate_and_other_conditions(requests: Requests, tmp_path: Any) -> None:
    """It changes no approval."""
    made = requests.create()
    approved = requests.write(requests.with_conditions(made, condition("Approved")), "approval").body
    (given,) = approved["status"]["conditions"]
    other = {**given, "message": "no"}
    sent = requests.with_conditions(approved, other, condition("Failed"), condition("Mine", "False"))
    sent["status"]["certificate"] = _base64(CertificateAuthority(tmp_path).certificate.read_bytes())
    issued = requests.write(sent, "status")
    assert issued.status == 200, issued
    assert issued.body["status"]["certificate"] == sent["status"]["certificate"]
    kept, failed, mine = issued.body["status"]["conditions"]
    assert (kept, failed["type"], mine["type"]) == (given, "Failed", "Mine")


@pytest.mark.parametrize("name", ["{domain}/robots", "{domain}/*"])
def test_who_may_approve(requests: Requests, name: str) -> None:
    """It takes the verb approve on the signer, by its name or by its domain, beside the right to update."""
    server, made = requests.server, requests.create()
    user = f"alice-{uuid.uuid4().hex[:8]}"
    group, kind = "certificates.k8s.io", "certificatesigningrequests"
    update = {"apiGroups": [group], "resources": [f"{kind}/approval", f"{kind}/status"], "verbs": ["update"]}
    approve = {
        "apiGroups": [group],
        "resources": ["signers"],
        "resourceNames": [name.format(domain=requests.domain)],
        "verbs": ["approve"],
    }
    role = {"metadata": {"name": user}, "rules": [update]}
    server.create(f"{_RBAC}/clusterroles", role)
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": user}
    subjects = [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}]
    server.create(
        f"{_RBAC}/clusterrolebindings",
        {"metadata": {"name": user}, "roleRef": reference, "subjects": subjects},
    )
    acting = {"Impersonate-User": user}
    sent = requests.with_conditions(made, condition("Approved"))
    about = f'{kind}.{group} "{made["metadata"]["name"]}" is forbidden: user not permitted to'
    try:
        refused = _until(requests, sent, "approval", acting, "user not permitted")
        assert refused.message == f'{about} approve requests with signerName "{requests.signer}"'
        server.update(f"{_RBAC}/clusterroles/{user}", {**role, "rules": [update, approve]})
        approved = _until(requests, sent, "approval", acting)
        failed = requests.with_conditions(
            approved.body, *approved.body["status"]["conditions"], condition("Failed")
        )
        refused = requests.write(failed, "status", headers=acting)
        assert refused.message == f'{about} sign requests with signerName "{requests.signer}"'
        assert requests.write(approved.body, "status", headers=acting).status == 200
    finally:
        server.delete(f"{_RBAC}/clusterrolebindings/{user}")
        server.delete(f"{_RBAC}/clusterroles/{user}")


def _until(requests: Requests, sent: Object, subresource: str, acting: Object, refusal: str = "") -> Answer:
    """The answer of a server once it knows the role: a real one learns of it by a watch."""
    for _ in range(500):
        answer = requests.write(sent, subresource, headers=acting)
        if answer.status == 200 or (refusal and refusal in answer.message):
            return answer
    raise AssertionError("the role has no effect")


def test_requests_are_chosen_by_signer(requests: Requests) -> None:
    """It is a field of theirs, and no other field is."""
    made = requests.create()
    chosen = requests.server.get(f"{_PATH}?fieldSelector=spec.signerName%3D{requests.domain}%2Frobots")
    assert chosen.names == [made["metadata"]["name"]]
    assert requests.server.get(f"{_PATH}?fieldSelector=spec.username%3Da").status == 400


def test_their_table(requests: Requests) -> None:
    """What kubectl get shows: approval first, then failure and certificate."""
    made = requests.create(expirationSeconds=7200)
    requests.write(requests.with_conditions(made, condition("Denied"), condition("Failed")), "approval")
    table = "application/json;as=Table;v=v1;g=meta.k8s.io"
    (row,) = requests.server.get(f"{_PATH}/{made['metadata']['name']}", accept=table).body["rows"]
    assert row["cells"][2:] == [requests.signer, made["spec"]["username"], "120m", "Denied,Failed"]


def test_managers_own_what_their_endpoint_takes(requests: Requests) -> None:
    """Nothing is owned of the spec once it is there, nor of a certificate that came by the approval."""
    made = requests.create()
    path = f"{_PATH}/{made['metadata']['name']}"
    sent = {key: made[key] for key in ("apiVersion", "kind", "spec")}
    sent["metadata"] = {"name": made["metadata"]["name"], "labels": {"a": "b"}}
    assert requests.server.patch(f"{path}?fieldManager=one", sent, APPLY).status == 200
    sent["status"] = {"conditions": [condition("Approved")], "certificate": _base64(b"x")}
    assert requests.server.patch(f"{path}/approval?fieldManager=two", sent, APPLY).status == 200
    owned = {
        entry["manager"]: set(entry["fieldsV1"]) | set(entry["fieldsV1"].get("f:status", ()))
        for entry in requests.server.get(path).body["metadata"]["managedFields"]
    }
    assert owned["one"] == {"f:metadata"}
    assert owned["two"] == {"f:metadata", "f:status", "f:conditions"}
