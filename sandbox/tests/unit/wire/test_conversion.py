from __future__ import annotations

from typing import Any, Final

from handloop_sandbox.wire.conversion import Known, WebhookConversion, question, unversioned

_THING: Final[dict[str, Any]] = {
    "apiVersion": "g/v1",
    "kind": "Thing",
    "metadata": {"name": "a", "resourceVersion": "5"},
}


def test_the_version_of_an_object_does_not_matter() -> None:
    """So an answer is still right after other objects were written."""
    newer = {**_THING, "metadata": {**_THING["metadata"], "resourceVersion": "6"}}
    assert question("things.g", _THING, "g/v2") == question("things.g", newer, "g/v2")
    assert question("things.g", _THING, "g/v2") != question("things.g", _THING, "g/v3")
    assert unversioned(_THING)["metadata"] == {"name": "a"}
    known = Known()
    known.answers[question("things.g", _THING, "g/v2")] = {**_THING, "apiVersion": "g/v2", "metadata": {}}
    (made,) = WebhookConversion("things.g", ("u", 1), {}, known).convert([newer], "g/v2")
    assert made == {**newer, "apiVersion": "g/v2"}


def test_a_changed_definition_begins_anew() -> None:
    """Its new revision has converted nothing."""
    known = Known()
    first = WebhookConversion("things.g", ("u", 1), {}, known)
    first.filled.add("v1")
    assert WebhookConversion("things.g", ("u", 1), {"other": 1}, known).filled == {"v1"}
    assert WebhookConversion("things.g", ("u", 2), {}, known).filled == set()
