"""Ten thousand malformed frames and a thousand wrong arguments over stdio, two thousand bodies over HTTP: one answer each."""
import collections
import http.client
import json
import os
import random
import threading

from project import ACT, Project

FRAMES, FRAMES_OVER_HTTP, WRONG_ARGUMENTS, SEED = 10_000, 2_000, 1_000, 20260728
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "mcplab", "version": "1"}}
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "mcplab", "version": "1"}}
METHODS = ["initialize", "server/discover", "ping", "tools/list", "tools/call", "resources/list", "resources/templates/list",
           "resources/read", "resources/subscribe", "resources/unsubscribe", "subscriptions/listen", "prompts/list",
           "prompts/get", "completion/complete", "logging/setLevel"]
ODD = [None, True, 0, -1, 1.5, 1e300, 2**70, "", "x", "\u0000", "\ud83d\ude00", [], {}, [[]], {"a": None}, "a" * 5000]

# How many answers a frame may get: exactly one with its id, none at all, or at most one without an id.
ONE, NONE, NAMELESS = "one", "none", "nameless"


class Generator:
    """Malformed frames, always the same for a seed."""

    def __init__(self, seed, modern):
        self.random, self.modern, self.number = random.Random(seed), modern, 0

    def id(self):
        self.number += 1
        return self.number if self.random.random() < 0.5 else "m-%d" % self.number

    def request(self, method, params=None):
        frame = {"jsonrpc": "2.0", "id": self.id(), "method": method}
        if params is not None:
            frame["params"] = params
            if self.modern and isinstance(params, dict):
                params.setdefault("_meta", META)
        return frame

    def frame(self):
        """Returns the bytes of a line, what it is owed, and the id."""
        kind = self.random.choice([self.noise, self.cut, self.flipped, self.version, self.method, self.params, self.params,
                                   self.unknown, self.odd_id, self.shape, self.notification, self.answer, self.deep,
                                   self.batch, self.wide])
        line, owed, number = kind()
        return line if isinstance(line, bytes) else json.dumps(line).encode(), owed, number

    def noise(self):
        size = self.random.randrange(1, 200)
        return bytes(byte for byte in self.random.randbytes(size) if byte not in (10, 13)) or b"\x01", NAMELESS, None

    def cut(self):
        whole = json.dumps(self.request("tools/call", {"name": "where", "arguments": {}})).encode()
        return whole[:self.random.randrange(1, len(whole))], NAMELESS, None

    def flipped(self):
        whole = bytearray(json.dumps(self.request("tools/list", {})).encode())
        # Bytes no JSON text can have.
        whole[self.random.randrange(len(whole))] = self.random.choice([0, 1, 31, 0xC0, 0xFE, 0xFF])
        return bytes(whole), NAMELESS, None

    def version(self):
        frame = self.request("ping", {})
        if self.random.random() < 0.3:
            del frame["jsonrpc"]
        else:
            frame["jsonrpc"] = self.random.choice(["1.0", "2", 2, 2.0, None, [], "2.0 "])
        return frame, ONE, frame["id"]

    def method(self):
        frame = self.request("ping", {})
        frame["method"] = self.random.choice([value for value in ODD if not isinstance(value, str)])
        return frame, ONE, frame["id"]

    def params(self):
        frame = self.request(self.random.choice(METHODS))
        frame["params"] = self.random.choice([5, "x", [], [1], None, True, 1.5])
        return frame, ONE, frame["id"]

    def unknown(self):
        near = self.random.choice(METHODS)
        name = self.random.choice([near + "x", near.upper(), near.replace("/", "."), "", "rpc.x", "\u0000", "x" * 5000])
        frame = self.request(name if name not in METHODS else "x", self.random.choice([None, {}, {"a": 1}]))
        return frame, ONE, frame["id"]

    def odd_id(self):
        frame = self.request("ping", {})
        frame["id"] = self.random.choice([None, True, 1.5, [], {}, [1], 2**70, -2**70])
        return frame, NAMELESS, None

    def shape(self):
        frame = self.request("ping", {})
        change = self.random.randrange(4)
        if change == 0:
            del frame["method"]
        elif change == 1:
            frame["result"] = {}
        elif change == 2:
            frame["error"] = {"code": 1, "message": "x"}
        else:
            del frame["method"]
            frame["result"], frame["error"] = {}, {"code": 1, "message": "x"}
        return frame, ONE, frame["id"]

    def notification(self):
        method = self.random.choice(METHODS + ["notifications/initialized", "notifications/progress", "notifications/x",
                                               "notifications/roots/list_changed", "notifications/cancelled"])
        return {"jsonrpc": "2.0", "method": method, "params": self.random.choice(ODD)}, NONE, None

    def answer(self):
        answer = self.random.choice([{"result": {}}, {"result": 5}, {"error": 5}, {"error": {"code": -1, "message": "x"}}])
        return dict({"jsonrpc": "2.0", "id": "nobody-asked"}, **answer), NONE, None

    def deep(self):
        depth = self.random.choice([200, 2000, 20000])
        number = self.id()
        line = '{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"where","arguments":{"a":%s%s}}}'
        return (line % (json.dumps(number), "[" * depth, "]" * depth)).encode(), ONE, number

    def batch(self):
        many = [self.request("ping", {}) for _ in range(self.random.randrange(4))]
        return many, NAMELESS, None

    def wide(self):
        frame = self.request("tools/call", {"name": self.random.choice(ODD), "arguments": self.random.choice(ODD)})
        name, arguments = frame["params"]["name"], frame["params"]["arguments"]
        if isinstance(name, str) and isinstance(arguments, dict):
            frame["params"]["x" * self.random.randrange(1, 20_000)] = "\u2028" * 100
        return frame, ONE, frame["id"]

    def wrong_arguments(self, tool):
        """A call whose arguments cannot be right: an unknown one, a wrong type, or none where some are needed."""
        schema = tool["inputSchema"]
        properties, required = schema.get("properties", {}), schema.get("required", [])
        arguments = {key: self.of(properties[key]) for key in required}
        ways = ["unknown"] + (["type"] if properties else []) + (["missing"] if required else [])
        way = self.random.choice(ways)
        if way == "unknown":
            arguments[self.random.choice(["x", "", "entity", "_meta", "\u0000", "a" * 3000])] = self.random.choice(ODD)
        elif way == "missing":
            del arguments[self.random.choice(required)]
        else:
            arguments[self.random.choice(list(properties))] = self.random.choice([[], {}, [1], {"a": 1}])
        frame = self.request("tools/call", {"name": tool["name"], "arguments": arguments})
        return json.dumps(frame).encode(), frame["id"]

    def of(self, schema):
        if "enum" in schema:
            return self.random.choice(schema["enum"])
        return {"string": "act-1", "integer": 1, "boolean": True}.get(schema.get("type"), "x")


