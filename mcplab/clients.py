"""A client of an SDK in a process of its own: commands go in, answers and events come out."""
import itertools
import json
import os
import queue
import subprocess
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))


class Refused(Exception):
    """The server, or the SDK, answered with an error."""

    def __init__(self, code, message):
        super().__init__("%s: %s" % (code, message))
        self.code, self.message = code, message


class SdkClient:
    """`with SdkClient(tools, "py", "modern", project, log, server=None) as client`: over stdio without a server."""

    def __init__(self, tools, sdk, era, project, log, server=None, asks=True):
        settings = {
            "sdk": sdk, "era": era, "asks": asks, "modules": tools.npm, "cwd": project.directory,
            "env": project.environment, "transport": "http" if server else "stdio", "command": [project.tl_program, "mcp"],
            "url": server and server.url, "token": server and server.token}
        program = [tools.python, "py_client.py"] if sdk == "py" else [tools.node, "ts_client.mjs"]
        self.command = [program[0], os.path.join(HERE, program[1]), json.dumps(settings)]
        self.environment = dict(tools.environment(), PYTHONDONTWRITEBYTECODE="1")
        self.log, self.numbers, self.events = log, itertools.count(1), queue.Queue()
        self.answers, self.arrived, self.ended = {}, threading.Condition(), False
        self.process = self.trace = None

    def __enter__(self):
        self.trace = open(self.log, "a", encoding="utf-8", buffering=1)
        self.process = subprocess.Popen(self.command, env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.trace, text=True, bufsize=1)
        threading.Thread(target=self._read, daemon=True).start()
        self.event("connected", 60)
        return self

    def __exit__(self, *_):
        try:
            self.process.stdin.write("end\n")
            self.process.stdin.close()
        except OSError:
            pass
        try:
            self.process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _read(self):
        for line in self.process.stdout:
            self.trace.write("< " + line)
            message = json.loads(line)
            if "event" in message:
                self.events.put(message)
                continue
            with self.arrived:
                self.answers[message["n"]] = message
                self.arrived.notify_all()
        with self.arrived:
            self.ended = True
            self.arrived.notify_all()
        self.events.put({"event": "ended"})

    def event(self, name, seconds=20, **fields):
        """Waits for an event; others are passed over."""
        end = time.monotonic() + seconds
        while True:
            try:
                message = self.events.get(timeout=max(0.01, end - time.monotonic()))
            except queue.Empty:
                raise Refused(None, "no event `%s` %s in %d s" % (name, fields or "", seconds)) from None
            if message["event"] == name and all(message.get(key) == value for key, value in fields.items()):
                return message
            if message["event"] == "ended":
                raise Refused(None, "the client ended before `%s`" % name)

    def begin(self, op, **given):
        """Sends a command and does not wait."""
        number = next(self.numbers)
        line = json.dumps(dict(given, n=number, op=op))
        self.trace.write("> " + line + "\n")
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return number

    def end(self, number, seconds=60):
        """Waits for the answer to a command."""
        with self.arrived:
            self.arrived.wait_for(lambda: number in self.answers or self.ended, timeout=seconds)
            message = self.answers.pop(number, None)
        if message is None:
            raise Refused(None, "no answer in %d s, or the client ended" % seconds)
        if "error" in message:
            raise Refused(message["error"]["code"], message["error"]["message"])
        return message["result"]

    def do(self, op, **given):
        return self.end(self.begin(op, **given))
