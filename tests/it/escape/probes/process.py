# Attacks on one process: the memory, the descriptors and the words of another.
target = int(sys.argv[1])
PTRACE_ATTACH, PTRACE_DETACH, PTRACE_SEIZE = 16, 17, 0x4206


def read(path):
    with open(path, "rb", buffering=0) as file:
        return "ok" if file.read(1) else "empty"


def look(name):
    return lambda: os.stat("/proc/%d/%s" % (target, name)) and None


def memory(flags):
    maps = open("/proc/self/maps").readline().split("-")[0]
    file = os.open("/proc/%d/mem" % target, flags)
    os.close(file)


def seize():
    call(101, 117, PTRACE_SEIZE, target, 0, 0)


def traced():
    call(101, 117, PTRACE_ATTACH, target, 0, 0)
    os.waitpid(target, 0x40000000)
    call(101, 117, PTRACE_DETACH, target, 0, 0)


def descriptor(number):
    held = call(434, 434, target, 0)
    call(438, 438, held, number, 0)


class Piece(ctypes.Structure):
    _fields_ = [("at", ctypes.c_void_p), ("size", ctypes.c_size_t)]


def pieces(x86, arm):
    page = ctypes.create_string_buffer(16)
    here = Piece(ctypes.addressof(page), 16)
    # Its own address there is that of nothing, or of something else: permission is asked for first.
    try:
        call(x86, arm, target, ctypes.byref(here), 1, ctypes.byref(here), 1, 0)
    except OSError as error:
        if error.errno != errno.EFAULT:
            raise


def advised():
    there = Piece(4096, 4096)
    # MADV_COLD: permission is asked for first, then the address, where nothing is.
    try:
        call(440, 440, call(434, 434, target, 0), ctypes.byref(there), 1, 20, 0)
    except OSError as error:
        if error.errno != errno.ENOMEM:
            raise


def program():
    try:
        os.close(os.open("/proc/%d/exe" % target, os.O_WRONLY))
    except OSError as error:
        # It runs, and that alone is in the way.
        if error.errno != errno.ETXTBSY:
            raise


attempt("mem-read", lambda: memory(os.O_RDONLY))
attempt("mem-write", lambda: memory(os.O_RDWR))
attempt("environ", lambda: read("/proc/%d/environ" % target))
attempt("maps", lambda: read("/proc/%d/maps" % target))
attempt("auxv", lambda: read("/proc/%d/auxv" % target))
attempt("stack", lambda: read("/proc/%d/syscall" % target))
for link in ["root", "cwd", "exe"]:
    attempt(link, look(link))
for name in ["user", "mnt", "net", "pid"]:
    attempt("ns-" + name, look("ns/" + name))
# Root may list the numbers of its other processes' descriptors, and no more.
attempt("fd", lambda: [os.readlink("/proc/%d/fd/%s" % (target, number))
                       for number in os.listdir("/proc/%d/fd" % target)] and None)
attempt("fdinfo", lambda: os.listdir("/proc/%d/fdinfo" % target) and None)
attempt("map_files", lambda: os.listdir("/proc/%d/map_files" % target) and None)
attempt("pidfd_getfd", lambda: descriptor(0))
attempt("kcmp", lambda: call(312, 272, os.getpid(), target, 2, 0, 0) and None)
attempt("process_vm_readv", lambda: pieces(310, 270))
forked("process_vm_writev", lambda: pieces(311, 271))
attempt("process_madvise", advised)
attempt("exe-write", program)
forked("ptrace-seize", seize)
forked("ptrace-attach", traced)
