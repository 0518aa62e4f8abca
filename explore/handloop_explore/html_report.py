"""Renders a report as an HTML page in one self-contained file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

from handloop.picture.page_data import PAGE
from handloop_explore.live_runs import links
from handloop_explore.played import Played, Told
from handloop_explore.report import Failure, Report
from handloop_explore.timeline import Window, timeline, window

_STYLE: Final = """
main { max-width: 70rem; margin: 0 auto; }
dl { display: flex; flex-wrap: wrap; gap: .4rem 2rem; margin: 0 0 .6rem; }
h3 { font-size: .95rem; margin: .4rem 0; }
dd { margin: 0; font-size: 1.3rem; font-weight: 600; }
section > ol { list-style: decimal; padding-left: 2.2rem; font-size: .9rem; }
.lanes { display: flex; margin: .6rem 0; }
.lanes > svg { flex: none; }
.scroll svg { display: block; }
.mark circle, .mark path { fill: var(--card); stroke: var(--mark); stroke-width: 1.5; }
.mark.bad circle, .mark.bad path { stroke: var(--bad); stroke-width: 2.5; }
.code { text-anchor: middle; font-size: 12px; }
text.bad { fill: var(--bad); font-weight: 600; }
.part-words, .code-left { font-size: 13px; }
.sent, .lost, .struck, .part { stroke: var(--mark); stroke-width: 1.5; fill: none; }
.struck { stroke: var(--hit); stroke-width: 24; }
.lost { stroke-dasharray: 4 4; }
.lost, .part { stroke: var(--bad); }
.part { stroke-dasharray: 2 3; }
"""


def html_report(report: Report, title: str, command: str, page: str = "") -> str:
    """
    Return a report as an HTML page.

    Args: title: the name of the explored operator; command: the command line to which `--replay PLAN` is
    added; page: the address of the live page with the runs, or "" if it was not written.
    """
    figures = {
        "plans": report.plans,
        "failed": report.failed,
        "seconds": f"{report.wall_seconds:.1f}",
        "plans a second": f"{report.plans_by_the_clock:.0f}",
        "a second of processor time": f"{report.plans_per_second:.0f}",
        "seed": report.seed,
    }
    numbers = "".join(f"<div><dt>{words}</dt><dd>{value}</dd></div>" for words, value in figures.items())
    tried = ", ".join(f"{count} {what}" for what, count in report.tried.items()) or "none"
    covered = "".join(f"<p>{escape(words[:1].upper() + words[1:])}.</p>" for words in report.covered)
    failures = "".join(
        _section(number, failure, report.undisturbed, command, page)
        for number, failure in enumerate(report.failures, 1)
    )
    style = PAGE.joinpath("live.css").read_text(encoding="utf-8") + _STYLE
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}, explored</title><style>{style}</style></head>\n"
        f"<body><main><h1>{escape(title)}, explored</h1>\n<section><h2>What was tried</h2><dl>{numbers}</dl>"
        f"<p>Strikes: {escape(tried)}.</p>{covered}</section>\n"
        f"{failures or '<section><h2>Nothing failed</h2></section>'}</main></body></html>\n"
    )


def _section(number: int, failure: Failure, undisturbed: Played, command: str, page: str) -> str:
    failing = failure.played
    shown = window(undisturbed, failing)
    verdicts = "".join(f'<li class="failed">{escape(words)}</li>' for words in failure.verdicts)
    if failure.others:
        verdicts += f"<li>{failure.like_it}</li>"
    return (
        f'<section id="plan-{number}"><h2>{escape(failure.heading)}</h2><ul>{verdicts}</ul>'
        f"{_differences(shown, undisturbed, failure, command) if str(failing.plan) else ''}"
        f"{_links(number, failure, page)}"
        f"<h3>The story</h3>{_story(shown.failing, shown.begin, shown.lengths[1])}"
        f"{_undisturbed(shown) if str(failing.plan) else ''}</section>\n"
    )


def _undisturbed(shown: Window) -> str:
    story = _story(shown.undisturbed, shown.begin, shown.lengths[0])
    return f"<details><summary>The story of the undisturbed run</summary>{story}</details>"


def _differences(shown: Window, undisturbed: Played, failure: Failure, command: str) -> str:
    """Return the part of the page that compares the failing run with the undisturbed one."""
    parting = (
        f"<p>{escape(failure.parting[:1].upper() + failure.parting[1:])}.</p>" if failure.parting else ""
    )
    return (
        f"<p>Replay it: <code>{escape(f'{command} --replay {failure.plan}')}</code></p>{parting}"
        f"{timeline(shown, undisturbed, failure.played)}"
    )


def _links(number: int, failure: Failure, page: str) -> str:
    if not page:
        return ""
    places = links(number, failure).items()
    found = ", ".join(f'<a href="{escape(page + at)}">{words}</a>' for words, at in places)
    return f"<p>Step by step: {found}.</p>"


def _story(lines: Sequence[Told], begin: int, whole: int) -> str:
    def items() -> Iterator[str]:
        for told in lines:
            yield f'<li><span class="dim">{told.at:.2f} s</span> {escape(told.words)}</li>'

    before = f"<p>The {begin} lines before are the same in both runs.</p>" if begin else ""
    left = whole - begin - len(lines)
    more = f"<p>{left} lines follow.</p>" if left else ""
    return f'{before}<ol start="{begin + 1}">{"".join(items())}</ol>{more}'
