# Connects to the sockets named: `@name` is abstract.
import socket as so

for path in sys.argv[1:]:
    address = "\0" + path[1:] if path.startswith("@") else path

    def stream():
        with so.socket(so.AF_UNIX, so.SOCK_STREAM) as one:
            one.settimeout(3)
            one.connect(address)

    def datagram():
        with so.socket(so.AF_UNIX, so.SOCK_DGRAM) as one:
            one.sendto(b"x", address + ".dgram")

    attempt("stream:" + os.path.basename(path), stream)
    attempt("dgram:" + os.path.basename(path), datagram)
