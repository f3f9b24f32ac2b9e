# Every way to read a hidden file: `.env` in the directory given, and a key two levels below.
import fcntl
tree = sys.argv[1]
os.chdir(tree)


def text(path, **how):
    file = os.open(path, os.O_RDONLY, **how)
    said = os.read(file, 100)
    os.close(file)
    return "secret" if b"canary" in said else "other"


def handle(path):
    return text("/proc/self/fd/%d" % os.open(path, os.O_PATH))


def renamed(old, new):
    os.rename(old, new)
    return text(new)


def moved_parent():
    os.rename("sub", "moved")
    try:
        return text("moved/deep/id_rsa")
    finally:
        os.rename("moved", "sub")


def linked():
    os.link(".env", "plain")
    return text("plain")


def linked_handle():
    file = os.open(".env", os.O_PATH)
    call(265, 37, -100, b"/proc/self/fd/%d" % file, -100, b"plain", 0x400)
    return text("plain")


def exchanged():
    open("decoy", "w").close()
    call(316, 276, -100, b".env", -100, b"decoy", 2)
    return text("decoy")


def removed():
    os.unlink(".env")
    return text(".env")


attempt("direct", lambda: text(".env"))
attempt("dots", lambda: text("sub/../.env"))
attempt("absolute", lambda: text(tree + "/.env"))
attempt("deep", lambda: text("sub/deep/id_rsa"))
attempt("handle", lambda: handle(".env"))
attempt("directory", lambda: text(".env", dir_fd=os.open(".", os.O_RDONLY)))
attempt("proc-cwd", lambda: text("/proc/self/cwd/.env"))
attempt("proc-root", lambda: text("/proc/self/root" + tree + "/.env"))
attempt("symlink", lambda: os.symlink(".env", "soft") or text("soft"))
attempt("hard-link", linked)
attempt("hard-link-handle", linked_handle)
attempt("rename", lambda: renamed(".env", "plain"))
attempt("rename-parent", moved_parent)
attempt("exchange", exchanged)
attempt("chmod", lambda: os.chmod(".env", 0o644) or text(".env"))
attempt("write", lambda: os.close(os.open(".env", os.O_WRONLY)))
attempt("truncate", lambda: os.truncate(".env", 0))
attempt("remove", removed)
attempt("in-directory", lambda: text(".ssh/config"))
attempt("list-directory", lambda: os.listdir(".ssh") and "secret" or "other")
