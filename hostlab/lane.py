#!/usr/bin/env python3
"""Throughline in the real agent hosts: `./test --hosts [HOST …]` ends up here.

  lane.py --tl PATH --cache DIR [--work DIR] [HOST …]

Installs the hosts that are missing in the cache, then drives each, offline, against a scripted model in a project that
`tl init --host` has connected, and checks what the model was told and what became of the plans. One line per host and
check; ends with 1 when a check failed. Standard library only.
"""
import argparse
import fcntl
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import fake_llm  # noqa: E402
from hosts import HOSTS, NoRegistry  # noqa: E402

NAMES = list(dict.fromkeys(host.name for host in HOSTS))

ACT = "acts/act-1/strategic-plan.md"
CHAPTER = "acts/act-1/chapters/chapter-01/plan.md"
ACT_TEXT = "# Act 1\n\nThe keeper leaves the island before the storm.\n"
CHAPTER_TEXT = "# Chapter 1\n\nThe boat is ready.\n"

BRIEFING = "Throughline keeps the plans"
REASON = "Throughline (hierarchy gate): `act-1/chapter-01` cannot be planned"
PARENT = "The keeper leaves the island before the storm."
STALE = "below what changed now requires revalidation"
NEW_BRIEFING = "1 act (1 approved)"
SUMMARY = "SUMMARY-OF-THE-WORK"

# How the hosts ask for a summary of a conversation that became too long.
ASKS_FOR_SUMMARY = ("(?i)(create a detailed summary of the conversation|CONTEXT CHECKPOINT COMPACTION|"
                    "summariz(e|ing) (the|our|this) conversation|state_snapshot|anchored summary|"
                    "detailed prompt for continuing our conversation)")

PATIENCE = 180


class DidNotRun(Exception):
    """The host itself failed: nothing can be said about Throughline."""


# ------------------------------------------------------------- isolation --
def loopback_up():
    get_flags, set_flags, up = 0x8913, 0x8914, 1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        request = struct.pack("16sh14s", b"lo", 0, b"")
        flags = struct.unpack("16sh14s", fcntl.ioctl(s, get_flags, request))[1]
        fcntl.ioctl(s, set_flags, struct.pack("16sh14s", b"lo", flags | up, b""))


def is_isolated():
    return "THROUGHLINE_LANE_ISOLATED" in os.environ


