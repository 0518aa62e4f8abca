"""The view of a user who starts the program, opens the URL of its banner, and applies the sample."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Final

import yaml
from playwright.sync_api import Browser, Page

from handloop.client.config import load_config
from handloop.client.transport import HTTPTransport
from handloop.controller.foo.types import Foo
from handloop.testing.eventually import eventually as until
from support.rigs.program import ON_FREE_PORTS, ROOT, running, wait_ready_page
from support.servers.live_browser import tab

SAMPLE: Final = ROOT / "manifests/samples/foo.yaml"
SECONDS: Final = 60.0
"""Some 4 s on an idle machine; the page is drawn by a browser beside other tests."""
NOTE_WHAT_LIGHTS_UP: Final = """() => {
  window.lit = [];
  new MutationObserver((changes) => {
    for (const { target } of changes) {
      const number = Number(target.dataset.step);
      if (target.classList.contains("lit") && !lit.some((one) => one.number === number))
        lit.push({ number, at: performance.now() });
    }
  }).observe(document.querySelector("#picture"), { subtree: true, attributeFilter: ["class"] });
}"""


def apply_sample(kubeconfig: Path) -> None:
    """What `kubectl apply -f manifests/samples/foo.yaml` comes to."""
    body = json.dumps(yaml.safe_load(SAMPLE.read_text(encoding="utf-8"))).encode()
    with closing(HTTPTransport(load_config(kubeconfig=str(kubeconfig)))) as transport:
        path = Foo.resource.path(namespace="default")
        answer = transport.request("POST", path, headers={"Content-Type": "application/json"}, body=body)
        assert answer.status == 201


def lit(page: Page) -> list[int]:
    """The steps that have been lit, in the order of their first time."""
    page.wait_for_timeout(20)
    return [one["number"] for one in page.evaluate("lit")]


def test_the_steps_light_up_in_order_and_slowed_down(browser: Browser, tmp_path: Path) -> None:
    """All twelve."""
    kubeconfig = tmp_path / "kubeconfig"
    arguments = ("--sandbox", "--sandbox-kubeconfig", str(kubeconfig), *ON_FREE_PORTS)
    with running(*arguments, folder=tmp_path) as program:
        url = program.wait_line(r'live="(http://127[^"]+)"')[1]
        wait_ready_page(program)
        with tab(browser, url) as opened:
            page = opened.page
            page.wait_for_selector("#health :text('caches synced')")
            page.select_option("#pace", "fast")
            page.evaluate(NOTE_WHAT_LIGHTS_UP)
            apply_sample(kubeconfig)
            until(lambda: len(lit(page)) >= 12, "twelve steps", seconds=SECONDS)
            assert lit(page) == list(range(1, 13))
            times = [one["at"] for one in page.evaluate("lit")]
            # milliseconds; a busy machine may draw two of them in one frame
            assert times[-1] - times[0] > 50 * len(times)
            assert opened.complaints == []
        assert program.stop() == 0
