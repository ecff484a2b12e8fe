"""The walls that a process builds around itself: namespaces, no capabilities, Landlock, seccomp.

Only the shim calls this, single-threaded and once: nothing here can be undone, and everything is inherited by threads
and child processes. It imports next to nothing, because every sandboxed start waits for it: `_ctypes` takes
less than 1 ms, `ctypes` 4 (an interpreter that does nothing takes 8).
"""

import _ctypes
import posix

_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_PR_SET_PDEATHSIG, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 1, 24, 38
_SIGKILL = 9
_CAPABILITY_VERSION_3 = 0x20080522
_SECCOMP_SET_MODE_FILTER, _SECCOMP_NEW_LISTENER = 1, 8
_LANDLOCK_CREATE, _LANDLOCK_RESTRICT = 444, 446  # the same numbers on every machine
_LANDLOCK_VERSION = 1
_LANDLOCK_MAKE_CHAR, _LANDLOCK_TCP, _LANDLOCK_SCOPES = 1 << 6, 0b11, 0b11
_LAST_CAPABILITY = 63


class _Long(_ctypes._SimpleCData):  # type: ignore[type-arg]  # generic in stubs only
    _type_ = "l"


class _Char(_ctypes._SimpleCData):  # type: ignore[type-arg]
    _type_ = "c"


class _Function(_ctypes.CFuncPtr):
    _flags_ = 0x1 | 0x8  # C calling convention; errno kept for get_errno
    _restype_ = _Long


_LIBC = _ctypes.dlopen(None, 0)  # type: ignore[arg-type]  # None is the program itself, libc within


def _call(name: str, *arguments: int | bytes | None) -> int:
    """Call a function of libc; integers go as C longs. Raises OSError."""
    function = _Function(_ctypes.dlsym(_LIBC, name))
    result: int = function(*(_Long(a) if isinstance(a, int) else a for a in arguments))
    if result < 0:
        number = _ctypes.get_errno()
        raise OSError(number, posix.strerror(number), name)
    return result


def unshare() -> None:
    """Leave for a user and a network namespace of our own. Raises OSError where that is not allowed (nothing happened
    then)."""
    _call("unshare", _CLONE_NEWUSER | _CLONE_NEWNET)


def map_ids(uid: int, gid: int) -> None:
    """Be in the new user namespace who we were outside. Raises OSError where a policy takes the namespace's rights
    away again: there is no way back then, the process has to start anew."""
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        handle = posix.open(f"/proc/self/{name}", posix.O_WRONLY | posix.O_CLOEXEC)
        try:
            posix.write(handle, text.encode())
        finally:
            posix.close(handle)


def drop_capabilities() -> None:
    """Give up every capability for good, those that root would get back at the next exec included."""
    no_new_privileges()
    for capability in range(_LAST_CAPABILITY + 1):
        try:
            _call("prctl", _PR_CAPBSET_DROP, capability, 0, 0, 0)
        except OSError:
            # EINVAL: the kernel has no such capability. EPERM: an ordinary user has no bounding set to empty; with
            # no_new_privs an exec gives nothing back either way.
            break
    _call("capset", _CAPABILITY_VERSION_3.to_bytes(4, "little") + bytes(4), bytes(24))


def no_new_privileges() -> None:
    """No exec gives more rights than we have now. Unprivileged Landlock and seccomp need it."""
    _call("prctl", _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def die_with_parent() -> None:
    """Have the kernel kill this process when the thread that started it ends, however that comes about: an agent left
    behind would run on with nobody to answer it. Whatever changes our rights undoes it, so it comes last."""
    _call("prctl", _PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)


def landlock() -> int:
    """Close other processes' memory and, where the kernel can, abstract sockets, signals and TCP.

    Returns the kernel's Landlock version. Raises OSError where it has none. What a process may do with files stays as
    it is: the one right handled (making character devices) is there because a ruleset must handle something.
    """
    version = _call("syscall", _LANDLOCK_CREATE, None, 0, _LANDLOCK_VERSION)
    attributes = [_LANDLOCK_MAKE_CHAR]
    if version >= 4:
        attributes.append(_LANDLOCK_TCP)
    if version >= 6:
        attributes.append(_LANDLOCK_SCOPES)
    packed = b"".join(attribute.to_bytes(8, "little") for attribute in attributes)
    ruleset = _call("syscall", _LANDLOCK_CREATE, packed, len(packed), 0)
    no_new_privileges()
    try:
        _call("syscall", _LANDLOCK_RESTRICT, ruleset, 0)
    finally:
        posix.close(ruleset)
    return version


def seccomp(number: int, program: bytes, *, ask: bool) -> int | None:
    """Install a packed program; `number` is the machine's number of the `seccomp` call.

    With `ask`, returns the descriptor on which the supervisor is asked. Raises OSError.
    """
    no_new_privileges()
    code = type("_Code", (_ctypes.Array,), {"_type_": _Char, "_length_": len(program)})
    copy = code.from_buffer_copy(program)  # type: ignore[attr-defined]  # `type` hides what Array can do
    header = (len(program) // 8).to_bytes(8, "little") + _ctypes.addressof(copy).to_bytes(8, "little")
    flags = _SECCOMP_NEW_LISTENER if ask else 0
    result = _call("syscall", number, _SECCOMP_SET_MODE_FILTER, flags, header)
    return result if ask else None
