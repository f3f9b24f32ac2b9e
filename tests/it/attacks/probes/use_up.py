# Uses something up, far beyond the limit; the directory to fill is given.
import resource, signal, time
directory = sys.argv[1]


def open_files():
    return [os.open("/dev/null", os.O_RDONLY) for _ in range(300)] and None


def large(ignored):
    if ignored:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    else:
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    file = os.open("large", os.O_CREAT | os.O_WRONLY, 0o600)
    for _ in range(64):
        os.write(file, bytes(1 << 16))


def filled():
    for number in range(8):
        file = os.open("%s/part-%d" % (directory, number), os.O_CREAT | os.O_WRONLY, 0o600)
        os.write(file, bytes(1 << 19))


def named():
    for number in range(300):
        os.close(os.open("%s/name-%d" % (directory, number), os.O_CREAT | os.O_WRONLY, 0o600))


def spun(ignored):
    signal.signal(signal.SIGXCPU, signal.SIG_IGN if ignored else signal.SIG_DFL)
    end = time.process_time() + 4
    while time.process_time() < end:
        pass


def dumped():
    child = os.fork()
    if child == 0:
        os.abort()
    return "ok" if os.WCOREDUMP(os.waitpid(child, 0)[1]) else "none"


forked("open-files", open_files)
forked("file-size", lambda: large(True))
forked("file-size-signal", lambda: large(False))
forked("memory-files", filled)
forked("memory-names", named)
forked("processor-time", lambda: spun(False))
forked("processor-time-ignored", lambda: spun(True))
forked("core-dump", dumped)
