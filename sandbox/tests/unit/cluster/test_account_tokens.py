from __future__ import annotations

from base64 import b64decode

from handloop_sandbox.cluster.account_tokens import ACCOUNTS, SECRETS, AccountTokenController
from handloop_sandbox.cluster.cluster_controller import Pace
from handloop_sandbox.storage.stored import Object
from support.servers.simulated_cluster import SimulatedCluster

_NAME = "kubernetes.io/service-account.name"


def _secret(name: str, account: str = "robot", **annotations: str) -> Object:
    metadata = {"name": name, "namespace": "default", "annotations": {_NAME: account, **annotations}}
    return {"kind": "Secret", "metadata": metadata, "type": "kubernetes.io/service-account-token"}


def _cluster() -> SimulatedCluster:
    cluster = SimulatedCluster([AccountTokenController(Pace(), root_ca="PEM")])
    metadata = {"name": "robot", "namespace": "default"}
    cluster.create(ACCOUNTS, {"kind": "ServiceAccount", "metadata": metadata})
    return cluster


def test_a_secret_is_filled() -> None:
    """What it has besides stays; what it loses comes back."""
    cluster = _cluster()
    cluster.create(SECRETS, {**_secret("s"), "data": {"mine": "YQ=="}})
    cluster.run_for(1)
    filled = cluster.must_get(SECRETS, "default", "s")
    data = {name: b64decode(value).decode() for name, value in filled["data"].items()}
    token = data.pop("token")
    assert data == {"ca.crt": "PEM", "namespace": "default", "mine": "a"}
    assert "kubernetes.io/service-account.uid" in filled["metadata"]["annotations"]
    cluster.change(SECRETS, "default", "s", data={"ca.crt": "eA=="})
    cluster.run_for(1)
    data = cluster.must_get(SECRETS, "default", "s")["data"]
    assert (data["ca.crt"], b64decode(data["token"]).decode()) == ("eA==", token)


def test_a_secret_without_its_account_goes() -> None:
    """Whether the account is missing, is another one, or is deleted later; other Secrets stay."""
    cluster = _cluster()
    cluster.create(SECRETS, _secret("nobody", "nobody"))
    cluster.create(SECRETS, _secret("other", **{"kubernetes.io/service-account.uid": "x"}))
    cluster.create(SECRETS, _secret("s"))
    cluster.create(SECRETS, {**_secret("opaque"), "type": "Opaque"})
    cluster.run_for(1)
    assert [obj["metadata"]["name"] for obj in cluster.store.list(SECRETS)] == ["opaque", "s"]
    cluster.delete(ACCOUNTS, "default", "robot")
    cluster.run_for(1)
    assert [obj["metadata"]["name"] for obj in cluster.store.list(SECRETS)] == ["opaque"]
