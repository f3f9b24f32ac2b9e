# Runs a command on a terminal of its own and tells what came back of it: requests that type into
# the terminal, with other bits set as well. The command line is given.
import fcntl, pty, select, struct, termios, time

INSIDE = r'''
import ctypes, errno, sys
libc = ctypes.CDLL(None, use_errno=True)
number = 16 if sys.argv[1] == "x86_64" else 29
libc.syscall.restype = ctypes.c_long
for name, request in [("sti", 0x5412), ("sti-high", 0x5412 | 1 << 32), ("sti-top", 0x5412 | 1 << 63),
                      ("linux", 0x541C), ("linux-high", 0x541C | 1 << 32), ("discipline", 0x5423)]:
    request = request - (1 << 64) if request >> 63 else request
    byte = ctypes.create_string_buffer(b"X" if "linux" not in name else b"\3")
    done = libc.syscall(ctypes.c_long(number), ctypes.c_long(0), ctypes.c_long(request), byte)
    print("said", name, "ok" if done == 0 else errno.errorcode[ctypes.get_errno()])
'''
line = sys.argv[1:] + ["/usr/bin/python3", "-c", INSIDE, os.uname().machine]
child, master = pty.fork()
if child == 0:
    os.execvp(line[0], line)
text = b""
while True:
    try:
        part = os.read(master, 65536)
    except OSError:
        break
    if not part:
        break
    text += part
os.waitpid(child, 0)
for said in text.decode(errors="replace").splitlines():
    words = said.split()
    if words[:1] and words[0].endswith("said") and len(words) == 3:
        print(words[1], words[2])
