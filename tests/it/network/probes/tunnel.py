# Asks whatever listens inside, at the place that is allowed and where names are asked for, to
# connect to somewhere else: `HOST`.
host = sys.argv[1].encode()
SOCKS_5 = b"\x05\x01\x00", b"\x05\x01\x00\x03" + bytes([len(host)]) + host + b"\x01\xbb"
SOCKS_4 = b"\x04\x01\x01\xbb\x00\x00\x00\x01x\x00" + host + b"\x00"
WAYS = {"connect": [b"CONNECT %s:443 HTTP/1.1\r\nHost: %s\r\n\r\n" % (host, host)],
        "absolute": [b"GET http://%s/ HTTP/1.1\r\nHost: %s\r\n\r\n" % (host, host)],
        "socks-5": SOCKS_5, "socks-4": [SOCKS_4],
        "proxy-line": [b"PROXY TCP4 127.0.0.1 203.0.113.20 1 443\r\n"]}


def listening():
    with open("/etc/resolv.conf") as file:
        servers = [line.split()[1] for line in file if line.startswith("nameserver ")]
    return [("web.example.test", 443)] + [(server, 53) for server in servers]


def spoken(place, words):
    with so.create_connection(place, timeout=1) as one:
        for word in words:
            one.sendall(word)
            try:
                one.recv(4096)
            except TimeoutError:
                return "silent"
        one.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        data = one.recv(4096)
        return None if b"hello from" in data else "refused"


def attacks():
    for place in listening():
        for name, words in WAYS.items():
            attempt("%s:%s" % (name, place[0]), lambda: spoken(place, words))


around(attacks)
