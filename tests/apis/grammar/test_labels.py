"""
Label selectors: the objects that they select, and their errors.

The tables are what kube-apiserver 1.36 answers; the last tests ask a real one.
"""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Iterator
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handloop.apis.grammar.labels import (
    Operator,
    Requirement,
    Selector,
    SelectorError,
    everything,
    nothing,
    parse_selector,
)
from handloop.client.config import load_config
from handloop.client.transport import HTTPTransport
from support.servers.turns import real_kubeconfig

IN, NOT_IN, EXISTS = Operator.IN, Operator.NOT_IN, Operator.EXISTS

Labels = dict[str, str]

MEANINGS: list[tuple[str, list[Labels], list[Labels]]] = [
    ("", [{}, {"a": "b"}], []),
    ("  \t\r\n", [{}, {"a": "b"}], []),
    ("a=b", [{"a": "b"}, {"a": "b", "c": "d"}], [{}, {"a": "c"}, {"b": "b"}]),
    ("a==b", [{"a": "b"}], [{}, {"a": "c"}]),
    ("a!=b", [{}, {"a": "c"}], [{"a": "b"}]),
    ("a=", [{"a": ""}], [{}, {"a": "b"}]),
    ("a!=", [{}, {"a": "b"}], [{"a": ""}]),
    ("a in (b,c)", [{"a": "b"}, {"a": "c"}], [{}, {"a": "d"}]),
    ("a in ()", [{"a": ""}], [{}, {"a": "b"}]),
    ("a in (,b)", [{"a": ""}, {"a": "b"}], [{}, {"a": "c"}]),
    ("a in (b,)", [{"a": ""}, {"a": "b"}], [{}]),
    ("a in (b,,c)", [{"a": ""}, {"a": "b"}, {"a": "c"}], [{}]),
    ("a in (,)", [{"a": ""}], [{}]),
    ("a notin (b,c)", [{}, {"a": "d"}], [{"a": "b"}, {"a": "c"}]),
    ("a notin ()", [{}, {"a": "b"}], [{"a": ""}]),
    ("a", [{"a": ""}, {"a": "b"}], [{}, {"b": "a"}]),
    ("!a", [{}, {"b": "a"}], [{"a": ""}]),
    ("a>5", [{"a": "6"}, {"a": "10"}, {"a": "007"}], [{}, {"a": "5"}, {"a": "4"}, {"a": "x"}, {"a": ""}]),
    ("a<5", [{"a": "4"}, {"a": "00"}], [{}, {"a": "5"}, {"a": "6"}, {"a": "x"}, {"a": "1.5"}]),
    ("a<1", [{"a": "0"}], [{"a": "9223372036854775808"}]),
    ("a=b,c!=d,!e", [{"a": "b"}, {"a": "b", "c": "x"}], [{"a": "b", "c": "d"}, {"a": "b", "e": ""}, {}]),
    (" a = b , c in ( d , e ) ", [{"a": "b", "c": "e"}], [{"a": "b"}]),
    ("in in (in)", [{"in": "in"}], [{}]),
    ("notin notin (notin)", [{}], [{"notin": "notin"}]),
    ("in=notin", [{"in": "notin"}], [{}]),
    ("a=in", [{"a": "in"}], [{}]),
    ("in,!notin", [{"in": "x"}], [{}, {"in": "x", "notin": "y"}]),
    ("c.d/e=f", [{"c.d/e": "f"}], [{"e": "f"}]),
]


@pytest.mark.parametrize(("text", "selected", "others"), MEANINGS, ids=[repr(row[0]) for row in MEANINGS])
def test_meaning(text: str, selected: list[dict[str, str]], others: list[dict[str, str]]) -> None:
    """Equality, set, existence and order requirements select what the server selects."""
    selector = parse_selector(text)
    assert [selector.matches(labels) for labels in selected] == [True] * len(selected)
    assert [selector.matches(labels) for labels in others] == [False] * len(others)


KEY: Final = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used "
    "for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
