# What the command sees of its confinement, one fact a line. Arguments: the world's root, the host's
# namespaces, then paths, of which each is read and written.
import ctypes, errno, os, re, resource, socket, sys, time

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
X86 = os.uname().machine == "x86_64"
root, host, paths = sys.argv[1], set(sys.argv[2].split(",")), sys.argv[3:]
facts = []


def say(about, found):
    line = ("%s = %s" % (about, found)).replace(root, "ROOT").replace(os.environ.get("ENDOW_RUN", "no run"), "RUN")
    # Numbers that are others each time: of files without a name, and of runs that the command is not told.
    line = re.sub(r"/#\d+|(?<=/runs/)\w{16}(?=/)", "N", line)
    # Where endow may not open its own directory, it takes one in that for temporary files.
    line = line.replace("ROOT/tmp/endow/state/", "ROOT/state/")
    facts.append(line.replace("\n", "\\n"))


def call(x86, arm, *arguments):
    result = libc.syscall(ctypes.c_long(x86 if X86 else arm), *map(ctypes.c_long, arguments))
    if result < 0:
        raise OSError(ctypes.get_errno(), "call")


def attempt(name, action):
    try:
        said = action()
        say("may " + name, "yes" if said is None else said)
    except OSError as error:
        say("may " + name, errno.errorcode.get(error.errno, error))


def text(path):
    with open(path) as file:
        return file.read()


def status(path, wanted):
    lines = dict(line.split(":", 1) for line in text(path).splitlines())
    return {name: " ".join(lines[name].split()) for name in wanted if name in lines}


def guarded(part):
    """At level `landlock` there is no /proc to ask."""
    try:
        part()
    except OSError as error:
        say(part.__name__, errno.errorcode[error.errno])


def of_calls():
    for name, number in {"no_new_privs": 39, "seccomp": 21, "dumpable": 3, "securebits": 27}.items():
        say("self " + name, libc.prctl(number, 0, 0, 0, 0))
    say("self bounding", [libc.prctl(23, number, 0, 0, 0) for number in range(64)])
    header, sets = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    say("self capabilities", (libc.capget(header, sets), list(sets)))
    say("self ids", (os.getresuid(), os.getresgid(), os.getgroups()))


def identity():
    wanted = ("Uid Gid Groups CapInh CapPrm CapEff CapBnd CapAmb NoNewPrivs Seccomp Seccomp_filters "
              "SigBlk SigIgn Umask Speculation_Store_Bypass")
    for name, value in status("/proc/self/status", wanted.split()).items():
        say("self " + name, value)


def maps():
    for name in ("uid_map", "gid_map", "setgroups"):
        say("self " + name, " ".join(text("/proc/self/" + name).split()))


def namespaces():
    for name in sorted(os.listdir("/proc/self/ns")):
        link = os.readlink("/proc/self/ns/" + name)
        say("namespace " + name, "host" if link in host else "own")


def process():
    say("session", "own" if os.getsid(0) == os.getpid() else "other")
    for name in sorted(dir(resource)):
        if name.startswith("RLIMIT_"):
            say("limit " + name, resource.getrlimit(getattr(resource, name)))
    for name in sorted(set(os.environ) - {"PROBE_PORTS"}):
        say("variable " + name, os.environ[name])
    say("directory", os.getcwd())
    say("name", os.uname().nodename)


def descriptors():
    # Of python's own and those of whoever runs the tests: what is not closed on exec came from before.
    for number in sorted(map(int, os.listdir("/proc/self/fd"))):
        try:
            if os.get_inheritable(number) or number < 3:
                say("descriptor %d" % number, re.sub(r":\[\d+", ":[N", os.readlink("/proc/self/fd/%d" % number)))
        except OSError:
            pass


def mounts():
    for line in text("/proc/self/mountinfo").splitlines():
        before, _, after = line.partition(" - ")
        words = before.split()
        options = re.sub(r"\d+:\d+|/proc/self/fd/\d+", "N", " ".join(after.split()))
        # Such a tree stands there in one of two forms.
        options = options.replace("::N", "") if words[4] in ("/", "/build") else options
        source = re.sub(r"/p\d+$", "/private", words[3])
        say("mount %s of %s" % (words[4], source), words[5] + " " + options)


def settled(pid):
    """Pid 1 installs its filter while the command starts."""
    wanted = "CapPrm CapEff CapBnd CapAmb NoNewPrivs Seccomp Seccomp_filters".split()
    for _ in range(200):
        found = status("/proc/%d/status" % pid, wanted)
        if found["Seccomp"] == "2":
            break
        time.sleep(0.01)
    return found


def pid_1():
    pid = os.getppid()
    try:
        for name, value in settled(pid).items():
            say("pid 1 " + name, value)
    except OSError as error:
        say("pid 1 status", errno.errorcode[error.errno])
    attempt("read what pid 1 executes", lambda: os.readlink("/proc/%d/exe" % pid))
    attempt("read pid 1's variables", lambda: text("/proc/%d/environ" % pid) and None)
    attempt("read pid 1's arguments", lambda: text("/proc/%d/cmdline" % pid).strip("\0") or "none")
    attempt("signal pid 1", lambda: os.kill(pid, 0))


def opened(path, flags):
    os.close(os.open(path, flags))


def made(path):
    name = path + "/endow-made"
    os.mkdir(name)
    os.rmdir(name)


def reopened():
    # Only Landlock refuses this: the stream is a file of the caller's, opened for writing.
    opened("/proc/self/fd/1", os.O_RDONLY)


def connected(port):
    with socket.socket() as made:
        made.settimeout(2)
        made.connect(("127.0.0.1", port))


def calls():
    attempt("reopen a stream", reopened)
    attempt("unshare a user namespace", lambda: call(272, 97, 0x10000000))
    attempt("mount", lambda: call(165, 40, 0, 0, 0, 0, 0))
    attempt("add a key", lambda: call(250, 219, 0, -3, 0, 0, 0))
    attempt("trace pid 1", lambda: call(101, 117, 16, os.getppid(), 0, 0))
    attempt("use netlink", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16).close())
    attempt("count user namespaces", lambda: text("/proc/sys/user/max_user_namespaces").strip())
    attempt("write to the kernel", lambda: opened("/proc/sys/kernel/core_pattern", os.O_WRONLY))
    attempt("read slabs", lambda: opened("/proc/slabinfo", os.O_RDONLY))
    attempt("make names in /", lambda: made("/"))
    attempt("interfaces", lambda: str(sorted(name for _, name in socket.if_nameindex())))
    for number, port in enumerate(map(int, os.environ["PROBE_PORTS"].split())):
        attempt("connect to port %d" % number, lambda: connected(port))


def files():
    for path in paths:
        attempt("read " + path, lambda: opened(path, os.O_RDONLY))
        attempt("write " + path, lambda: opened(path, os.O_WRONLY))
        attempt("list " + path, lambda: str(sorted(os.listdir(path))))
        attempt("make in " + path, lambda: made(path))
        attempt("change the mode of " + path, lambda: os.chmod(path, os.stat(path).st_mode))


for part in (identity, maps, namespaces, of_calls, process, descriptors, mounts, pid_1, calls, files):
    guarded(part)
print("\n".join(facts + ["end"]), flush=True)
