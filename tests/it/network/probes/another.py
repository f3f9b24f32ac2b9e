# Asks the server of the allowed name for another one, in TLS and in HTTP.
def another():
    with so.create_connection(ALLOWED[1:], timeout=3) as one:
        tls(one, "other.example.test")


attempt("another", another)
