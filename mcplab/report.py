"""One line per check."""
import os


class Report:
    """Says what held and what did not, and counts it."""

    def __init__(self, work):
        self.work, self.failed = work, 0

    def line(self, word, tool, era, transport, what):
        print("%-4s  %-12s  %-10s  %-5s  %s" % (word, tool, era, transport, " ".join(what.split())), flush=True)

    def ok(self, tool, era, transport, what):
        self.line("ok", tool, era, transport, what)

    def skip(self, tool, era, transport, what):
        self.line("skip", tool, era, transport, what)

    def fail(self, tool, era, transport, what, log):
        self.failed += 1
        self.line("FAIL", tool, era, transport, "%s  [%s]" % (what, log))

    def check(self, holds, tool, era, transport, what, log, found=""):
        if holds:
            self.ok(tool, era, transport, what)
        else:
            self.fail(tool, era, transport, what + (": " + found if found else ""), log)

    def folder(self, *names):
        path = os.path.join(self.work, "-".join(names))
        os.makedirs(path, exist_ok=True)
        return path
