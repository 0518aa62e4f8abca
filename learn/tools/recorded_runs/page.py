"""Writes the live page with all recordings, in one file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from handloop.picture.page_data import write_page
from handloop_learn.live.scenes import scenes
from tools.recorded_runs.catalog import RUNS
from tools.recorded_runs.shelf import FOLDER as RECORDINGS
from tools.recorded_runs.shelf import read

FOLDER: Final = RECORDINGS.parent
"""The page's folder in the repository. In a clone, the page can be opened without a build."""


def write_live_page(folder: Path = FOLDER, docs: Mapping[int, str] | None = None) -> None:
    """Write the page into a folder. Args: docs: the same as for handloop_learn.live.scenes.scenes."""
    write_page(folder, [read(run.name) for run in RUNS], scenes=scenes(docs))
