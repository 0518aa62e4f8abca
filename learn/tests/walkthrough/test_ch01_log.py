from __future__ import annotations

from handloop_learn import ch01_log
from support.checks.chapters import told


def test_a_watch_is_a_log_from_a_version_on() -> None:
    """From the list's version all is sent, without a version only the present, after a compaction nothing."""
    end, _ = told(ch01_log.chapter)
    assert end.from_the_list == ["ADDED", "ADDED", "MODIFIED", "DELETED", "BOOKMARK"]
    assert end.versions == sorted(set(end.versions))
    assert end.from_now == "ADDED"
    assert (end.too_old, end.code) == ("ERROR", 410)
