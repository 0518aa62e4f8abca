"""Renders the page about a soak, with figures in tables, and a drawing of the memory."""

from __future__ import annotations

import os
import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from soak.judge import Figures, Finding
from soak.record import Record

_TEMPLATE: Final = Path(__file__).with_name("page.md")
_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 720, 220, 44, 24
_COLOURS: Final = ("#3b82f6", "#f59e0b", "#10b981")
_STEP_MIB: Final = 20


def page(
    record: Record,
    findings: Sequence[Finding],
    resources: Mapping[str, tuple[Figures, Figures]],
    requests: int,
) -> str:
    """Return the page, in Markdown."""
    struck = Counter(one.fault.what for one in record.faults)
    return _TEMPLATE.read_text(encoding="utf-8").format(
        minutes=(record.ended - record.began) / 60,
        changes=sum(record.changes.values()),
        changes_by_kind=_counts(record.changes),
        faults=len(record.faults),
        faults_by_kind=_counts(struck),
        processes=len(record.lives),
        requests=requests,
        seed=record.seed,
        cores=os.cpu_count(),
        python=platform.python_version(),
        findings="\n".join(f"| {one.invariant} | {one.figure} | {_holds(one)} |" for one in findings),
        resources="\n".join(_row(record, agent, *both) for agent, both in resources.items()),
    )


def _holds(finding: Finding) -> str:
    return f"**no**: {finding.wrong[0]}" if finding.wrong else "yes"


def _counts(counted: Mapping[str, int]) -> str:
    return ", ".join(f"{what} {count}" for what, count in sorted(counted.items()))


def _row(record: Record, agent: str, begin: Figures, end: Figures) -> str:
    began = next(life.began for life in record.lives if life.agent == agent)
    cells = [f"{begin.memory:.1f} → {end.memory:.1f}"]
    cells += [f"{one} → {other}" for one, other in zip(begin[1:], end[1:], strict=True)]
    return f"| replica {agent[5]} | {(record.ended - began) / 60:.0f} min | {' | '.join(cells)} |"


def drawing(record: Record) -> str:
    """Return an SVG drawing of each replica's memory over time."""
    top = _STEP_MIB * (int(max(sample.memory for sample in record.samples)) // _STEP_MIB + 1)
    length = max(sample.at for sample in record.samples) - record.began

    def x(at: float) -> float:
        return _LEFT + (at - record.began) / length * (_WIDTH - _LEFT)

    def y(memory: float) -> float:
        return (1 - memory / top) * (_HEIGHT - _BOTTOM)

    marks = "".join(f"M{x(one.at):.1f} {_HEIGHT - _BOTTOM}v6" for one in record.faults)
    levels = range(0, top + 1, _STEP_MIB)
    minutes = range(0, int(length / 60) + 1, max(1, int(length / 60) // 6))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 -10 {_WIDTH + 30} {_HEIGHT + 10}"',
        'font-family="sans-serif" font-size="11" fill="#888888">',
        *(f'<path d="M{_LEFT} {y(one):.1f}H{_WIDTH}" stroke="#8888" stroke-width=".5"/>' for one in levels),
        *(f'<text x="{_LEFT - 4}" y="{y(one) + 4:.1f}" text-anchor="end">{one}</text>' for one in levels),
        *(
            f'<text x="{x(record.began + 60 * one):.1f}" y="{_HEIGHT - 4}">{one} min</text>'
            for one in minutes
        ),
        f'<text x="0" y="0">MiB</text><path d="{marks}" stroke="#ef4444" stroke-width=".8"/>',
    ]
    for life in record.lives:
        samples = [sample for sample in record.samples if sample.agent == life.agent][::5]
        parts.append(_line([(x(one.at), y(one.memory)) for one in samples], _COLOURS[int(life.agent[5]) - 1]))
    return "\n".join([*parts, "</svg>", ""])


def _line(points: Sequence[tuple[float, float]], colour: str) -> str:
    places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="1.5"/>'
