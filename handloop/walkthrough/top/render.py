"""A screen state as a picture for the terminal. It needs rich, of the extra `learn`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.layout import Layout
from rich.table import Table
from rich.text import Text

from handloop.walkthrough.live.explain import seconds_text
from handloop.walkthrough.live.source import snippets
from handloop.walkthrough.top.screen_state import ScreenState, visible

_NOTHING: Final = "-"
_TIMES: Final = "\N{MULTIPLICATION SIGN}"
_MOST_ROWS: Final = 12
_MOST_KEYS: Final = 3


def render(screen: ScreenState) -> Group:
    """The whole picture, the most important part first: the rest is cut off at the end of the terminal."""
    parts: list[RenderableType] = [_health(screen), _steps(screen), _sentences(screen)]
    state = screen.state
    if state:
        parts += [_queues(state["queues"]), _workers(state), _objects(state["objects"])]
        parts.append(_informers(state["informers"]))
    return Group(*parts)


def with_footer(shown: RenderableType, footer: str, console: Console) -> Layout:
    """The picture above a footer, which keeps its place when the picture is cut off."""
    words = Text("\n".join(map(visible, footer.splitlines())), "dim")
    lines = len(words.wrap(console, console.width))
    both = Layout()
    both.split_column(Layout(shown), Layout(words, size=lines))
    return both


def _health(screen: ScreenState) -> Columns:
    return Columns(
        [
            Text(f"{'✓' if sign.good else '✗'} {visible(sign.words)}", "green" if sign.good else "bold red")
            for sign in screen.health()
        ],
        padding=(0, 3),
    )


def _steps(screen: ScreenState) -> Columns:
    now = screen.steps[-1]["step"] if screen.steps else 0
    cells = [
        Text(
            f"{'▶' if number == now else ' '}{number:>2} {step.words} {_TIMES}{screen.hits[number]}",
            "reverse" if number == now else "",
        )
        for number, step in snippets().items()
    ]
    return Columns(cells, equal=True, padding=(0, 2))


def _sentences(screen: ScreenState) -> Group:
    if not screen.steps:
        return Group(Text("no step yet: kubectl apply -f manifests/samples/foo.yaml", "dim"))
    return Group(*(Text(f"({step['step']}) {visible(step['why'])}", "dim") for step in screen.steps))


def _queues(queues: Sequence[Mapping[str, Any]]) -> Table:
    rows = [
        (
            queue["name"] + (" (paused)" if queue["paused"] else ""),
            _keys(queue["counts"]["dirty"], queue["dirty"]),
            _keys(queue["counts"]["processing"], queue["processing"]),
            _keys(queue["counts"]["queued"], queue["queued"]),
            _keys(queue["counts"]["delayed"], map(_delayed, queue["delayed"])),
        )
        for queue in queues
    ]
    return _table("work queue", ("queue", "dirty", "processing", "queue", "waiting"), rows)


def _keys(count: int, keys: Iterable[str]) -> str:
    shown = list(keys)[:_MOST_KEYS]
    more = f", and {count - len(shown)} more" if count > len(shown) else ""
    return f"{count}: {', '.join(shown)}{more}" if shown else str(count)


def _delayed(one: Mapping[str, Any]) -> str:
    return f"{one['key']} in {seconds_text(one['seconds'])}, failures {one['failures']}"


def _workers(state: Mapping[str, Any]) -> Table:
    busy = [
        (one["name"], f"▶ {one['key']}, {seconds_text(one['seconds'])}" if one["key"] else "· idle")
        for one in state["workers"]
    ]
    ended = [_result(one) for one in reversed(state["results"])]
    both = Table.grid(padding=(0, 4))
    both.add_row(_table("workers", ("worker", "does"), busy), _table("last syncs", ("key", "result"), ended))
    return both


def _result(one: Mapping[str, Any]) -> tuple[str, str]:
    again = "" if one["retrySeconds"] is None else f", again in {seconds_text(one['retrySeconds'])}"
    return one["key"], f"{one['outcome'] or 'ended'}, {seconds_text(one['seconds'])}{again}"


def _objects(objects: Sequence[Mapping[str, Any]]) -> Table:
    rows = [
        (
            kind["kind"],
            row["key"],
            f"{row['available'] or 0} / {row['desired'] or 0}",
        )
        for kind in objects
        for row in kind["rows"][:_MOST_ROWS]
    ]
    counts = ", ".join(f"{kind['kind']} {kind['count']}" for kind in objects)
    return _table(f"objects: {counts}", ("kind", "name", "available / desired"), rows)


def _informers(informers: Sequence[Mapping[str, Any]]) -> Table:
    rows = [
        (
            row["plural"],
            row.get("state", _NOTHING) + (f" {row['retryIn']} s" if row.get("retryIn") is not None else ""),
            row.get("version") or _NOTHING,
            _NOTHING if row.get("age") is None else f"{row['age']} s ago",
            ", ".join(f"{count} {why}" for why, count in row.get("relists", {}).items()) or "0",
            str(row["fifo"]),
            str(row["objects"]),
            ", ".join(str(one["pending"]) for one in row["listeners"]) or "0",
        )
        for row in informers
    ]
    heads = ("kind", "reflector", "version", "last heard", "relists", "FIFO", "objects", "pending")
    return _table("reflectors, FIFOs, indexes", heads, rows)


def _table(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0))
    for head in heads:
        table.add_column(head, header_style="dim", overflow="ellipsis", no_wrap=True)
    for row in rows:
        # Text, not str: the program's words are no markup
        table.add_row(*(Text(visible(cell)) for cell in row))
    return table
