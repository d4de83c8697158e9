"""Device memory: what it holds, where it went, how it is managed.

The library gives arrays memory from a pool per device, which asks the device for large pieces and keeps what arrays
give back. This module tells what the pool does (`memory_stats`, `memory_summary`, `memory_snapshot`, `page`, `leaks`),
sets how it does it (`set_memory_limit`, `set_allocator_settings`, `empty_cache`), and moves data by hand: tensors of a
given layout and alignment (`Descriptor`, `allocate`, `reuse`, `prepare`, `copy_back`), CANN's formats of tensors
(`convert_format`, `format_shape`, `choose_format`) and copies behind the program (`CopyQueue`). The
workspaces that operators ask for are in a table (`workspaces`) that may be kept on disk. Sizes are bytes everywhere.
"""

from .._core import empty_cache, memory_stats
from ._allocated import max_memory_allocated, memory_allocated
from ._formats import choose_format, convert_format, format_shape
from ._leaks import Leak, LeakError, leaks
from ._settings import reset_peak_memory_stats, set_allocator_settings, set_memory_limit
from ._snapshot import add_hook, memory_snapshot, page, record_history, remove_hook
from ._summary import memory_summary
from ._tensors import CopyQueue, Descriptor, Transfer, allocate, copy_back, prepare, reuse
from ._workspaces import (
    Workspace,
    record_workspaces,
    reserve_workspaces,
    save_workspaces,
    workspaces,
)

__all__ = [
    "CopyQueue", "Descriptor", "Leak", "LeakError", "Transfer", "Workspace", "add_hook", "allocate", "choose_format",
    "convert_format", "copy_back", "empty_cache", "format_shape", "leaks", "max_memory_allocated", "memory_allocated",
    "memory_snapshot", "memory_stats", "memory_summary", "page", "prepare", "record_history", "record_workspaces", "remove_hook",
    "reserve_workspaces", "reset_peak_memory_stats", "reuse", "save_workspaces", "set_allocator_settings",
    "set_memory_limit", "workspaces",
]  # fmt: skip


def __dir__():
    return __all__
