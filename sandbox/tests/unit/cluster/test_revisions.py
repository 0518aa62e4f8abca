from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.cluster import revisions
from handloop_sandbox.cluster.revisions import dump, template_hash
from handloop_sandbox.cluster.rolling_update import Bounds
from support.recorded.recordings import recorded
from support.servers.simulated_cluster import new_deployment

_TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}}


def _rs(
    name: str, *, revision: str = "", template: Any = None, replicas: int = 0, **status: Any
) -> dict[str, Any]:
    annotations = {revisions.REVISION: revision} if revision else {}
    return {
        "metadata": {
            "name": name,
            "creationTimestamp": f"2023-01-01T00:00:{len(name):02}Z",
            "annotations": annotations,
            "generation": 1,
        },
        "spec": {"replicas": replicas, "template": template or _TEMPLATE},
        "status": {"observedGeneration": 1, **status},
    }


def _deployment(**annotations: str) -> dict[str, Any]:
    deployment = new_deployment()
    deployment["metadata"] |= {"uid": "u", "annotations": annotations}
    return deployment


def test_hash_follows_the_template_only() -> None:
    """The order of keys does not matter to the hash; images and collision counts do."""
    turned = {"spec": _TEMPLATE["spec"], "metadata": _TEMPLATE["metadata"]}
    hashed = revisions.template_hash(_TEMPLATE)
    assert revisions.template_hash(turned) == hashed
    assert 0 < len(hashed) <= 10
    assert len({hashed, revisions.template_hash(_TEMPLATE, 0), revisions.template_hash(_TEMPLATE, 1)}) == 3
    other = {**_TEMPLATE, "spec": {"containers": [{"name": "c", "image": "i:2"}]}}
    assert revisions.template_hash(other) != hashed


def test_hash_label_does_not_make_a_template_another_one() -> None:
    """A ReplicaSet's template equals its Deployment's although it has the hash label."""
    hashed = {**_TEMPLATE, "metadata": {"labels": {"app": "web", revisions.TEMPLATE_HASH: "abc"}}}
    assert revisions.same_template(_TEMPLATE, hashed)
    assert not revisions.same_template(_TEMPLATE, {**_TEMPLATE, "metadata": {"labels": {"app": "db"}}})


def test_oldest_match_is_the_new_replica_set() -> None:
    """Of two with the template the older is the new ReplicaSet. Follows TestFindNewReplicaSet."""
    deployment = _deployment()
    template = deployment["spec"]["template"]
    found = revisions.find_new(
        deployment, [_rs("bbb", template=template), _rs("aa", template=template), _rs("c")]
    )
    assert found is not None
    assert found["metadata"]["name"] == "aa"
    assert revisions.find_new(deployment, [_rs("c")]) is None


@pytest.mark.parametrize(("text", "number"), [("", 0), ("7", 7), ("x", 0), ("-1", 0)])
def test_revision_numbers_are_read_leniently(text: str, number: int) -> None:
    """An annotation that is no number counts as no revision."""
    assert revisions.revision_of(_rs("a", revision=text)) == number


def test_old_replica_set_comes_back_with_a_new_revision() -> None:
    """Rolling back gives an old ReplicaSet the next revision and adds the former one to its history."""
    existing = _rs("a", revision="2")
    existing["metadata"]["annotations"][revisions.REVISION_HISTORY] = "1"
    taken = revisions.new_annotations(_deployment(), existing, 5)
    assert taken == {revisions.REVISION: "5", revisions.REVISION_HISTORY: "1,2"}
    assert revisions.new_annotations(_deployment(), existing, 2) == {}


def test_deployment_annotations_are_copied_but_for_bookkeeping() -> None:
    """What a user wrote goes to the ReplicaSet, bookkeeping does not."""
    kept = {"team": "a", "kubernetes.io/change-cause": "b"}
    own = {"kubectl.kubernetes.io/last-applied-configuration": "{}", revisions.REVISION: "3"}
    assert revisions.new_annotations(_deployment(**kept, **own), None, 1) == {**kept, revisions.REVISION: "1"}


