# Listens at the names `s` and `s.dgram` of a directory; each line makes both names anew.
import socket as so

os.chdir(sys.argv[1])


def bind(name, kind):
    one = so.socket(so.AF_UNIX, kind)
    one.bind(name)
    if kind == so.SOCK_STREAM:
        one.listen()
    return one


def both():
    return bind("s", so.SOCK_STREAM), bind("s.dgram", so.SOCK_DGRAM)


held = both()
print("ready", flush=True)
for line in sys.stdin:
    os.unlink("s")
    os.unlink("s.dgram")
    held = both()
    print("ready", flush=True)
