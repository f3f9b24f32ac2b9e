# Descriptors that were left open: 9 and further, and 1000. The directory of everything is given.
import signal, socket as so
root = sys.argv[1]


def text(number, **how):
    return None if os.read(number, 100) else "empty"


def below(directory, path, flags=os.O_RDONLY):
    os.close(os.open(path, flags, 0o600, dir_fd=directory))


def entered():
    os.fchdir(9)
    text(os.open("file", os.O_RDONLY))


def rights():
    _, found, _, _ = so.recv_fds(so.socket(fileno=os.dup(14)), 10, 1)
    below(found[0], "file")


def every():
    try:
        high = [it for it in range(3, 4096) if os.path.exists("/proc/self/fd/%d" % it)]
        # One is that by which the list itself is read.
        return "ok" if high else "none"
    except OSError:
        return "none"


def stdin():
    os.close(os.open("/proc/self/fd/0", os.O_WRONLY))
    # An action has another one.
    return "null" if os.path.samefile("/proc/self/fd/0", "/dev/null") else None


attempt("inherited-directory", lambda: below(9, "file"))
attempt("inherited-directory-write", lambda: below(9, "planted", os.O_CREAT | os.O_WRONLY))
attempt("inherited-directory-upwards", lambda: below(9, "../home/secret"))
forked("inherited-directory-enter", entered)
attempt("inherited-root", lambda: below(10, root.lstrip("/") + "/home/secret"))
attempt("inherited-file", lambda: text(11))
attempt("inherited-file-write", lambda: os.write(12, b"x") and None)
attempt("inherited-file-high", lambda: text(1000))
attempt("inherited-path", lambda: text(os.open("/proc/self/fd/13", os.O_RDONLY)))
attempt("inherited-rights", rights)
attempt("inherited-socket", lambda: os.write(14, b"x") and None)
attempt("inherited-listener", lambda: so.socket(fileno=os.dup(15)).getsockname() and None)
attempt("inherited-process", lambda: call(424, 424, 16, 0, ctypes.c_void_p(None), 0))
attempt("inherited-process-files", lambda: os.close(call(438, 438, 16, 0, 0)))
attempt("inherited-memory", lambda: os.pread(17, 6, 0) and None)
attempt("inherited-counter", lambda: os.write(18, bytes(8)) and None)
attempt("inherited-watch", lambda: call(254, 27, 19, b"/", 0x100) and None)
attempt("inherited-namespace", lambda: os.fstat(20) and None)
attempt("every-descriptor", every)
attempt("stdin-write", stdin)
attempt("stdin-beside", lambda: os.close(os.open("/proc/self/fd/0/../../file", os.O_RDONLY)))
attempt("working-directory", lambda: os.close(os.open("../secret", os.O_RDONLY)))
attempt("working-directory-by-proc", lambda: os.close(os.open("/proc/self/cwd/../secret", os.O_RDONLY)))
