# What every probe begins with: attempts are named, and each prints one word of what came of it.
# Where a probe sets `ONLY`, all but the attempts of those names are left out.
import ctypes, errno, os, re, sys

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
X86 = os.uname().machine == "x86_64"


def call(x86, arm, *arguments):
    """A raw system call by its number on x86-64 and aarch64."""
    def word(it):
        return ctypes.c_long(it) if isinstance(it, int) else it
    result = libc.syscall(ctypes.c_long(x86 if X86 else arm), *map(word, arguments))
    if result < 0:
        raise OSError(ctypes.get_errno(), "call")
    return result


def left_out(name):
    only = globals().get("ONLY")
    return only is not None and re.sub(r"[^a-zA-Z0-9:]", "_", name) not in only


def attempt(name, action):
    if left_out(name):
        return
    try:
        said = action()
        said = said if isinstance(said, str) else "ok"
    except OSError as error:
        said = errno.errorcode.get(error.errno, str(error))
    print(name, said, flush=True)


def forked(name, action):
    """Like attempt, in a child: for what may end the process or change it for good."""
    if left_out(name):
        return
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        attempt(name, action)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        print(name, "signal-%d" % os.WTERMSIG(status), flush=True)
