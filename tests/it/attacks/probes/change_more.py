# More ways, each on a tree as it was; appended to those of `escape`.
import mmap


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


attempt("rmdir-empty", lambda: os.rmdir(tree + "empty"))
attempt("link-in-by-descriptor", linked_in)
attempt("removexattr", unmarked)
attempt("rename-over", renamed_over)
attempt("map-shared", mapped)
attempt("by-descriptor", again)
attempt("by-handle", by_number)
attempt("fallocate", allocated)
attempt("clone", cloned)
