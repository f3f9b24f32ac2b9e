# Every way to a credential in the settings of repositories in the directory given.
import subprocess
tree = sys.argv[1]
os.chdir(tree)
SETTINGS = ".git/config"


def found(said, word=b"canary"):
    return "secret" if word in said else "other"


def text(path, word=b"canary", flags=0):
    file = os.open(path, os.O_RDONLY | flags)
    said = os.read(file, 10000)
    os.close(file)
    return found(said, word)


def handle(path):
    return text("/proc/self/fd/%d" % os.open(path, os.O_PATH))


def said(line):
    return found(subprocess.run(line, shell=True, stdout=-1, stderr=-1).stdout)


def linked():
    os.link(SETTINGS, "plain")
    return text("plain")


def renamed(old, new, read):
    os.rename(old, new)
    try:
        return text(read)
    finally:
        os.rename(new, old)


def exchanged():
    open("decoy", "w").close()
    call(316, 276, -100, SETTINGS.encode(), -100, b"decoy", 2)
    try:
        return text("decoy")
    finally:
        call(316, 276, -100, SETTINGS.encode(), -100, b"decoy", 2)


def removed():
    os.unlink(SETTINGS)
    return text(SETTINGS)


def unmounted():
    call(166, 39, SETTINGS.encode(), 2)
    return text(SETTINGS)


attempt("direct", lambda: text(SETTINGS, b"basic canary"))
attempt("by-git", lambda: said("git config --list --show-origin"))
attempt("address", lambda: text(SETTINGS, b"canary-word"))
attempt("rewritten-address", lambda: text(SETTINGS, b"canary-token"))
attempt("of-work-tree", lambda: text(".git/config.worktree"))
attempt("nested", lambda: text("below/nested/.git/config"))
attempt("of-submodule", lambda: text(".git/modules/part/of/config"))
attempt("of-bare", lambda: text("below/bare/config"))
attempt("by-link", lambda: text("below/linked/.git/config"))
attempt("handle", lambda: handle(SETTINGS))
attempt("no-follow", lambda: text(SETTINGS, flags=os.O_NOFOLLOW))
attempt("proc-root", lambda: text("/proc/self/root" + tree + "/" + SETTINGS))
attempt("archive", lambda: said("tar c .git"))
attempt("hard-link", linked)
attempt("rename", lambda: renamed(SETTINGS, "plain", "plain"))
attempt("exchange", exchanged)
attempt("unmount", unmounted)
attempt("rename-directory", lambda: renamed(".git", "moved", "moved/config"))
attempt("remove", removed)
