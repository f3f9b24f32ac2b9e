# Asks a server for one name, and for another one when it wants a second `ClientHello`: the first offers a
# group of keys, and no key of it.
import os, sys

random, session, key = (os.urandom(32) for _ in range(3))


def vector(length, content):
    return len(content).to_bytes(length, "big") + content


def extension(kind, content):
    return kind.to_bytes(2, "big") + vector(2, content)


def hello(name, keys):
    extensions = (extension(0, vector(2, b"\0" + vector(2, name.encode())))
                  + extension(43, vector(1, b"\x03\x04"))
                  + extension(10, vector(2, b"\0\x1d"))
                  + extension(13, vector(2, b"\x04\x03\x08\x04\x04\x01"))
                  + extension(51, vector(2, keys)))
    body = (b"\x03\x03" + random + vector(1, session) + vector(2, b"\x13\x01")
            + vector(1, b"\0") + vector(2, extensions))
    return record(22, b"\x01" + vector(3, body))


def record(kind, content):
    return bytes([kind]) + b"\x03\x03" + vector(2, content)


def answer(stream):
    """Returns the next message of the handshake."""
    while True:
        head = stream.read(5)
        if len(head) < 5:
            raise ConnectionResetError(errno.ECONNRESET, "closed")
        content = stream.read(int.from_bytes(head[3:], "big"))
        if head[0] != 20:
            return head[0], content


def greeted(first, second):
    with so.create_connection(("web.example.test", 443), timeout=5) as one:
        one.sendall(hello(first, b""))
        stream = one.makefile("rb")
        kind, content = answer(stream)
        assert kind == 22 and content[6:8] == b"\xcf\x21", "the server asks for no second hello"
        one.sendall(record(20, b"\x01") + hello(second, b"\0\x1d" + vector(2, key)))
        kind, content = answer(stream)
        assert kind == 22 and content[0] == 2, "the server refuses the second hello"


attempt("hello", lambda: judged(lambda: greeted(*sys.argv[1].split())))
