from __future__ import annotations

from handloop.apis.compatibility.property_rules import changes


def test_a_finding_says_what_was_and_what_is() -> None:
    """In a sentence, and for programs."""
    (found,) = changes("spec.x", {"enum": ["a", 1]}, {"enum": [1]})
    assert found.message == "no longer accepted: 'a'"
    assert found.document() == {
        "rule": "enum",
        "severity": "breaks",
        "version": "",
        "path": "spec.x",
        "old": ["a", 1],
        "new": [1],
        "message": "no longer accepted: 'a'",
    }
