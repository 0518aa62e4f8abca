"""
Creates msgspec decoders under a lock, so that only one thread at a time creates one.

On the first use of a struct type, msgspec creates a table of its fields and stores the table in the type
before the table is complete. If a second thread uses the type at this point, it reads invalid memory, and the
process crashes. For this reason, types are passed to msgspec only here, under a lock. Reading a complete
table is safe.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache
from typing import Any, Final, TypeVar, overload

import msgspec

T = TypeVar("T")
Hook = Callable[[type, Any], Any]

# The lock is reentrant because msgspec may have to import a module to resolve an annotation, and the module
# may create decoders itself.
_MAKING: Final = threading.RLock()


@overload
def decoder_of(
    of: type[T], dec_hook: Hook | None = None, *, strict: bool = True
) -> msgspec.json.Decoder[T]: ...
@overload
def decoder_of(
    of: Any, dec_hook: Hook | None = None, *, strict: bool = True
) -> msgspec.json.Decoder[Any]: ...
def decoder_of(of: Any, dec_hook: Hook | None = None, *, strict: bool = True) -> msgspec.json.Decoder[Any]:
    """
    Return a decoder of JSON, shared by all callers because it holds no state.

    Raises: TypeError for a type that msgspec refuses. Threads: any thread can call this function.
    """
    try:
        return _made(of, dec_hook, strict)
    except TypeError as error:
        if "unhashable" not in str(error):
            raise
        return _made.__wrapped__(of, dec_hook, strict)


@cache
def _made(of: Any, dec_hook: Hook | None, strict: bool) -> msgspec.json.Decoder[Any]:  # noqa: FBT001 - a key
    with _MAKING:
        return msgspec.json.Decoder(of, dec_hook=dec_hook, strict=strict)


@overload
def converted(value: Any, of: type[T], dec_hook: Hook | None = None) -> T: ...
@overload
def converted(value: Any, of: Any, dec_hook: Hook | None = None) -> Any: ...
def converted(value: Any, of: Any, dec_hook: Hook | None = None) -> Any:
    """
    Return the value converted to that type, like msgspec.convert.

    Raises: the same TypeError as decoder_of; msgspec.ValidationError if the value does not fit.
    Threads: any thread can call this function.
    """
    decoder_of(of, dec_hook)
    return msgspec.convert(value, of, dec_hook=dec_hook)
