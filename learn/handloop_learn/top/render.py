"""Draws a screen state in the terminal. It needs rich, from the extra `learn`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, repeat
from typing import Any, Final, TypeAlias

from rich.columns import Columns
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.layout import Layout
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from handloop.picture.explain import seconds_text
from handloop.picture.snippets import snippets
from handloop_learn.top.followed_key import FollowedKey
from handloop_learn.top.screen_state import ScreenState, visible

_NOTHING: Final = "-"
_TIMES: Final = "\N{MULTIPLICATION SIGN}"
_MOST_ROWS: Final = 12
_MOST_KEYS: Final = 3
_SENTENCE_LINES: Final = 8


def render(screen: ScreenState, followed: FollowedKey | None = None) -> Group | Layout:
    """Return the whole picture, with the most important parts first. The terminal cuts off the rest."""
    if followed is not None:
        return _followed(screen, followed)
    parts: list[RenderableType] = [_health(screen), _steps(screen), _sentences(screen)]
    state = screen.state
    if state:
        parts += [_queues(state["queues"]), _workers(state), _objects(state["objects"])]
        parts.append(_informers(state["informers"]))
    return Group(*parts)


def _followed(screen: ScreenState, followed: FollowedKey) -> Layout:
    """Return the picture of one key: the signs of health, the key's place, and its steps below."""
    head = Group(_one_line(_signs(screen), "   "), _one_line(_whereabouts(screen.state, followed.key), " · "))
    both = Layout()
    both.split_column(Layout(head, size=2), Layout(_Window(followed)))
    return both


class _Window:
    """The steps of a followed key, as many as fit on the screen."""

    def __init__(self, followed: FollowedKey) -> None:
        self._followed = followed

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment | Text]:
        height = options.height or console.height
        if not self._followed.steps:
            yield Text(f"no step of {visible(self._followed.key)} yet; change the object to see steps", "dim")
            return
        older, newer = self._followed.around(height)
        blocks = _fitting(console, options, reversed(older), height)[::-1]
        if len(blocks) == len(older):
            blocks += _fitting(console, options, newer, height - sum(map(len, blocks)))
        self._followed.shown(len(blocks))
        # If not even one step fits, the layout cuts it off.
        blocks = blocks or _fitting(console, options, older[-1:], console.height)
        for line in chain.from_iterable(blocks):
            yield from (*line, Segment.line())


_Lines: TypeAlias = list[list[Segment]]


def _fitting(
    console: Console, options: ConsoleOptions, steps: Iterable[Mapping[str, Any]], height: int
) -> list[_Lines]:
    """Return the lines of the first steps, as many as fit into the given height."""
    blocks = []
    for step in steps:
        row = Table.grid(padding=(0, 1))
        row.add_column(justify="right", width=9, no_wrap=True)
        row.add_column(justify="right", width=4)
        row.add_column(ratio=1)
        number = f"({step['step']})" if step["step"] else ""
        row.add_row(Text(f"{step['t']:.4f}", "dim"), number, Text(visible(step["why"])))
        block = console.render_lines(row, options.update(height=None), pad=False)
        height -= len(block)
        if height < 0:
            break
        blocks.append(block)
    return blocks


def _whereabouts(state: Mapping[str, Any], key: str) -> Iterator[Text]:
    """Yield a key's current place in a queue, its worker, and the result of its last sync."""
    yield Text(visible(key), "bold")
    for kind in state.get("objects", ()):
        for row in kind["rows"]:
            if row["key"] == key:
                yield Text(f"{kind['kind']} {_available(row)} available")
    for queue in state.get("queues", ()):
        if places := [name for name in ("queued", "dirty", "processing", "stuck") if key in queue[name]]:
            yield Text(f"{queue['name']}: {', '.join(places)}", "bold red" if "stuck" in places else "")
        yield from (Text(f"back{_delayed(one)[len(key) :]}") for one in queue["delayed"] if one["key"] == key)
    yield from (Text(f"with {one['name']}") for one in state.get("workers", ()) if one["key"] == key)
    for one in [one for one in state.get("results", ()) if one["key"] == key][-1:]:
        yield Text(f"last sync {_result(one)[1]}")


def _one_line(parts: Iterable[Text], between: str) -> Text:
    line = Text(between).join(parts)
    line.no_wrap, line.overflow = True, "ellipsis"
    return line


def with_footer(shown: RenderableType, footer: str, console: Console) -> Layout:
    """Return a picture with a footer below it, which stays visible when the picture is cut off."""
    words = Text("\n".join(map(visible, footer.splitlines())), "dim")
    lines = len(words.wrap(console, console.width))
    both = Layout()
    both.split_column(Layout(shown), Layout(words, size=lines))
    return both


