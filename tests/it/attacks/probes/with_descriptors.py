# Opens a directory, files, sockets and more outside, and becomes the command that is given.
import fcntl, socket as so
root = os.environ["ROOT"]


def at(number, opened):
    os.dup2(opened, number)


at(9, os.open(root + "/outside", os.O_RDONLY | os.O_DIRECTORY))
at(10, os.open("/", os.O_RDONLY | os.O_DIRECTORY))
at(11, os.open(root + "/home/secret", os.O_RDONLY))
at(12, os.open(root + "/outside/file", os.O_WRONLY | os.O_APPEND))
at(1000, os.open(root + "/home/secret", os.O_RDONLY))
at(13, os.open(root + "/home/secret", os.O_PATH))
mine, theirs = so.socketpair()
so.send_fds(mine, [b"x"], [9])
held = fcntl.fcntl(mine.fileno(), fcntl.F_DUPFD, 500)
at(14, theirs.fileno())
listener = so.socket()
listener.bind(("127.0.0.1", 0))
listener.listen()
at(15, listener.fileno())
at(16, os.pidfd_open(os.getpid()))
at(17, os.memfd_create("memory"))
os.write(17, b"canary")
at(18, call(290, 19, 0, 0))
at(19, call(294, 26, 0))
at(20, os.open("/proc/self/ns/mnt", os.O_RDONLY))
at(0, os.open(root + "/outside/sub/other", os.O_RDONLY))
for number in [held] + list(range(9, 21)) + [1000]:
    os.set_inheritable(number, True)
os.execvp(sys.argv[1], sys.argv[1:])