class Line:
    """A server over stdio with everything it said."""

    def __init__(self, project, log):
        self.errors = open(log, "ab")
        self.process = project.mcp(stderr=self.errors)
        self.said, self.arrived, self.bad = [], threading.Condition(), []
        self.by_id = collections.Counter()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            try:
                message = json.loads(line)
                if message.get("jsonrpc") != "2.0":
                    raise ValueError("no JSON-RPC")
            except ValueError:
                self.bad.append(line)
                continue
            with self.arrived:
                self.said.append(message)
                if "method" not in message:
                    self.by_id[json.dumps(message.get("id"))] += 1
                self.arrived.notify_all()

    def send(self, *lines):
        self.process.stdin.write(b"".join(line + b"\n" for line in lines))
        self.process.stdin.flush()

    def ask(self, frame, seconds=60):
        self.send(json.dumps(frame).encode())
        return self.answer(frame["id"], seconds)

    def answer(self, number, seconds=60):
        def found():
            return next((one for one in self.said[-300:] if one.get("id") == number and "method" not in one), None)
        with self.arrived:
            self.arrived.wait_for(found, timeout=seconds)
            return found()

    def close(self):
        self.process.stdin.close()
        try:
            code = self.process.wait(timeout=60)
        except Exception:
            self.process.kill()
            code = "nothing: it did not end"
        self.reader.join(timeout=10)
        self.errors.close()
        return code


def malformed(tl, report):
    for era in ("legacy", "modern"):
        folder = report.folder("frames", era)
        one_era(tl, report, era, folder, os.path.join(folder, "log"))
        folder = report.folder("frames", era, "http")
        over_http(tl, report, era, folder, os.path.join(folder, "log"))