def _health(screen: ScreenState) -> Columns:
    return Columns(_signs(screen), padding=(0, 3))


def _signs(screen: ScreenState) -> list[Text]:
    return [
        Text(f"{'✓' if sign.good else '✗'} {visible(sign.words)}", "green" if sign.good else "bold red")
        for sign in screen.health()
    ]


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


def _sentences(screen: ScreenState) -> RenderableType:
    if not screen.steps:
        return Text("no step yet: kubectl apply -f manifests/samples/foo.yaml", "dim")
    return _Newest([Text(f"({step['step']}) {visible(step['why'])}", "dim") for step in screen.steps])


class _Newest:
    """The newest sentences, as many as fit into a few lines."""

    def __init__(self, sentences: Sequence[Text]) -> None:
        self._sentences = sentences

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        room = _SENTENCE_LINES
        shown: list[Text] = []
        for sentence in reversed(self._sentences):
            room -= len(sentence.wrap(console, options.max_width))
            if room < 0:
                break
            shown.insert(0, sentence)
        yield from shown


def _queues(queues: Sequence[Mapping[str, Any]]) -> Table:
    rows = [
        (
            queue["name"] + (" (paused)" if queue["paused"] else ""),
            _keys(queue["counts"]["dirty"], queue["dirty"]),
            _keys(queue["counts"]["processing"], map(_held, queue["processing"], repeat(queue["stuck"]))),
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


def _held(key: str, stuck: Sequence[str]) -> str:
    return f"{key} (no worker has it)" if key in stuck else key


def _delayed(one: Mapping[str, Any]) -> str:
    says = f": {visible(one['says'])}" if one.get("says") else ""
    return f"{one['key']} in {seconds_text(one['seconds'])}, failures {one['failures']}{says}"


def _workers(state: Mapping[str, Any]) -> Table:
    busy = [
        (one["name"], f"▶ {one['key']}, {seconds_text(one['seconds'])}" if one["key"] else _without_key(one))
        for one in state["workers"]
    ]
    ended = [_result(one) for one in reversed(state["results"])]
    both = Table.grid(padding=(0, 4))
    both.add_row(_table("workers", ("worker", "does"), busy), _table("last syncs", ("key", "result"), ended))
    return both


def _without_key(one: Mapping[str, Any]) -> str:
    return "▶ a key, since before top started" if one["unknown"] else "· idle"


def _result(one: Mapping[str, Any]) -> tuple[str, str]:
    again = "" if one["retrySeconds"] is None else f", again in {seconds_text(one['retrySeconds'])}"
    why = f": {one['reason']}" if one["reason"] else ""
    return one["key"], f"{one['outcome'] or 'ended'}, {seconds_text(one['seconds'])}{again}{why}"


def _objects(objects: Sequence[Mapping[str, Any]]) -> Table:
    rows = [
        (
            kind["kind"],
            row["key"],
            _available(row),
        )
        for kind in objects
        for row in kind["rows"][:_MOST_ROWS]
    ]
    counts = ", ".join(f"{kind['kind']} {kind['count']}" for kind in objects)
    return _table(f"objects: {counts}", ("kind", "name", "available / desired"), rows)


def _available(row: Mapping[str, Any]) -> str:
    return f"{row['available'] or 0} / {row['desired'] or 0}"


def _informers(informers: Sequence[Mapping[str, Any]]) -> Table:
    rows = [
        (
            row["plural"],
            row.get("state", _NOTHING) + (f" {row['retryIn']} s" if row.get("retryIn") is not None else ""),
            row.get("version") or _NOTHING,
            _NOTHING if row.get("age") is None else f"{row['age']} s ago",
            str(row.get("watches", _NOTHING)),
            ", ".join(f"{count} {why}" for why, count in row.get("relists", {}).items()) or "0",
            str(row["fifo"]),
            str(row["objects"]),
            ", ".join(str(one["pending"]) for one in row["listeners"]) or "0",
        )
        for row in informers
    ]
    heads = ("kind", "reflector", "version", "last heard", "watches", "relists", "FIFO", "objects", "pending")
    return _table("reflectors, FIFOs, indexes", heads, rows)


def _table(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0))
    for column, head in enumerate(heads):
        # In a table that is too wide, the widest column is shortened first, and the first column last.
        table.add_column(head, header_style="dim", overflow="ellipsis", no_wrap=column == 0)
    for row in rows:
        # Use Text, because rich would read markup in a str.
        table.add_row(*(Text(visible(cell), no_wrap=True, overflow="ellipsis") for cell in row))
    return table
