"""A loopback proxy for clients that cannot send a token: it adds the header and names the server's own port.

Nothing else is touched. A Host or Origin that is not the proxy's own arrives at the server as it was sent, and the
server's answer goes back byte for byte: what it says about foreign hosts and pages is its own word.
"""
import re
import socket
import threading


class Proxy:
    """`with Proxy(port, token) as proxy: proxy.url`"""

    def __init__(self, port, token):
        self.target, self.token = port, token
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.url = "http://localhost:%d/mcp" % self.port

    def __enter__(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.listener.close()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        try:
            with client, socket.create_connection(("127.0.0.1", self.target)) as server:
                for one in (client, server):
                    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                request = b""
                while b"\r\n\r\n" not in request:
                    part = client.recv(65536)
                    if not part:
                        return
                    request += part
                head, body = request.split(b"\r\n\r\n", 1)
                server.sendall(self.rewritten(head) + b"\r\n\r\n" + body)
                threading.Thread(target=pump, args=(client, server), daemon=True).start()
                pump(server, client)
        except OSError:
            pass

    def rewritten(self, head):
        ours = re.compile(rb"^((?:host|origin):\s*(?:http://)?(?:localhost|127\.0\.0\.1|\[::1\])):%d$" % self.port, re.I)
        lines = [ours.sub(rb"\1:%d" % self.target, line) for line in head.split(b"\r\n")]
        # One request per connection: then only heads have to be understood.
        lines = [line for line in lines if not line.lower().startswith(b"connection:")] + [b"Connection: close"]
        if self.token and not any(line.lower().startswith(b"authorization:") for line in lines):
            lines.append(b"Authorization: Bearer " + self.token.encode())
        return b"\r\n".join(lines)


def pump(source, sink):
    try:
        while True:
            part = source.recv(65536)
            if not part:
                break
            sink.sendall(part)
    except OSError:
        pass
    for one, how in ((sink, socket.SHUT_WR), (source, socket.SHUT_RD)):
        try:
            one.shutdown(how)
        except OSError:
            pass
