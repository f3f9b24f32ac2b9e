# Every way to change a tree: its path is given. Later attempts live with what earlier ones did.
import fcntl, stat, struct
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
attempt("rmdir", lambda: os.rmdir(link if os.path.isdir(link) and not os.path.islink(link) else sub))
