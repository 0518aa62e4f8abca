"""
Decoders of msgspec, each made by only one thread.

The first use of a struct type makes msgspec's table of its fields, and puts it into the type before it is
complete: a second thread that uses the type meanwhile reads memory that does not exist yet, and the process
ends with a segmentation fault. So types meet msgspec here, under a lock; a complete table is only read.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache
from typing import Any, Final, TypeVar, overload

import msgspec

T = TypeVar("T")
Hook = Callable[[type, Any], Any]

# reentrant: a name in an annotation is looked up under this lock, which may load a module
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
    A decoder of JSON, shared by all callers, as it holds no state.

    Raises: TypeError for a type that msgspec refuses. Threads: any.
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
    As msgspec.convert: the value as that type.

    Raises: TypeError as decoder_of, msgspec.ValidationError. Threads: any.
    """
    decoder_of(of, dec_hook)
    return msgspec.convert(value, of, dec_hook=dec_hook)
