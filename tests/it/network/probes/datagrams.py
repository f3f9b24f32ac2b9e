# Datagrams, and data sent before a connection is there, to each address: `HOST PORT`.
MSG_FASTOPEN, TCP_FASTOPEN_CONNECT = 0x20000000, 30


def socket(host, kind):
    family = so.AF_INET6 if ":" in host else so.AF_INET
    one = so.socket(family, kind)
    one.setsockopt(so.SOL_SOCKET, so.SO_RCVTIMEO, struct.pack("ll", 1, 0))
    return one


def answered(one):
    try:
        return None if one.recv(100) == b"hello" else "other"
    except BlockingIOError:
        return "silent"


def sent(host, port):
    with socket(host, so.SOCK_DGRAM) as one:
        one.sendto(b"hello", (host, port))
        return answered(one)


def sent_in_parts(host, port):
    with socket(host, so.SOCK_DGRAM) as one:
        one.sendmsg([b"hel", b"lo"], [], 0, (host, port))
        return answered(one)


def connected(host, port):
    with socket(host, so.SOCK_DGRAM) as one:
        one.connect((host, port))
        one.send(b"hello")
        return answered(one)


def reconnected(host, port):
    """From a socket that was connected to itself, and dissolved."""
    with socket(host, so.SOCK_DGRAM) as one:
        one.bind(("", 0))
        one.connect(("127.0.0.1", 9))
        libc.connect(one.fileno(), bytes(16), 16)
        one.sendto(b"hello", (host, port))
        return answered(one)


def fast_open(host, port):
    with socket(host, so.SOCK_STREAM) as one:
        one.sendto(b"hello", MSG_FASTOPEN, (host, port))
        return answered(one)


def fast_open_later(host, port):
    with socket(host, so.SOCK_STREAM) as one:
        one.setsockopt(so.IPPROTO_TCP, TCP_FASTOPEN_CONNECT, 1)
        one.connect((host, port))
        one.send(b"hello")
        return answered(one)


DATAGRAMS = [sent, sent_in_parts, connected]
OF_IPV4 = [reconnected]
STREAMS = [fast_open, fast_open_later]


def attacks():
    for place in sys.argv[1:]:
        host, port = place.split()
        for way in DATAGRAMS + OF_IPV4 * (":" not in host) + STREAMS * (port == "7"):
            attempt("%s:%s:%s" % (way.__name__, host, port), lambda: way(host, int(port)))


around(attacks)
