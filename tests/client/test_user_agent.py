from __future__ import annotations

import re

from handloop.client.user_agent import default_user_agent


def test_says_who_we_are() -> None:
    """The server's audit log can tell which program, version, system and Python it was."""
    assert re.fullmatch(r"handloop/\S+ \(\w+\) python/3\.\d+", default_user_agent())
