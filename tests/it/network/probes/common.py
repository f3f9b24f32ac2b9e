# What probes of the network begin with: exchanges with servers, and attempts that are made before
# and after an allowed connection. What a server did not answer has not been reached.
import socket as so, ssl, struct

ALLOWED = ("tls", "web.example.test", 443)
plainly = attempt
stage = ""


def attempt(name, action):
    plainly(stage + name, lambda: judged(action))


def judged(action):
    """What fails has to fail at once; an unknown name is one error, whatever is asked for."""
    try:
        return action()
    except so.gaierror as error:
        unknown = error.errno in (so.EAI_NONAME, so.EAI_NODATA, so.EAI_ADDRFAMILY)
        return "unknown-name" if unknown else "no-resolver"
    except ssl.SSLError:
        return "no-handshake"
    except TimeoutError:
        return "late"


def around(attacks):
    global stage
    for stage in ("before/", "after/"):
        attacks()
        if stage == "before/":
            plainly("allowed", lambda: judged(lambda: asked(*ALLOWED)))


def asked(kind, host, port):
    """Connects by name or address, and has a word with what is there."""
    if kind == "udp":
        return datagram(host, int(port))
    with so.create_connection((host, int(port)), timeout=3) as one:
        KINDS[kind](one, host)


def datagram(host, port):
    family, kind, protocol, _, address = so.getaddrinfo(host, port, type=so.SOCK_DGRAM)[0]
    with so.socket(family, kind, protocol) as one:
        one.settimeout(1)
        one.connect(address)
        told(one, b"hello", b"hello")


def http(one, host):
    told(one, b"GET / HTTP/1.1\r\nHost: %s\r\n\r\n" % host.encode("idna"), b"hello from")


def tls(one, host):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with context.wrap_socket(one, server_hostname=host.rstrip(".")) as secured:
        http(secured, host)


def echo(one, _):
    told(one, b"hello", b"hello")


KINDS = {"http": http, "tls": tls, "echo": echo}


def told(one, question, answer):
    one.sendall(question)
    so_far = b""
    while answer not in so_far:
        data = one.recv(4096)
        if not data:
            raise ConnectionResetError(errno.ECONNRESET, "closed")
        so_far += data
