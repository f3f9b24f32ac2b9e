# A DNS server over UDP and TCP that answers from a zone and notes each query.
#
# A zone maps a name, or `*.name`, to a record: `A` and `AAAA` (lists of addresses, or a list of
# such lists: one a query, the last for ever), `CNAME`, `TXT`, `rcode`, `delay` in seconds, and
# `truncated` (over UDP the answer is empty and says so).
import collections
import socket
import struct
import threading
import time

from noted import note

TYPES = {1: "A", 5: "CNAME", 16: "TXT", 28: "AAAA"}
NXDOMAIN, TRUNCATED = 3, 0x0200
asked = collections.Counter()


def serve(zone, host, port):
    """Listens on an address; returns when both sockets do."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    datagrams = socket.socket(family, socket.SOCK_DGRAM)
    datagrams.bind((host, port))
    stream = socket.create_server((host, port), family=family, backlog=64)
    for loop, one in [(serve_datagrams, datagrams), (serve_streams, stream)]:
        threading.Thread(target=loop, args=(zone, one), daemon=True).start()


def serve_datagrams(zone, server):
    def answer_one(query, peer):
        server.sendto(answer(zone, query, "udp"), peer)

    while True:
        query, peer = server.recvfrom(4096)
        noted(query, "udp")
        threading.Thread(target=answer_one, args=(query, peer), daemon=True).start()


def serve_streams(zone, server):
    def answer_each(peer):
        with peer, peer.makefile("rb") as file:
            while len(head := file.read(2)) == 2:
                query = file.read(struct.unpack(">H", head)[0])
                noted(query, "tcp")
                reply = answer(zone, query, "tcp")
                peer.sendall(struct.pack(">H", len(reply)) + reply)

    while True:
        threading.Thread(target=answer_each, args=(server.accept()[0],), daemon=True).start()


def noted(query, over):
    """Notes all that came: data may be hidden beside the first question."""
    name, kind, _ = question(query)
    note("dns", name=name, type=kind, over=over, bytes=query.decode("latin-1"))


def answer(zone, query, over):
    name, kind, end = question(query)
    records, found = resolve(zone, name.lower(), kind)
    time.sleep(found.get("delay", 0))
    flags = 0x8180 | found.get("rcode", 0)
    if over == "udp" and found.get("truncated"):
        records, flags = [], flags | TRUNCATED
    head = query[:2] + struct.pack(">HHHHH", flags, 1, len(records), 0, 0)
    return head + query[12:end] + b"".join(records)


def question(query):
    """Returns the name and type that are asked for, as text, and where the question ends."""
    labels, at = [], 12
    while query[at]:
        label = query[at + 1 : at + 1 + query[at]]
        labels.append(label.decode("latin-1").replace(".", "\\."))
        at += 1 + query[at]
    kind = struct.unpack_from(">H", query, at + 1)[0]
    return ".".join(labels), TYPES.get(kind, str(kind)), at + 5


def resolve(zone, name, kind):
    """Follows aliases; returns the records of the answer and what is said of the first name."""
    records, first = [], None
    for _ in range(8):
        found = zone.get(name) or zone.get("*." + name.partition(".")[2]) or {"rcode": NXDOMAIN}
        first = first or found
        if "CNAME" not in found:
            return records + [record(name, kind, it) for it in turn(found, name, kind)], first
        records.append(record(name, "CNAME", found["CNAME"]))
        name = found["CNAME"]
    return records, first


def turn(found, name, kind):
    values = found.get(kind, [])
    if values and isinstance(values[0], list):
        values = values[min(asked[name, kind], len(values) - 1)]
        asked[name, kind] += 1
    return values


def record(name, kind, value):
    data = {"A": lambda: socket.inet_pton(socket.AF_INET, value),
            "AAAA": lambda: socket.inet_pton(socket.AF_INET6, value),
            "CNAME": lambda: encoded(value),
            "TXT": lambda: bytes([len(value)]) + value.encode()}[kind]()
    number = {name: number for number, name in TYPES.items()}[kind]
    return encoded(name) + struct.pack(">HHIH", number, 1, 0, len(data)) + data


def encoded(name):
    return b"".join(bytes([len(it)]) + it.encode("latin-1") for it in name.split(".")) + b"\0"
