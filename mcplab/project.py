"""A project of its own for each check, and the server on it."""
import json
import os
import pty
import select
import shutil
import subprocess
import time

ACT, CHAPTER = "acts/act-%d/strategic-plan.md", "acts/act-%d/chapters/chapter-%02d/plan.md"


class Project:
    """A story in a directory, with a home of its own."""

    def __init__(self, tl, work, policy=None):
        self.tl_program, self.work, self.policy = tl, work, policy or {}
        self.directory, self.home = os.path.join(work, "project"), os.path.join(work, "home")
        shutil.rmtree(work, ignore_errors=True)
        for folder in (self.directory, self.home, os.path.join(work, "tmp")):
            os.makedirs(folder)
        # What the server and the shell beside it get from us, and nothing else.
        self.environment = {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": self.home, "TMPDIR": os.path.join(work, "tmp"),
            "THROUGHLINE_HOME": os.path.join(work, "throughline"), "LANG": "C.UTF-8", "TERM": "dumb", "NO_COLOR": "1"}
        self.must("init")
        for key, value in self.policy.items():
            self.must("config", "set", "policy." + key, value)

    def tl(self, *arguments, timeout=120):
        return subprocess.run([self.tl_program, *arguments], cwd=self.directory, env=self.environment, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout,
                              check=False)

    def must(self, *arguments, timeout=120):
        done = self.tl(*arguments, timeout=timeout)
        if done.returncode:
            raise RuntimeError("`tl %s` ended with %d: %s" % (" ".join(arguments), done.returncode, done.stderr.strip()))
        return done.stdout

    def in_terminal(self, *arguments, asked, answer, seconds=30):
        """Runs a command as a person does, in a terminal: waits for its question, answers, returns how it ended."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen([self.tl_program, *arguments], cwd=self.directory, env=self.environment, stdin=theirs,
                                   stdout=theirs, stderr=theirs, start_new_session=True)
        os.close(theirs)
        said, end = b"", time.monotonic() + seconds
        try:
            while asked.encode() not in said and time.monotonic() < end:
                if select.select([ours], [], [], 0.1)[0]:
                    said += os.read(ours, 4096)
            os.write(ours, answer.encode() + b"\n")
            return process.wait(timeout=seconds), said.decode(errors="replace")
        finally:
            process.kill()
            process.wait()
            os.close(ours)

    def put(self, path, text):
        whole = os.path.join(self.directory, path)
        os.makedirs(os.path.dirname(whole), exist_ok=True)
        with open(whole, "w", encoding="utf-8") as f:
            f.write(text)

    def mcp(self, *arguments, stderr=None):
        """Starts `tl mcp`."""
        return subprocess.Popen([self.tl_program, "mcp", *arguments], cwd=self.directory, env=self.environment,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr or subprocess.DEVNULL)

    def serve(self, *arguments):
        """`with project.serve() as server`: `tl serve` for as long as it is needed."""
        # Under policy human a dashboard that decides is started by a person, in a terminal.
        return Serving([self.tl_program, "serve", "--port", "0", "--json", *arguments], self.work,
                       by_person=self.policy.get("approval") == "human", cwd=self.directory, env=self.environment)


class Serving:
    """A server over HTTP that says in its first line where it is."""

    def __init__(self, command, work, by_person=False, **how):
        self.command, self.work, self.by_person, self.how = command, work, by_person, how
        self.terminal, self.process, self.url, self.token = (), None, "", None

    @property
    def port(self):
        return int(self.url.split(":")[2].split("/")[0])

    def __enter__(self):
        if self.by_person:
            # Both ends stay open as long as the server runs.
            self.terminal = pty.openpty()
            self.process = subprocess.Popen(self.command, stdin=self.terminal[1], stdout=subprocess.PIPE,
                                            stderr=self.terminal[1], start_new_session=True, **self.how)
        else:
            with open(os.path.join(self.work, "serve.stderr"), "ab") as errors:
                self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                                stderr=errors, **self.how)
        ready, _, _ = select.select([self.process.stdout], [], [], 30)
        line = self.process.stdout.readline() if ready else b""
        if not line:
            self.process.kill()
            self.process.wait()
            raise RuntimeError("`%s` did not say where it is" % " ".join(self.command))
        said = json.loads(line)
        self.url, self.token = said["url"], said["token"]
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        for end in self.terminal:
            os.close(end)


def wait_for(condition, seconds=15):
    """Waits until a condition holds; says whether it did."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return condition()
