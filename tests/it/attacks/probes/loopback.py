# Connections to a process that listens on the loopback of the machine: its ports are given.
import signal, socket as so
tcp, tcp6, udp, udp6 = (int(it) for it in sys.argv[1:5])
MSG_FASTOPEN = 0x20000000
signal.alarm(20)


def socket(family, kind, protocol=0):
    one = so.socket(family, kind, protocol)
    one.settimeout(3)
    return one


def stream(address, family=so.AF_INET, protocol=0):
    with socket(family, so.SOCK_STREAM, protocol) as one:
        one.connect(address)
        if one.getpeername()[1] != address[1]:
            return "elsewhere"


def in_time():
    with so.socket() as one:
        one.setblocking(False)
        one.connect_ex(("127.0.0.1", tcp))
        import select
        select.select([], [one], [], 3)
        error = one.getsockopt(so.SOL_SOCKET, so.SO_ERROR)
        if error:
            raise OSError(error, "later")


def answered(one):
    """A datagram has no answer here: that nobody listens comes back as an error, at the second."""
    one.settimeout(0.3)
    one.send(b"x")
    try:
        one.recv(10)
    except (so.timeout, BlockingIOError):
        return None


def datagram(address, family=so.AF_INET):
    with socket(family, so.SOCK_DGRAM) as one:
        one.sendto(b"x", address)
        one.connect(address)
        return answered(one)


def connected(address):
    with socket(so.AF_INET, so.SOCK_DGRAM) as one:
        one.connect(address)
        one.send(b"x")
        return answered(one)


def message(address):
    with socket(so.AF_INET, so.SOCK_DGRAM) as one:
        one.sendmsg([b"x"], [], 0, address)
        one.connect(address)
        return answered(one)


def dissolved(address):
    with socket(so.AF_INET, so.SOCK_DGRAM) as one:
        one.connect(("127.0.0.1", 9))
        libc.connect(one.fileno(), bytes(16), 16)
        one.sendto(b"x", address)
        one.connect(address)
        return answered(one)


def early(send):
    with so.socket() as one:
        one.setsockopt(so.SOL_SOCKET, so.SO_SNDTIMEO, (3).to_bytes(8, "little") + bytes(8))
        send(one)
        one.getpeername()


def fast_open_connect(one):
    one.setsockopt(so.IPPROTO_TCP, 30, 1)
    one.connect(("127.0.0.1", tcp))
    one.send(b"x")


def listed():
    word = ":%04X " % tcp
    return "ok" if any(word in open("/proc/net/" + name).read() for name in ["tcp", "tcp6"]) else "absent"


def interfaces():
    names = [name for _, name in so.if_nameindex()]
    return "loopback-only" if set(names) <= {"lo", "endow0"} else "ok"


here = ("127.0.0.1", tcp)
attempt("stream", lambda: stream(here))
attempt("stream-of-any", lambda: stream(("0.0.0.0", tcp)))
attempt("stream-mapped", lambda: stream(("::ffff:127.0.0.1", tcp), so.AF_INET6))
attempt("stream-other", lambda: stream(("127.1.2.3", tcp)))
attempt("stream-6", lambda: stream(("::1", tcp6), so.AF_INET6))
attempt("stream-in-time", in_time)
attempt("datagram", lambda: datagram(("127.0.0.1", udp)))
attempt("datagram-6", lambda: datagram(("::1", udp6), so.AF_INET6))
attempt("datagram-connected", lambda: connected(("127.0.0.1", udp)))
attempt("datagram-message", lambda: message(("127.0.0.1", udp)))
attempt("datagram-dissolved", lambda: dissolved(("127.0.0.1", udp)))
attempt("fast-open", lambda: early(lambda one: one.sendto(b"x", MSG_FASTOPEN, here)))
attempt("fast-open-message", lambda: early(lambda one: one.sendmsg([b"x"], [], MSG_FASTOPEN, here)))
attempt("fast-open-connect", lambda: early(fast_open_connect))
attempt("multipath", lambda: stream(here, protocol=262))
attempt("by-proc-net", listed)
attempt("by-interfaces", interfaces)
