"""Where two documents differ."""

from __future__ import annotations

from handloop_explore.difference import differences, differences_of


def test_paths_and_values_are_named() -> None:
    """Conditions by their type, whatever their order; long values cut."""
    old = {"spec": {"replicas": 1, "same": 2}, "conditions": [{"type": "Ready", "status": "False"}]}
    more = {"type": "Other", "status": "True"}
    new = {"spec": {"replicas": 3, "same": 2}, "conditions": [more, {"type": "Ready", "status": "True"}]}
    assert list(differences(old, new)) == [
        f"conditions.Other None -> {more!r}",
        "conditions.Ready.status 'False' -> 'True'",
        "spec.replicas 1 -> 3",
    ]
    assert list(differences({"a": 1}, {"a": "x" * 999})) == [f"a 1 -> '{'x' * 99}..."]
    assert list(differences(old, old)) == []


def test_what_a_secret_holds_is_not_shown() -> None:
    """Neither a value, nor the copy of it that kubectl keeps; what it is called is."""
    old = {"data": {"password": "b2xk"}, "metadata": {"labels": {"a": "1"}, "annotations": {"last": "b2xk"}}}
    new = {"data": {"password": "bmV3"}, "metadata": {"labels": {"a": "2"}, "annotations": {}}}
    assert list(differences_of("Secret default/a", old, new)) == [
        "data.password *** -> ***",
        "metadata.annotations.last *** -> ***",
        "metadata.labels.a '1' -> '2'",
    ]
    assert next(differences_of("Secret default/a", {}, old)) == "data *** -> ***"
    assert next(differences_of("ConfigMap default/a", old, new)) == "data.password 'b2xk' -> 'bmV3'"
