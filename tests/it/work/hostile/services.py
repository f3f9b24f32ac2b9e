"""What a user's session has: services at sockets, and processes.

Each service says a secret to whoever connects. Ends with its standard input.
"""

import ctypes
import os
import socket
import subprocess
import sys
import threading

SECRET, FILE, *PLACES = sys.argv[1:]
PR_SET_PTRACER = 0x59616D61


def serve(place):
    place = place.replace("PID", str(os.getpid()))
    one = socket.socket(socket.AF_UNIX)
    one.bind("\0" + place[1:] if place.startswith("@") else place)
    one.listen()
    threading.Thread(target=answer, args=[one], daemon=True).start()


def answer(one):
    while True:
        other, _ = one.accept()
        other.sendall(SECRET.encode())
        other.close()


os.dup2(os.open(FILE, os.O_RDONLY), 9)
for place in PLACES:
    serve(place)
# Any process of the user may trace this one, as on systems without that restriction.
ctypes.CDLL(None).prctl(PR_SET_PTRACER, ctypes.c_ulong(2**64 - 1), 0, 0, 0)
second = subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
threading.Thread(target=second.wait, daemon=True).start()
print("ready", os.getpid(), second.pid, flush=True)
sys.stdin.read()
second.kill()
