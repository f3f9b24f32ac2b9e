# Socket families, types and protocols; pairs; netlink.
import socket as so

FAMILIES = {"unix": (1, 1, 0), "inet": (2, 1, 0), "inet-udp": (2, 2, 0), "inet6": (10, 1, 0),
            "route": (16, 3, 0), "ax25": (3, 2, 0), "ipx": (4, 2, 0), "appletalk": (5, 2, 0),
            "x25": (9, 5, 0), "packet": (17, 3, 0), "key": (15, 3, 2), "rds": (21, 5, 0),
            "llc": (26, 1, 0), "can": (29, 3, 1), "tipc": (30, 5, 0), "bluetooth": (31, 3, 1),
            "rxrpc": (33, 2, 2), "phonet": (35, 2, 0), "caif": (37, 1, 0), "alg": (38, 5, 0),
            "nfc": (39, 5, 0), "vsock": (40, 1, 0), "kcm": (41, 5, 0), "qipcrtr": (42, 2, 0),
            "smc": (43, 1, 0), "xdp": (44, 3, 0), "mctp": (45, 2, 0), "raw": (2, 3, 1),
            "raw-type": (2, 3 | 0o2000000, 255), "mptcp": (2, 1, 262), "sctp": (2, 1, 132),
            "udplite": (2, 2, 136), "dccp": (2, 6, 33)}
NETLINK = {"usersock": 2, "sock-diag": 4, "nflog": 5, "xfrm": 6, "selinux": 7, "iscsi": 8,
           "audit": 9, "fib-lookup": 10, "connector": 11, "netfilter": 12, "kobject-uevent": 15,
           "generic": 16, "crypto": 21}


def opened(family, kind, protocol):
    so.socket(family, kind, protocol).close()


for name, (family, kind, protocol) in FAMILIES.items():
    attempt(name, lambda: opened(family, kind, protocol))
for name, protocol in NETLINK.items():
    attempt("netlink-" + name, lambda: opened(16, 3, protocol))
attempt("high-bits", lambda: call(41, 198, 40 | 1 << 32, 1, 0))
attempt("pair-tipc", lambda: so.socketpair(30, 5, 0) and None)


# Bytes out of band.
def out_of_band(send):
    one, other = so.socketpair()
    send(one)
    if other.recv(1, so.MSG_OOB) != b"x":
        return "silent"


def of_many(one):
    byte = ctypes.create_string_buffer(b"x", 1)
    vector = (ctypes.c_void_p * 2)(ctypes.addressof(byte), 1)
    message = (ctypes.c_void_p * 8)(0, 0, ctypes.addressof(vector), 1)
    call(307, 269, one.fileno(), ctypes.addressof(message), 1, so.MSG_OOB)


attempt("oob", lambda: out_of_band(lambda one: one.send(b"x", so.MSG_OOB)))
attempt("oob-among-flags", lambda: out_of_band(lambda one: one.send(b"x", so.MSG_OOB | 0x20000000 | so.MSG_NOSIGNAL)))
attempt("oob-message", lambda: out_of_band(lambda one: one.sendmsg([b"x"], [], so.MSG_OOB)))
attempt("oob-messages", lambda: out_of_band(of_many))
