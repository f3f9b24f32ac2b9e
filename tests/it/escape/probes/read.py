# Every way to learn of files: a tree and a file are given.
tree, secret = sys.argv[1], sys.argv[2]
home = os.open("/", os.O_RDONLY)


def below_root():
    os.close(os.open(secret.lstrip("/"), os.O_RDONLY, dir_fd=home))


def named():
    handle = ctypes.create_string_buffer((128).to_bytes(4, "little") + bytes(140), 144)
    call(303, 264, -100, secret.encode(), handle, ctypes.byref(ctypes.c_int()), 0)


attempt("open", lambda: os.close(os.open(secret, os.O_RDONLY)))
attempt("open-path", lambda: os.close(os.open(secret, os.O_PATH)))
attempt("open-write", lambda: os.close(os.open(secret, os.O_WRONLY)))
attempt("below-root", below_root)
attempt("stat", lambda: os.stat(secret) and None)
attempt("access", lambda: call(439, 439, -100, secret.encode(), 0, 0) and None)
attempt("list", lambda: os.listdir(tree) and None)
attempt("chdir", lambda: os.chdir(tree))
attempt("readlink", lambda: os.readlink(tree + "/link") and None)
attempt("proc-root", lambda: os.stat("/proc/self/root" + secret) and None)
attempt("proc-cwd", lambda: os.stat("/proc/self/cwd/" + "../" * 40 + secret) and None)
attempt("dots", lambda: os.stat("../" * 40 + secret) and None)
attempt("getxattr", lambda: os.listxattr(secret) and None)
attempt("utime", lambda: os.utime(secret))
attempt("chmod", lambda: os.chmod(secret, 0o600))
attempt("statfs", lambda: os.statvfs(tree) and None)
attempt("watch", lambda: call(254, 27, call(294, 26, 0), tree.encode(), 0x100))
attempt("openat2", lambda: os.close(call(437, 437, -100, secret.encode(), bytes(24), 24)))
attempt("name-to-handle", named)
attempt("mounts-listed", lambda: "ok" if tree in open("/proc/self/mountinfo").read() else "absent")
attempt("home-listed", lambda: "ok" if os.path.basename(secret) in os.listdir(os.path.dirname(secret)) else "absent")
attempt("create", lambda: os.close(os.open(tree + "/new", os.O_CREAT | os.O_WRONLY)))
attempt("rename", lambda: os.rename(tree + "/sub", tree + "/moved"))
attempt("unlink", lambda: os.unlink(tree + "/file"))
attempt("execute", lambda: os.execv(secret, [secret]) if not os.access(secret, os.F_OK) else None)
