"""
The parser of CEL, the language of x-kubernetes-validations: converts text into a syntax tree.

Follows: the CEL language definition (grammar), cel-go 0.26.0's parser (its messages about invalid input).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from handloop_sandbox.cel.nodes import (
    RESERVED,
    Call,
    Index,
    ListNode,
    Literal,
    MapNode,
    Name,
    Node,
    Select,
    unescape_member,
)
from handloop_sandbox.cel.tokens import (
    CelSyntaxError,
    Problem,
    Token,
    number_of,
    string_of,
    tokens_of,
)

_RELATIONS: Final = ("<", "<=", ">", ">=", "==", "!=", "in")
_CONSTANTS: Final[dict[str, Any]] = {"true": True, "false": False, "null": None}
_SCALARS: Final = "'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
_START: Final = f"{{'[', '{{', '(', '.', '-', '!', {_SCALARS}"
_ARGUMENT: Final = f"{{'[', '{{', '(', ')', '.', '-', '!', {_SCALARS}"
_INDEX: Final = f"{{'[', '{{', '(', '.', '-', '!', '?', {_SCALARS}"
_FOLLOWING: Final = frozenset(("||", "&&", *_RELATIONS, *"+-*/%?:.,)]}["))


def parse(text: str) -> Node:
    """
    Return the syntax tree of an expression.

    Raises: CelSyntaxError if the expression is invalid.
    """
    parser = _Parser(text)
    node = parser.whole()
    if parser.problems:
        raise CelSyntaxError(*parser.problems)
    return node


class _Parser:
    """
    A recursive descent parser with a method for each level of precedence.

    Like ANTLR, it recovers from an error if the rest can be parsed after one token is inserted or deleted.
    Otherwise, it stops.
    """

    def __init__(self, text: str) -> None:
        self.problems: list[Problem] = []
        self._tokens = tokens_of(text, self.problems)
        self._position = 0

    def whole(self) -> Node:
        node = self.expression()
        token, after = self._token(), self._tokens[min(self._position + 1, len(self._tokens) - 1)]
        if token.kind != "end":
            how = "extraneous" if after.kind == "end" else "mismatched"
            self._tell(token.at, f"{how} input '{token.text}' expecting <EOF>")
        return node

    def expression(self, expected: str = _START) -> Node:
        condition = self._either(expected)
        at = self._token().at
        if not self._accept("?"):
            return condition
        then = self._either()
        self._expect(":")
        return Call("?:", (condition, then, self.expression()), at=at)

    def _either(self, expected: str = _START) -> Node:
        return self._joined(("||",), lambda wanted: self._joined(("&&",), self._relation, wanted), expected)

    def _relation(self, expected: str) -> Node:
        return self._joined(_RELATIONS, self._sum, expected)

    def _sum(self, expected: str) -> Node:
        return self._joined(("+", "-"), self._product, expected)

    def _product(self, expected: str) -> Node:
        return self._joined(("*", "/", "%"), self._unary, expected)

    def _joined(self, operators: tuple[str, ...], part: Callable[[str], Node], expected: str) -> Node:
        node = part(expected)
        while self._token().kind in ("symbol", "name") and self._token().text in operators:
            operator = self._next()
            node = Call(operator.text, (node, part(_START)), at=operator.at)
        return node

    def _unary(self, expected: str) -> Node:
        first = self._token()
        for symbol, name in (("!", "!"), ("-", "negate")):
            count = 0
            while self._is(symbol) and not (count == 0 and symbol == "-" and self._is_number_next()):
                self._next()
                count += 1
            if count:
                node = self._member(_START)
                return Call(name, (node,), at=first.at) if count % 2 else node
        return self._member(expected)

    def _is_number_next(self) -> bool:
        token = self._tokens[self._position + 1]
        return token.kind == "float" or (token.kind == "int" and token.text[-1] not in "uU")

    def _member(self, expected: str) -> Node:
        node = self._primary(expected)
        while True:
            at = self._token().at
            if self._accept("."):
                node = self._selected(node, at)
            elif self._accept("["):
                optional = self._accept("?")
                key = self.expression(_START if optional else _INDEX)
                node = Index(node, key, optional, at=at)
                self._expect("]")
            else:
                return node

    def _selected(self, node: Node, at: int) -> Node:
        optional = self._accept("?")
        token = self._next()
        if token.kind == "escaped":
            raise self._stopped(Problem(token.at, "unsupported syntax: '`'"))
        if token.kind != "name" or token.text in ("in", *_CONSTANTS):
            text = "" if token.kind == "end" else token.text
            raise self._failed(token.at, f"no viable alternative at input '.{text}'")
        opening = self._token().at
        if not optional and self._accept("("):
            return Call(token.text, self._arguments(), node, at=opening)
        return Select(node, unescape_member(token.text), optional, at=at, written=token.text)

    def _primary(self, expected: str) -> Node:
        token = self._next()
        match token.kind:
            case "int" | "float":
                return self._number(token.text, token)
            case "string":
                return self._string(token)
            case "name" if token.text != "in":
                return self._named(token)
        return self._bracketed(token, expected)

    def _string(self, token: Token) -> Node:
        try:
            return Literal(string_of(token.text), at=token.at)
        except ValueError:
            self.problems.append(Problem(token.at, "unable to unescape string"))
            return Literal("", at=token.at)

    def _number(self, text: str, token: Token) -> Node:
        if "." in text or (not text.lstrip("-").startswith("0x") and "e" in text.lower()):
            return Literal(float(text), at=token.at)
        try:
            return Literal(number_of(text), at=token.at)
        except ValueError:
            kind = "uint" if text[-1] in "uU" else "int"
            self.problems.append(Problem(token.at, f"invalid {kind} literal"))
            return Literal(0, at=token.at)

    def _named(self, token: Token) -> Node:
        if token.text in _CONSTANTS:
            return Literal(_CONSTANTS[token.text], at=token.at)
        if token.text in RESERVED:
            self.problems.append(Problem(token.at, f"reserved identifier: {token.text}"))
        at = self._token().at
        if self._accept("("):
            return Call(token.text, self._arguments(), at=at)
        if self._is("{"):
            told = f"undeclared reference to '{token.text}' (in container '')"
            raise self._stopped(Problem(at, told))
        return Name(token.text, at=token.at)

    def _bracketed(self, token: Token, expected: str) -> Node:
        if token.kind == "symbol":
            match token.text:
                case "(":
                    node = self.expression()
                    self._expect(")")
                    return node
                case "[":
                    return self._list(token.at)
                case "{":
                    return self._map(token.at)
                case "-":
                    number = self._next()
                    return self._number(f"-{number.text}", token)
                case "." if self._token().kind == "name":
                    return self._named(self._next())
                case ".":
                    after = self._token()
                    text = "" if after.kind == "end" else after.text
                    raise self._failed(after.at, f"no viable alternative at input '.{text}'")
        if not self._starts(self._token(), expected):
            raise self._failed(token.at, f"mismatched input '{token.text}' expecting {expected}")
        self._tell(token.at, f"extraneous input '{token.text}' expecting {expected}")
        return self._member(expected)

    def _arguments(self) -> tuple[Node, ...]:
        if self._accept(")"):
            return ()
        if self._is(",") and self._tokens[self._position + 1].text == ")":
            self._tell(self._next().at, f"extraneous input ',' expecting {_ARGUMENT}")
            return self._arguments()
        found = [self.expression(_ARGUMENT)]
        while self._accept(","):
            found.append(self.expression())
        self._expect(")")
        return tuple(found)

    def _list(self, at: int) -> Node:
        items: list[Node] = []
        optional: set[int] = set()
        while not self._accept("]"):
            if self._accept("?"):
                optional.add(len(items))
            items.append(self.expression())
            if self._closes("]"):
                break
        return ListNode(tuple(items), frozenset(optional), at=at)

    def _map(self, at: int) -> Node:
        entries: list[tuple[Node, Node]] = []
        optional: set[int] = set()
        while not self._accept("}"):
            if self._accept("?"):
                optional.add(len(entries))
            key = self.expression()
            self._expect(":")
            entries.append((key, self.expression()))
            if self._closes("}"):
                break
        return MapNode(tuple(entries), frozenset(optional), at=at)

    def _closes(self, closing: str) -> bool:
        """Consume a comma, a closing bracket, or both. Returns: whether the list or map has ended."""
        if not self._is(closing) and not self._is(","):
            token = self._token()
            told = f"mismatched input '{token.text}' expecting {{'{closing}', ','}}"
            raise self._failed(token.at, told)
        if not self._accept(","):
            return self._accept(closing)
        token = self._token()
        if token.kind == "end":
            self._tell(token.at, f"missing '{closing}' at '<EOF>'")
            return True
        if self._is(","):
            raise self._failed(token.at, f"mismatched input ',' expecting '{closing}'")
        return self._accept(closing)

    def _token(self) -> Token:
        return self._tokens[self._position]

    def _next(self) -> Token:
        token = self._token()
        self._position = min(self._position + 1, len(self._tokens) - 1)
        return token

    def _is(self, symbol: str) -> bool:
        return self._token()[:2] == ("symbol", symbol)

    def _accept(self, symbol: str) -> bool:
        if not self._is(symbol):
            return False
        self._next()
        return True

    def _expect(self, symbol: str) -> None:
        if self._accept(symbol):
            return
        token, after = self._token(), self._tokens[min(self._position + 1, len(self._tokens) - 1)]
        if after[:2] == ("symbol", symbol):
            self._tell(token.at, f"extraneous input '{token.text}' expecting '{symbol}'")
            self._next()
            self._next()
        elif self._starts(token, _START) if symbol == ":" else self._follows(token):
            self._tell(token.at, f"missing '{symbol}' at '{token.text}'")
        else:
            raise self._failed(token.at, f"mismatched input '{token.text}' expecting '{symbol}'")

    @staticmethod
    def _follows(token: Token) -> bool:
        """Return whether a token can follow a closing bracket."""
        return token.kind == "end" or token.text in _FOLLOWING

    @staticmethod
    def _starts(token: Token, expected: str) -> bool:
        """Return whether a token can start an expression. expected lists the symbols that can."""
        if token.kind == "symbol":
            return f"'{token.text}'" in expected
        return token.kind not in ("end", "escaped") and token.text != "in"

    def _tell(self, at: int, message: str) -> None:
        self.problems.append(Problem(at, f"Syntax error: {message}"))

    def _failed(self, at: int, message: str) -> CelSyntaxError:
        return self._stopped(Problem(at, f"Syntax error: {message}"))

    def _stopped(self, problem: Problem) -> CelSyntaxError:
        self.problems.append(problem)
        return CelSyntaxError(*self.problems)
