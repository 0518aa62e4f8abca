"""Requests about the CEL rules of definitions: right and wrong ones, on all types, and their costs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from support.recorded.definition_scenes import definition_of, try_out
from support.recorded.stories import Step

_Object = dict[str, Any]

_RULES: Final = "x-kubernetes-validations"
_LIST: Final = "x-kubernetes-list-type"
_TEXT: Final[_Object] = {"type": "string", "maxLength": 10}
_NUMBER: Final[_Object] = {"type": "integer"}
_FREE: Final = "x-kubernetes-preserve-unknown-fields"
_ENTRY: Final[_Object] = {"type": "object", "properties": {"n": _TEXT, "v": _NUMBER}}
_VALUES: Final[_Object] = {
    "i": _NUMBER,
    "s": _TEXT,
    "u": {"type": "string"},
    "b": {"type": "boolean"},
    "d": {"type": "number"},
    "ls": {"type": "array", "maxItems": 5, "items": _TEXT},
    "li": {"type": "array", "maxItems": 5, "items": _NUMBER},
    "lo": {"type": "array", "maxItems": 5, "items": _ENTRY},
    "m": {"type": "object", "maxProperties": 5, "additionalProperties": _TEXT},
    "o": {"type": "object", "properties": {"x": _NUMBER, "namespace": _TEXT, "a-b": _NUMBER}},
    "ios": {"x-kubernetes-int-or-string": True},
    "free": {"type": "object", _FREE: True},
    "em": {"type": "object", "x-kubernetes-embedded-resource": True, _FREE: True},
    "dt": {"type": "string", "format": "date-time"},
    "dd": {"type": "string", "format": "date"},
    "du": {"type": "string", "format": "duration"},
    "by": {"type": "string", "format": "byte", "maxLength": 9},
    "en": {"type": "string", "enum": ["aa", "b"]},
}


def _about(rules: Iterable[str]) -> list[Step]:
    """A definition for each rule, on an object with a field of each type."""
    spec = {"type": "object", "properties": _VALUES}
    return [
        try_out(_of({**spec, _RULES: [{"rule": line, "message": "m"}]})) for line in rules if line.strip()
    ]


def _of(spec: _Object) -> _Object:
    return definition_of({"type": "object", "properties": {"spec": spec}})


def _fields(nodes: Iterable[_Object]) -> list[Step]:
    return [try_out(_of({"type": "object", "properties": {"a": node}})) for node in nodes]


RIGHT: Final = _about(
    """
