"""
Strings in expressions: Kubernetes' named formats, semantic versions and printf.

Follows: apiserver 0.36 pkg/cel/library/format.go, semverlib.go; cel-go 0.26.0 ext/strings.go, formatting.go.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from handloop_sandbox.cel.network import parses, url
from handloop_sandbox.cel.values import NONE, CelError, Optional, type_of
from handloop_sandbox.kinds import formats
from handloop_sandbox.wire import names

_VERSION: Final = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z.-]+))?(?:\+([0-9A-Za-z.-]+))?"
)
_VERB: Final = re.compile(r"%(?:%|(?:\.(\d+))?([a-zA-Z]))")
_WHOLE: Final = ("int", "uint")
_TEXTS: Final = (
    "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations,"
    " and timestamps"
)
_SHOWN: Final = ("string", "bool", "bytes", "double", "map", "list", "type", "duration", "timestamp", "null")
CLAUSES: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "s": (_TEXTS, (*_WHOLE, *_SHOWN)),
    "d": ("decimal clause can only be used on integers", _WHOLE),
    "f": ("fixed-point clause can only be used on doubles", ("double", "string")),
    "e": ("scientific clause can only be used on doubles", ("double", "string")),
    "b": ("only integers and bools can be formatted as binary", (*_WHOLE, "bool")),
    "x": ("only integers, byte buffers, and strings can be formatted as hex", (*_WHOLE, "string", "bytes")),
    "o": ("octal clause can only be used on integers", _WHOLE),
}
"""For each verb of a format string, its error message and the types that it accepts."""
_SUPERSCRIPTS: Final = str.maketrans(
    "-0123456789", "\u207b\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079"
)
_QUOTES: Final = str.maketrans(
    {
        "\a": r"\a",
        "\b": r"\b",
        "\f": r"\f",
        "\n": r"\n",
        "\r": r"\r",
        "\t": r"\t",
        "\v": r"\v",
        "\\": r"\\",
        '"': r"\"",
    }
)


@dataclass(frozen=True, slots=True)
class Format:
    """A named format that validates strings, such as `format.dns1123Label()`."""

    cel_type: ClassVar = "kubernetes.NamedFormat"
    name: str


@dataclass(frozen=True, slots=True)
class Version:
    """A semantic version: `semver(text)`."""

    cel_type: ClassVar = "kubernetes.Semver"
    numbers: tuple[int, ...]
    before: str = ""

    @property
    def value(self) -> tuple[Any, ...]:
        """The version's sort key. A pre-release version sorts before the release."""
        parts = [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in self.before.split(".")]
        return (*self.numbers, not self.before, *parts)


def version(text: str, normalized: bool = False) -> Version:  # noqa: FBT001, FBT002 - CEL's own shape
    """
    Parse a version. If normalized is true, a leading v, leading zeros and missing numbers are allowed.

    Raises: CelError if the version is invalid.
    """
    written = _normalized(text) if normalized else text
    found = _VERSION.fullmatch(written)
    if found is None:
        raise CelError("No Major.Minor.Patch elements found")
    return Version(tuple(map(int, found.groups()[:3])), found[4] or "")


def _normalized(text: str) -> str:
    numbers, *rest = re.split(r"(?=[-+])", text.removeprefix("v"), maxsplit=1)
    parts = [part.lstrip("0") or "0" for part in numbers.split(".")]
    return ".".join((*parts, "0", "0")[: max(3, len(parts))]) + "".join(rest)


def _prefix(rule: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """Return a rule for prefixes of names, derived from the rule for names. A prefix can end with a dash."""
    return lambda text: rule(f"{text[:-1]}a" if text.endswith("-") else text)


def _of_format(name: str, complaint: str) -> Callable[[str], list[str]]:
    return lambda text: [] if formats.matches(name, text) else [complaint]


def _uri(text: str) -> list[str]:
    try:
        url(text)
    except CelError as error:
        return [str(error).removeprefix("URL parse error during conversion from string: ")]
    return []


_RULES: Final[dict[str, Callable[[str], list[str]]]] = {
    "dns1123Label": names.dns_1123_label,
    "dns1123Subdomain": names.dns_1123_subdomain,
    "dns1035Label": names.dns_1035_label,
    "qualifiedName": names.qualified_name,
    "dns1123LabelPrefix": _prefix(names.dns_1123_label),
    "dns1123SubdomainPrefix": _prefix(names.dns_1123_subdomain),
    "dns1035LabelPrefix": _prefix(names.dns_1035_label),
    "labelValue": names.label_value,
    "uri": _uri,
    "uuid": _of_format("uuid", "does not match the UUID format"),
    "byte": _of_format("byte", "invalid base64"),
    "date": _of_format("date", "invalid date"),
    "datetime": _of_format("datetime", "invalid datetime"),
}


def _named(name: str) -> Optional:
    return Optional(present=True, value=Format(name)) if name in _RULES else NONE


def _validate(form: Format, text: str) -> Optional:
    complaints = _RULES[form.name](text)
    return Optional(present=True, value=complaints) if complaints else NONE


def _of_name(name: str) -> Callable[[], Format]:
    return lambda: Format(name)


def printf(text: str, values: list[Any], shown: Callable[[Any], str]) -> str:
    """Replace the verbs in a format string with values. Raises: CelError if a value is missing or invalid."""
    rest = iter(values)

    def filled(found: re.Match[str]) -> str:
        if found[2] is None:
            return "%"
        try:
            value = next(rest)
        except StopIteration:
            raise CelError(f"index {len(values)} out of range") from None
        try:
            return _formatted(found[2], found[1], value, shown)
        except (TypeError, ValueError) as error:
            clause, _ = CLAUSES.get(found[2].lower(), ("", ()))
            raise CelError(f"error during formatting: {clause}, was given {type_of(value).name}") from error

    return _VERB.sub(filled, text)


def _formatted(verb: str, precision: str | None, value: Any, shown: Callable[[Any], str]) -> str:
    if verb == "s":
        return shown(value)
    if verb == "f":
        return format(value, f".{precision or 6}f")
    if verb == "e":
        digits, _, exponent = format(value, f".{precision or 6}e").partition("e")
        return f"{digits}\u00d710{exponent.removeprefix('+').translate(_SUPERSCRIPTS)}"
    if verb in "xX" and isinstance(value, (str, bytes)):
        digits = (value.encode() if isinstance(value, str) else value).hex()
        return digits.upper() if verb == "X" else digits
    return format(value, verb)


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "strings.quote": lambda text: f'"{text.translate(_QUOTES)}"',
    "format.named": _named,
    **{f"format.{name}": _of_name(name) for name in _RULES},
    "semver": version,
    "isSemver": parses(version),
}
METHODS: Final[dict[str, Callable[..., Any]]] = {
    "validate": _validate,
    "major": lambda found: found.numbers[0],
    "minor": lambda found: found.numbers[1],
    "patch": lambda found: found.numbers[2],
}