NUMBER: Final = "for 'Gt', 'Lt' operators, the value must be an integer"
ERRORS = [
    ("a,,b", "found ',', expected: identifier after ','"),
    ("a,", "found '', expected: identifier after ','"),
    ("a==,", "found '', expected: identifier after ','"),
    (",a", "found ',', expected: !, identifier, or 'end of string'"),
    ("(a)", "found '(', expected: !, identifier, or 'end of string'"),
    ("==", "found '==', expected: !, identifier, or 'end of string'"),
    ("!a=b", "found '=', expected: ',' or 'end of string'"),
    ("a=b c", "found 'c', expected: ',' or 'end of string'"),
    ("!a!", "found '!', expected: ',' or 'end of string'"),
    ("!", "unable to parse requirement: found '', expected: identifier"),
    ("!!a", "unable to parse requirement: found '!', expected: identifier"),
    ("a>=1", "unable to parse requirement: found '=', expected: identifier"),
    ("a=(", "unable to parse requirement: found '(', expected: identifier"),
    ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
    ("a!", "unable to parse requirement: found '!', expected: in, notin, =, ==, !=, gt, lt"),
    ("a gt 1", "unable to parse requirement: found 'gt', expected: in, notin, =, ==, !=, gt, lt"),
    ("a in", "unable to parse requirement: found '' expected: '('"),
    ("a in b", "unable to parse requirement: found 'b' expected: '('"),
    ("a in (=)", "unable to parse requirement: found '=', expected: ',', ')' or identifier"),
    ("a in ((b))", "unable to parse requirement: found '(', expected: ',', ')' or identifier"),
    ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
    ("a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'"),
    ("a in (b,!c)", "unable to parse requirement: found '!', expected: ',', or identifier"),
    ("a in (,!)", "unable to parse requirement: found '!', expected: ',', or identifier"),
    ("a>x", f'unable to parse requirement: values[0]: Invalid value: "x": {NUMBER}'),
    ("a<", f'unable to parse requirement: values[0]: Invalid value: "": {NUMBER}'),
    ("a<1.5", f'unable to parse requirement: values[0]: Invalid value: "1.5": {NUMBER}'),
    (
        "a>9223372036854775808",
        f'unable to parse requirement: values[0]: Invalid value: "9223372036854775808": {NUMBER}',
    ),
    ("a>-1", f'unable to parse requirement: values[0][a]: Invalid value: "-1": {VALUE}'),
    (
        'a<"1"',
        (
            rf'unable to parse requirement: [values[0]: Invalid value: "\"1\"": {NUMBER}, '
            rf'values[0][a]: Invalid value: "\"1\"": {VALUE}]'
        ),
    ),
    ("a=-b", f'unable to parse requirement: values[0][a]: Invalid value: "-b": {VALUE}'),
    (
        "a in (-c,b,-b)",
        (
            f'unable to parse requirement: [values[0][a]: Invalid value: "-b": {VALUE}, '
            f'values[1][a]: Invalid value: "-c": {VALUE}]'
        ),
    ),
    (
        f"a={'x' * 64}",
        (
            f'unable to parse requirement: values[0][a]: Invalid value: "{"x" * 64}": '
            "must be no more than 63 bytes"
        ),
    ),
    ("-a=b", f'unable to parse requirement: <nil>: Invalid value: "-a": {KEY}'),
    ("-a in (-b)", f'unable to parse requirement: <nil>: Invalid value: "-a": {KEY}'),
    ("x/=b", f'unable to parse requirement: <nil>: Invalid value: "x/": name part must be non-empty; {KEY}'),
    ("/x=b", 'unable to parse requirement: <nil>: Invalid value: "/x": prefix part must be non-empty'),
    ("ä=b", f'unable to parse requirement: <nil>: Invalid value: "ä": {KEY}'),
]


