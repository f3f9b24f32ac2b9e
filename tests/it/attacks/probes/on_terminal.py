# Runs the command that is given on a terminal of its own, with another terminal open beside it, and
# says what came out of it.
import pty
spare = pty.openpty()
child, master = pty.fork()
if child == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
while True:
    try:
        part = os.read(master, 65536)
    except OSError:
        break
    if not part:
        break
    sys.stdout.write(part.decode(errors="replace").replace("\r", ""))
os.waitpid(child, 0)
