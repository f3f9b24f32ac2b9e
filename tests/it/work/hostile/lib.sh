# Words that attempts and their checks use.
say() {
    python3 -c '
import socket, sys
place = sys.argv[1]
one = socket.socket(socket.AF_UNIX)
one.connect("\0" + place[1:] if place.startswith("@") else place)
print(one.recv(100).decode())' "$1"
}
fetch() { curl -sm 5 "$1"; }
seen() { grep -q -- "$1" 'ROOT/seen'; }
