# Connects to the addresses beside that of the allowed name, to the ends of its block, and to
# other ports of it.
import ipaddress

PORTS = [22, 53, 80, 8080, 8443, 65535]


def addresses():
    for kind in (so.AF_INET, so.AF_INET6):
        try:
            found = so.getaddrinfo("web.example.test", 443, kind, so.SOCK_STREAM)
        except so.gaierror:
            continue
        yield ipaddress.ip_address(found[0][4][0])


def reach(host, port):
    def connect():
        so.create_connection((str(host), port), timeout=3).close()
    return connect


def attacks():
    attempt("begun", lambda: "begun")
    for own in addresses():
        block = ipaddress.ip_network((own, 15 if own.version == 4 else 112), strict=False)
        others = [own + step for step in (-2, -1, 1, 2, 256)] + [block[0], block[1], block[-1]]
        for other in {it for it in others if it != own}:
            attempt("address:%s" % other, reach(other, 443))
        for port in PORTS:
            attempt("port:%s:%d" % (own, port), reach(own, port))


around(attacks)
