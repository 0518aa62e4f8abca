from __future__ import annotations

from pathlib import Path

import pytest

from tools.locks import layer, needs


def test_what_is_needed_names_no_distribution_of_ours() -> None:
    """pip-compile could not find the sandbox's; its needs take its place."""
    alone, together = needs(()), needs(("sandbox", "learn"))
    assert any(each.startswith("msgspec") for each in alone)
    assert not any(each.startswith("google-re2") for each in alone)
    assert {each.split(">")[0] for each in together} > {"aiohttp", "aiohttp-sse", "google-re2"}
    assert not [each for each in together if "handloop" in each]


def test_a_layer_leaves_out_what_is_pinned_below(tmp_path: Path) -> None:
    """With all its hashes; and it leads to the lock below it."""
    ground = tmp_path / "ground.lock"
    ground.write_text("# made\na==1 --hash=sha256:1 --hash=sha256:2\n")
    text = "# made\na==1 \\\n    --hash=sha256:1 \\\n    --hash=sha256:2\nb-c==2 \\\n    --hash=sha256:3\n"
    found = layer(text, tmp_path / "sub" / "upper.lock", [ground])
    assert found.splitlines()[1:] == ["-r ../ground.lock", "b-c==2 --hash=sha256:3"]


def test_a_layer_of_another_version_is_refused(tmp_path: Path) -> None:
    """Pip would find it only while it installs."""
    ground = tmp_path / "ground.lock"
    ground.write_text("a==1 --hash=sha256:1\n")
    with pytest.raises(ValueError, match="other versions than the files that it includes: a"):
        layer("a==2 \\\n    --hash=sha256:2\n", tmp_path / "upper.lock", [ground])
