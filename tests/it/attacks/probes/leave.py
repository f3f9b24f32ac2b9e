# What is left in the working directory: each attack is a function, and each look another.
import shutil, socket as so, stat, subprocess
gone = os.path.lexists


def program(mode, name="program"):
    open(name, "w").write("#!/bin/sh\n")
    os.chmod(name, mode)


def mode_of(name, bits):
    return gone(name) and os.lstat(name).st_mode & bits


def made(kind, number=0):
    os.mknod("device", kind | 0o600, number)


def listening():
    so.socket(so.AF_UNIX).bind("made")


def through_a_link():
    shutil.rmtree("real")
    os.symlink("../../outside", "real")
    try:
        open("real/file", "w").write("evil\n")
    except OSError:
        pass


def below_a_link():
    os.symlink("../../outside", "two")
    try:
        os.mkdir("two/evil")
    except OSError:
        os.unlink("two")
        os.makedirs("two/evil")
        os.rename("two", "three")
        os.symlink("../../outside", "two")


def again(name):
    shell("rm -rf %s; mkdir -p $(dirname %s); echo evil >%s" % (name, name, name))


def shell(line):
    subprocess.run(line, shell=True, stderr=-3)


def marked(name, value):
    """In an overlay such attributes are kept under another name: of those none may come back."""
    os.makedirs("marked", exist_ok=True)
    os.setxattr("marked", name, value)


def has_mark(name):
    return gone("marked") and name in os.listxattr("marked")


def evil(path):
    return os.path.isfile(path) and "evil" in open(path).read()


def ways_out(name):
    return os.path.islink(name)


WAYS = {
    "set-user-id": (lambda: program(0o4755), lambda: mode_of("program", stat.S_ISUID)),
    "set-group-id": (lambda: program(0o2755), lambda: mode_of("program", stat.S_ISGID)),
    "mode-of-old": (lambda: os.chmod("real/file", 0o6755), lambda: mode_of("real/file", 0o6000)),
    "pipe": (lambda: os.mkfifo("made"), lambda: gone("made")),
    "socket": (listening, lambda: gone("made")),
    "device": (lambda: made(stat.S_IFCHR, os.makedev(1, 3)), lambda: gone("device")),
    "whiteout": (lambda: made(stat.S_IFCHR), lambda: gone("device")),
    "link-absolute": (lambda: os.symlink("/etc", "out"), lambda: ways_out("out")),
    "link-up": (lambda: os.symlink("../../outside", "out"), lambda: ways_out("out")),
    "link-by-way-of-a-name": (lambda: os.symlink("real/../../../outside", "out"), lambda: ways_out("out")),
    "directory-to-link": (through_a_link, lambda: evil("../../outside/file") or ways_out("real")),
    "link-to-directory": (below_a_link, lambda: gone("../../outside/evil") or ways_out("two")),
    "hidden-replaced": (lambda: again(".env"), lambda: evil(".env")),
    "hidden-by-parent": (lambda: shell("mv sub was; mkdir -p sub/deep; echo evil >sub/deep/id_rsa"),
                         lambda: evil("sub/deep/id_rsa")),
    "opaque-mark": (lambda: marked("user.overlay.opaque", b"y"), lambda: has_mark("user.overlay.opaque")),
    "redirect-mark": (lambda: marked("user.overlay.redirect", b"/etc"),
                      lambda: has_mark("user.overlay.redirect")),
    "hook": (lambda: shell("mkdir -p x/hooks; echo evil >x/hooks/pre-commit; mv x/hooks/pre-commit .git/hooks"),
             lambda: gone(".git/hooks/pre-commit")),
}
for name, (attack, look) in WAYS.items():
    attempt(name, lambda: attack() and None)
    attempt("left:" + name, lambda: "ok" if look() else "absent")
