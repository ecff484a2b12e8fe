"""Build the walls around this process, tell the parent which ones stand, and become the agent.

A script, started by launch.py as `python -S -E shim.py PLAN ASKING SILENT ARGV...`; it imports almost nothing, since
every replay waits for it. PLAN holds integers: control descriptor, the seccomp call's number, then 1 or 0 for
namespace, Landlock, asking and for keeping LC_CTYPE. ASKING and SILENT are the two seccomp programs in hex. On the
control descriptor go lines `NAME NUMBER`, a negative number being an errno; it closes when the agent starts.
"""

import _signal  # type: ignore[import-not-found]  # `signal` without its enums: 2 ms less
import _socket
import posix
import sys

TYPE_CHECKING = False
if TYPE_CHECKING or __name__ != "__main__":
    from runreel.replay.sandbox import walls
else:
    import walls  # beside this file: a script's own folder is on its path, and runreel would take long to import


def build(plan: list[int], asking: bytes, silent: bytes, report: dict[str, int]) -> int | None:
    """Build what the plan asks for, as far as the kernel allows, and note it. Returns the listener, if there is one.

    Raises OSError where the filter is refused, or where a half made namespace cannot be undone.
    """
    _, number, namespace, landlock, ask, _ = plan
    if namespace:
        uid, gid = posix.geteuid(), posix.getegid()
        try:
            walls.unshare()
        except OSError as error:
            report["namespace"] = -(error.errno or 1)
        else:
            report["namespace"] = 0
            walls.map_ids(uid, gid)
            report["namespace"] = 1
    walls.drop_capabilities()
    if landlock:
        try:
            report["landlock"] = walls.landlock()
        except OSError as error:
            report["landlock"] = -(error.errno or 1)
    if ask:
        try:
            listener = walls.seccomp(number, asking, ask=True)
        except OSError as error:
            report["notify"] = -(error.errno or 1)
        else:
            report["notify"] = report["seccomp"] = 1
            return listener
    walls.seccomp(number, silent, ask=False)
    report["seccomp"] = 1
    return None


def main() -> None:
    """Never returns: execs the agent, or exits with 125 after telling the parent why."""
    plan = [int(number) for number in sys.argv[1].split(",")]
    control = _socket.socket(fileno=plan[0])
    posix.set_inheritable(plan[0], False)
    report: dict[str, int] = {}
    listener = None
    try:
        listener = build(plan, bytes.fromhex(sys.argv[2]), bytes.fromhex(sys.argv[3]), report)
        walls.die_with_parent()  # a parent that is gone already takes no report: that ends us too
    except OSError as error:
        report["retry" if report.get("namespace") == 0 else "seccomp"] = -(error.errno or 1)
    lines = "".join(f"{name} {number}\n" for name, number in report.items()).encode()
    if listener is None:
        control.sendmsg([lines])
    else:
        # The kernel made it close-on-exec: the agent never holds the descriptor that could answer its own calls.
        passed = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, listener.to_bytes(4, sys.byteorder))
        control.sendmsg([lines], [passed])
        posix.close(listener)
    if report.get("seccomp") == 1 and len(sys.argv) > 4:
        environment = posix.environ.copy()
        if not plan[5]:
            environment.pop(b"LC_CTYPE", None)  # this interpreter's own start set it, in the C locale
        for number in (_signal.SIGPIPE, _signal.SIGXFSZ):
            _signal.signal(number, _signal.SIG_DFL)  # Python ignores them, and what is ignored is inherited
        try:
            posix.execve(sys.argv[4], sys.argv[4:], environment)
        except OSError as error:
            control.sendmsg([f"exec {-(error.errno or 1)}\n".encode()])
    posix._exit(0 if report.get("seccomp") == 1 and len(sys.argv) == 4 else 125)


if __name__ == "__main__":
    main()
