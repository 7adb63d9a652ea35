"""The dashboard of a session's project: `tl serve`, and a browser's requests to it."""
import json
import os
import pty
import select
import subprocess
import urllib.error
import urllib.parse
import urllib.request


class StayOnPage(urllib.request.HTTPRedirectHandler):
    """A form answers with a redirect to its page, which nobody here looks at."""

    def redirect_request(self, *_):
        return None


class Dashboard:
    """`with Dashboard(session) as dashboard`: runs as long as it is needed. It has a terminal, so that it decides as a
    person: `ada`."""

    def __init__(self, session):
        self.session, self.process, self.origin, self.token = session, None, "", ""
        self.terminal = pty.openpty()
        # Without the proxies of the environment: they lead nowhere.
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), StayOnPage)

    def __enter__(self):
        session = self.session
        self.process = subprocess.Popen([session.tl_program, "--json", "serve", "--port", "0"], cwd=session.project,
                                        env=dict(session.surroundings(), USER="ada"), stdin=self.terminal[1],
                                        stdout=subprocess.PIPE, stderr=self.terminal[1], start_new_session=True)
        ready, _, _ = select.select([self.process.stdout], [], [], 30)
        line = self.process.stdout.readline() if ready else b""
        if not line:
            self.__exit__()
            raise RuntimeError("`tl serve` did not print its address")
        printed = json.loads(line)
        self.origin, self.token = printed["url"].removesuffix("/mcp"), printed["token"]
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        for end in self.terminal:
            os.close(end)

    def approve(self, node):
        """Presses \"Approve this text\" on the page of a node; returns the status of the response."""
        shown = json.load(self.send("/api/nodes/" + node))
        return self.send("/do/approve", {"node": node, "version": shown["version_hash"]}).status

    def send(self, path, form=None):
        body = urllib.parse.urlencode(form).encode() if form else None
        request = urllib.request.Request(self.origin + path, data=body, headers={
            "Authorization": "Bearer " + self.token, "Origin": self.origin})
        try:
            return self.opener.open(request, timeout=30)
        except urllib.error.HTTPError as response:
            return response
