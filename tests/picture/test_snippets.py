"""The twelve steps in the source that runs."""

from __future__ import annotations

from handloop.picture.snippets import snippets
from tools.steps import COUNT, steps


def test_each_step_has_its_function() -> None:
    """The same files and lines as in README's table, each with the function around the line."""
    found = snippets()
    assert list(found) == list(range(1, COUNT + 1))
    for step in steps():
        snippet = found[step.number]
        assert (snippet.words, snippet.path, snippet.line) == (step.words, step.path, step.line)
        lines = snippet.text.splitlines()
        assert f"# ({step.number}) {step.words}" in lines[step.line - snippet.first]
        assert len(lines) <= 40
