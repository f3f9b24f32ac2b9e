# Installs what the default filter of a container engine refuses, and starts a program under it.
import ctypes, os, struct, sys

ARM = os.uname().machine == "aarch64"
REFUSED = [(165, 40), (166, 39), (155, 41), (308, 268), (272, 97), (428, 428), (429, 429), (430, 430),
           (431, 431), (432, 432), (433, 433), (442, 442), (321, 280), (298, 241), (248, 217),
           (249, 218), (250, 219), (323, 282), (425, 425), (426, 426), (427, 427)]
CLONE, CLONE3, NAMESPACES = (56, 220)[ARM], 435, 0x7E020000
EPERM, ENOSYS, ALLOW = 0x50001, 0x50026, 0x7FFF0000


def code(operation, value, yes=0, no=0):
    return struct.pack("HBBI", operation, yes, no, value)


filter = code(0x20, 0)
for number in REFUSED:
    filter += code(0x15, number[ARM], 0, 1) + code(0x06, EPERM)
filter += code(0x15, CLONE3, 0, 1) + code(0x06, ENOSYS)
filter += code(0x15, CLONE, 0, 3) + code(0x20, 16) + code(0x45, NAMESPACES, 0, 1) + code(0x06, EPERM)
filter += code(0x06, ALLOW)

libc = ctypes.CDLL(None, use_errno=True)
buffer = ctypes.create_string_buffer(filter)
program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(filter) // 8, ctypes.addressof(buffer)))
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program):
    sys.exit("no filter: %d" % ctypes.get_errno())
os.execvp(sys.argv[1], sys.argv[1:])
