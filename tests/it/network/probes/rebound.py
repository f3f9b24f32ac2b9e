# Connects to each name several times: an answer may be another one later.
for name in sys.argv[1:]:
    for turn in ("first", "second", "third"):
        attempt(name + "/" + turn, lambda: asked("tls", name, 443))
