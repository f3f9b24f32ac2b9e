# Words of the caller.
import glob
NAMES = {"aws": "AWS_SECRET_ACCESS_KEY", "github": "GITHUB_TOKEN", "token": "SOME_TOKEN",
         "agent-socket": "SSH_AUTH_SOCK", "bus-address": "DBUS_SESSION_BUS_ADDRESS",
         "display": "DISPLAY", "runtime-directory": "XDG_RUNTIME_DIR", "preload": "LD_PRELOAD",
         "library-path": "LD_LIBRARY_PATH", "start-of-shells": "BASH_ENV",
         "options-of-node": "NODE_OPTIONS", "path-of-python": "PYTHONPATH",
         "git-ssh": "GIT_SSH_COMMAND", "shell-function": "BASH_FUNC_canary%%"}
CALLERS = {"XDG_RUNTIME_DIR": "/canary/run"}


def given(name):
    said = os.environ.get(name)
    return "unset" if said is None or name in CALLERS and said != CALLERS[name] else "ok"


def among(what, word):
    for path in glob.glob("/proc/[0-9]*/" + what):
        try:
            if word in open(path, "rb").read() and "/%d/" % os.getpid() not in path:
                return "ok"
        except OSError:
            pass
    return "absent"


for name, variable in NAMES.items():
    attempt(name, lambda: given(variable))
attempt("environments", lambda: among("environ", b"canary-aws"))
attempt("command-lines", lambda: among("cmdline", b"sleep\x0020"))
attempt("processes", lambda: "ok" if len(glob.glob("/proc/[0-9]*")) > 4 else "few")