def isolate():
    """Starts again in a network namespace with nothing but loopback, where the system has such a thing."""
    if is_isolated():
        loopback_up()
        return
    flags = ["-n"] if os.geteuid() == 0 else ["-r", "-n"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    if not shutil.which("unshare") or subprocess.run(["unshare"] + flags + ["true"], check=False, **quiet).returncode:
        print("note: no network namespace here; the hosts only have proxies that lead nowhere", flush=True)
        return
    sys.stdout.flush()
    environment = dict(os.environ, THROUGHLINE_LANE_ISOLATED="1")
    os.execvpe("unshare", ["unshare"] + flags + [sys.executable] + sys.argv, environment)


# --------------------------------------------------------------- session --
class Session:
    """One headless session of one host in a project of its own."""

    def __init__(self, host, tl, cache, work):
        self.host, self.tl_program, self.work = host, tl, work
        self.program = host.program(cache)
        self.project, self.home = os.path.join(work, "project"), os.path.join(work, "home")
        self.log = os.path.join(work, "model.jsonl")
        self.prompt, self.arguments, self.environment, self.model = "do the task", [], {}, ""
        self.has_second_prompt = False
        self.mistakes = []
        shutil.rmtree(work, ignore_errors=True)
        for folder in (self.project, self.home, os.path.join(work, "tmp")):
            os.makedirs(folder)

    def surroundings(self):
        """What every process of the session gets from us, and nothing else. Which states are trusted is kept below HOME:
        a variable of ours would not reach the MCP servers that Codex starts."""
        path = os.environ.get("PATH", "/usr/bin:/bin")
        folders = [os.path.dirname(self.tl_program), os.path.dirname(self.program), path]
        _, own = self.host.command(self)
        return dict({
            "PATH": os.pathsep.join(folders), "HOME": self.home, "TMPDIR": os.path.join(self.work, "tmp"),
            "LANG": "C.UTF-8", "TERM": "dumb", "NO_COLOR": "1", "CI": "1",
            # What still tries to leave meets a closed port.
            "HTTPS_PROXY": "http://127.0.0.1:9", "HTTP_PROXY": "http://127.0.0.1:9",
            "NO_PROXY": "127.0.0.1,localhost,::1"}, **own, **self.environment)

    def tl(self, *arguments):
        """Runs `tl` as somebody outside the session; returns its exit code and output."""
        done = subprocess.run([self.tl_program, *arguments], cwd=self.project, env=self.surroundings(), text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        with open(os.path.join(self.work, "tl.log"), "a", encoding="utf-8") as f:
            f.write("$ tl %s\n%s%s[%d]\n" % (" ".join(arguments), done.stdout, done.stderr, done.returncode))
        return done

    def must(self, *arguments):
        done = self.tl(*arguments)
        if done.returncode != 0:
            said = done.stderr.strip()
            self.mistakes.append("`tl %s` ended with %d: %s" % (" ".join(arguments), done.returncode, said))
        return done

    def status(self, node):
        done = self.tl("show", node, "--json")
        return json.loads(done.stdout).get("status") if done.returncode == 0 else None

    def recorded_by_hook(self, summary):
        """Read from the journal: a command of ours would itself look at the files and record what it finds."""
        journal = self.read(".throughline/journal.jsonl") or ""
        operations = [json.loads(line).get("op", {}) for line in journal.splitlines()]
        return any(one.get("channel") == "hook" and one.get("summary") == summary for one in operations)

    def put(self, path, text):
        whole = os.path.join(self.project, path)
        os.makedirs(os.path.dirname(whole), exist_ok=True)
        with open(whole, "w", encoding="utf-8") as f:
            f.write(text)

    def read(self, path):
        try:
            with open(os.path.join(self.project, path), encoding="utf-8") as f:
                return f.read()
        except FileNotFoundError:
            return None

    def set_up(self):
        """A story with one act that nobody approved yet, connected to the host."""
        subprocess.run(["git", "init", "--quiet", self.project], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        self.host.prepare(self)
        self.must("init")
        self.must("init", "--host", ",".join([*self.host.beside, self.host.name]))
        if self.host.name == "codex":
            self.must("host", "doctor", "--trust", "codex")
        self.put(ACT, ACT_TEXT)
        self.must("status")

    def go(self, steps, lanes=()):
        """Sets up, then runs the host with this model until it ends."""
        server, self.model = fake_llm.start({"steps": steps, "lanes": list(lanes)}, self.log)
        try:
            self.set_up()
            command, _ = self.host.command(self)
            with open(os.path.join(self.work, "stdout"), "wb") as out, \
                    open(os.path.join(self.work, "stderr"), "wb") as err:
                process = subprocess.Popen(command, cwd=self.project, env=self.surroundings(), stdin=subprocess.DEVNULL,
                                           stdout=out, stderr=err, start_new_session=True)
                try:
                    code = process.wait(timeout=PATIENCE)
                except subprocess.TimeoutExpired:
                    raise DidNotRun("it did not end in %d s" % PATIENCE) from None
                finally:
                    try:  # the host and what it left behind in its own session
                        os.killpg(process.pid, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
                    process.wait()
        finally:
            server.shutdown()
            server.server_close()
        if not self.told():
            raise DidNotRun("it ended with %s and never asked the model" % code)

    # -- what the model was told ----------------------------------------------
    def requests(self):
        if not os.path.exists(self.log):
            return []
        with open(self.log, encoding="utf-8") as f:
            return [json.loads(line) for line in f]

    def told(self):
        """The requests that were turns of the agent, as text."""
        main = [request for request in self.requests() if request.get("lane") == "main"]
        return [json.dumps(request["body"], ensure_ascii=False) for request in main]

    def first_told(self, text):
        """The number of the first request that has this text."""
        return next((i + 1 for i, request in enumerate(self.told()) if text in request), None)


# ---------------------------------------------------------------- checks --
class Report:
    def __init__(self):
        self.failed = 0

    def line(self, mark, host, text):
        beside = "beside %s, " % ", ".join(host.beside) if host.beside else ""
        print("%-4s %-12s %s%s" % (mark, host.name, beside, text), flush=True)

    def fail(self, host, session, text):
        self.failed += 1
        self.line("FAIL", host, "%s (logs: %s)" % (text, session.work))

    def check(self, host, session, what, holds, problems):
        """`problems` are pairs: what is wrong, and whether it is."""
        wrong = [text for text, is_wrong in problems if is_wrong]
        if wrong:
            self.fail(host, session, "%s: %s" % (what, "; ".join(wrong)))
        else:
            self.line("ok", host, "%s: %s" % (what, holds))


def at(session, text, wanted):
    """Is this text for the first time in that request? As a pair for `Report.check`."""
    found = session.first_told(text)
    where = "never" if found is None else "first in request %d" % found
    return "\"%s\" was expected in request %d and is there %s" % (text, wanted, where), found != wanted


def plan_and_change(host, session, report):
    """A blocked write, an approval, the same write, and a shell command that changes the act below which it is."""
    seen = {}
    write = host.write(session, CHAPTER, CHAPTER_TEXT)

    def after_blocked():
        seen["blocked"] = session.read(CHAPTER)
        session.must("approve", "act-1")

    def after_allowed():
        seen["written"] = session.read(CHAPTER)
        seen["recorded"] = session.recorded_by_hook("new: chapter-01")
        seen["chapter"] = session.status("act-1/chapter-01")
        session.must("approve", "act-1/chapter-01")

    def after_shell():
        seen["noticed"] = session.recorded_by_hook("changed: act-1")
        seen["act"] = session.status("act-1")
        seen["below"] = session.status("act-1/chapter-01")

    session.go([
        {"text": "I plan the chapter.", "tools": [write]},
        {"text": "Again.", "tools": [write], "before": after_blocked},
        {"text": "I change the act.", "tools": [host.shell("printf '\\nNobody waves.\\n' >> %s" % ACT)],
         "before": after_allowed},
        {"text": "All done.", "before": after_shell}])

    report.check(host, session, "set up", "`tl init --host` and what came after it worked", [
        (mistake, True) for mistake in session.mistakes])
    report.check(host, session, "session start", "the briefing is in the first request", [at(session, BRIEFING, 1)])
    report.check(host, session, "blocked write", "reason reached the model", [
        ("the file was written", seen.get("blocked") is not None), at(session, REASON, 2)])
    report.check(host, session, "allowed write", "after approval the same write went through and is recorded", [
        ("the file has %r" % seen.get("written"), seen.get("written") != CHAPTER_TEXT),
        ("no hook recorded it", not seen.get("recorded")),
        ("the chapter is %s" % seen.get("chapter"), seen.get("chapter") != "draft")])
    report.check(host, session, "parent's plan", "handed over with the write", [at(session, PARENT, 3)])
    report.check(host, session, "shell write", "noticed, and the model was told what is stale", [
        ("no hook recorded it", not seen.get("noticed")),
        ("the act is %s" % seen.get("act"), seen.get("act") != "draft"),
        ("the chapter is %s" % seen.get("below"), seen.get("below") != "requires-revalidation"),
        at(session, STALE, 4)])


def compaction(host, session, report):
    """A conversation that becomes too long. The act is approved after the first briefing, so that a second one differs
    from the first and cannot be taken for it."""
    session.arguments = list(host.compaction_arguments)
    session.environment = dict(host.compaction_environment)
    session.has_second_prompt = host.compacts_at_prompts_only
    first = [] if host.compacts_at_prompts_only else [host.shell("echo one")]
    session.go([
        {"text": "First.", "tools": first, "usage": {"input": host.too_long},
         "before": lambda: session.must("approve", "act-1")},
        {"text": "Second.", "tools": [host.shell("echo two")]},
        {"text": "Third.", "tools": [host.shell("echo three")]},
        {"text": "All done."}],
        lanes=[{"match": ASKS_FOR_SUMMARY, "steps": [{"text": "<summary>%s</summary>" % SUMMARY}] * 6}])
    after = [request for request in session.told() if SUMMARY in request]
    number = next((i + 1 for i, request in enumerate(after) if NEW_BRIEFING in request), None)
    if host.deaf_after_compaction and after and number is None:
        report.line("skip", host, "compaction: " + host.deaf_after_compaction)
        return
    report.check(host, session, "compaction", "the briefing came again, in request %s after it" % number, [
        (mistake, True) for mistake in session.mistakes] + [
        ("the host did not compact the conversation", not after),
        ("no new briefing in %d requests after it" % len(after), bool(after) and number is None)])


def mcp_tool(host, session, report):
    """A tool of the MCP server that `tl init --host` registered: called by the model, its result in the next request."""
    session.go([{"text": "Where are we?", "tools": [host.mcp("where")]}, {"text": "All done."}])
    report.check(host, session, "MCP", "`where` was called and its result reached the model", [
        (mistake, True) for mistake in session.mistakes] + [at(session, "more_attention", 2)])


CHECKS = [("plans", plan_and_change), ("compaction", compaction), ("mcp", mcp_tool)]


def drive(host, tl, cache, work, report):
    for label, check in CHECKS:
        for attempt in (1, 2):
            session = Session(host, tl, cache, os.path.join(work, "-".join([host.name, *host.beside, label])))
            try:
                check(host, session, report)
            except DidNotRun as problem:
                # A machine that is busy with other things deserves a second chance.
                if attempt == 2:
                    report.fail(host, session, "%s: the host did not run: %s" % (label, problem))
                continue
            break


# ------------------------------------------------------------------ main --
def install(hosts, cache):
    """Installs what is missing; returns whether that went well. Without a registry, what is there is used."""
    missing = [host for host in hosts if not os.path.exists(host.program(cache))]
    for host in missing:
        if os.path.exists(host.program(cache)):
            continue
        print("installing %s %s into %s" % (host.package, host.version, cache), flush=True)
        try:
            host.install(cache)
        except NoRegistry as problem:
            names = dict.fromkeys(host.name for host in missing if not os.path.exists(host.program(cache)))
            print("skipped: %s: not installed, and %s" % (", ".join(names), problem), flush=True)
            return True
        except (RuntimeError, OSError) as problem:
            print("FAIL %-12s install: %s" % (host.name, problem), flush=True)
            return False
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tl", required=True, help="the program to test")
    parser.add_argument("--cache", required=True, help="where the hosts are installed")
    parser.add_argument("--work", help="keep everything in this directory")
    parser.add_argument("hosts", nargs="*", metavar="HOST", help=", ".join(NAMES))
    arguments = parser.parse_args()
    for name in arguments.hosts:
        if name not in NAMES:
            parser.error("unknown host `%s`: expected %s" % (name, ", ".join(NAMES)))
    hosts = [host for host in HOSTS if host.name in (arguments.hosts or NAMES)]
    cache = os.path.abspath(arguments.cache)
    if not is_isolated() and not install(hosts, cache):
        return 1
    hosts = [host for host in hosts if os.path.exists(host.program(cache))]
    if not hosts:
        return 0
    isolate()

    work = os.path.realpath(arguments.work or tempfile.mkdtemp(prefix="throughline-hosts-"))
    report, start = Report(), time.time()
    for host in hosts:
        drive(host, os.path.abspath(arguments.tl), cache, work, report)
    result = "%d checks FAILED" % report.failed if report.failed else "everything holds"
    print("hosts: %s (%d s)" % (result, time.time() - start))
    if not report.failed and not arguments.work:
        shutil.rmtree(work, ignore_errors=True)
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
