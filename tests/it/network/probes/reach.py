# Connects to each place: `NAME KIND HOST PORT`.
def attacks():
    for place in sys.argv[1:]:
        name, *where = place.split()
        attempt(name, lambda: asked(*where))


around(attacks)
