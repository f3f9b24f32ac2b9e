# Process 1 of an outer world: a network namespace that is the machine, a second one that is
# everything else, and a link between them. Says `ready PID` once all servers listen, or `unable
# REASON`; ends with its stdin, and everything with it.
import ctypes
import json
import os
import subprocess
import sys
import threading

import dns
import noted
import streams
import web

CLONE_NEWNET = 0x40000000
libc = ctypes.CDLL(None, use_errno=True)


def main():
    with open(sys.argv[1]) as file:
        config = json.load(file)
    noted.begin(config["log"])
    if os.getuid() == 0:
        make_place_for_sshd()
    for source, target in config["files"].items():
        bind(source, os.path.realpath(target))
    begun = Begun()
    threading.Thread(target=begun.run, args=(make_elsewhere, config), daemon=True).start()
    begun.wait()
    configure(config["machine"])
    print("ready", os.readlink("/proc/self"), flush=True)
    for line in sys.stdin:
        ip(line)
        print("changed", flush=True)
    os._exit(0)


def make_place_for_sshd():
    """One that root starts wants an empty directory, which the distribution makes at boot."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "none", "/run"], check=True)
    os.mkdir("/run/sshd", 0o755)


def bind(source, target):
    if not os.path.exists(target):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        open(target, "w").close()
    subprocess.run(["mount", "--bind", source, target], check=True)


class Begun(threading.Event):
    """Runs something in a thread; waiting for its end passes its failure on."""

    failure = None

    def run(self, what, config):
        try:
            what(config)
        except Exception as failure:
            self.failure = failure
        self.set()

    def wait(self):
        super().wait()
        if self.failure:
            raise self.failure


def make_elsewhere(config):
    """Only this thread leaves the namespace: the link's other end is that of process 1."""
    if libc.unshare(CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "no second network namespace")
    ip("link add elsewhere0 type veth peer name machine0 netns 1")
    configure(config["elsewhere"])


def configure(place):
    """Gives this thread's namespace its addresses and servers."""
    for name, value in place["settings"].items():
        with open("/proc/sys/net/" + name, "w") as file:
            file.write(value)
    ip(*place["network"])
    for server in place["servers"]:
        start(**server)


def ip(*lines):
    subprocess.run(["ip", "-batch", "-"], input="\n".join(lines).encode(), check=True)


def start(kind, host, port, **about):
    if kind == "dns":
        return dns.serve(about["zone"], host, port)
    if kind == "datagrams":
        return streams.echo_datagrams(host, port)
    if kind == "once":
        return streams.echo_once(host, port)
    if kind == "http":
        made = web.server(host, port, **about)
    else:
        made = streams.server(kind, host, port, **about)
    note_connections(made, kind)
    threading.Thread(target=made.serve_forever, args=(3600,), daemon=True).start()


def note_connections(server, kind):
    accept = server.get_request

    def noting():
        connection, peer = accept()
        noted.note("connection", kind=kind, at=noted.place(connection))
        return connection, peer

    server.get_request = noting


if __name__ == "__main__":
    try:
        main()
    except Exception as failure:
        print("unable", failure, flush=True)
