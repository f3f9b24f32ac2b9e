# What makes a way where there is none: addresses, routes, links, namespaces and settings. The
# argument is the path of ip(8).
import fcntl, subprocess

SIOCSIFADDR, SIOCGSKNS = 0x8916, 0x894C
NEWNET = 0x40000000


def ip(line):
    done = subprocess.run([sys.argv[1], *line.split()], capture_output=True, text=True)
    if done.returncode:
        raise OSError(errno.EPERM, done.stderr)


def made(what, rest):
    """Makes it, and unmakes it for the next time."""
    def make():
        ip(what + " add " + rest)
        ip(what + " del " + rest.split(" type")[0])
    return make


def request(number, argument):
    def ask():
        with so.socket(so.AF_INET, so.SOCK_DGRAM) as one:
            fcntl.ioctl(one, number, argument)
    return ask


def namespace_of_a_socket():
    with so.socket(so.AF_INET, so.SOCK_STREAM) as one:
        os.close(fcntl.ioctl(one, SIOCGSKNS))


def transparent():
    with so.socket(so.AF_INET, so.SOCK_STREAM) as one:
        one.setsockopt(so.IPPROTO_IP, 19, 1)


def entered(path):
    def enter():
        file = os.open(path, os.O_RDONLY)
        call(308, 268, file, NEWNET)
    return enter


def written(path):
    def write():
        with open("/proc/sys/net/" + path, "r+") as file:
            value = file.read()
            file.seek(0)
            file.write(value)
    return write


def attacks():
    forked("route", made("route", "203.0.113.0/24 dev lo"))
    forked("route-6", made("route", "2001:db8::/64 dev lo"))
    forked("local-route", made("route", "local 203.0.113.20 dev lo"))
    forked("address", made("addr", "203.0.113.99/32 dev lo"))
    forked("link", lambda: ip("link set lo mtu 60000"))
    forked("new-link", made("link", "endow0 type veth peer name endow1"))
    forked("rule", made("rule", "pref 999 table local"))
    name = struct.pack("16sH2x4s16x", b"lo:1", so.AF_INET, bytes([127, 9, 9, 9]))
    forked("ioctl-address", request(SIOCSIFADDR, name))
    forked("namespace-of-a-socket", namespace_of_a_socket)
    forked("transparent", transparent)
    forked("unshare", lambda: call(272, 97, NEWNET))
    forked("setns-own", entered("/proc/self/ns/net"))
    for path in ["ipv4/ip_forward", "ipv4/ip_nonlocal_bind", "ipv4/ip_unprivileged_port_start",
                 "ipv4/conf/lo/route_localnet", "ipv6/conf/lo/forwarding"]:
        forked(path, written(path))


around(attacks)
