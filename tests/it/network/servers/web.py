# An HTTP server, with TLS or without, that notes each request; `/git/` is served by git itself.
import http.server
import os
import socket
import socketserver
import ssl
import subprocess

from noted import note, place


class Request(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60

    def setup(self):
        if isinstance(self.request, ssl.SSLSocket):
            self.request.do_handshake()
        super().setup()

    def do_GET(self):
        self.noted()
        if self.path.startswith("/git/"):
            return self.do_git(b"")
        if self.path == "/repeat":
            said = self.headers.get("authorization", "")
            return self.reply(200, f"you said: {said}\n".encode(), [("x-said", said)])
        self.reply(200, f"hello from {place(self.request)}\n".encode())

    def do_POST(self):
        self.noted()
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.path.startswith("/git/"):
            return self.do_git(body)
        self.reply(200, body)

    do_PUT = do_POST

    def noted(self):
        note("http", at=place(self.request), sni=getattr(self.request, "asked_name", None),
             method=self.command, path=self.path, host=self.headers.get("host"),
             headers=[list(it) for it in self.headers.items()])

    def reply(self, status, body, headers=()):
        self.send_response(status)
        for name, value in [*headers, ("content-length", str(len(body)))]:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_git(self, body):
        """Asks `git http-backend`, as a server would by CGI."""
        path, _, query = self.path.removeprefix("/git").partition("?")
        asked = {"GIT_PROJECT_ROOT": self.server.git, "GIT_HTTP_EXPORT_ALL": "1",
                 "PATH_INFO": path, "QUERY_STRING": query, "REQUEST_METHOD": self.command,
                 "REMOTE_USER": "tester", "CONTENT_LENGTH": str(len(body)),
                 "CONTENT_TYPE": self.headers.get("content-type", ""),
                 "HTTP_CONTENT_ENCODING": self.headers.get("content-encoding", ""),
                 "GIT_PROTOCOL": self.headers.get("git-protocol", "")}
        backend = subprocess.run(["git", "http-backend"], input=body, env={**os.environ, **asked},
                                 stdout=subprocess.PIPE, timeout=60, check=True)
        head, _, body = backend.stdout.partition(b"\r\n\r\n")
        headers = [line.split(": ", 1) for line in head.decode().split("\r\n")]
        status = [int(value.split()[0]) for name, value in headers if name == "Status"]
        self.reply((status or [200])[0], body, [it for it in headers if it[0] != "Status"])

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 4096

    def server_bind(self):
        """Without the name of the address, which a library looks up for nothing."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]

    def handle_error(self, *_):
        """A client that hangs up, or talks something else, is nothing to report."""


def secured(listener, keys):
    """The handshake is that of the thread which serves the connection: accepting never waits."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(os.path.join(keys, "server.crt"), os.path.join(keys, "server.secret"))
    context.sni_callback = lambda one, name, _: setattr(one, "asked_name", name)
    return context.wrap_socket(listener, server_side=True, do_handshake_on_connect=False)


def server(host, port, keys=None, git=None):
    """Returns a server that listens; with keys, for TLS."""
    Server.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = Server((host, port), Request)
    made.git = git
    made.socket = secured(made.socket, keys) if keys else made.socket
    return made
