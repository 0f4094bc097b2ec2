"""State that is spent in one place: it has a lock, and neither copies nor child processes."""

from __future__ import annotations

import os
import threading
from abc import ABC
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Never, SupportsIndex, final

from dpproof.accountant.errors import NotShared

_INSTEAD: Final = (
    "each copy could be spent in full, so pass this object to functions and threads, or keep the "
    "budget in a dpproof.Ledger, which processes share"
)


class Undivided(ABC):  # a subclass says what is spent
    """A running sum that any thread of one process may add to, one at a time."""

    __slots__ = ("_lock", "_process")

    _lock: threading.Lock
    _process: int

    @final
    def __reduce_ex__(self, _: SupportsIndex) -> Never:
        """Refuse ``copy.copy``, ``copy.deepcopy`` and ``pickle``.

        Raises:
            NotShared: always.
        """
        raise NotShared(f"this {type(self).__name__} is not copied or pickled: {_INSTEAD}")

    @final
    def _own(self) -> None:
        """Belong to this process."""
        self._lock, self._process = threading.Lock(), os.getpid()

    @final
    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep all other threads from spending meanwhile.

        Raises:
            NotShared: in a process that was forked since. It is asked before the lock, which
                another thread of the parent may have held when the process was forked.
        """
        if os.getpid() != self._process:
            name = type(self).__name__
            raise NotShared(f"this {name} is not spent in a forked process: {_INSTEAD}")
        with self._lock:
            yield
