# Connects to an abstract socket of the machine.
def stream():
    with so.socket(so.AF_UNIX, so.SOCK_STREAM) as one:
        one.settimeout(3)
        one.connect("\0" + sys.argv[1])
        told(one, b"hello", b"hello")


around(lambda: attempt("abstract", stream))
