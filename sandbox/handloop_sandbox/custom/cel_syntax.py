"""
CEL, the language of x-kubernetes-validations: text to a tree.

Follows: the CEL language definition (grammar) and cel-go's escaping of member names in Kubernetes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

_TOKEN: Final = re.compile(
    r"""
    (?P<space>\s+|//[^\n]*)
  | (?P<float>\d+\.\d+(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)
  | (?P<int>0x[0-9a-fA-F]+|\d+)[uU]?
  | (?P<string>[rR]?(?:\"\"\"(?:\\.|[^\\])*?\"\"\"|'''(?:\\.|[^\\])*?'''
                      |"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))
  | (?P<name>[A-Za-z_]\w*)
  | (?P<symbol>\.\?|\[\?|\|\||&&|==|!=|<=|>=|[-+*/%!<>?:.,()\[\]{}])
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
_ESCAPED: Final = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})|(.))", re.DOTALL
)
_MEMBER_ESCAPES: Final = (("__dash__", "-"), ("__dot__", "."), ("__slash__", "/"), ("__underscores__", "__"))
_RELATIONS: Final = ("<", "<=", ">", ">=", "==", "!=", "in")
_CONSTANTS: Final[dict[str, Any]] = {"true": True, "false": False, "null": None}


class CelSyntaxError(ValueError):
    """The sandbox does not understand an expression."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant."""

    value: Any


@dataclass(frozen=True, slots=True)
class Name:
    """A variable or a type."""

    name: str


@dataclass(frozen=True, slots=True)
class Select:
    """`operand.field`; optional means `.?`."""

    operand: Node
    field: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Index:
    """`operand[key]`; optional means `[?`."""

    operand: Node
    key: Node
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """`function(args)`, or `target.function(args)`; operators are calls of their symbol."""

    function: str
    args: tuple[Node, ...]
    target: Node | None = None


@dataclass(frozen=True, slots=True)
class ListNode:
    """`[a, b]`."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class MapNode:
    """`{k: v}`."""

    entries: tuple[tuple[Node, Node], ...]


Node = Literal | Name | Select | Index | Call | ListNode | MapNode


def parse(text: str) -> Node:
    """
    The tree of an expression.

    Raises: CelSyntaxError.
    """
    parser = _Parser(_tokens(text))
    node = parser.expression()
    parser.finish()
    return node


def unescape_member(name: str) -> str:
    """A member's real name: `__dash__` and its siblings stand for characters that no identifier may hold."""
    if name.startswith("__") and name.endswith("__") and len(name) > len("____"):
        return name[2:-2]
    for escaped, plain in _MEMBER_ESCAPES:
        name = name.replace(escaped, plain)
    return name


def _tokens(text: str) -> list[tuple[str, str]]:
    found, position = [], 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise CelSyntaxError(f"unexpected character {text[position]!r} at {position}")
        kind = match.lastgroup or ""
        if kind != "space":
            found.append((kind, match.group(kind)))
        position = match.end()
    return [*found, ("end", "")]


def _string(token: str) -> str:
    raw = token[0] in "rR"
    body = token[1:] if raw else token
    quote = 3 if body[:3] in ('"""', "'''") else 1
    body = body[quote:-quote]
    return body if raw else _ESCAPED.sub(_unescaped, body)


def _unescaped(match: re.Match[str]) -> str:
    *codes, octal, char = match.groups()
    for code in codes:
        if code:
            return chr(int(code, 16))
    return chr(int(octal, 8)) if octal else _ESCAPES.get(char, char)


class _Parser:
    """Recursive descent: one method for each level of precedence."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self._tokens = tokens
        self._position = 0

    def expression(self) -> Node:
        condition = self._either()
        if not self._accept("?"):
            return condition
        then = self._either()
        self._expect(":")
        return Call("?:", (condition, then, self.expression()))

    def finish(self) -> None:
        kind, text = self._tokens[self._position]
        if kind != "end":
            raise CelSyntaxError(f"unexpected {text!r}")

    def _either(self) -> Node:
        node = self._both()
        while self._accept("||"):
            node = Call("||", (node, self._both()))
        return node

    def _both(self) -> Node:
        node = self._relation()
        while self._accept("&&"):
            node = Call("&&", (node, self._relation()))
        return node

    def _relation(self) -> Node:
        node = self._sum()
        while (operator := self._peek()) in _RELATIONS:
            self._position += 1
            node = Call(operator, (node, self._sum()))
        return node

    def _sum(self) -> Node:
        node = self._product()
        while (operator := self._peek()) in ("+", "-"):
            self._position += 1
            node = Call(operator, (node, self._product()))
        return node

    def _product(self) -> Node:
        node = self._unary()
        while (operator := self._peek()) in ("*", "/", "%"):
            self._position += 1
            node = Call(operator, (node, self._unary()))
        return node

    def _unary(self) -> Node:
        if self._accept("!"):
            return Call("!", (self._unary(),))
        if self._accept("-"):
            return Call("negate", (self._unary(),))
        return self._member()

    def _member(self) -> Node:
        node = self._primary()
        while True:
            if self._accept("."):
                node = self._selected(node)
            elif self._accept(".?"):
                node = Select(node, unescape_member(self._name()), optional=True)
            elif (opening := self._peek()) in ("[", "[?"):
                self._position += 1
                node = Index(node, self.expression(), optional=opening == "[?")
                self._expect("]")
            else:
                return node

    def _selected(self, node: Node) -> Node:
        name = self._name()
        if self._accept("("):
            return Call(name, self._list(")"), node)
        return Select(node, unescape_member(name))

    def _primary(self) -> Node:
        kind, text = self._tokens[self._position]
        self._position += 1
        match kind:
            case "int":
                return Literal(int(text, 0) if text.startswith("0x") else int(text))
            case "float":
                return Literal(float(text))
            case "string":
                return Literal(_string(text))
            case "name":
                return self._named(text)
        return self._bracketed(text)

    def _named(self, name: str) -> Node:
        if name in _CONSTANTS:
            return Literal(_CONSTANTS[name])
        if self._accept("("):
            return Call(name, self._list(")"))
        return Name(name)

    def _bracketed(self, opening: str) -> Node:
        match opening:
            case "(":
                node = self.expression()
                self._expect(")")
                return node
            case "[":
                return ListNode(self._list("]"))
            case "{":
                return self._map()
        raise CelSyntaxError(f"unexpected {opening or 'end'!r}")

    def _list(self, closing: str) -> tuple[Node, ...]:
        items: list[Node] = []
        while not self._accept(closing):
            items.append(self.expression())
            if not self._accept(","):
                self._expect(closing)
                break
        return tuple(items)

    def _map(self) -> Node:
        entries: list[tuple[Node, Node]] = []
        while not self._accept("}"):
            key = self.expression()
            self._expect(":")
            entries.append((key, self.expression()))
            if not self._accept(","):
                self._expect("}")
                break
        return MapNode(tuple(entries))

    def _name(self) -> str:
        kind, text = self._tokens[self._position]
        if kind != "name":
            raise CelSyntaxError(f"expected a name, found {text or 'end'!r}")
        self._position += 1
        return text

    def _peek(self) -> str:
        kind, text = self._tokens[self._position]
        return text if kind in ("symbol", "name") else ""

    def _accept(self, symbol: str) -> bool:
        if self._tokens[self._position] != ("symbol", symbol):
            return False
        self._position += 1
        return True

    def _expect(self, symbol: str) -> None:
        if not self._accept(symbol):
            found = self._tokens[self._position][1] or "end"
            raise CelSyntaxError(f"expected {symbol!r}, found {found!r}")
