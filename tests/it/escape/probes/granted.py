# Connects to the sockets `s` and `s.dgram` of a directory whose path is too long for an address.
import socket as so

directory, link = sys.argv[1:3]


def reach(address, kind=so.SOCK_STREAM):
    with so.socket(so.AF_UNIX, kind) as one:
        one.settimeout(3)
        one.connect(address)


def through(path, flags, rest):
    opened = os.open(path, flags)
    try:
        reach("/proc/self/fd/%d%s" % (opened, rest))
    finally:
        os.close(opened)


attempt("link", lambda: reach(link))
attempt("directory", lambda: through(directory, os.O_RDONLY, "/s"))
attempt("socket", lambda: through(directory + "/s", os.O_PATH, ""))
os.chdir(directory)
attempt("name", lambda: reach("s"))
attempt("dgram", lambda: reach("s.dgram", so.SOCK_DGRAM))