self.i < 1.5 && self.d < 1 && self.i < 1u && -self.i > -3 && self.i % 2 == 1
self.ios == 1 || self.ios == 'a'
self.o.namespace == self.o.__namespace__ || self.o.a__dash__b == 1
self.em.metadata.name == self.em.kind && self.em.metadata.generateName == self.em.apiVersion
self.dt == null || self.o == null || self.dt.getHours('UTC') == 1
self.dt - self.du < self.dt && self.dt - timestamp('2020-01-01T00:00:00Z') > self.du
self.dd.getDate() == 2 && self.du.getSeconds() > int(duration('1h'))
self.by == b'\\xff' && string(self.by) == 'a' && bytes(self.s).size() > 2
self.en in ['aa', 'b'] || self.s in self.m || self.i in [1, 2]
type(self.ios) == int && type(self.dt) == google.protobuf.Timestamp && type(self.o) != null_type
self == oldSelf && oldSelf.i == self.i
has(self.o.x) && has(self.m.a) && has(self.em.metadata.name)
self.m.all(k, self.m[k] == k) && self.m['a'] == 'b' && self.m.a == 'b'
self.lo.exists_one(x, x.n == 'a') && self.lo.exists(x, has(x.v) && x.v > 1)
self.lo.filter(x, x.v > 1).map(x, x.n) == self.ls
self.ls.join(',') == self.ls.join() && self.lo.map(x, x.v > 1, x.n).size() == 1
self.ls.all(i, v, i > 0 && v == '') && self.m.exists(k, v, k == v) && self.m.existsOne(k, v, v == k)
self.ls.transformList(i, v, i > 1, v + 'x') == self.ls
self.m.transformMap(k, v, v) == self.m && self.m.transformMapEntry(k, v, {v: k}) != {}
self.?i.orValue(1) == 1 && self.?o.?x.hasValue() && self.ls[?0].hasValue() && self.m[?'a'].hasValue()
self.?i.optMap(x, x + 1).hasValue() && self.?i.optFlatMap(x, optional.of(x)).value() == 2
[?self.?i] == [1] || {?'a': self.?i} == {'a': 1} || optional.unwrap([self.?i]) == [1]
optional.none().or(self.?i) == self.?i && optional.ofNonZeroValue(self.i).hasValue()
self.s.matches('^[a-z]+$') && matches(self.s, 'a') && self.s.find('a') == self.s.findAll('a', 2)[0]
self.s.lowerAscii() == self.s.trim().replace('a', 'b', 1) && self.s.split('', 2) == [self.s.substring(0)]
self.s.charAt(0) == self.s.upperAscii() && self.s.indexOf('a', 1) < self.s.lastIndexOf('b')
'%s %d'.format([self.s, self.i]) == strings.quote(self.s)
self.ls.sort() == self.ls.reverse() && self.ls.distinct() != self.ls.slice(0, 1) && [[1]].flatten() == [1]
self.lo.sortBy(x, x.v)[0].v == lists.range(3)[1] && self.ls.first().hasValue() && self.ls.last().hasValue()
self.li.sum() > self.li.max() && self.li.min() > 1 && self.ls.isSorted() && self.ls.indexOf('a') == 1
sets.contains(self.ls, ['a']) || sets.intersects(self.li, [1]) || sets.equivalent(self.li, self.li)
url(self.s).getScheme() == 'https' && isURL(self.s) && url(self.s).getQuery()['a'] == self.ls
ip(self.s).family() == 4 && isIP(self.s) && ip.isCanonical(self.s) && !ip(self.s).isLoopback()
cidr(self.s).containsIP(ip('1.1.1.1')) && cidr(self.s).containsCIDR('1.1.1.1/24') && isCIDR(self.s)
cidr(self.s).masked().prefixLength() == 4 && cidr(self.s).ip() == ip('::1') && string(ip(self.s)) == ''
!format.dns1123Label().validate(self.s).hasValue() && format.named('uuid').value() == format.uuid()
quantity(self.s).isGreaterThan(quantity('1').add(2)) && isQuantity(self.s) && quantity(self.s).asInteger() > 1
semver(self.s).major() == 1 && isSemver(self.s, true) && semver('v1', true).isLessThan(semver('1.2.3'))
self.b ? self.s == 'a' : self.s != 'a'
!!self.b && !(self.b) || --self.i == 1
dyn(self.i) == 'a' && [dyn(self.i), dyn(self.s)].all(x, x == 1)
self.s == r'\\d' || self.s == \"\"\"a\"b\"\"\" || self.s == '\\u00e9\\x41\\101' || .self.b // over
self.i == 0xff || uint(self.i) == 0xFFu || self.d == 1e3 || self.d == .5 || double(self.s) == -1.5
self.free == self.free && self.lo[0] == self.lo[1]
int == type(1) && string(self.i).size() == string(self.d).size() && int(self.s) == int(self.dt)
self.u.startsWith('a') && self.u.size() < 10 && self.u.endsWith(self.s) && self.u.contains('abc')
""".splitlines()
)

WRONG: Final = _about(
    """