def one_era(tl, report, era, folder, log):
    project = Project(tl, os.path.join(folder, "story"))
    project.put(ACT % 1, "# Act 1\n\nThe keeper leaves.\n")
    project.must("status")
    generator = Generator(SEED, era == "modern")
    server = Line(project, log)
    if era == "legacy":
        server.ask({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": HELLO})
        server.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
    owed, alive, nameless_at_most, dead = {}, 0, 0, None
    with open(os.path.join(folder, "sent"), "wb") as sent:
        for count in range(FRAMES):
            line, how, number = generator.frame()
            sent.write(line + b"\n")
            if how == ONE:
                owed[json.dumps(number)] = line
            nameless_at_most += how == NAMELESS
            try:
                server.send(line)
                if count % 250 == 249:
                    answer = server.ask(generator.request("tools/call", {
                        "name": "get_entity_state", "arguments": {"entity_type": "act", "entity_id": "act-1"}}))
                    alive += bool(answer and answer.get("result", {}).get("structuredContent"))
            except OSError:
                dead = count
                break
    last = generator.request("tools/list", {})
    tools = None if dead is not None else server.ask(last)
    wrong = []
    if tools:
        listed = tools["result"]["tools"]
        for count in range(WRONG_ARGUMENTS):
            line, number = generator.wrong_arguments(listed[count % len(listed)])
            owed[json.dumps(number)] = line
            server.send(line)
            answer = server.answer(number)
            right = answer and (answer.get("result", {}).get("isError") is True
                                or answer.get("error", {}).get("code") == -32602)
            if not right:
                wrong.append((line, answer))
    code = server.close()
    without = [line for number, line in owed.items() if server.by_id[number] == 0]
    twice = [line for number, line in owed.items() if server.by_id[number] > 1]
    nameless = server.by_id["null"]
    strangers = [number for number in server.by_id
                 if number not in owed and number != "null" and server.by_id[number] > 1]
    with open(log, "ab") as f:
        for title, lines in (("no answer", without), ("more than one", twice), ("no JSON-RPC", server.bad)):
            for line in lines:
                f.write(b"%s: %s\n" % (title.encode(), line[:2000]))
        for line, answer in wrong:
            f.write(b"wrong arguments: %s\n  got: %s\n" % (line[:2000], json.dumps(answer).encode()[:2000]))
    check = lambda holds, what, found="": report.check(holds, "frames", era, "stdio", what, log, found)  # noqa: E731
    check(dead is None and code == 0 and alive == FRAMES // 250, "%d malformed frames: the server lives" % FRAMES,
          "dead at %s, ended with %s, %d of %d calls answered" % (dead, code, alive, FRAMES // 250))
    check(not without and not twice and not strangers, "each of %d requests with an id has one answer" % len(owed),
          "%d without, %d with more" % (len(without), len(twice) + len(strangers)))
    check(nameless <= nameless_at_most and not server.bad, "nothing else on stdout: %d answers without an id" % nameless,
          "%d for %d such frames, %d lines are no JSON-RPC" % (nameless, nameless_at_most, len(server.bad)))
    check(tools is not None and not wrong, "%d wrong arguments: an error each" % WRONG_ARGUMENTS,
          "%d were not" % len(wrong))


def over_http(tl, report, era, folder, log):
    """Each body is a request of its own, so each has exactly one answer of HTTP; what it says fits what was sent."""
    project = Project(tl, os.path.join(folder, "story"))
    project.put(ACT % 1, "# Act 1\n\nThe keeper leaves.\n")
    project.must("status")
    generator = Generator(SEED, era == "modern")
    wrong, alive, codes = [], 0, collections.Counter()
    with project.serve() as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        headers = {"Authorization": "Bearer " + server.token, "Content-Type": "application/json",
                   "Accept": "application/json, text/event-stream",
                   "MCP-Protocol-Version": "2026-07-28" if era == "modern" else "2025-11-25"}

        def post(body, method=None, name=None):
            more = {"Mcp-Method": method, "Mcp-Name": name} if era == "modern" else {}
            connection.request("POST", "/mcp", body, dict(headers, **{key: value for key, value in more.items() if value}))
            answer = connection.getresponse()
            text = answer.read().decode()
            lines = [line[6:] for line in text.splitlines() if line.startswith("data: {")] if "event-stream" in (
                answer.getheader("Content-Type") or "") else [text]
            return answer, [json.loads(line) for line in lines if line]

        if era == "legacy":
            hello = {"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": HELLO}
            headers["Mcp-Session-Id"] = post(json.dumps(hello).encode())[0].getheader("Mcp-Session-Id")
            post(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
        for count in range(FRAMES_OVER_HTTP):
            body, how, number = generator.frame()
            try:
                sent = json.loads(body)
            except (ValueError, RecursionError):
                sent = None
            method = sent.get("method") if isinstance(sent, dict) else None
            plain = isinstance(method, str) and method.isascii() and method.isprintable() and method.strip() == method
            # The streams of subscriptions go on for ever, as they should.
            if method == "subscriptions/listen":
                continue
            try:
                answer, messages = post(body, method if plain else None)
                answers = [one for one in messages if isinstance(one, dict) and ("result" in one or "error" in one)]
            except (OSError, http.client.HTTPException, ValueError) as problem:
                wrong.append((body, repr(problem)))
                connection.close()
                continue
            codes[answer.status] += 1
            # HTTP has its own word for many faults; where the protocol's is given, it must be the request's.
            fits = {ONE: len(answers) == 1 and answers[0].get("id") in (number, None),
                    NAMELESS: answer.status >= 400 and all(one.get("id") is None for one in answers),
                    NONE: not answers or answer.status >= 400}[how]
            if not fits or answer.status >= 500:
                wrong.append((body, "%d %s" % (answer.status, messages)))
            if count % 250 == 249:
                call = generator.request("tools/call", {
                    "name": "get_entity_state", "arguments": {"entity_type": "act", "entity_id": "act-1"}})
                messages = post(json.dumps(call).encode(), "tools/call", "get_entity_state")[1]
                alive += any("structuredContent" in one.get("result", {}) for one in messages)
        connection.close()
    with open(log, "a", encoding="utf-8") as f:
        for body, found in wrong:
            f.write("%r\n  got: %s\n" % (body[:2000], found[:2000]))
    report.check(not wrong, "frames", era, "http", "%d malformed bodies: one answer each (%s)" % (
        FRAMES_OVER_HTTP, ", ".join("%d: %d" % pair for pair in sorted(codes.items()))), log, "%d had not" % len(wrong))
    report.check(alive == FRAMES_OVER_HTTP // 250, "frames", era, "http", "the server lives", log,
                 "%d of %d calls answered" % (alive, FRAMES_OVER_HTTP // 250))
