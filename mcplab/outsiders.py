"""The official conformance suite and the Inspector."""
import glob
import http.client
import json
import os
import subprocess

from project import ACT, CHAPTER, Project, Serving
from proxy import Proxy

MODERN, LEGACY = "2026-07-28", "2025-11-25"

# How many scenarios an era requires of a server; the suite itself says which.
REQUIRED = {MODERN: 37, LEGACY: 30}

# The scenarios that ask for no tool, prompt or resource made up by the suite: they hold for a product as it is.
SCENARIOS = {
    MODERN: ["server-stateless", "completion-complete", "tools-list", "server-sse-multiple-streams", "resources-list",
             "sep-2164-resource-not-found", "prompts-list", "dns-rebinding-protection", "caching", "http-header-validation",
             "input-required-result-unsupported-methods"],
    LEGACY: ["server-initialize", "ping", "completion-complete", "tools-list", "server-sse-multiple-streams",
             "resources-list", "resources-subscribe", "resources-unsubscribe", "prompts-list", "dns-rebinding-protection",
             "server-session-lifecycle"],
}

# Checks inside those scenarios that do need the suite's own tools.
NEEDS_FIXTURES = {
    "sep-2575-server-rejects-undeclared-capability", "sep-2575-missing-capability-http-400",
    "sep-2575-http-server-no-independent-requests-on-stream", "sep-2575-server-no-log-without-loglevel"}


def story(tl, work):
    project = Project(tl, work)
    project.put(ACT % 1, "# Act 1\n\nThe keeper leaves the island.\n")
    project.must("approve", "act-1")
    project.put(CHAPTER % (1, 1), "# Chapter 1\n\nThe boat is ready.\n")
    project.must("status")
    return project


def conformance(tools, tl, fixtures, report):
    project = story(tl, os.path.join(report.work, "conformance"))
    with project.serve() as server, Proxy(server.port, server.token) as proxy:
        for version, scenarios in SCENARIOS.items():
            for scenario in scenarios:
                scenario_holds(tools, report, proxy.url, version, scenario, "token")
        turned_away(report, server)
    # Without anything in between, so that nobody but the server can have turned a foreign host away.
    with project.serve("--no-token") as server:
        for version in SCENARIOS:
            scenario_holds(tools, report, server.url.replace("127.0.0.1", "localhost"), version, "dns-rebinding-protection",
                           "open")
    whole_set(tools, fixtures, report)


def whole_set(tools, fixtures, report):
    """Everything an era requires, on the server with the suite's own tools around the product's."""
    folder = report.folder("fixtures")
    if not fixtures:
        report.skip("conformance", "both", "http", "no server with the suite's tools (cargo build -p throughline-mcp --example conformance)")
        return
    with Serving([os.path.abspath(fixtures)], folder) as server, Proxy(server.port, server.token) as proxy:
        for version, count in REQUIRED.items():
            scenarios = required(tools, version)
            report.check(len(scenarios) == count, "conformance", version, "http",
                         "%d scenarios are required" % count, folder, "the suite names %d" % len(scenarios))
            for scenario in scenarios:
                scenario_holds(tools, report, proxy.url, version, scenario, "fixtures", excused=())


def required(tools, version):
    """The scenarios the suite requires of a server."""
    said = subprocess.run([tools.program("conformance"), "list", "--requirements", version], env=tools.environment(),
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, timeout=120, check=True).stdout
    servers = said.partition("Server scenarios")[2].partition("Client scenarios")[0]
    return [line.strip()[2:] for line in servers.splitlines() if line.strip().startswith("- ")]


def turned_away(report, server):
    """What the suite does not ask, because it has no token and is content when one of Host and Origin is looked at."""
    port = server.port
    token, host = {"Authorization": "Bearer " + server.token}, {"Host": "localhost:%d" % port}
    hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "mcplab", "version": "1"}}})
    log = os.path.join(report.folder("guard"), "log")
    for what, headers, wanted in (
            ("no token", host, (401,)), ("a wrong token", dict(host, Authorization="Bearer nonsense"), (401,)),
            ("a page of somebody else", dict(token, **host, Origin="http://evil.example"), (403,)),
            ("a foreign host", dict(token, Host="evil.example:%d" % port), (403, 421)),
            ("the right token", dict(token, **host), (200,))):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        connection.request("POST", "/mcp", hello, dict(headers, **{
            "Content-Type": "application/json", "Accept": "application/json, text/event-stream"}))
        answer = connection.getresponse()
        with open(log, "a", encoding="utf-8") as f:
            f.write("%s: %s\n%d %s\n%s\n" % (what, headers, answer.status, answer.getheaders(), answer.read().decode()))
        connection.close()
        report.check(answer.status in wanted, "guard", LEGACY, "http", "%s: %d" % (what, wanted[0]), log,
                     "got %d" % answer.status)


def scenario_holds(tools, report, url, version, scenario, how, excused=NEEDS_FIXTURES):
    folder = report.folder("conformance", version, scenario, how)
    log = os.path.join(folder, "output")
    with open(log, "w", encoding="utf-8") as f:
        try:
            code = subprocess.run(
                [tools.program("conformance"), "server", "--url", url, "--scenario", scenario, "--spec-version", version,
                 "-o", folder], env=tools.environment(), stdin=subprocess.DEVNULL, stdout=f, stderr=f, check=False,
                timeout=120).returncode
        except subprocess.TimeoutExpired:
            code = "nothing in 120 s"
    checks = []
    for path in glob.glob(os.path.join(folder, "*", "checks.json")):
        with open(path, encoding="utf-8") as f:
            checks += json.load(f)
    wrong = [one for one in checks if one["status"] in ("FAILURE", "WARNING") and one["id"] not in excused]
    passed = sum(one["status"] == "SUCCESS" for one in checks)
    what = "%s (%s)" % (scenario, how)
    if wrong:
        found = "; ".join("%s: %s" % (one["id"], one.get("errorMessage") or one["description"]) for one in wrong)
        report.fail("conformance", version, "http", "%s: %s" % (what, found), log)
    elif not passed:
        report.fail("conformance", version, "http", "%s: no check passed, it ended with %s" % (what, code), log)
    else:
        report.ok("conformance", version, "http", "%s: %d checks" % (what, passed))


def inspector(tools, tl, report):
    project = story(tl, os.path.join(report.work, "inspector"))
    with project.serve() as server:
        ways = {
            "stdio": [argument for pair in project.environment.items() for argument in ("-e", "%s=%s" % pair)]
            + ["--cwd", project.directory, "--", tl, "mcp"],
            "http": ["--server-url", server.url, "--transport", "http", "--header",
                     "Authorization: Bearer %s" % server.token],
        }
        for era in ("legacy", "modern"):
            for transport, way in ways.items():
                log = os.path.join(report.folder("inspector", era, transport), "output")
                done = subprocess.run(
                    [tools.program("mcp-inspector"), "--cli", "--method", "tools/list", "--strict", "--protocol-era", era,
                     "--format", "json", *way], env=dict(tools.environment(), HOME=project.home), stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
                with open(log, "w", encoding="utf-8") as f:
                    f.write("[%d]\n%s\n%s" % (done.returncode, done.stderr, done.stdout))
                findings = [line for line in done.stderr.splitlines() if line.startswith(("Warning", "Error"))]
                said = done.stderr.strip().splitlines()
                clean = done.returncode == 0 and not findings and '"tools"' in done.stdout
                report.check(clean, "inspector", era, transport, "tools/list --strict has nothing to say", log,
                             "%d, %s" % (done.returncode, said[-1] if said else "nothing"))
