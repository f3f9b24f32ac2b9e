# What the servers of the world have seen: one JSON object a line, written at once.
import json
import os

file = None


def begin(path):
    global file
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)


def note(server, **facts):
    os.write(file, (json.dumps({"server": server, **facts}) + "\n").encode())


def place(one):
    """Returns the address and port of a socket's own side."""
    host, port = one.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
