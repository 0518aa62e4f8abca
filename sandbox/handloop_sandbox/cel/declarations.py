"""
The functions that expressions can call in Kubernetes 1.36, with their argument and result types.

Each line lists functions, then overloads that all of them have: `(A) -> R` is a function, and `T.(A) -> R` is
a method of T.
Follows: cel-go 0.26.0 common/stdlib and ext (strings 2, lists 3, sets, optional types, two variables);
apiserver 0.36 pkg/cel/library, pkg/cel/environment/base.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final, NamedTuple

from handloop_sandbox.cel.types import Bindings, CelType, read_type, resolved

_COMPARED: Final = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_NUMBERS: Final = ("int", "uint", "double")
_AUTHORIZATION: Final = ("authz.", "kubernetes.authorization.")
"""A prefix of type names: its short form in _TEXT, and its full form."""
_TEXT: Final = """
_-_ = (double, double) -> double; (duration, duration) -> duration; (int, int) -> int
_-_ = (timestamp, duration) -> timestamp; (timestamp, timestamp) -> duration; (uint, uint) -> uint
_+_ = (bytes, bytes) -> bytes; (double, double) -> double; (duration, duration) -> duration
_+_ = (duration, timestamp) -> timestamp; (timestamp, duration) -> timestamp; (int, int) -> int
_+_ = (list(A), list(A)) -> list(A); (string, string) -> string; (uint, uint) -> uint
_[_] = (list(A), int) -> A; (map(A, B), A) -> B; (optional_type(list(V)), int) -> optional_type(V)
_[_] = (optional_type(map(K, V)), K) -> optional_type(V)
_[?_] = (list(V), int) -> optional_type(V); (optional_type(list(V)), int) -> optional_type(V)
_[?_] = (map(K, V), K) -> optional_type(V); (optional_type(map(K, V)), K) -> optional_type(V)
size = (bytes) -> int; bytes.() -> int; (list(A)) -> int; list(A).() -> int; (map(A, B)) -> int
size = map(A, B).() -> int; (string) -> int; string.() -> int
string = (string) -> string; (bool) -> string; (bytes) -> string; (double) -> string; (duration) -> string
string = (int) -> string; (timestamp) -> string; (uint) -> string; (net.IP) -> string; (net.CIDR) -> string
isGreaterThan = kubernetes.Quantity.(kubernetes.Quantity) -> bool
isGreaterThan = kubernetes.Semver.(kubernetes.Semver) -> bool
isLessThan = kubernetes.Quantity.(kubernetes.Quantity) -> bool
isLessThan = kubernetes.Semver.(kubernetes.Semver) -> bool
add = kubernetes.Quantity.(kubernetes.Quantity) -> kubernetes.Quantity
add = kubernetes.Quantity.(int) -> kubernetes.Quantity
sub = kubernetes.Quantity.(kubernetes.Quantity) -> kubernetes.Quantity
sub = kubernetes.Quantity.(int) -> kubernetes.Quantity
_?_:_ = (bool, A, A) -> A
!_ @not_strictly_false = (bool) -> bool
_==_ _!=_ = (A, A) -> bool
_*_ _/_ = (double, double) -> double; (int, int) -> int; (uint, uint) -> uint
_%_ = (int, int) -> int; (uint, uint) -> uint
-_ = (double) -> double; (int) -> int
@in = (A, list(A)) -> bool; (A, map(A, B)) -> bool
type = (A) -> type(A)
dyn = (A) -> dyn
bool = (bool) -> bool; (string) -> bool
bytes = (bytes) -> bytes; (string) -> bytes
double = (double) -> double; (int) -> double; (string) -> double; (uint) -> double
duration = (duration) -> duration; (int) -> duration; (string) -> duration
int = (int) -> int; (double) -> int; (duration) -> int; (string) -> int; (timestamp) -> int; (uint) -> int
timestamp = (timestamp) -> timestamp; (int) -> timestamp; (string) -> timestamp
uint = (uint) -> uint; (double) -> uint; (int) -> uint; (string) -> uint
contains endsWith startsWith = string.(string) -> bool
matches = (string, string) -> bool; string.(string) -> bool
charAt = string.(int) -> string
indexOf lastIndexOf = list(A).(A) -> int; string.(string) -> int; string.(string, int) -> int
lowerAscii upperAscii trim = string.() -> string
replace = string.(string, string) -> string; string.(string, string, int) -> string
split findAll = string.(string) -> list(string); string.(string, int) -> list(string)
substring = string.(int) -> string; string.(int, int) -> string
format = string.(list(dyn)) -> string
strings.quote = (string) -> string
join = list(string).() -> string; list(string).(string) -> string
find = string.(string) -> string
slice = list(T).(int, int) -> list(T)
flatten = list(list(T)).() -> list(T); list(dyn).(int) -> list(dyn)
reverse distinct = list(T).() -> list(T)
first last = list(V).() -> optional_type(V)
lists.range = (int) -> list(int)
sets.contains sets.equivalent sets.intersects = (list(T), list(T)) -> bool
cel.@mapInsert = (map(K, V), K, V) -> map(K, V); (map(K, V), map(K, V)) -> map(K, V)
optional.of optional.ofNonZeroValue = (V) -> optional_type(V)
optional.none = () -> optional_type(V)
optional.unwrap = (list(optional_type(V))) -> list(V)
unwrapOpt = list(optional_type(V)).() -> list(V)
value = optional_type(V).() -> V
hasValue = optional_type(V).() -> bool
or = optional_type(V).(optional_type(V)) -> optional_type(V)
orValue = optional_type(V).(V) -> V
url = (string) -> kubernetes.URL
isURL ip.isCanonical isIP isCIDR isQuantity = (string) -> bool
getScheme getHost getHostname getPort getEscapedPath = kubernetes.URL.() -> string
getQuery = kubernetes.URL.() -> map(string, list(string))
ip = (string) -> net.IP; net.CIDR.() -> net.IP
family = net.IP.() -> int
isUnspecified isLoopback isLinkLocalMulticast isLinkLocalUnicast isGlobalUnicast = net.IP.() -> bool
cidr = (string) -> net.CIDR
containsIP = net.CIDR.(string) -> bool; net.CIDR.(net.IP) -> bool
containsCIDR = net.CIDR.(string) -> bool; net.CIDR.(net.CIDR) -> bool
prefixLength = net.CIDR.() -> int
masked = net.CIDR.() -> net.CIDR
validate = kubernetes.NamedFormat.(string) -> optional_type(list(string))
format.named = (string) -> optional_type(kubernetes.NamedFormat)
quantity = (string) -> kubernetes.Quantity
sign = (kubernetes.Quantity) -> int
compareTo = kubernetes.Quantity.(kubernetes.Quantity) -> int; kubernetes.Semver.(kubernetes.Semver) -> int
asApproximateFloat = kubernetes.Quantity.() -> double
asInteger = kubernetes.Quantity.() -> int
isInteger = kubernetes.Quantity.() -> bool
semver = (string) -> kubernetes.Semver; (string, bool) -> kubernetes.Semver
isSemver = (string) -> bool; (string, bool) -> bool
major minor patch = kubernetes.Semver.() -> int
getFullYear getMonth getDayOfYear getDayOfMonth getDate getDayOfWeek = timestamp.() -> int
getFullYear getMonth getDayOfYear getDayOfMonth getDate getDayOfWeek = timestamp.(string) -> int
getHours getMinutes getSeconds getMilliseconds = timestamp.() -> int; timestamp.(string) -> int
getHours getMinutes getSeconds getMilliseconds = duration.() -> int
format.dns1123Label format.dns1123Subdomain format.dns1035Label format.uri = () -> kubernetes.NamedFormat
format.dns1123LabelPrefix format.dns1123SubdomainPrefix format.uuid = () -> kubernetes.NamedFormat
format.dns1035LabelPrefix format.qualifiedName format.labelValue = () -> kubernetes.NamedFormat
format.byte format.date format.datetime = () -> kubernetes.NamedFormat
path = authz.Authorizer.(string) -> authz.PathCheck
group = authz.Authorizer.(string) -> authz.GroupCheck
serviceAccount = authz.Authorizer.(string, string) -> authz.Authorizer
resource = authz.GroupCheck.(string) -> authz.ResourceCheck
subresource namespace name = authz.ResourceCheck.(string) -> authz.ResourceCheck
fieldSelector labelSelector = authz.ResourceCheck.(string) -> authz.ResourceCheck
check = authz.PathCheck.(string) -> authz.Decision
check = authz.ResourceCheck.(string) -> authz.Decision
errored allowed = authz.Decision.() -> bool
error reason = authz.Decision.() -> string
"""

TYPES: Final = {
    name: read_type(f"type({meant or name})")
    for name, meant in {
        **dict.fromkeys(
            ["bool", "bytes", "double", "int", "string", "type", "uint", "net.IP", "net.CIDR"], ""
        ),
        "list": "list(A)",
        "map": "map(A, B)",
        "null_type": "null",
        "optional_type": "optional_type(V)",
        "google.protobuf.Duration": "duration",
        "google.protobuf.Timestamp": "timestamp",
    }.items()
}
"""Maps the names of types in expressions to the types of these names, such as `type(int)`."""


class Overload(NamedTuple):
    """
    An overload of a function: its argument types and its result type.

    The first argument of a method is its target.
    """

    is_method: bool
    args: tuple[CelType, ...]
    result: CelType
    variables: tuple[CelType, ...]

    def instance(self, number: int) -> tuple[tuple[CelType, ...], CelType]:
        """Return the argument and result types with fresh type variables, numbered from `number`."""
        own: Bindings = {
            variable: CelType(f"%_var{number + index}") for index, variable in enumerate(self.variables)
        }
        return tuple(resolved(own, arg) for arg in self.args), resolved(own, self.result)


@cache
def functions() -> Mapping[str, tuple[Overload, ...]]:
    """Return all functions by name. An operator's name has a _ for each operand."""
    found: dict[str, str] = {}
    for names, _, variants in (
        line.partition(" = ") for line in _TEXT.strip().replace(*_AUTHORIZATION).splitlines()
    ):
        for name in names.split():
            found[name] = f"{found[name]}; {variants}" if name in found else variants
    for operator in ("<", "<=", ">", ">="):
        pairs = [(one, one) for one in _COMPARED]
        pairs += [(one, other) for one in _NUMBERS for other in _NUMBERS if one != other]
        found[f"_{operator}_"] = "; ".join(f"({one}, {other}) -> bool" for one, other in pairs)
    for name in ("isSorted", "min", "max", "sort", "sum"):
        result = {"isSorted": "bool", "sort": "list({})"}.get(name, "{}")
        known = _COMPARED if name != "sum" else ["int", "uint", "double", "duration"]
        found[name] = "; ".join(f"list({one}).() -> {result.format(one)}" for one in known)
    found["@sortByAssociatedKeys"] = "; ".join(f"list(T).(list({one})) -> list(T)" for one in _COMPARED)
    return {name: tuple(map(_overload, variants.split("; "))) for name, variants in found.items()}


def _overload(text: str) -> Overload:
    signature, _, result = text.partition(" -> ")
    target, is_method, args = signature.rpartition(".(")
    if not is_method:
        args = signature[1:]
    types = read_type(f"args({args}") if args != ")" else CelType("args")
    found = (*((read_type(target),) if is_method else ()), *types.params)
    variables = dict.fromkeys(part for one in (*found, read_type(result)) for part in _variables(one))
    return Overload(bool(is_method), found, read_type(result), tuple(variables))


def _variables(found: CelType) -> list[CelType]:
    if found.is_variable:
        return [found]
    return [part for param in found.params for part in _variables(param)]
