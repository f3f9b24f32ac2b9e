# Requests to the terminal that is standard input, and looks at others.
import fcntl


def asked(request, byte):
    request = request - (1 << 64) if request >> 63 else request
    call(16, 29, 0, request, ctypes.create_string_buffer(byte))


def stolen():
    """In a session of its own, which has no terminal, and with 1 for: by force."""
    os.setsid()
    call(16, 29, 0, 0x540E, 1)


def signalled():
    """The group in front would get a signal for each key."""
    flags = fcntl.fcntl(0, fcntl.F_GETFL)
    fcntl.fcntl(0, fcntl.F_SETFL, flags | 0x2000)
    fcntl.fcntl(0, fcntl.F_SETFL, flags)


def stopped():
    """Output, which goes on at once."""
    call(16, 29, 0, 0x540A, 0)
    call(16, 29, 0, 0x540A, 1)


def others():
    """Its own is one; any more are those of somebody else."""
    names = [name for name in os.listdir("/dev/pts") if name != "ptmx"]
    return "ok" if len(names) > 1 else "absent"


attempt("sti", lambda: asked(0x5412, b"\n"))
attempt("sti-high", lambda: asked(0x5412 | 1 << 32, b"\n"))
attempt("sti-top", lambda: asked(0x5412 | 1 << 63, b"\n"))
attempt("linux", lambda: asked(0x541C, b"\3"))
attempt("linux-high", lambda: asked(0x541C | 1 << 32, b"\3"))
attempt("discipline", lambda: asked(0x5423, b"\x03\0\0\0"))
attempt("console", lambda: call(16, 29, 0, 0x541D, 0))
forked("steal", stolen)
forked("signal-flag", signalled)
attempt("stopped", stopped)
attempt("keyboard", lambda: call(16, 29, 0, 0x4B45, 4))
attempt("graphics", lambda: call(16, 29, 0, 0x4B3A, 1))
attempt("switched", lambda: call(16, 29, 0, 0x5606, 63))
attempt("others-listed", others)
attempt("virtual-console", lambda: os.close(os.open("/dev/tty1", os.O_RDWR | os.O_NONBLOCK | os.O_NOCTTY)))
# The last one: nothing opens it by name afterwards.
attempt("exclusive", lambda: asked(0x540C, b""))
