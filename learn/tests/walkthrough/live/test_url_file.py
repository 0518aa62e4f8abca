"""The file that leads `top` to the page."""

from __future__ import annotations

from pathlib import Path

from handloop_learn.live.url_file import url_beside


def test_it_is_there_while_the_page_is(tmp_path: Path) -> None:
    """Beside the kubeconfig; what another sandbox has written meanwhile stays."""
    kubeconfig, file = str(tmp_path / "kubeconfig"), tmp_path / "live-url"
    with url_beside(kubeconfig, "http://a"):
        assert file.read_text(encoding="utf-8") == "http://a\n"
    assert not file.exists()
    with url_beside(kubeconfig, "http://a"):
        file.write_text("http://b\n", encoding="utf-8")
    assert file.read_text(encoding="utf-8") == "http://b\n"


def test_a_folder_that_cannot_be_written_is_no_reason_not_to_run(tmp_path: Path) -> None:
    """Then `top` needs --address."""
    with url_beside(str(tmp_path / "gone/kubeconfig"), "http://a"):
        assert not (tmp_path / "gone").exists()
