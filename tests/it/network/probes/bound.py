# Chooses the device or the address that packets leave by: `DEVICE ADDRESS HOST`.
device, address, host = sys.argv[1:]


def by_device(name):
    def reach():
        with so.socket(so.AF_INET, so.SOCK_STREAM) as one:
            one.settimeout(3)
            one.setsockopt(so.SOL_SOCKET, so.SO_BINDTODEVICE, name.encode())
            one.connect((host, 7))
            echo(one, host)
    return reach


def by_index():
    """The second link of a namespace, whatever its name is."""
    with so.socket(so.AF_INET, so.SOCK_DGRAM) as one:
        one.settimeout(1)
        one.setsockopt(so.IPPROTO_IP, 50, struct.pack(">I", so.if_nametoindex(device)))
        one.sendto(b"hello", (host, 7))
        one.recv(100)


def by_source():
    with so.create_connection((host, 7), 3, (address, 0)) as one:
        echo(one, host)


def unlooked_route():
    with so.socket(so.AF_INET, so.SOCK_STREAM) as one:
        one.settimeout(3)
        one.setsockopt(so.SOL_SOCKET, so.SO_DONTROUTE, 1)
        one.connect((host, 7))
        echo(one, host)


def attacks():
    attempt("device", by_device(device))
    attempt("index", by_index)
    attempt("source", by_source)
    attempt("unlooked-route", unlooked_route)


around(attacks)
