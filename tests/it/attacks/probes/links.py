# Links in the working directory that lead out of it: the directory of everything is given.
import threading, time
root = sys.argv[1]
up = "../../outside"


def through(link, name="link-out", rest="", flags=os.O_RDONLY):
    os.symlink(link, name)
    os.close(os.open(name + rest, flags, 0o600))


def chain():
    os.symlink(root + "/outside/file", "one")
    through("one", "two")


def by_descriptor():
    os.symlink(root + "/outside/file", "link-out")
    os.close(os.open("/proc/self/fd/%d" % os.open("link-out", os.O_PATH), os.O_RDONLY))


def hard():
    os.symlink(root + "/outside/file", "link-out")
    os.link("link-out", "link-two", follow_symlinks=False)
    os.close(os.open("link-two", os.O_RDONLY))


def changed():
    os.symlink(root + "/outside/file", "link-out")
    os.chmod("link-out", 0o600)


def swapped():
    os.mkdir("swapped")
    open("swapped/file", "w").write("public\n")
    os.symlink(root + "/outside", "link-out")
    over, seen = [], set()

    def swap():
        while not over:
            call(316, 276, -100, b"swapped", -100, b"link-out", 2)
    thread = threading.Thread(target=swap)
    thread.start()
    end = time.monotonic() + 1
    while "before" not in seen and time.monotonic() < end:
        try:
            seen.add(open("swapped/file").read().strip())
        except OSError:
            pass
    over.append(True)
    thread.join()
    return "ok" if "before" in seen else "public"


attempt("absolute", lambda: through(root + "/outside/file"))
attempt("relative", lambda: through(up + "/file"))
attempt("directory", lambda: through(root + "/outside", rest="/file"))
attempt("chain", chain)
attempt("magic-root", lambda: through("/proc/self/root" + root + "/outside/file"))
attempt("magic-cwd", lambda: through("/proc/self/cwd/../../outside/file"))
attempt("magic-descriptor", by_descriptor)
attempt("write-absolute", lambda: through(root + "/outside/file", flags=os.O_WRONLY))
attempt("write-relative", lambda: through(up + "/file", flags=os.O_WRONLY))
attempt("write-directory", lambda: through(root + "/outside", rest="/file", flags=os.O_WRONLY))
attempt("write-dangling", lambda: through(root + "/outside/made", flags=os.O_WRONLY | os.O_CREAT))
attempt("hard-link-of-link", hard)
attempt("chmod-through", changed)
attempt("read-only-through", lambda: through(root + "/granted/file", flags=os.O_WRONLY))
attempt("swapped", swapped)