self.nope == 1
self.nope.x.y && nope && other(self.nope)
has(self.nope)
has(self)
has(self.i, self.s)
self.metadata.name == ''
self.free.x == 1
self.em.spec == 1
self.o.a-b == 1
self.i.x == 1
self.i
self.m.x
self.ios
self.s == 1
self.i == 1.0
self.s == null
self.s + 1 == 'x'
self.s < 1 || self.ls < self.ls
self.i && self.b
self.b || self.s
!self.i
-self.s == ''
self.i ? true : false
self.b ? 1 : 'a'
self.i in self.ls
self.ls['a'] == self.m[1]
self.dt + self.dt == self.du
self.s.size(1) == size(self.i)
self.s.reverse() == ''
self.ls.includes('a')
self.ls.existsOne(v, v == '')
frob(1) || self.frob() || math.greatest(1, 2) == 2 || cel.bind(x, 1, x == 1)
self.ls.all(x, x == 1)
self.ls.all(x, x)
self.i.all(x, true)
self.ls.all(1, true) || self.ls.map(x.y, true) == []
self.ls.all(i, i, true)
self.ls.map(x) == []
self.?i == 1
self.?nope.hasValue() || [?self.i] == [] || self.?i.orValue('a') == 1
[1, 'a'] == [] || {'a': 1, 'b': ''} == {}
self.s.matches('[') || duration('1d') < self.du || timestamp('x') == self.dt
self.o.x == oldSelf.o.y
quantity('1') > quantity('2')
ip(1) == ip('1.1.1.1').foo()
url(self.s).getHost == ''
format.foo() == format.dns1123Label().validate(1)
semver(1).major() == 1
self ==
self.i +
(self.i == 1
self.i == 1)
self.i == 1 2
self.b and self.b
self.
self.[0]
self.i == == 1
self.b && || self.b
self.b ? true
self.ls[0
[1, 2
{'a': 1
size(self.ls == 1
self.s == 'abc
self.i = 1
self.i & 1
self.s == '\\q'
self.i == 9223372036854775808
'%d'.format([1.5]) == '' || '%s %s'.format([self.s]) == '%q'.format([1])
'%s'.format([1, 2]) == '%x'.format([true])
int('x') == 1
self.`i` == 1
for == 1
Thing{} == 1
self.s == 'é' && self.nope == '日'
""".splitlines()
)

_ONCE: Final = {_RULES: [{"rule": "self == 'a'"}]}

EXPRESSION_COSTS: Final = _fields(
    (
        {"type": "string", _RULES: [{"rule": "self.matches('^a+$')"}]},
        {"type": "string", _RULES: [{"rule": "self.contains('abcdefghijklmnopqrstuvwxyzabcdef')"}]},
        {"type": "array", "items": {"type": "string", **_ONCE}},
        {"type": "array", "items": {**_TEXT, **_ONCE}},
        *(
            {"type": "array", "maxItems": count, "items": {**_TEXT, **_ONCE}}
            for count in (1_000_000, 2_500_000, 6_000_000, 60_000_000)
        ),
        {"type": "array", "maxItems": 900, "items": {"type": "array", "items": {**_NUMBER, **_ONCE}}},
        {"type": "object", "maxProperties": 4_000_000, "additionalProperties": {**_TEXT, **_ONCE}},
        {
            "type": "object",
            "additionalProperties": {
                **_ENTRY,
                "required": ["n", "v"],
                _RULES: [{"rule": "self.n.size() > 2 && self.v > 3 && self.n != 'abc'"}],
            },
        },
        {"type": "array", "items": _ENTRY, _RULES: [{"rule": "self.all(x, self.exists_one(y, x == y))"}]},
        {
            "type": "array",
            "items": {"type": "string", "enum": ["a", "b"]},
            _RULES: [{"rule": "self.all(x, x == 'a')"}, {"rule": "self.all(x, self.all(y, x == y))"}],
        },
        {
            "type": "array",
            "maxItems": 1000,
            "items": {"type": "string", "format": "date-time"},
            _RULES: [{"rule": "self.all(x, self.all(y, x < y)) && self[0] < self[1]"}],
        },
        {**_VALUES["ios"], _RULES: [{"rule": "self == 1 || self == '1' || string(self).matches('a')"}]},
        {
            "type": "string",
            _RULES: [{"rule": "self == 'a'", "messageExpression": "self.split('').map(x, self).join('x')"}],
        },
        *(
            {"type": "array", "maxItems": count, "items": {**_TEXT, _RULES: [{"rule": rule}]}}
            for count, rule in (
                (400_000, "self.split(',').all(x, x.matches('a'))"),
                (100_000, "self.replace('', self).lowerAscii().contains('abc')"),
                (
                    500_000,
                    "url(self).getHost() == self || ip(self) == ip(self) || cidr(self).containsIP(self)",
                ),
                (700_000, "quantity(self) == quantity('1') || !format.uri().validate(self).hasValue()"),
                (900_000, "[self, 'abc'].exists(x, x == self) || {'a': self}.all(k, v, v == k)"),
            )
        ),
        {**_TEXT, "default": "x", _RULES: [{"rule": "self == 1"}]},
        {**_TEXT, "default": "x", _RULES: [{"rule": "self =="}]},
        {**_TEXT, _RULES: [{"rule": "self == 'a'", "messageExpression": "1"}]},
        {**_TEXT, _RULES: [{"rule": "self == 'a'", "messageExpression": "self.nope + 'a'"}]},
        {**_TEXT, _RULES: [{"rule": "self == oldSelf.orValue('')", "optionalOldSelf": True}]},
        {**_TEXT, _RULES: [{"rule": "self == oldSelf", "optionalOldSelf": False}]},
        {**_TEXT, _RULES: [{"rule": "self == 'a'\n && nope", "message": "m"}]},
        {_FREE: True, _RULES: [{"rule": "self.a == 1"}]},
        {
            "type": "array",
            "maxItems": 3,
            "items": {**_ENTRY, "required": ["n"]},
            _LIST: "map",
            "x-kubernetes-list-map-keys": ["n"],
            _RULES: [{"rule": "self.all(x, x in oldSelf)"}],
        },
    )
) + [
    try_out(
        definition_of(
            {
                "type": "object",
                "properties": {
                    name: {"type": "array", "maxItems": 90_000 * size, "items": {**_TEXT, **_ONCE}}
                    for size, name in enumerate(names, 1)
                },
                _RULES: [{"rule": "self.metadata.name.startsWith('a') && self.kind != self.metadata.labels"}],
            }
        )
    )
    for names in ("abcdefgh", "abcdefghijklmnopqrstu")
]
