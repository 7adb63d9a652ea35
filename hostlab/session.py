"""One headless session of one host, in a project of its own, and what its model was told."""
import json
import os
import shutil
import signal
import subprocess

import fake_llm

PATIENCE = 180


class DidNotRun(Exception):
    """The host itself failed: nothing can be said about Throughline."""


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

    def commit(self, message):
        """Commits everything, as somebody outside the session."""
        git = ["git", "-c", "user.name=Lab", "-c", "user.email=lab@localhost"]
        for command in (["add", "--all"], ["commit", "--quiet", "--message", message]):
            subprocess.run(git + command, cwd=self.project, env=self.surroundings(), check=True,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

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

    def set_up(self, create):
        """A project made by `create`, connected to the host."""
        subprocess.run(["git", "init", "--quiet", self.project], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        self.host.prepare(self)
        create(self)
        self.must("init", "--host", ",".join([*self.host.beside, self.host.name]))
        if self.host.name == "codex":
            self.must("host", "doctor", "--trust", "codex")

    def go(self, create, steps, lanes=(), between=None):
        """Sets up, then runs the host with this model until it ends. With `between`, the session then continues: that is
        called first, and the host starts again with another prompt."""
        server, self.model = fake_llm.start({"steps": steps, "lanes": list(lanes)}, self.log)
        try:
            self.set_up(create)
            code = self.run_host()
            if between:
                between()
                self.prompt, self.arguments = "go on", [*self.arguments, *self.host.resume_arguments]
                code = self.run_host()
        finally:
            server.shutdown()
            server.server_close()
        if not self.told():
            raise DidNotRun("it ended with %s and never asked the model" % code)

    def run_host(self):
        """Runs the host with one prompt; returns its exit code."""
        command, _ = self.host.command(self)
        with open(os.path.join(self.work, "stdout"), "ab") as out, open(os.path.join(self.work, "stderr"), "ab") as err:
            process = subprocess.Popen(command, cwd=self.project, env=self.surroundings(), stdin=subprocess.DEVNULL,
                                       stdout=out, stderr=err, start_new_session=True)
            try:
                return process.wait(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                raise DidNotRun("it did not end in %d s" % PATIENCE) from None
            finally:
                try:  # the host and what it left behind in its own session
                    os.killpg(process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
                process.wait()

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
