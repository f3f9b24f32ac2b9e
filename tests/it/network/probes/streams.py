# One use of streams between this and the server of a name, named by the argument; says what came.
import hashlib, random, subprocess, threading

name = "web.example.test"
MIB = 1 << 20
BLOCK = random.Random(5).randbytes(MIB)


def connected(port):
    return so.create_connection((name, port), timeout=60)


def digest(count):
    sha = hashlib.sha256()
    for _ in range(count):
        sha.update(BLOCK)
    return sha.hexdigest()


def read(one):
    """Returns how much came to the end, and its hash."""
    sha, length = hashlib.sha256(), 0
    while data := one.recv(MIB):
        sha.update(data)
        length += len(data)
    return length, sha.hexdigest()


def send(one, count):
    for _ in range(count):
        one.sendall(BLOCK)


def up(count):
    """This side ends first: the server sees the end and answers after it."""
    with connected(9) as one:
        send(one, count)
        one.shutdown(so.SHUT_WR)
        said = one.makefile().readline().split()
    return same(said, [str(count * MIB), digest(count)])


def down(count):
    """The server ends first, and still reads what this side sends after it."""
    with connected(19) as one:
        one.sendall(b"%d\n" % count)
        came = read(one)
        one.sendall(b"after the end of the other side")
    return same(came, (count * MIB, digest(count)))


def both(count):
    """Both directions at once."""
    with connected(7) as one:
        sender = threading.Thread(target=lambda: (send(one, count), one.shutdown(so.SHUT_WR)))
        sender.start()
        came = read(one)
        sender.join()
    return same(came, (count * MIB, digest(count)))


def bytewise():
    """Small writes arrive before the next is made: nothing is held back for more."""
    with connected(7) as one:
        for number in range(200):
            one.sendall(bytes([number]))
            if one.recv(1) != bytes([number]):
                return "other"


def same(found, expected):
    return None if found == expected else "%s, not %s" % (found, expected)


def quick(count):
    """Each connection is opened, used once and closed, with a word now and then."""
    place = so.getaddrinfo(name, 6, type=so.SOCK_STREAM)[0][4]
    for number in range(count):
        with so.create_connection(place[:2], timeout=60) as one:
            one.sendall(b"x")
            if one.recv(1) != b"x":
                return "no answer to %d" % number
        if number % 1000 == 0:
            print("passed", number, flush=True)
    wait()


def wait():
    print("waiting", flush=True)
    sys.stdin.readline()


def many(count):
    """All are open at the same time, and all are used."""
    held = [connected(7) for _ in range(count)]
    for one in held:
        one.sendall(b"x")
    answers = [one.recv(1) for one in held]
    return same(answers, [b"x"] * count)


def unread(streams, count):
    """What this side doesn't read for a while waits with the server, and arrives later."""
    held = [connected(19) for _ in range(streams)]
    for one in held:
        one.sendall(b"%d\n" % count)
        one.recv(1, so.MSG_PEEK)
    wait()
    return same([read(one) for one in held], [(count * MIB, digest(count))] * streams)


def not_read():
    """The server never reads: this side can't send without end."""
    with connected(4) as one:
        one.settimeout(1)
        sent = 0
        try:
            while sent < 64 * MIB:
                sent += one.send(BLOCK)
        except TimeoutError:
            return None
    return "all taken"


def dies():
    """The server resets the connection after a part of what it had to say."""
    with connected(5) as one:
        one.sendall(b"x")
        length = 0
        while length < MIB // 16:
            length += len(one.recv(MIB))
        one.sendall(b"x")
        return "more" if one.recv(1) else "end"


def closed_early():
    """This side resets in the middle of what comes; the next connection is none the worse."""
    with connected(19) as one:
        one.sendall(b"64\n")
        one.recv(MIB)
        one.setsockopt(so.SOL_SOCKET, so.SO_LINGER, struct.pack("ii", 1, 0))
    return down(1)


def held(count, mark):
    """Connections stand while a marked process sleeps."""
    streams = [connected(19) for _ in range(count)]
    for one in streams:
        one.sendall(b"0\n")
    subprocess.Popen(["sleep", mark])
    wait()


def gone(port, length):
    """This side ends with its process, which waits for nobody."""
    one = connected(port)
    one.sendall(bytes(length))
    one.close()
    os._exit(0)


def absent(*places):
    """A server that is not there ends a connection, at its start or at the first read, and is no harm
    to another."""
    for place in places:
        host, port = place.split(":")
        try:
            with so.create_connection((host, int(port)), timeout=60) as one:
                one.recv(1)
            print(place, "open", flush=True)
        except ConnectionError:
            print(place, "end", flush=True)
        except OSError as error:
            print(place, error, flush=True)
    return many(1)


def value(text):
    return int(text) if text.isdigit() else text


use, *values = sys.argv[1:]
attempt(use, lambda: globals()[use](*map(value, values)))
