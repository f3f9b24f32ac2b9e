# Signals and settings that reach another process: its number is given, and that of its parent.
import fcntl, signal, socket as so, time
target, parent = int(sys.argv[1]), int(sys.argv[2])
NULL = ctypes.c_void_p(None)


def by_input():
    mine, other = so.socketpair()
    fcntl.fcntl(mine, fcntl.F_SETOWN, target)
    if fcntl.fcntl(mine, fcntl.F_GETOWN) != target:
        raise OSError(errno.ESRCH, "nobody")


def by_directory():
    directory = os.open("/proc/%d" % target, os.O_RDONLY)
    call(424, 424, directory, 0, ctypes.c_void_p(None), 0)


signal.signal(signal.SIGUSR1, signal.SIG_IGN)


def everybody():
    """Everybody there is inside, which is nobody but pid 1: what is outside is looked at later."""
    try:
        os.kill(-1, signal.SIGUSR1)
    except ProcessLookupError:
        pass
    return "contained"


def priority_of_all():
    os.setpriority(os.PRIO_USER, os.getuid(), 1)
    return "contained" if not os.path.exists("/proc/%d" % target) else "ok"


def stopped():
    os.kill(parent, signal.SIGSTOP)
    os.kill(parent, signal.SIGCONT)


def affinity():
    one = min(os.sched_getaffinity(0))
    os.sched_setaffinity(target, {one})


def limits():
    import resource
    resource.prlimit(target, resource.RLIMIT_NOFILE, (20, 20))


def adjusted():
    with open("/proc/%d/oom_score_adj" % target, "w") as file:
        file.write("1000")


def queued():
    about = ctypes.create_string_buffer(128)
    about[0:4] = (23).to_bytes(4, "little")
    about[8:12] = (-1 & 0xffffffff).to_bytes(4, "little")
    call(129, 138, target, 23, about)


def robust():
    head, size = ctypes.c_void_p(), ctypes.c_size_t()
    call(274, 100, target, ctypes.byref(head), ctypes.byref(size))


def scheduled():
    os.sched_setscheduler(target, os.SCHED_BATCH, os.sched_param(0))


attempt("kill", lambda: os.kill(target, signal.SIGCONT))
attempt("kill-group", lambda: os.kill(-target, signal.SIGCONT))
attempt("tgkill", lambda: call(234, 131, target, target, 18))
attempt("sigqueue", queued)
attempt("pidfd_open", lambda: os.close(call(434, 434, target, 0)))
attempt("pidfd_send_signal", by_directory)
attempt("signal-on-input", by_input)
attempt("stop-the-supervisor", stopped)
forked("everybody", everybody)
attempt("exists", lambda: os.kill(target, 0))
attempt("exists-by-group", lambda: os.getpgid(target) and None)
attempt("exists-by-session", lambda: os.getsid(target) and None)
attempt("exists-by-scheduler", lambda: os.sched_getscheduler(target) and None)
attempt("exists-by-proc", lambda: os.stat("/proc/%d" % target) and None)
attempt("priority", lambda: os.setpriority(os.PRIO_PROCESS, target, 1))
forked("priority-of-all", priority_of_all)
attempt("affinity", affinity)
attempt("scheduler", scheduled)
attempt("io-priority", lambda: call(251, 30, 1, target, 3 << 13))
attempt("limits", limits)
attempt("out-of-memory", adjusted)
attempt("move_pages", lambda: call(279, 239, target, 0, NULL, NULL, NULL, 0))
attempt("robust_list", robust)
