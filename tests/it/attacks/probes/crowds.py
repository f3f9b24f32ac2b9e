# Processes and threads, far beyond the limit.
import signal, threading, time


def processes():
    children = []
    try:
        for _ in range(300):
            child = os.fork()
            if child == 0:
                time.sleep(20)
                os._exit(0)
            children.append(child)
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def threads():
    over = threading.Event()
    started = []
    try:
        for _ in range(300):
            started.append(threading.Thread(target=over.wait))
            started[-1].start()
    except RuntimeError:
        raise OSError(errno.EAGAIN, "thread")
    finally:
        over.set()


def zombies():
    """None of them is waited for before all are there."""
    children = []
    try:
        for _ in range(300):
            child = os.fork()
            if child == 0:
                os._exit(0)
            children.append(child)
    finally:
        for child in children:
            os.waitpid(child, 0)


def by_clone():
    """By posix_spawn, which uses vfork's way of it."""
    children = []
    try:
        for _ in range(300):
            children.append(os.posix_spawn("/bin/sleep", ["sleep", "20"], {}))
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


forked("processes", processes)
forked("threads", threads)
forked("processes-by-clone", by_clone)
forked("zombies", zombies)
