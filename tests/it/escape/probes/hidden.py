# Every way to read a hidden file: `.env` in the directory given, and a key two levels below.
import fcntl, mmap, subprocess
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


def mapped():
    file = os.open(".env", os.O_RDONLY)
    return "secret" if b"canary" in mmap.mmap(file, 0, prot=mmap.PROT_READ)[:] else "other"


def said(line):
    return "secret" if b"canary" in subprocess.run(line, shell=True, stdout=-1, stderr=-1).stdout else "other"


def spliced():
    file, (reader, writer) = os.open(".env", os.O_RDONLY), os.pipe()
    os.splice(file, writer, 100)
    return "secret" if b"canary" in os.read(reader, 100) else "other"


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
attempt("map", mapped)
attempt("copy-by-program", lambda: said("git init -q r; cd r; cp ../.env x; ln -s ../.env y; git add -f x; git show :x"))
attempt("case-twin", lambda: text(".ENV"))
attempt("as-program-input", lambda: said("cat <.env"))
attempt("splice", spliced)
