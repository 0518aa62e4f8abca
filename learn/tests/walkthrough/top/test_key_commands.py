"""What a reader's keys do in `top`."""

from __future__ import annotations

from typing import Any

from handloop_learn.live.controls import CONTROLS as PAGES
from handloop_learn.top.followed_key import FollowedKey
from handloop_learn.top.key_commands import CONTROLS, KeyCommands
from handloop_learn.top.stream import Message
from support.builders.live_page import CONNECTED, screen, snapshot, step


def offer(name: str, *, blocked: str = "") -> dict[str, Any]:
    return {"name": name, "title": f"Do {name}", "blocked": blocked}


class Reader:
    """Key commands whose experiments are carried out at once, and keep their arguments."""

    def __init__(self, *messages: Message, followed: FollowedKey | None = None) -> None:
        self.commands = KeyCommands(
            screen(*messages),
            lambda answers: [*map(self.commands.take, answers)].clear(),
            self.run_control,
            followed,
        )

    def run_control(self, *asked: str) -> str:
        return " ".join(asked)

    def press(self, key: str) -> str:
        self.commands.take(Message("key", key))
        return self.commands.said


def test_an_experiment_is_about_the_first_foo_of_the_program() -> None:
    """At the program's address, by the page's name; without a Foo the program is asked, and answers that."""
    assert Reader(CONNECTED, snapshot()).press("f") == "http://127.0.0.1:8082 fail default/a"
    assert Reader(CONNECTED, snapshot(objects=[])).press("f") == "http://127.0.0.1:8082 fail "


def test_each_key_is_a_control_of_the_page() -> None:
    """Only those that need a number or a name, end the program, or delete what others made have no key."""
    names = {control.name for control in PAGES}
    assert names - set(CONTROLS.values()) == {"scale", "make", "delete", "steal-lease"}
    assert set(CONTROLS.values()) <= names


def test_the_footer_names_the_keys_that_do_something() -> None:
    """Blocked experiments are left out; without controls a line reports that."""
    controls = [offer("fail"), offer("expire", blocked="only on the sandbox"), offer("scale")]
    words = Reader(CONNECTED, snapshot(controls=controls)).commands.footer()
    assert words == "q quit · p pause the display · f Do fail"
    assert "the experiments are off here" in Reader(CONNECTED, snapshot(controls=[])).commands.footer()


def test_q_ends_it_and_p_holds_the_display() -> None:
    """The second p lets it go on."""
    reader = Reader(CONNECTED, snapshot())
    seen = []
    for key in "ppq":
        reader.press(key)
        seen.append((reader.commands.held, "p resume" in reader.commands.footer(), reader.commands.ended))
    assert seen == [(True, True, False), (False, False, False), (False, False, True)]


def test_a_key_that_does_nothing_reports_it() -> None:
    """One without a meaning, and one for a program that is away; the next key removes the sentence."""
    reader = Reader(Message("lost", "the connection broke"))
    assert reader.press("x") == "x does nothing here"
    assert reader.press("f") == "not connected: the connection broke"
    assert reader.commands.footer().endswith("\nnot connected: the connection broke")
    assert reader.press("p") == ""


def test_with_a_followed_key_keys_scroll_and_act_on_it() -> None:
    """The key p holds its window, and the footer has two lines; without one the scrolling keys do nothing."""
    followed = FollowedKey("default/b")
    reader = Reader(CONNECTED, snapshot(controls=[offer("fail")]), followed=followed)
    assert reader.press("f") == "http://127.0.0.1:8082 fail default/b"
    followed.take(Message("steps", [step(7, "a") | {"key": "default/b"}] * 9))
    reader.press("up")
    words = (
        "q quit · p hold · ↑ ↓ PgUp PgDn Home End scroll: 1 newer below\nf experiments, as without --follow"
    )
    assert reader.commands.footer() == words
    reader.press("p")
    assert (followed.frozen, reader.commands.held) == (True, False)
    assert "p resume" in reader.commands.footer()
    assert Reader(CONNECTED, snapshot()).press("up") == ""
