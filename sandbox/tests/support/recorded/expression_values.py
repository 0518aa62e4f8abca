"""Requests about the values of expressions: a definition with many rules, and objects that they judge."""

from __future__ import annotations

from typing import Any, Final

from support.builders.widgets import CRDS
from support.recorded.definition_scenes import definition_of
from support.recorded.scene_steps import define, named, post, remove
from support.recorded.stories import GROUP, NAMESPACE

_GROUP: Final = f"values.{GROUP}"
_RULES: Final = r"""
url('https://u@a.b:80/c%20d?x=1&x=2&y=#f').getScheme() == 'https'
url('https://a.b:80/c%20d?x=1&x=2').getHost() == 'a.b:80'
url('https://u:p@a.b:80/').getHost() == 'a.b:80'
url('https://[::1]:80/').getHostname() == '::1'
url('https://[::1]:80/').getHost() == '[::1]:80'
url('https://a.b:80/').getPort() == '80'
url('/c%20d?x').getEscapedPath() == '/c%20d'
url('/c d').getEscapedPath() == '/c%20d'
url('https://a/?x=1&x=2&y').getQuery() == {'x': ['1', '2'], 'y': ['']}
isURL('a/b')
isURL('')
isURL('https://a b/')
isURL('https://a:b/')
isURL('mailto:x@y')
isURL('//a/b')
isURL('*')
isURL('HTTP://A/%zz')
isURL('1a:b')
url('HTTP://A/b').getScheme() == 'http'
url('mailto:x@y').getHost() == ''
url('abc').getHost() == ''
url('https://a:b/').getHost() == ''
ip('1.2.3.4').family() == 4
ip('::1').isLoopback() && ip('0.0.0.0').isUnspecified()
ip('224.0.0.1').isLinkLocalMulticast() && ip('ff02::1').isLinkLocalMulticast()
ip('169.254.1.1').isLinkLocalUnicast() && !ip('169.254.1.1').isGlobalUnicast()
ip('10.0.0.1').isGlobalUnicast() && !ip('255.255.255.255').isGlobalUnicast()
isIP('::ffff:1.2.3.4')
isIP('fe80::1%eth0')
isIP('1.2.3.04')
ip.isCanonical('::1') && !ip.isCanonical('0::1')
cidr('10.0.0.0/8').containsIP('10.1.2.3') && !cidr('10.0.0.0/8').containsIP(ip('::1'))
cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') && !cidr('10.1.0.0/16').containsCIDR('10.0.0.0/8')
cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8') && cidr('10.1.2.3/8').prefixLength() == 8
cidr('10.1.2.3/8').ip() == ip('10.1.2.3')
cidr('10.1.2.3/8') == cidr('10.0.0.0/8')
isCIDR('10.0.0.0/255.0.0.0')
isCIDR('10.0.0.0')
isCIDR('10.0.0.0/33')
isCIDR('10.0.0.0/08')
ip(self.s).family() == 4
cidr(self.s).prefixLength() == 4
cidr('1.1.1.1').prefixLength() == 4
cidr('10.0.0.0/8').containsIP('x')
format.dns1123Label().validate('a-b').hasValue()
format.dns1123Label().validate('a.b').value() == []
format.dns1123LabelPrefix().validate('a-').hasValue()
format.uuid().validate('x').value() == ['does not match the UUID format']
format.uri().validate('x').value() == ['parse "x": invalid URI for request']
format.named('labelValue').value() == format.labelValue()
format.named('odd').hasValue()
format.byte().validate('!').value() == ['invalid base64']
format.date().validate('2020-13-01').value() == ['invalid date']
format.datetime().validate('x').value() == ['invalid datetime']
format.qualifiedName().validate('a/b/c').hasValue()
semver('1.2.3').minor() + semver('1.2.3').patch() == 5
semver('1.10.0').isGreaterThan(semver('1.9.0'))
semver('1.0.0-rc.1').isLessThan(semver('1.0.0')) && semver('1.0.0-2').compareTo(semver('1.0.0-a')) == -1
semver('1.0.0+a') == semver('1.0.0+b')
isSemver('v1.2') || isSemver('1.02.3')
semver('v1.02', true) == semver('1.2.0')
isSemver('1.2.3.4', true)
semver('x').major() == 1
'%s %d %.2f %x %X %% %b'.format(['a', 5, 1.5, 255, 'k', 2]) == 'a 5 1.50 ff 6B % 10'
'%s %s %s'.format([true, 1.5, null]) == 'true 1.5 null'
'%s'.format([[1, 2]]) == '[1, 2]'
'%s'.format([{'a': 1}]) == '{a: 1}'
'%e'.format([1.5]) == '1.500000e+00'
'%o'.format([8]) == '10'
strings.quote('a"\n') == '"a\\"\\n"'
[3, 1, 2].sort() == [1, 2, 3] && ['b', 'a'].sort() == ['a', 'b']
[1, 2, 3].reverse() == [3, 2, 1]
[1, 1, 2].distinct() == [1, 2]
[1, 2, 3].slice(1, 2) == [2]
[1].slice(0, 5) == [2]
[[1], [2, 3]].flatten() == [1, 2, 3]
[[[1]], [[2, 3]]].flatten(2) == [1, 2, 3]
lists.range(3) == [0, 1, 2]
[1, 2].first().value() == 1 && [1, 2].last().value() == 2
[].first().hasValue()
[{'a': 2}, {'a': 1}].sortBy(x, x.a)[0].a == 1
[1, 2].all(i, v, v == i + 1)
{'a': 1}.exists(k, v, k == 'a' && v == 1)
{'a': 1, 'b': 1}.existsOne(k, v, v == 1)
[1, 2].transformList(i, v, i * v) == [0, 2]
[1, 2].transformList(i, v, i > 0, v) == [2]
{'a': 1}.transformMap(k, v, v + 1) == {'a': 2}
{'a': 1, 'b': 2}.transformMap(k, v, v > 1, v) == {'b': 2}
{'a': 'x'}.transformMapEntry(k, v, {v: k}) == {'x': 'a'}
{'a': 'x', 'b': 'x'}.transformMapEntry(k, v, {v: k}) == {'x': 'a'}
optional.of(1).optMap(x, x + 1).value() == 2
optional.none().optMap(x, x + 1).hasValue()
optional.of(1).optFlatMap(x, optional.of(x + 2)).value() == 3
[?optional.of(1), ?optional.none()] == [1]
{?'a': optional.of(1), ?'b': optional.none()} == {'a': 1}
optional.unwrap([optional.of(1), optional.none()]) == [1]
optional.none().value() == 1
optional.of(1).or(optional.of(2)).value() == 1
self.?s.orValue('') == 'abc' && self.?i.hasValue()
quantity('1Gi').isGreaterThan(quantity('1G')) && quantity('100m').asApproximateFloat() == 0.1
quantity('1.5').asInteger() == 1
quantity('x').isInteger()
timestamp('2020-01-31T23:30:00Z').getHours('+01:00') == 0
timestamp('2020-01-31T23:30:00Z').getDate('Europe/Berlin') == 1
timestamp('2020-01-31T23:30:00Z').getDayOfWeek() == 5 && timestamp('2020-01-31T23:30:00Z').getMonth() == 0
duration('1h30m').getHours() == 1 && duration('1h30m').getMinutes() == 90
int(duration('1s')) == 1000000000
timestamp(0) == timestamp('1970-01-01T00:00:00Z')
string(duration('90m')) == '5400s'
string(timestamp(0)) == '1970-01-01T00:00:00Z'
string(1.5) == '1.5' && string(true) == 'true' && string(b'a') == 'a'
string(1e20) == '1e+20' && string(123456789.0) == '1.23456789e+08'
int('12') == 12 && int(1.9) == 1 && int(-1.9) == -1
double('1.5') == 1.5
bytes('é').size() == 2
'abcabc'.lastIndexOf('abc', 2) == 0 && 'abcabc'.indexOf('abc', 1) == 3
'abc'.charAt(3) == ''
'abc'.charAt(4) == ''
'abc'.substring(2, 1) == ''
'é'.upperAscii() == 'é' && 'É'.lowerAscii() == 'É'
' \t a'.trim() == 'a'
'a,b,c'.split(',', 2) == ['a', 'b,c']
'abab'.replace('a', '', 1) == 'bab'
'abc'.find('b.') == 'bc' && 'abab'.findAll('a', 1) == ['a']
[1, 2].sum() == 3 && [1.5].sum() == 1.5 && [duration('1s')].sum() == duration('1s')
[].max() == 1
[1, 2].indexOf(2) == 1
sets.equivalent([1, 1, 2], [2, 1]) && sets.contains([1], []) && !sets.intersects([], [])
1 / 0 == 1
5 % 0 == 1
9223372036854775807 + 1 == 1
-9223372036854775808 == 1
[1][5] == 1
{'a': 1}['b'] == 1
self.i == 5 && self.s == 'abc' && has(self.s)
type(self.s) == string && type(self) != int
1u + 1u == 2u && 3u - 1u == 2u
1u - 2u == 1u
[1, 0].exists(x, 4 / x == 4)
[0].all(x, 4 / x == 4)
[0, 1].all(x, 4 / x == 5)
[1, 2, 3].exists_one(x, x > 2)
[1, 2].filter(x, x > 1) == [2] && [1, 2].map(x, x > 1, x * 2) == [4]
{'a': 1}.map(k, k) == ['a']
'a' in {'a': 1} && 1 in [1]
dyn(1) == 1.0 && dyn(1u) == 1 && dyn('1') != 1
dyn([1]) == dyn([1.0])
dyn(1) + dyn('a') == dyn(2)
dyn('a').all(x, true)
dyn(1) < dyn('a')
'abc'.matches('b') && matches('abc', '^a')
isQuantity('1k') && !isQuantity('1 k')
self.dt.getHours('+01:00') == 0 && self.dt + duration('30m') == timestamp('2020-02-01T00:00:00Z')
self.du.getMinutes() == 90 && self.du > duration('1h')
self.by == b'ab' && string(self.by) == 'ab' && self.by.size() == 2
ip(self.s).family() == 4 && self.i < 0
""".strip().splitlines()

