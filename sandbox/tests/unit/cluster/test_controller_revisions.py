from __future__ import annotations

from handloop_sandbox.cluster.controller_revisions import data_hash, template_of
from support.servers.living_server import APPS, LivingServer, selecting, template

_REVISIONS = f"{APPS}/controllerrevisions"


def test_the_hash_is_that_of_a_cluster() -> None:
    """It counts the collisions, and Go's escapes."""
    template_ = {
        "metadata": {"annotations": {"x1": "y1"}, "labels": {"app": "db"}},
        "spec": {
            "containers": [
                {
                    "image": "nginx:1",
                    "imagePullPolicy": "IfNotPresent",
                    "name": "main",
                    "resources": {},
                    "terminationMessagePath": "/dev/termination-log",
                    "terminationMessagePolicy": "File",
                }
            ],
            "dnsPolicy": "ClusterFirst",
            "restartPolicy": "Always",
            "schedulerName": "default-scheduler",
            "securityContext": {},
            "terminationGracePeriodSeconds": 30,
        },
    }
    assert data_hash(template_, 0) == "67476b968d"
    assert data_hash(template_, 1) != data_hash(template_, 0)


def test_history_is_limited() -> None:
    """Those that no pod has go, oldest first, beyond revisionHistoryLimit."""
    server = LivingServer()
    server.make(f"{APPS}/statefulsets", "db", selecting(replicas=1, revisionHistoryLimit=1))
    for number in range(2, 5):
        server.wait(1)
        server.change(f"{APPS}/statefulsets/db", template=template(f"nginx:{number}"))
    server.wait(1)
    found = server.items(_REVISIONS).values()
    images = {each["revision"]: template_of(each)["spec"]["containers"][0]["image"] for each in found}
    assert images == {3: "nginx:3", 4: "nginx:4"}
