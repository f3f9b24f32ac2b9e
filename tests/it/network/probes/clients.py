# Processes with names of their own connect: children of threads, and this one through the proxy.
import socket
import subprocess
import sys
import threading

CLIENT = """
import socket, sys
open('/proc/self/comm', 'w').write(sys.argv[1])
with socket.create_connection(('web.example.test', 7)) as one:
    one.sendall(b'x')
    one.recv(1)
"""


def start(name):
    subprocess.run([sys.executable, "-c", CLIENT, name], check=True)


threads = [threading.Thread(target=start, args=(f"client{number}",)) for number in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
open("/proc/self/comm", "w").write("proxied")
with socket.create_connection(("127.0.0.1", 3128)) as one:
    one.sendall(b"CONNECT web.example.test:7 HTTP/1.1\r\n\r\n")
    one.recv(1000)
    one.sendall(b"x")
    one.recv(1)