_VALUE: Final = {
    "type": "object",
    "properties": {
        "s": {"type": "string", "maxLength": 20},
        "i": {"type": "integer"},
        "dt": {"type": "string", "format": "date-time"},
        "du": {"type": "string", "format": "duration"},
        "by": {"type": "string", "format": "byte", "maxLength": 20},
    },
}


def _judged(value: dict[str, Any]) -> dict[str, Any]:
    """An object with a value for each rule."""
    spec = {f"r{index}": value for index in range(len(_RULES))}
    return {"apiVersion": f"{_GROUP}/v1", "kind": "Thing", **named("a"), "spec": spec}


_PLACES: Final = {
    f"r{index}": {**_VALUE, "x-kubernetes-validations": [{"rule": rule, "message": f"not {index}"}]}
    for index, rule in enumerate(_RULES)
}
_SCHEMA: Final = {"type": "object", "properties": {"spec": {"type": "object", "properties": _PLACES}}}

EXPRESSION_VALUES: Final = [
    define(CRDS, definition_of(_SCHEMA, _GROUP), [f"/apis/{_GROUP}/v1/things"]),
    *(
        post(f"/apis/{_GROUP}/v1/namespaces/{NAMESPACE}/things", _judged(value))
        for value in (
            {"s": "abc", "i": 5, "dt": "2020-01-31T23:30:00Z", "du": "90m", "by": "YWI="},
            {"s": "1.2.3.4", "i": -5},
        )
    ),
    remove(f"{CRDS}/things.{_GROUP}"),
]
