# Processes that stay: each writes the word for as long as it is there, and the look waits for it. The
# directory of everything is given.
import glob, signal, threading, time
root = sys.argv[1]
MARK = "alive-in-" + os.path.basename(root)


def renamed():
    """Its name in the list of processes, by which the look finds it."""
    word = MARK[-15:].encode()
    libc.prctl(15, word, 0, 0, 0)


def child(work):
    if os.fork():
        time.sleep(0.2)
        return
    renamed()
    os.setsid()
    null = os.open("/dev/null", os.O_RDWR)
    for number in range(3):
        os.dup2(null, number)
    end = time.monotonic() + 8
    while time.monotonic() < end:
        work()
    os._exit(0)


def sleeping():
    time.sleep(0.2)


def spinning():
    """Busy whenever somebody looks, and not all of the time: others want the processor."""
    end = time.monotonic() + 0.002
    while time.monotonic() < end:
        pass
    time.sleep(0.01)


def deaf():
    for number in range(1, 32):
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_IGN)
    time.sleep(1)


def twice():
    if os.fork() == 0:
        child(sleeping)
        os._exit(0)
    os.wait()


def in_thread():
    """The first thread ends; the other goes on."""
    def go():
        renamed()
        time.sleep(8)
        os._exit(0)
    threading.Thread(target=go).start()
    time.sleep(0.1)
    libc.syscall(60 if X86 else 93, 0)


def many():
    for _ in range(100):
        if os.fork() == 0:
            renamed()
            os.setsid()
            null = os.open("/dev/null", os.O_RDWR)
            for number in range(3):
                os.dup2(null, number)
            time.sleep(8)
            os._exit(0)
    time.sleep(0.2)


def late():
    time.sleep(1)
    open("late", "w").write("x")


def handed_on():
    time.sleep(0.01)
    if os.fork():
        os._exit(0)


def tracing():
    if os.fork() == 0:
        renamed()
        call(101, 117, 0, 0, 0, 0)
        os.kill(os.getpid(), signal.SIGSTOP)
        time.sleep(8)
        os._exit(0)
    os.wait()
    time.sleep(8)


def found():
    """Looks for a while: what ends at once is not left."""
    time.sleep(0.5)
    left = [path for path in glob.glob("/proc/[0-9]*/comm") if name_at(path) == MARK[-15:]]
    for path in left:
        os.kill(int(path.split("/")[2]), signal.SIGKILL)
    return "ok" if left else "absent"


def name_at(path):
    try:
        return open(path).read().strip()
    except OSError:
        return None


def written():
    time.sleep(2)
    return "ok" if os.path.exists("late") else "absent"


for name, attack in {"daemon": lambda: child(sleeping), "daemon-twice": twice,
                     "deaf": lambda: child(deaf),
                     "stopped": lambda: child(lambda: os.kill(os.getpid(), signal.SIGSTOP)),
                     "busy": lambda: child(spinning), "thread": lambda: child(in_thread),
                     "many": many, "late-write": lambda: child(late),
                     "chain": lambda: child(handed_on), "traced": lambda: child(tracing)}.items():
    attempt(name, attack)
    attempt("left:" + name, written if name == "late-write" else found)
