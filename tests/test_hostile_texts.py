"""
Every place where a text of a user becomes a part of something else, and texts that try to be more.

Each place either refuses a text, or gives it back from the whole. Printed YAML is also read by kubectl's own
reader, in tests/apis/grammar/test_yaml_text.py.
"""

from __future__ import annotations

import io
import json
import random
import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import suppress
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, unquote

import pytest
import yaml
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families
from structlog import get_logger

from handloop.apis.grammar.fields import FieldTerm, parse_fields
from handloop.apis.grammar.labels import Operator, Requirement, Selector, SelectorError, parse_selector
from handloop.apis.grammar.yaml_text import scalar, to_yaml
from handloop.client import transport
from handloop.client.auth.kubeconfig import User
from handloop.client.auth.user import impersonation_headers
from handloop.client.errors import ConfigError
from handloop.client.options import ListOptions
from handloop.controller.cli.logs import configure_logging
from handloop.controller.cli.permissions import missing_permissions, needs
from handloop.controller.cli.project import Project, ProjectError, module_of
from handloop.controller.cli.terminal import printable
from handloop.controller.runtime.events.recorder import event_name
from handloop.controller.runtime.metrics.instruments import Instruments
from handloop.controller.runtime.rbac.access import Access
from handloop.informers.keys import KeyFormatError, ObjectName, parse_object_name
from handloop.kinds.core_v1 import ConfigMap
from handloop_explore import timeline

_WORDS: Final = r"""
, = != / . .. % %2F %2e%2e \ # ? & ' " ` $(id) { {{ {} %s <script> </title> &amp; * -n !x a/b/c a\,b
x0,metadata.name=nothing/b a=b,c!=d ../../../etc/passwd y no 08 1e3 ~ null | --- !!python/object &a
"""
HOSTILE: Final = (
    *_WORDS.split(),
    *("\n", "\r\n\r\n", "\t", "\0", "\x1b[2J", " ", "in (a,b)", "; rm -rf ~", "- a", "a: b", "a #b"),
    *("\N{SNOWMAN}", "\u2028", "\u202e", "a\u0300", "\N{PILE OF POO}" * 20, "\ufeff", "x" * 60_000),
)
_ALPHABET: Final = "".join(each for each in HOSTILE if len(each) == 1) + "ab1-"


def texts() -> Iterator[str]:
    """Those that are known to hurt, alone and within others, and a hundred mixtures."""
    mixer = random.Random(1)
    for text in HOSTILE:
        yield from (text, f"a{text}", f"{text}a", f"a{text}a")
    for _ in range(100):
        yield "".join(mixer.choices(_ALPHABET, k=mixer.randint(2, 12)))


def of_field_selector(text: str) -> str:
    """Beside another term."""
    terms = parse_fields(f"{FieldTerm('metadata.name', True, text)},{FieldTerm('spec.nodeName', False, 'n')}")
    assert terms[1:] == (FieldTerm("spec.nodeName", False, "n"),)
    return terms[0].value


def of_label_selector(text: str) -> str:
    """As a value, beside another requirement."""
    ours = (Requirement("app", Operator.IN, (text, "a")), Requirement("b", Operator.EXISTS))
    again = parse_selector(str(Selector(ours)))
    assert again == Selector(ours)
    return text


def of_label_key(text: str) -> str:
    """As a key."""
    selector = Selector((Requirement(text, Operator.EQUALS, ("a",)),))
    assert parse_selector(str(selector)) == selector
    return text


def of_path(text: str) -> str:
    """As the name of an object, and as its namespace: no other part, and no query."""
    for names in ({"name": text, "namespace": "ns"}, {"name": "n", "namespace": text}):
        path = ConfigMap.resource.path(**names)
        assert path.isascii()
        assert not set("?# \n") & set(path)
        _, api, version, _, namespace, plural, name = path.split("/")
        assert (api, version, plural) == ("api", "v1", "configmaps")
        assert {"name": unquote(name), "namespace": unquote(namespace)} == names
        assert {name, namespace}.isdisjoint({".", "..", ""})
    return text


def of_query(text: str) -> str:
    """In the options of a list."""
    options = ListOptions(field_selector=text, continue_token="c")
    query = transport._encoded(tuple(options.query().items()))
    assert query.isascii()
    found = parse_qs(query, keep_blank_values=True, strict_parsing=True)
    assert found.pop("continue") == ["c"]
    return found["fieldSelector"][0]


def of_key(text: str) -> str:
    """As a name in a store's key. One with a slash is a key of no object."""
    name = parse_object_name(str(ObjectName("ns", text)))
    assert name.namespace == "ns"
    return name.name


