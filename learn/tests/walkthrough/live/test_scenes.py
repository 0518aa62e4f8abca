"""The director's scenes, on paper; learn/tests/walkthrough/live/test_director.py plays them."""

from __future__ import annotations

from pathlib import Path

from handloop_learn.live.scenes import SCENES, scenes

ROOT = Path(__file__).parents[4]


def test_each_scene_says_what_breaks_as_the_walkthrough_does() -> None:
    """Word for word, with the test that shows it."""
    text = (ROOT / "learn/docs/walkthrough.md").read_text(encoding="utf-8")
    points = " ".join(text.replace("*", "").replace("`", "").split())
    breaking = [scene.without for scene in SCENES if scene.without]
    assert len(breaking) == 15
    for one in breaking:
        assert f"{one.words} ({one.test}" in points
        assert ": " in one.words, "the part, which the page asks for, and the answer"


def test_the_scenes_lead_through_all_twelve_steps() -> None:
    """Behind one that explains the picture, and on to the end of the Foo's way."""
    assert SCENES[0].step == 0
    assert {scene.step for scene in SCENES} == set(range(13))
    assert "{available} of {desired}" in SCENES[-1].sentence


def test_the_page_has_the_scenes_with_their_source() -> None:
    """Each with the address of its step in the docs, and a piece of the source for each that names a line."""
    found = scenes({10: "docs#10"})
    assert [scene["step"] for scene in found.told] == [scene.step for scene in SCENES]
    assert {scene["docs"] for scene in found.told if scene["step"] == 10} == {"docs#10"}
    assert set(found.source) == {scene.code for scene in SCENES if scene.line}
    status = found.source["10: self._foos.update_status("]
    shown = status["text"].splitlines()[status["line"] - status["first"]]
    assert "self._foos.update_status(" in shown
