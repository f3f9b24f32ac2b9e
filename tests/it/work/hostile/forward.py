"""Passes connections to a port of this machine's loopback on to a socket with a path."""

import socket
import sys
import threading


def pump(source, sink):
    while data := source.recv(65536):
        sink.sendall(data)
    sink.shutdown(socket.SHUT_WR)


def both(one):
    other = socket.socket(socket.AF_UNIX)
    other.connect(sys.argv[1])
    threading.Thread(target=pump, args=[other, one], daemon=True).start()
    pump(one, other)


listener = socket.create_server(("127.0.0.1", 0))
print("ready", listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=both, args=[listener.accept()[0]], daemon=True).start()
