"""The director's scenes, on paper; tests/walkthrough/live/test_director.py plays them."""

from __future__ import annotations

from pathlib import Path

from handloop.walkthrough.live.scenes import SCENES

ROOT = Path(__file__).parents[3]


def test_each_scene_says_what_breaks_as_the_walkthrough_does() -> None:
    """Word for word, with the test that shows it."""
    text = (ROOT / "docs/walkthrough.md").read_text(encoding="utf-8")
    points = " ".join(text.replace("*", "").replace("`", "").split())
    for scene in SCENES:
        assert f"{scene.without.words} ({scene.without.test}" in points


def test_the_scenes_lead_through_all_twelve_steps() -> None:
    """In twelve to fifteen scenes."""
    assert 12 <= len(SCENES) <= 15
    assert {scene.step for scene in SCENES} == set(range(1, 13))