@pytest.mark.parametrize(("text", "message"), ERRORS, ids=[repr(row[0])[:30] for row in ERRORS])
def test_error_texts(text: str, message: str) -> None:
    """A text that does not parse is refused in the server's words."""
    with pytest.raises(SelectorError) as raised:
        parse_selector(text)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("a=b", "a=b"),
        ("a == b", "a==b"),
        ("a!=b", "a!=b"),
        ("c in (z, y,y)", "c in (y,z)"),
        ("c notin ()", "c notin ()"),
        ("c in (b,)", "c in (,b)"),
        ("b, !a", "!a,b"),
        ("z>1,a<2", "a<2,z>1"),
    ],
)
def test_a_selector_as_text(text: str, shown: str) -> None:
    """Requirements by key, values sorted and once each; the text parses to the same selector."""
    selector = parse_selector(text)
    assert str(selector) == shown
    assert parse_selector(shown) == selector


def test_everything_and_nothing() -> None:
    """The two that need no labels report it."""
    assert everything().everything
    assert not everything().nothing
    assert nothing().nothing
    assert not nothing().everything
    assert everything().matches({})
    assert not nothing().matches({})
    assert str(everything()) == str(nothing()) == ""
    assert parse_selector("").everything
    assert not parse_selector("a").everything
    assert everything() != nothing()


@pytest.mark.parametrize(
    ("operator", "values", "message"),
    [
        (IN, (), "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty"),
        (NOT_IN, (), "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty"),
        (
            EXISTS,
            ("b",),
            'values: Invalid value: ["b"]: values set must be empty for exists and does not exist',
        ),
        (
            Operator.EQUALS,
            ("b", "c"),
            'values: Invalid value: ["b", "c"]: exact-match compatibility requires one single value',
        ),
        (
            Operator.LESS_THAN,
            ("1", "2"),
            "values: Invalid value: [\"1\", \"2\"]: for 'Gt', 'Lt' operators, exactly one value is required",
        ),
    ],
)
def test_a_requirement_checks_the_number_of_its_values(
    operator: Operator, values: tuple[str, ...], message: str
) -> None:
    """Selectors without a text form are checked as well."""
    with pytest.raises(SelectorError) as raised:
        Requirement("a", operator, values)
    assert str(raised.value) == message


def test_requirements_are_values() -> None:
    """Equal ones are equal in any order of their values, and fit into sets."""
    assert Requirement("a", IN, ("c", "b", "c")) == Requirement("a", IN, ("b", "c"))
    assert len({parse_selector("a in (b,c)"), parse_selector("a in (c,b)")}) == 1


TOKENS = [
    "a",
    "in",
    "notin",
    "c.d/e",
    "=",
    "==",
    "!=",
    "!",
    "<",
    ">",
    "(",
    ")",
    ",",
    "5",
    "-z",
    " ",
    "\t",
    "é",
    "$",
]


@given(st.lists(st.sampled_from(TOKENS), max_size=10).map("".join))
def test_any_text_is_a_selector_or_an_error(text: str) -> None:
    """No other exception, and what parses survives the round trip through its own text."""
    try:
        selector = parse_selector(text)
    except SelectorError:
        return
    assert parse_selector(str(selector)) == selector


