# Plain servers: each does one thing to a connection, and some to a datagram.
import hashlib
import random
import socket
import socketserver
import struct
import subprocess
import threading
import time

from noted import note, place

MIB = 1 << 20
BLOCK = random.Random(5).randbytes(MIB)


def chunks(one):
    while data := one.recv(MIB):
        yield data


def echo(one):
    """Sends back what comes, as it comes."""
    for data in chunks(one):
        one.sendall(data)


def digest(one):
    """Reads to the end, then says what it was."""
    sha, length = hashlib.sha256(), 0
    for data in chunks(one):
        sha.update(data)
        length += len(data)
    one.sendall(f"{length} {sha.hexdigest()}\n".encode())


def source(one):
    """Sends as many MiB as a line asks for, closes that side, and says what still comes: of none,
    it is open on both sides."""
    count = int(one.makefile("r").readline())
    for _ in range(count):
        one.sendall(BLOCK)
    if count:
        one.shutdown(socket.SHUT_WR)
    note("rest", bytes=sum(map(len, chunks(one))))


def counted(one, pause):
    """Reads a little at a time, and says how much came, and whether it was the end."""
    length, end = 0, "end"
    try:
        while data := one.recv(4096):
            length += len(data)
            time.sleep(pause)
    except OSError as error:
        end = error.strerror
    note("counted", bytes=length, end=end)


def hold(one):
    """Never reads; goes away when the world does."""
    threading.Event().wait()


def dies(one):
    """Sends a part of what was announced, and resets the connection."""
    one.recv(1)
    one.sendall(BLOCK[: MIB // 16])
    one.recv(1)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def ssh(one, config):
    """Hands the connection to an sshd of its own, as inetd does."""
    with one:
        subprocess.run(["/usr/sbin/sshd", "-i", "-f", config], stdin=one, stdout=one, timeout=60)


KINDS = {"echo": echo, "digest": digest, "source": source, "counted": counted, "hold": hold}
KINDS |= {"dies": dies, "ssh": ssh}


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 4096

    def handle_error(self, *_):
        """A client that hangs up is nothing to report."""

    def shutdown_request(self, request):
        """Only closes: what a linger of zero means must not be lost by a shutdown before it."""
        request.close()


def server(kind, host, port, **about):
    """Returns a server that listens."""
    class Connection(socketserver.BaseRequestHandler):
        def handle(self):
            KINDS[kind](self.request, **about)

    Server.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return Server((host, port), Connection)


def echo_once(host, port):
    """Sends back the first byte; for clients by the thousand, without a thread for each."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.create_server((host, port), family=family, backlog=4096)

    def serve():
        while True:
            with listener.accept()[0] as one:
                one.sendall(one.recv(1))

    threading.Thread(target=serve, daemon=True).start()


def echo_datagrams(host, port):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    one = socket.socket(family, socket.SOCK_DGRAM)
    one.bind((host, port))

    def serve():
        while True:
            data, peer = one.recvfrom(65536)
            note("datagram", at="udp " + place(one))
            one.sendto(data, peer)

    threading.Thread(target=serve, daemon=True).start()
