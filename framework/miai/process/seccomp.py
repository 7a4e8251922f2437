"""Rights that a process gives up for good, for itself and all that it starts.

`restrict` installs a seccomp filter (Linux 3.5) and drops every capability, before any code of an
agent is loaded. A refused system call fails with EPERM. What the filter cannot decide, such as
whom a signal is for, is left to Landlock or to the sandbox's namespaces.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import platform
import struct
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_SET_NO_NEW_PRIVILEGES: Final = 38
_SECCOMP_SET_MODE_FILTER: Final = 1
_ALLOW: Final = 0x7FFF0000
_ERRNO: Final = 0x00050000
_LOAD: Final = 0x20  # BPF_LD | BPF_W | BPF_ABS
_EQUAL: Final = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
_AT_LEAST: Final = 0x35  # BPF_JMP | BPF_JGE | BPF_K
_ANY_BIT: Final = 0x45  # BPF_JMP | BPF_JSET | BPF_K
_RETURN: Final = 0x06  # BPF_RET | BPF_K
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
_X32: Final = 0x40000000
_NEW_NAMESPACES: Final = 0x7E020080  # every CLONE_NEW flag

_CALLS = tomllib.loads(Path(__file__).with_name("system_calls.toml").read_text("utf-8"))
_OWN_SECOND: Final = {"setpriority": (141, 140), "ioprio_set": (251, 30)}
"""System calls whose second argument is a process, and whose first says so."""
_ONE_PROCESS: Final = {"setpriority": 0, "ioprio_set": 1}

_SET_AFFINITY: Final = (203, 122)
_CLONE: Final = (56, 220)
_CLONE3: Final = (435, 435)

_MACHINES: Final = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}


def restrict(*, programs: bool = True, attributes: bool = True) -> bool:
    """Keep this process, and all that it starts, from acting on other processes.

    The calls that trace or limit other processes, that change their memory, priority or scheduling,
    or that make namespaces, are refused. Changing the processors that the process runs on is
    ignored, so that it stays on those that it was given. Every capability is dropped. It applies to
    this thread and those that it starts, so call it before there are others.

    Args:
      programs: whether other programs may be run.
      attributes: whether modes, owners and extended attributes of files may be changed; if not,
        changing their times is ignored.

    Returns:
      whether it was done: not on other systems than Linux, nor on other machines than x86-64 and
      AArch64.

    Raises:
      OSError: the kernel refused.
    """
    machine = _MACHINES.get(platform.machine())
    # A 32-bit Python makes the calls of a 32-bit system, whose numbers are others.
    if sys.platform != "linux" or machine is None or sys.maxsize < 1 << 32:
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    # The kernel accepts filters of ordinary users only with this, as a setuid program could be
    # misled by one.
    if libc.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl: PR_SET_NO_NEW_PRIVS")
    _drop_capabilities(libc)
    program = b"".join(_filter(*machine, programs=programs, attributes=attributes))
    code = ctypes.create_string_buffer(program, len(program))
    head = _Program(len(program) // 8, ctypes.addressof(code))
    number = (317, 277)[machine[0]]
    if libc.syscall(number, _SECCOMP_SET_MODE_FILTER, 0, ctypes.byref(head)):
        raise OSError(ctypes.get_errno(), "seccomp: the filter was refused")
    return True


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))


def _filter(column: int, architecture: int, *, programs: bool, attributes: bool) -> Iterator[bytes]:
    """Yield the filter's instructions. Every rule begins with the number of the call loaded."""
    # Errors, not a kill: libraries try calls that they can do without. Ignored calls do nothing and
    # report success: libraries set times and processors in passing, and an error would stop them.
    deny, ignore = _ERRNO | errno.EPERM, _ERRNO
    # The numbers mean other calls on other architectures, so a foreign one is refused whole.
    yield _step(_LOAD, _ARCHITECTURE)
    yield _step(_EQUAL, architecture, no=2)
    yield _step(_LOAD, _NUMBER)
    yield _step(_AT_LEAST, _X32, no=1)  # x32, a second set of numbers on x86-64
    yield _step(_RETURN, deny)
    for numbers in (*_CALLS["denied"].values(), *(() if programs else _CALLS["run"].values())):
        yield from _rule(numbers[column], _step(_RETURN, deny))
    for calls, answer in ((_CALLS["attributes"], deny), (_CALLS["times"], ignore)):
        for numbers in () if attributes else calls.values():
            for number in numbers[column : column + 1]:
                yield from _rule(number, _step(_RETURN, answer))
    yield from _rule(_SET_AFFINITY[column], _step(_RETURN, ignore))
    # Whose flags lie in memory, which a filter cannot read; the C library then uses clone.
    yield from _rule(_CLONE3[column], _step(_RETURN, _ERRNO | errno.ENOSYS))
    yield from _rule(
        _CLONE[column],
        _step(_LOAD, _ARGUMENTS),
        # Threads and forks are this call too, so its flags decide. They are in the low half of the
        # argument, which is the first one on both machines.
        _step(_ANY_BIT, _NEW_NAMESPACES, yes=0, no=1),
        _step(_RETURN, deny),
        _step(_RETURN, _ALLOW),
    )
    # Process 0 is the caller: its own limits and scheduling are its own affair.
    for numbers in _CALLS["own"].values():
        yield from _rule(numbers[column], *_require_zero(0))
    for name, numbers in _OWN_SECOND.items():
        yield from _rule(
            numbers[column],
            _step(_LOAD, _ARGUMENTS),
            _step(_EQUAL, _ONE_PROCESS[name], yes=1),
            _step(_RETURN, deny),
            *_require_zero(1),
        )
    yield _step(_RETURN, _ALLOW)


def _rule(number: int, *steps: bytes) -> Iterator[bytes]:
    """Yield the steps for one system call, which end with a return."""
    yield _step(_EQUAL, number, no=len(steps))
    yield from steps


def _require_zero(argument: int) -> tuple[bytes, ...]:
    return (
        _step(_LOAD, _ARGUMENTS + 8 * argument),
        _step(_EQUAL, 0, yes=1),
        _step(_RETURN, _ERRNO | errno.EPERM),
        _step(_RETURN, _ALLOW),
    )


def _step(code: int, value: int, *, yes: int = 0, no: int = 0) -> bytes:
    """Return an instruction; `yes` and `no` are how many instructions a jump skips."""
    return struct.pack("=HBBI", code, yes, no, value)


def _drop_capabilities(libc: ctypes.CDLL) -> None:
    """Drop every capability, which root has."""
    for capability in range(64):
        libc.prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP; EINVAL after the last one
    with contextlib.suppress(AttributeError):
        header = struct.pack("=Ii", 0x20080522, 0)  # _LINUX_CAPABILITY_VERSION_3, this process
        if libc.capset(header, bytes(24)):
            raise OSError(ctypes.get_errno(), "capset: the capabilities were not dropped")