class LabelledConfigMaps:
    """A namespace of a real server with objects of known labels."""

    def __init__(self, transport: HTTPTransport, labels: list[dict[str, str]]) -> None:
        self._transport = transport
        self._labels = {f"object-{number}": some for number, some in enumerate(labels)}
        self._namespace = f"handloop-labels-{uuid.uuid4().hex[:8]}"
        self._path = f"/api/v1/namespaces/{self._namespace}/configmaps"
        self._request("POST", "/api/v1/namespaces", body={"metadata": {"name": self._namespace}})
        for name, some in self._labels.items():
            self._request("POST", self._path, body={"metadata": {"name": name, "labels": some}})

    def selected(self, text: str) -> list[str] | str:
        """The names of the selected objects, or the error message."""
        status, answer = self._request("GET", self._path, query={"labelSelector": text})
        if status != 200:
            return str(answer["message"])
        found = {item["metadata"]["name"] for item in answer["items"]}
        return sorted(found & self._labels.keys())

    def expected(self, text: str) -> list[str] | str:
        """The same, by our own selector."""
        try:
            selector = parse_selector(text)
        except SelectorError as error:
            return str(error)
        return sorted(name for name, some in self._labels.items() if selector.matches(some))

    def close(self) -> None:
        self._request("DELETE", f"/api/v1/namespaces/{self._namespace}")
        self._transport.close()

    def _request(
        self, method: str, path: str, *, body: object = None, query: dict[str, str] | None = None
    ) -> tuple[int, dict[str, list[dict[str, dict[str, str]]]]]:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        payload = None if body is None else json.dumps(body).encode()
        response = self._transport.request(
            method, path, query=query or {}, headers=headers, body=payload, timeout_seconds=20.0
        )
        return response.status, json.loads(response.body)


@pytest.fixture
def server() -> Iterator[LabelledConfigMaps]:
    kubeconfig = str(real_kubeconfig())
    seen = [labels for _, selected, others in MEANINGS for labels in (*selected, *others)]
    unique = [dict(items) for items in sorted({tuple(sorted(labels.items())) for labels in seen})]
    config_maps = LabelledConfigMaps(HTTPTransport(load_config(kubeconfig=kubeconfig)), unique)
    yield config_maps
    config_maps.close()


@pytest.mark.real
def test_the_tables_are_what_a_real_server_answers(server: LabelledConfigMaps) -> None:
    """Same objects selected, same words for texts that do not parse."""
    for text in [*(row[0] for row in MEANINGS), *(row[0] for row in ERRORS)]:
        assert server.selected(text) == server.expected(text), text


def random_selector(choose: random.Random) -> str:
    """Mostly right: a selector with a few tokens thrown in, or tokens alone."""
    keys, values = ["a", "b", "in", "notin", "c.d/e"], ["", "b", "c", "5", "05", "-1"]
    parts = []
    for _ in range(choose.randint(1, 3)):
        key, value = choose.choice(keys), choose.choice(values)
        listed = ",".join(choose.choice(values) for _ in range(choose.randint(0, 3)))
        forms = [key, f"!{key}", f"{key}={value}", f"{key}!={value}", f"{key}<{value}", f"{key}>{value}"]
        forms += [f"{key} in ({listed})", f"{key} notin({listed})"]
        parts.append(choose.choice(forms))
    text = ",".join(parts)
    for _ in range(choose.choice([0, 0, 1, 2])):
        at = choose.randint(0, len(text))
        text = text[:at] + choose.choice(TOKENS) + text[at + choose.randint(0, 1) :]
    return text


@pytest.mark.real
@pytest.mark.parametrize("seed", [1, 2])
def test_random_selectors_against_a_real_server(server: LabelledConfigMaps, seed: int) -> None:
    """Two hundred selectors, right and wrong, have the same meaning and errors on both sides."""
    choose = random.Random(seed)
    for text in (random_selector(choose) for _ in range(200)):
        assert server.selected(text) == server.expected(text), text


@pytest.mark.parametrize(
    ("value", "number"), [("1" * 5000, False), ("0" * 5000, True)], ids=["digits", "zeros"]
)
def test_a_number_of_thousands_of_digits(value: str, number: bool) -> None:
    """A number as long as a URL can be is refused in the server's words, by its size or its length."""
    with pytest.raises(SelectorError, match="must be no more than 63 bytes") as raised:
        parse_selector(f"a>{value}")
    assert (NUMBER in str(raised.value)) is not number


def test_selectors_are_immutable() -> None:
    """They are shared between threads."""
    requirement = Requirement("a", EXISTS)
    with pytest.raises(AttributeError):
        requirement.key = "b"  # type: ignore[misc] # the point
    selector = Selector((requirement,))
    with pytest.raises(AttributeError):
        selector.requirements = ()  # type: ignore[misc] # the point
