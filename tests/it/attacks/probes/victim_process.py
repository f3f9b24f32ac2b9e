# A process of the user's that is there to be attacked: it holds a secret in its memory and its
# environment, sockets with and without a path, System V and POSIX memory and queues, and listens on
# the loopback. It says what it holds, and, when asked, whether it came to harm.
import contextlib, json, resource, select, signal, socket as so, time
root = sys.argv[1]
PRIVATE, IPC_CREAT = 0x66000000 | os.getpid(), 0o1000
name = os.path.basename(root)
libc.prctl(0x59616d61, ctypes.c_ulong(-1 & (1 << 64) - 1), 0, 0, 0)
reached = []
signal.signal(signal.SIGUSR1, lambda *_: reached.append("USR1"))
signal.signal(signal.SIGUSR2, lambda *_: reached.append("USR2"))
signal.signal(signal.SIGURG, lambda *_: reached.append("URG"))
signal.signal(signal.SIGIO, lambda *_: reached.append("IO"))
os.setpgid(0, 0)


def bound(family, kind, address, protocol=0):
    one = so.socket(family, kind, protocol)
    if family in (so.AF_INET, so.AF_INET6):
        one.setsockopt(so.SOL_SOCKET, so.SO_REUSEADDR, 1)
    one.bind(address)
    if kind != so.SOCK_DGRAM:
        one.listen()
    return one


KINDS = {"stream": so.SOCK_STREAM, "dgram": so.SOCK_DGRAM, "seqpacket": so.SOCK_SEQPACKET}
sockets = []
for kind, number in KINDS.items():
    sockets.append(bound(so.AF_UNIX, number, "\0%s.%s" % (name, kind)))
    for place in ["outside", "granted", "home/project", "copied"]:
        sockets.append(bound(so.AF_UNIX, number, "%s/%s/%s" % (root, place, kind)))
streams = [bound(so.AF_INET, so.SOCK_STREAM, ("127.0.0.1", 0)),
           bound(so.AF_INET6, so.SOCK_STREAM, ("::1", 0))]
datagrams = [bound(so.AF_INET, so.SOCK_DGRAM, ("127.0.0.1", 0)),
             bound(so.AF_INET6, so.SOCK_DGRAM, ("::1", 0))]
streams[0].setsockopt(so.IPPROTO_TCP, 23, 5)
sockets += streams + datagrams

shm = libc.shmget(PRIVATE, 4096, IPC_CREAT | 0o600)
libc.shmat.restype = ctypes.c_void_p
memory = ctypes.cast(libc.shmat(shm, None, 0), ctypes.POINTER(ctypes.c_char))
memory[0] = b"s"
sem = libc.semget(PRIVATE, 1, IPC_CREAT | 0o600)
msg = libc.msgget(PRIVATE, IPC_CREAT | 0o600)
sizes = b"".join(word.to_bytes(8, "little") for word in [0, 1, 16, 0, 0, 0, 0, 0])
queue = call(240, 180, name.encode(), os.O_CREAT | os.O_RDWR, 0o600, sizes)
open("/dev/shm/" + name, "w").close()
os.mkfifo(root + "/granted/pipe")
fifo = os.open(root + "/granted/pipe", os.O_RDONLY | os.O_NONBLOCK)
hold = os.open(root + "/granted/pipe", os.O_WRONLY)
sleeper = os.fork()
if sleeper == 0:
    signal.signal(signal.SIGUSR1, signal.SIG_DFL)
    libc.prctl(1, 9)
    libc.prctl(0x59616d61, ctypes.c_ulong(-1 & (1 << 64) - 1), 0, 0, 0)
    os.setpgid(0, 0)
    while True:
        time.sleep(60)


def state():
    about = open("/proc/%d/stat" % sleeper).read().rsplit(")", 1)[1].split()
    return [about[0] in "SR", os.getpriority(os.PRIO_PROCESS, sleeper),
            os.sched_getaffinity(sleeper) == os.sched_getaffinity(0),
            resource.prlimit(sleeper, resource.RLIMIT_NOFILE),
            open("/proc/%d/oom_score_adj" % sleeper).read(), memory[0],
            libc.semctl(sem, 0, 12), libc.shmget(PRIVATE, 1, 0) == shm,
            os.path.exists("/dev/shm/" + name)]


before = state()
print(json.dumps({
    "pid": sleeper, "parent": os.getpid(), "name": name, "shm": shm, "sem": sem, "msg": msg,
    "key": PRIVATE, "tcp": streams[0].getsockname()[1], "tcp6": streams[1].getsockname()[1],
    "udp": datagrams[0].getsockname()[1], "udp6": datagrams[1].getsockname()[1]}), flush=True)
sys.stdin.readline()
ready = select.select(sockets + [fifo], [], [], 0)[0]
reached += ["fifo" if one == fifo else str(one.getsockname()) for one in ready]
after = state()
print("unharmed" if after == before and not reached else "harmed: %s, was %s, reached by %s" %
      (after, before, reached), flush=True)
# An attack may have taken any of these away.
for removed in [lambda: os.kill(sleeper, 9), lambda: call(241, 181, name.encode()),
                lambda: os.unlink("/dev/shm/" + name), lambda: libc.shmctl(shm, 0, None),
                lambda: libc.semctl(sem, 0, 0), lambda: libc.msgctl(msg, 0, None)]:
    with contextlib.suppress(OSError):
        removed()
