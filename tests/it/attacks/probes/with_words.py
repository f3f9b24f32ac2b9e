# Becomes the command that is given, with words in its environment.
import subprocess
os.environ.update({
    "AWS_SECRET_ACCESS_KEY": "canary-aws", "GITHUB_TOKEN": "canary-github", "SOME_TOKEN": "canary-token",
    "SSH_AUTH_SOCK": "/canary/agent", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/canary/bus",
    "DISPLAY": ":canary", "XDG_RUNTIME_DIR": "/canary/run", "LD_LIBRARY_PATH": "/canary/lib",
    "BASH_ENV": "/canary/bash", "NODE_OPTIONS": "--canary", "PYTHONPATH": "/canary/python",
    "GIT_SSH_COMMAND": "canary-ssh", "BASH_FUNC_canary%%": "() { echo canary; }",
    "LD_PRELOAD": "libc.so.6"})
holder = os.fork()
if holder == 0:
    os.execvp("sleep", ["sleep", "20"])
status = subprocess.run(sys.argv[1:]).returncode
os.kill(holder, 9)
os._exit(status & 0xff)
