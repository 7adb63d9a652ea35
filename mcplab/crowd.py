"""Four clients at once on one project: a thousand calls, no error, and every change is in the history."""
import collections
import http.client
import itertools
import json
import os
import threading
import traceback
import urllib.parse

from frames import HELLO, META, Line
from project import ACT, CHAPTER, Project

CLIENTS, CALLS, ACTS = 4, 1_000, 8


class OverStdio:
    """A client with a server process of its own."""

    def __init__(self, project, log, modern):
        self.modern, self.numbers, self.line = modern, itertools.count(1), Line(project, log)
        if not modern:
            self.line.ask({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO})
            self.line.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')

    def call(self, name, arguments):
        params = {"name": name, "arguments": arguments}
        if self.modern:
            params["_meta"] = META
        return self.line.ask({"jsonrpc": "2.0", "id": next(self.numbers), "method": "tools/call", "params": params})

    def close(self):
        code = self.line.close()
        if code != 0:
            raise RuntimeError("`tl mcp` ended with %s" % code)


class OverHttp:
    """A client of the one server."""

    def __init__(self, server, modern):
        self.modern, self.numbers, self.session = modern, itertools.count(1), None
        where = urllib.parse.urlsplit(server.url)
        self.connection = http.client.HTTPConnection(where.hostname, where.port, timeout=120)
        self.headers = {"Authorization": "Bearer %s" % server.token, "Content-Type": "application/json",
                        "Accept": "application/json, text/event-stream",
                        "MCP-Protocol-Version": "2026-07-28" if modern else "2025-11-25"}
        if not modern:
            self.post("initialize", HELLO)
            self.post("notifications/initialized", None)

    def post(self, method, params):
        message = {"jsonrpc": "2.0", "method": method}
        headers = dict(self.headers)
        if params is not None:
            message.update(id=next(self.numbers), params=dict(params, _meta=META) if self.modern else params)
        if self.modern:
            headers["Mcp-Method"] = method
            if "name" in params:
                headers["Mcp-Name"] = params["name"]
        if self.session:
            headers["Mcp-Session-Id"] = self.session
        self.connection.request("POST", "/mcp", json.dumps(message), headers)
        response = self.connection.getresponse()
        body = response.read().decode()
        self.session = response.getheader("Mcp-Session-Id") or self.session
        if params is None:
            return None
        if "event-stream" in (response.getheader("Content-Type") or ""):
            data = [line[5:].strip() for line in body.splitlines() if line.startswith("data:") and line[5:].strip()]
            body = next(one for one in data if '"id"' in one)
        try:
            return json.loads(body)
        except ValueError:
            raise RuntimeError("HTTP %d: %s" % (response.status, body[:300])) from None

    def call(self, name, arguments):
        return self.post("tools/call", {"name": name, "arguments": arguments})

    def close(self):
        self.connection.close()


class Worker(threading.Thread):
    """One client's calls: on acts of its own it changes, everywhere it looks."""

    def __init__(self, client, number):
        super().__init__(daemon=True)
        self.client, self.number, self.problems = client, number, []
        self.approved, self.reasons, self.calls = collections.Counter(), [], 0

    def call(self, name, **arguments):
        answer = self.client.call(name, arguments)
        self.calls += 1
        result = (answer or {}).get("result")
        if not result or result.get("isError"):
            self.problems.append("%s %s: %s" % (name, json.dumps(arguments), json.dumps(answer)[:400]))
            return {}
        return result["structuredContent"]

    def run(self):
        try:
            self.work()
        except Exception:
            self.problems.append(traceback.format_exc())

    def work(self):
        acts = ["act-%d" % act for act in range(1, ACTS + 1) if act % CLIENTS == self.number]
        for turn in itertools.count():
            act = acts[turn % len(acts)]
            for name, arguments in (
                    ("get_entity_state", {"entity_type": "act", "entity_id": act}),
                    ("cascade_invalidate", {"entity_type": "act", "entity_id": act,
                                            "reason": "client %d turn %d" % (self.number, turn)}),
                    ("where", {}),
                    ("get_hierarchy_tree", {"act_id": "act-%d" % (turn % ACTS + 1)}),
                    ("approve_entity", {"entity_type": "act", "entity_id": act, "force": True})):
                if self.calls >= CALLS // CLIENTS:
                    return
                done = self.call(name, **arguments)
                if name == "approve_entity" and done.get("success"):
                    self.approved[act] += 1
                if name == "cascade_invalidate" and done.get("success"):
                    self.reasons.append(arguments["reason"])


def crowd(tl, report):
    for transport in ("http", "stdio"):
        folder = report.folder("crowd", transport)
        log = os.path.join(folder, "log")
        project = Project(tl, os.path.join(folder, "story"))
        for act in range(1, ACTS + 1):
            project.put(ACT % act, "# Act %d\n\nThe keeper leaves.\n" % act)
        project.must("status")
        for act in range(1, ACTS + 1):
            project.must("approve", "act-%d" % act)
            project.put(CHAPTER % (act, 1), "# Chapter 1\n\nThe boat is ready.\n")
        project.must("status")
        before = len(json.loads(project.must("log", "--json", "--limit", "100000")))
        if transport == "http":
            with project.serve() as server:
                workers = run([OverHttp(server, number % 2 == 1) for number in range(CLIENTS)])
        else:
            workers = run([OverStdio(project, log, number % 2 == 1) for number in range(CLIENTS)])
        operations = json.loads(project.must("log", "--json", "--limit", "100000"))
        operations = operations[:len(operations) - before]
        judged(report, transport, log, workers, operations, project)


def run(clients):
    workers = [Worker(client, number) for number, client in enumerate(clients)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=600)
        if worker.is_alive():
            worker.problems.append("it did not come to an end")
    for worker, client in zip(workers, clients):
        try:
            client.close()
        except RuntimeError as problem:
            worker.problems.append(str(problem))
    return workers


def judged(report, transport, log, workers, operations, project):
    problems = [problem for worker in workers for problem in worker.problems]
    calls = sum(worker.calls for worker in workers)
    with open(log, "a", encoding="utf-8") as f:
        f.write("\n".join(problems) + "\n" + json.dumps(operations) + "\n")
    report.check(not problems and calls == CALLS, "crowd", "both", transport,
                 "%d clients at once, %d calls: no error" % (len(workers), calls), log,
                 "%d problems, %d calls; first: %s" % (len(problems), calls, problems[:1]))
    summaries = collections.Counter(one["summary"] for one in operations)
    said = [reason for worker in workers for reason in worker.reasons]
    lost = [reason for reason in said if not any(reason == text or text.endswith(": " + reason) for text in summaries)]
    approvals = sum(sum(worker.approved.values()) for worker in workers)
    logged = sum(one["verb"] == "approve" for one in operations)
    report.check(said and not lost and logged == approvals, "crowd", "both", transport,
                 "all %d changes are in the history" % (len(said) + approvals), log,
                 "%d of %d invalidations lost (%s), %d of %d approvals logged" % (len(lost), len(said), lost[:3], logged,
                                                                                  approvals))
    done = project.tl("check")
    report.check(done.returncode == 0, "crowd", "both", transport, "`tl check` finds nothing wrong afterwards", log,
                 (done.stdout + done.stderr).strip()[-300:])
