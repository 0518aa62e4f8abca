"""Runs the live page's experiments, through the page's endpoint and with the page's token."""

from __future__ import annotations

import json
import re
import urllib.request
from http.client import HTTPException
from typing import Final

from handloop_learn.live.guard import TOKEN_HEADER
from handloop_learn.top.stream import RefusedError, opened

_PAGE: Final = "/debug/live/"
_TOKEN: Final = re.compile(r'<meta name="token" content="([^"]*)">')


def run_control(url: str, control: str, key: str) -> str:
    """
    Run one of the live page's controls, which are its experiments, on the Foo with a key.

    Returns: the program's answer, or why the program refused. Blocks: until the program has answered.
    """
    try:
        with opened(urllib.request.Request(url + _PAGE)) as page:  # noqa: S310 - http or https
            token = _TOKEN.search(page.read().decode())
        request = urllib.request.Request(  # noqa: S310 - http or https
            f"{url}{_PAGE}controls/{control}",
            data=json.dumps({"key": key}).encode(),
            headers={"Content-Type": "application/json", TOKEN_HEADER: token[1] if token else ""},
        )
        request.add_header("Origin", f"http://{request.host}")
        with opened(request) as answer:
            return str(json.load(answer)["said"])
    except RefusedError as error:
        return error.said
    except (OSError, HTTPException, ValueError, KeyError, TypeError):
        return "the program did not answer"
