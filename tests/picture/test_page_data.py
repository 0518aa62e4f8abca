"""The data of the page."""

from __future__ import annotations

import json
import re
from pathlib import Path

from handloop.picture.page_data import INDEX, PAGE, page_data, write_page


def test_the_data_is_a_script_with_the_source_of_each_step() -> None:
    """And the runs there are: none for a page that shows a program."""
    runs = [{"name": "apply", "title": "A Foo is applied", "about": ""}]
    name, _, text = page_data(runs).partition(" = ")
    data = json.loads(text.removesuffix(";\n"))
    assert name == "window.handloopRecorded"
    assert data["runs"] == runs
    assert json.loads(page_data().partition(" = ")[2].removesuffix(";\n"))["runs"] == []
    assert set(data["source"]) == {str(number) for number in range(1, 13)}
    assert data["scenes"] == []
    assert (data["source"]["3"]["path"], data["source"]["3"]["words"]) == ("informers/delta_fifo.py", "pop")


def test_the_code_of_the_page_stays_small() -> None:
    """70 kB, so that it is read in a moment anywhere."""
    assert sum(len(file.read_bytes()) for file in PAGE.iterdir()) <= 70_000


def test_a_page_in_a_folder_may_be_about_any_controller(tmp_path: Path) -> None:
    """It has a title of its own, and no scenes. It is one file, in which no text ends a script."""
    run = {"name": "one", "title": "</script> 1 < 2", "about": "", "steps": [], "states": []}
    write_page(tmp_path, [run], title="greeter & co")
    (file,) = tmp_path.iterdir()
    assert file.name == INDEX
    page = file.read_text(encoding="utf-8")
    assert "<h1>greeter &amp; co</h1>" in page
    assert '<body class="any">' in page
    assert not re.search('(src|href)="[^#]', page)
    scripts = re.findall("<script[^>]*>(.*?)</script>", page, re.DOTALL)
    assert json.loads(scripts[0]) == run
    assert (
        json.loads(scripts[1].strip().splitlines()[0].partition(" = ")[2].removesuffix(";"))["scenes"] == []
    )
    assert len(scripts) == 2
