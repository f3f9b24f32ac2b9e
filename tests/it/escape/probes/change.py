# Every way to change a tree: its path is given. Later attempts live with what earlier ones did.
import fcntl, mmap, stat, struct
tree = sys.argv[1] + "/"
file, sub, link = tree + "file", tree + "sub", tree + "link"


def opened(path, flags, mode=0o600):
    os.close(os.open(path, flags, mode))


def flags():
    descriptor = os.open(file, os.O_RDONLY)
    word = bytearray(8)
    fcntl.ioctl(descriptor, 0x80086601, word)
    fcntl.ioctl(descriptor, 0x40086602, bytes(word))


def by_handle():
    descriptor = os.open(file, os.O_PATH)
    os.chmod("/proc/self/fd/%d" % descriptor, 0o640)


def linked_in():
    held = os.open(file, os.O_PATH)
    call(265, 37, -100, b"/proc/self/fd/%d" % held, -100, b"linked", 0x400)


def unmarked():
    try:
        os.removexattr(file, "user.none")
    except OSError as error:
        if error.errno != errno.ENODATA:
            raise


def renamed_over():
    open("other", "w").close()
    os.rename("other", file)


def mapped():
    held = os.open(file, os.O_RDWR)
    mmap.mmap(held, 1, mmap.MAP_SHARED, mmap.PROT_WRITE)[0] = 88


def again():
    held = os.open(file, os.O_RDONLY)
    os.close(os.open("/proc/self/fd/%d" % held, os.O_WRONLY))


def by_number():
    handle = ctypes.create_string_buffer((128).to_bytes(4, "little") + bytes(140), 144)
    call(303, 264, -100, file.encode(), handle, ctypes.byref(ctypes.c_int()), 0)
    os.close(call(304, 265, os.open(tree, os.O_RDONLY), handle, os.O_WRONLY))


def allocated():
    """By a descriptor that may only be read: nothing may come of that either."""
    try:
        held = os.open(file, os.O_WRONLY)
    except OSError:
        held = os.open(file, os.O_RDONLY)
    os.posix_fallocate(held, 0, 1 << 16)


def cloned():
    with open("source", "w") as source:
        source.write("evil")
    fcntl.ioctl(os.open(file, os.O_WRONLY), 0x40049409, os.open("source", os.O_RDONLY))


attempt("write", lambda: opened(file, os.O_WRONLY))
attempt("append", lambda: opened(file, os.O_WRONLY | os.O_APPEND))
attempt("truncate-open", lambda: opened(tree + "sub/other", os.O_RDWR | os.O_TRUNC))
attempt("truncate", lambda: os.truncate(sub + "/other", 0))
attempt("create", lambda: opened(tree + "new", os.O_CREAT | os.O_EXCL | os.O_WRONLY))
attempt("tmpfile", lambda: opened(tree, os.O_TMPFILE | os.O_RDWR))
attempt("mkdir", lambda: os.mkdir(tree + "newdir"))
attempt("symlink", lambda: os.symlink("x", tree + "newlink"))
attempt("link", lambda: os.link(file, tree + "hard"))
attempt("link-in", lambda: os.link(file, "hard-%d" % os.getpid()))
attempt("mkfifo", lambda: os.mkfifo(tree + "fifo"))
attempt("mksocket", lambda: os.mknod(tree + "socket", stat.S_IFSOCK | 0o600))
attempt("mknod-null", lambda: os.mknod(tree + "null", stat.S_IFCHR | 0o600, os.makedev(1, 3)))
attempt("chmod", lambda: os.chmod(file, 0o644))
attempt("chmod-handle", by_handle)
attempt("fchmodat2", lambda: call(452, 452, -100, file.encode(), 0o644, 0))
attempt("chown", lambda: os.chown(file, os.getuid(), os.getgid()))
attempt("lchown", lambda: os.lchown(link, os.getuid(), os.getgid()))
attempt("utimes", lambda: os.utime(file, (1, 1)))
attempt("setxattr", lambda: os.setxattr(file, "user.endow", b"x"))
attempt("flags", flags)
attempt("rename", lambda: os.rename(file, tree + "renamed"))
attempt("rename-exchange", lambda: call(316, 276, -100, sub.encode(), -100, link.encode(), 2))
attempt("rename-out", lambda: os.rename(sub + "/other" if os.path.isdir(sub) else link + "/other", "moved"))
attempt("unlink", lambda: os.unlink(tree + "renamed" if os.path.exists(tree + "renamed") else file))
attempt("rmdir", lambda: os.rmdir(tree + "empty"))
attempt("link-in-by-descriptor", linked_in)
attempt("removexattr", unmarked)
attempt("rename-over", renamed_over)
attempt("map-shared", mapped)
attempt("by-descriptor", again)
attempt("by-handle", by_number)
attempt("fallocate", allocated)
attempt("clone", cloned)
