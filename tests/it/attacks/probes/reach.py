# Services at names and paths: the directory of everything and the name are given.
import socket as so
root, name = sys.argv[1:3]
KINDS = {"stream": so.SOCK_STREAM, "dgram": so.SOCK_DGRAM, "seqpacket": so.SOCK_SEQPACKET}


def connected(address, kind):
    with so.socket(so.AF_UNIX, KINDS[kind]) as one:
        one.settimeout(3)
        one.connect(address)
        one.send(b"x")


def sent(address, way):
    with so.socket(so.AF_UNIX, so.SOCK_DGRAM) as one:
        way(one, address)


def many(one, address):
    """One message by sendmmsg."""
    raw = so.AF_UNIX.to_bytes(2, "little") + os.fsencode(address)
    where, data = ctypes.create_string_buffer(raw, len(raw)), ctypes.create_string_buffer(b"x")

    class Piece(ctypes.Structure):
        _fields_ = [("at", ctypes.c_void_p), ("size", ctypes.c_size_t)]

    class Message(ctypes.Structure):
        _fields_ = [("name", ctypes.c_void_p), ("named", ctypes.c_uint32), ("pieces", ctypes.c_void_p),
                    ("count", ctypes.c_size_t), ("control", ctypes.c_void_p),
                    ("controls", ctypes.c_size_t), ("flags", ctypes.c_int), ("sent", ctypes.c_uint)]
    piece = Piece(ctypes.addressof(data), 1)
    message = Message(ctypes.addressof(where), len(raw), ctypes.addressof(piece), 1, None, 0, 0, 0)
    call(307, 269, one.fileno(), ctypes.byref(message), 1, 0)


def by_link():
    os.symlink(root + "/outside/stream", "to-a-service")
    connected("to-a-service", "stream")


def by_descriptor(directory, rest):
    opened = os.open(directory, os.O_PATH)
    connected("/proc/self/fd/%d%s" % (opened, rest), "stream")


def moved(way, name):
    way("stream", name)
    connected(name, "stream")


def written():
    pipe = os.open(root + "/granted/pipe", os.O_WRONLY | os.O_NONBLOCK)
    os.write(pipe, b"x")


abstract = "\0" + name
for kind in KINDS:
    if kind != "dgram":
        attempt("abstract-" + kind, lambda: connected(abstract + "." + kind, kind))
    attempt("path-" + kind, lambda: connected("%s/outside/%s" % (root, kind), kind))
there = abstract + ".dgram"
attempt("abstract-dgram", lambda: sent(there, lambda one, at: one.sendto(b"x", at)))
attempt("abstract-dgram-connected", lambda: connected(there, "dgram"))
attempt("abstract-dgram-sendmsg", lambda: sent(there, lambda one, at: one.sendmsg([b"x"], [], 0, at)))
attempt("abstract-dgram-sendmmsg", lambda: sent(there, many))
attempt("abstract-listed", lambda: "ok" if name in open("/proc/net/unix").read() else "absent")
attempt("path-by-root", lambda: connected("/proc/self/root%s/outside/stream" % root, "stream"))
attempt("path-by-link", by_link)
attempt("granted-stream", lambda: connected(root + "/granted/stream", "stream"))
attempt("granted-dgram", lambda: connected(root + "/granted/dgram", "dgram"))
attempt("granted-by-descriptor", lambda: by_descriptor(root + "/granted", "/stream"))
attempt("granted-fifo", written)
attempt("workspace-stream", lambda: connected("stream", "stream"))
attempt("workspace-dgram", lambda: connected("dgram", "dgram"))
attempt("workspace-by-descriptor", lambda: by_descriptor("stream", ""))
attempt("workspace-hard-link", lambda: moved(os.link, "linked"))
attempt("workspace-renamed", lambda: moved(os.rename, "renamed"))
