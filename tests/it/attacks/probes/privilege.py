# Ways to more rights, and devices. The directory of everything is given.
import fcntl, glob, resource, stat, subprocess
root = sys.argv[1]
NULL = ctypes.c_void_p(None)


def setuid_program():
    """A copy of a program with the bit, which says whose rights it has by what its mounts allow."""
    def allowed(path):
        return not os.statvfs(path).f_flag & os.ST_NOSUID
    programs = [path for path in ["/usr/bin/su", "/bin/su", "/usr/bin/passwd"] if os.path.exists(path)]
    status = open("/proc/self/status").read()
    return "ok" if any(map(allowed, programs)) and "NoNewPrivs:\t0" in status else "ignored"


def became_root():
    os.setuid(0)
    os.setresuid(0, 0, 0)
    return "ok" if open("/proc/self/status").read().split("CapEff:\t")[1][:16] != "0" * 16 else "nothing"


def capset(effective):
    header = (0x20080522).to_bytes(4, "little") + bytes(4)
    call(126, 91, header, effective.to_bytes(4, "little") * 3 + bytes(12))


def prctl(*words):
    if libc.prctl(*map(ctypes.c_ulong, words)) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def bounding():
    return "ok" if libc.prctl(23, 21) == 1 else "none"


def file_capabilities():
    open("capable", "w").close()
    word = (0x02000001).to_bytes(4, "little") + (1 << 21).to_bytes(4, "little") + bytes(12)
    os.setxattr("capable", "security.capability", word)


def given():
    open("given", "w").close()
    os.chown("given", 0 if os.getuid() else 1, -1)


def core():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return "limited" if resource.getrlimit(resource.RLIMIT_CORE) == (1, 1) else "ok"


def raised():
    name = resource.RLIMIT_NOFILE
    _, hard = resource.getrlimit(name)
    try:
        resource.setrlimit(name, (hard, hard + 1))
    except ValueError:
        raise OSError(errno.EPERM, "limit")


def locked():
    import mmap
    size = 1 << 28
    area = mmap.mmap(-1, size)
    call(149, 228, ctypes.addressof(ctypes.c_char.from_buffer(area)), size)


def device(path, kind=stat.S_IFCHR, number=os.makedev(1, 5)):
    os.mknod(path, kind | 0o600, number)
    os.unlink(path)


def opened(path):
    os.close(os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_NOCTTY))


def disks():
    found = [path for path in glob.glob("/dev/*") + glob.glob("/dev/*/*")
             if os.path.exists(path) and stat.S_ISBLK(os.stat(path).st_mode)] if os.path.isdir("/dev") else []
    for path in found:
        # Whoever may not read one knows that it is there, and no more.
        os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
        return "ok"
    return "absent"


def in_cgroups(name):
    for path in glob.glob("/sys/fs/cgroup/**/" + name, recursive=True):
        os.close(os.open(path, os.O_WRONLY))
        return "ok"
    return "absent"


def sys_files():
    os.close(os.open("/sys/kernel/uevent_helper" if os.path.exists("/sys/kernel/uevent_helper")
                     else "/sys/kernel/mm/transparent_hugepage/enabled", os.O_WRONLY))


attempt("setuid-program", setuid_program)
forked("setuid", became_root)
forked("setgroups", lambda: os.setgroups([0]))
forked("capabilities", lambda: capset(1 << 21))
forked("ambient", lambda: capset((1 << 21)) or prctl(47, 2, 21, 0, 0))
attempt("bounding", bounding)
attempt("file-capabilities", file_capabilities)
forked("secure-bits", lambda: prctl(28, 0, 0, 0, 0))
attempt("chown", given)
attempt("no-new-privs", lambda: "set" if "NoNewPrivs:\t1" in open("/proc/self/status").read() else "ok")
attempt("dumpable-core", core)
forked("raise-limits", raised)
forked("negative-nice", lambda: os.setpriority(os.PRIO_PROCESS, 0, -5))
forked("real-time", lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)))
forked("lock-memory", locked)
attempt("device-in-workspace", lambda: device("device"))
attempt("device-in-tmp", lambda: device("/tmp/endow-device-%d" % os.getpid()))
attempt("device-in-shm", lambda: device("/dev/shm/endow-device-%d" % os.getpid()))
attempt("block-device", lambda: device("block", stat.S_IFBLK, os.makedev(7, 0)))
attempt("new-in-dev", lambda: os.close(os.open("/dev/endow-new", os.O_CREAT | os.O_WRONLY)) or os.unlink("/dev/endow-new"))
for name, path in {"fuse": "fuse", "kvm": "kvm", "tun": "net/tun", "mem": "mem", "kmsg": "kmsg",
                   "uinput": "uinput", "loop": "loop-control", "vsock": "vsock",
                   "userfaultfd": "userfaultfd", "mapper": "mapper/control"}.items():
    attempt("dev-" + name, lambda: opened("/dev/" + path))
attempt("dev-disk", disks)
attempt("cgroup-release", lambda: in_cgroups("release_agent"))
attempt("cgroup-move", lambda: in_cgroups("cgroup.procs"))
attempt("sys-files", sys_files)