def of_metric(text: str) -> str:
    """As a label's value."""
    registry = CollectorRegistry()
    Instruments(registry, "x", "name").counter("made_total", "help").labels(text).inc()
    families = text_string_to_metric_families(generate_latest(registry).decode())
    (name,) = {sample.labels["name"] for family in families for sample in family.samples}
    return name


def of_log_line(text: str) -> str:
    """As message and as fact, in each form: one line, which no terminal obeys."""
    told = []
    for form in ("json", "klog", "text"):
        out = io.StringIO()
        configure_logging(form, 0, stream=out)
        get_logger("controller").info(text, fact=text)
        line = out.getvalue()
        assert line.endswith("\n")
        assert line[:-1].isprintable(), line
        told.append(line)
    found = json.loads(told[0])
    assert found["msg"] == found["fact"]
    return str(found["fact"])


def of_terminal(text: str) -> str:
    """In an error that is shown."""
    assert printable(text).isprintable()
    return text


def of_shell(text: str) -> str:
    """In the commands that a user is told to type: the name that the server has for us."""
    access = [Access(resource=ConfigMap.resource, verbs=("get",))]
    found = missing_permissions(text, needs(access), 1, "rbac")
    (command,) = (fix for fix in found.fixes if "clusterrolebinding" in fix)
    *words, subject = shlex.split(command)
    assert words[:3] == ["kubectl", "create", "clusterrolebinding"]
    assert len(words) == 5
    return subject.removeprefix("--user=")


def of_scaffold(text: str) -> str:
    """As the names of an operator and of a kind: files of no other names."""
    module_of(text)
    project = Project(folder=Path("folder"), name=text, domain="example.com")
    assert re.fullmatch(r"[a-z0-9_]+", project.package)
    assert list(project.add_api(group="a", version="v1", kind=text))
    return text


def of_yaml(text: str) -> str:
    """As key and value of a document, and behind a name in a template."""
    (pair,) = yaml.safe_load(to_yaml({text: text})).items()
    assert pair == (text, text)
    if text.isprintable():
        assert yaml.safe_load(f"name: {scalar(text)}") == {"name": text}
    return text


def of_event_name(text: str) -> str:
    """As the name of an object that an Event is about."""
    name = event_name(text, 77)
    assert ConfigMap.resource.path(name=name).rpartition("/")[2] == name
    return text


def of_header(text: str) -> str:
    """As the user to act as, and as an extra key of it."""
    (head, extra) = impersonation_headers(User(act_as=text, act_as_extra={text: ["a"]}))
    assert extra[0].replace("-", "").replace("%", "").isascii()
    for part in (*head, *extra):
        assert not set("\r\n\0") & set(part)
    assert unquote(extra[0]) == f"Impersonate-Extra-{text}"
    return head[1].encode("latin-1").decode()


class _Page(HTMLParser):
    """What a page shows as text, and its elements."""

    def __init__(self) -> None:
        super().__init__()
        self.said = ""
        self.elements: list[str] = []

    def handle_data(self, data: str) -> None:
        self.said += data

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.elements.append(tag)


def of_page(text: str) -> str:
    """In the picture of a report."""
    page = _Page()
    page.feed(timeline._text(1.0, 2.0, text, "x"))
    page.close()
    assert page.elements == ["text"]
    return page.said


PLACES: Final[dict[str, tuple[Callable[[str], str], tuple[type[Exception], ...]]]] = {
    "a field selector": (of_field_selector, ()),
    "a label selector": (of_label_selector, (SelectorError,)),
    "a label's key": (of_label_key, (SelectorError,)),
    "a path": (of_path, (ValueError,)),
    "a query": (of_query, ()),
    "a key of a store": (of_key, (KeyFormatError,)),
    "a metric": (of_metric, ()),
    "a log line": (of_log_line, ()),
    "a terminal": (of_terminal, ()),
    "a shell command": (of_shell, ()),
    "a file": (of_scaffold, (ProjectError,)),
    "YAML": (of_yaml, ()),
    "the name of an Event": (of_event_name, ()),
    "a header": (of_header, (ConfigError,)),
    "a page": (of_page, ()),
}
"""What reads a text back from the whole, and the errors with which the place refuses one."""


@pytest.mark.parametrize("place", PLACES)
def test_a_text_stays_what_it_is(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is refused, or read back from the whole as it was, with nothing beside it changed."""
    monkeypatch.chdir(tmp_path)
    read_back, refusals = PLACES[place]
    for text in texts():
        with suppress(*refusals):
            assert read_back(text) == text, text
    assert not refusals or any_is_refused(read_back, refusals)


def any_is_refused(read_back: Callable[[str], str], refusals: tuple[type[Exception], ...]) -> bool:
    """Whether a refusal is needed at all."""
    for text in texts():
        try:
            read_back(text)
        except refusals:
            return True
    return False
