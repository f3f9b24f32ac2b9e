# Looks for a word wherever a process can look; it is given in reverse, so that looking for it
# brings no copy in.
import os
import stat
import sys

BACKWARDS = sys.argv[1].encode()
SKIPPED = ("/proc", "/sys", "/usr", "/opt")


def has(data):
    return BACKWARDS in data[::-1]


def files(top):
    for where, directories, names in os.walk(top):
        directories[:] = [it for it in directories if os.path.join(where, it) not in SKIPPED]
        yield from (os.path.join(where, name) for name in names + directories)


def bytes_of(path):
    """The name, where a link leads, the attributes and the content."""
    found = os.fsencode(path)
    try:
        kind = os.lstat(path).st_mode
        if stat.S_ISLNK(kind):
            found += os.fsencode(os.readlink(path))
        for name in os.listxattr(path, follow_symlinks=False):
            found += os.getxattr(path, name, follow_symlinks=False)
        if stat.S_ISREG(kind) and os.path.getsize(path) < 8 << 20:
            found += open(path, "rb").read()
    except OSError:
        pass
    return found


def memory(pid):
    """What the process has in memory, as far as it can be read."""
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as held:
        for line in maps:
            place, access = line.split()[:2]
            if "r" not in access or "[v" in line:
                continue
            start, end = (int(it, 16) for it in place.split("-"))
            try:
                held.seek(start)
                yield held.read(min(end - start, 64 << 20))
            except OSError:
                pass


def of_process(pid):
    for name in ("environ", "cmdline", "status", "mountinfo", "net/tcp", "net/unix", "fdinfo/0"):
        try:
            yield open(f"/proc/{pid}/{name}", "rb").read()
        except OSError:
            pass
    try:
        yield from (bytes_of(f"/proc/{pid}/fd/{it}") for it in os.listdir(f"/proc/{pid}/fd"))
        yield from memory(pid)
    except OSError:
        pass


def report(name, found):
    print(name, "found" if found else "clean")


own = str(os.getpid())
others = [it for it in os.listdir("/proc") if it.isdigit() and it != own]
report("environment", any(has(os.fsencode(f"{n}={v}")) for n, v in os.environ.items()))
report("files", any(has(bytes_of(path)) for path in files("/")))
report("processes", any(has(it) for pid in others for it in of_process(pid)))
report("itself", any(has(it) for it in memory(own)))
report("seen", len(others) < 2)
