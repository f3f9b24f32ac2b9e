# Other ways to send a packet to an address: `GROUP HOST`, whose servers stand on 443 and 7.
group, host = sys.argv[1:]
ECHO = struct.pack(">BBHHH", 8, 0, 0xf7fd, 1, 1)


def multipath():
    with so.socket(so.AF_INET, so.SOCK_STREAM, 262) as one:
        one.settimeout(3)
        one.connect((host, 7))
        echo(one, host)


def pinged(kind):
    with so.socket(so.AF_INET, kind, so.IPPROTO_ICMP) as one:
        one.settimeout(3)
        one.sendto(ECHO, (host, 0))
        return None if one.recv(100) else "nothing"


def datagram_of(protocol):
    with so.socket(so.AF_INET, so.SOCK_DGRAM, protocol) as one:
        one.sendto(b"hello", (host, 7))


def packet():
    with so.socket(so.AF_PACKET, so.SOCK_DGRAM, 0x0800) as one:
        one.sendto(b"\x45" + bytes(39), ("lo", 0x0800))


def ring():
    os.close(call(425, 425, 4, ctypes.create_string_buffer(4096)))


def opened(family, kind, protocol):
    so.socket(family, kind, protocol).close()


def attacks():
    if group == "anybody":
        attempt("mptcp", multipath)
        attempt("ping", lambda: pinged(so.SOCK_DGRAM))
        attempt("io_uring", ring)
    elif group == "root":
        attempt("raw-ping", lambda: pinged(so.SOCK_RAW))
        attempt("raw-any", lambda: opened(so.AF_INET, so.SOCK_RAW, 255))
        attempt("raw-6", lambda: opened(so.AF_INET6, so.SOCK_RAW, 58))
        attempt("packet", packet)
    else:
        attempt("udplite", lambda: datagram_of(136))
        attempt("sctp", lambda: opened(so.AF_INET, so.SOCK_STREAM, 132))
        attempt("sctp-many", lambda: opened(so.AF_INET, so.SOCK_SEQPACKET, 132))
        attempt("dccp", lambda: opened(so.AF_INET, 6, 33))
        attempt("vsock", lambda: opened(40, so.SOCK_STREAM, 0))
        attempt("xdp", lambda: opened(44, so.SOCK_RAW, 0))
        attempt("smc", lambda: opened(43, so.SOCK_STREAM, 0))
        attempt("tipc", lambda: opened(30, so.SOCK_SEQPACKET, 0))
        attempt("rds", lambda: opened(21, so.SOCK_SEQPACKET, 0))


around(attacks)