def test_history_is_bounded() -> None:
    """A history that grows too long loses its oldest numbers."""
    existing = _rs("a", revision="9999")
    existing["metadata"]["annotations"][revisions.REVISION_HISTORY] = ",".join(
        str(n) for n in range(1000, 1400)
    )
    history = revisions.new_annotations(_deployment(), existing, 10000)[revisions.REVISION_HISTORY]
    assert len(history) <= 2000
    assert history.endswith(",1399,9999")


def test_unchanged_annotations_give_the_same_object() -> None:
    """with_annotations returns its argument when nothing is new, so no write follows."""
    replica_set = _rs("a", revision="1")
    assert revisions.with_annotations(replica_set, {revisions.REVISION: "1"}) is replica_set
    changed = revisions.with_annotations(replica_set, revisions.size_annotations(Bounds(3, 1, 0)))
    assert changed["metadata"]["annotations"] == {
        revisions.REVISION: "1",
        "deployment.kubernetes.io/desired-replicas": "3",
        "deployment.kubernetes.io/max-replicas": "4",
    }
    assert len(replica_set["metadata"]["annotations"]) == 1


def test_new_replica_set_is_what_the_real_controller_creates() -> None:
    """Name, labels, selector, template and owner follow from the Deployment and the hash."""
    deployment = _deployment()
    made = revisions.new_replica_set(deployment, replicas=2, annotations={"a": "b"})
    hashed = revisions.template_hash(deployment["spec"]["template"])
    assert made["metadata"]["name"] == f"web-{hashed}"
    labels = {"app": "web", "pod-template-hash": hashed}
    assert made["metadata"]["labels"] == labels
    assert made["spec"]["selector"] == {"matchLabels": labels}
    assert made["spec"]["template"]["metadata"]["labels"] == labels
    assert made["spec"]["replicas"] == 2
    assert made["metadata"]["ownerReferences"][0]["uid"] == "u"
    assert deployment["spec"]["template"]["metadata"]["labels"] == {"app": "web"}


def test_history_limit_spares_replica_sets_in_use() -> None:
    """Over the limit the lowest revisions go, but none with replicas."""
    deployment = _deployment()
    deployment["spec"]["revisionHistoryLimit"] = 1
    old = [_rs("a", revision="3"), _rs("bb", revision="1"), _rs("ccc", revision="2", replicas=1)]
    assert [rs["metadata"]["name"] for rs in revisions.expendable(deployment, old)] == ["bb"]
    unseen = _rs("a", revision="1")
    unseen["metadata"]["generation"] = 2
    assert revisions.expendable(deployment, [unseen, _rs("bb", revision="2")]) == []
    del deployment["spec"]["revisionHistoryLimit"]
    assert revisions.expendable(deployment, old) == []


@pytest.mark.parametrize("line", recorded("templates"), ids=lambda line: line["hash"])
def test_hashes_are_those_of_a_real_cluster(line: dict[str, Any]) -> None:
    """A template, as a server completes it, has the hash that Go's ComputeHash gives it."""
    assert template_hash(line["template"]) == line["hash"]


def test_what_go_prints() -> None:
    """Members come in the order of declaration with their types, absent ones as zero values."""
    text = dump({"metadata": {"labels": {"b": "2", "a": "1"}}, "spec": {"hostNetwork": True}})
    assert text.startswith(
        "(v1.PodTemplateSpec){ObjectMeta:(v1.ObjectMeta){Name:(string) GenerateName:(string) "
    )
    assert " Labels:(map[string]string)map[a:1 b:2] Annotations:(map[string]string)<nil> " in text
    assert " TerminationGracePeriodSeconds:(*int64)<nil> " in text
    assert " HostNetwork:(bool)true HostPID:(bool)false " in text
