#!/usr/bin/env python3
"""Throughline in the real agent hosts: `./test --hosts [HOST …]` ends up here.

  lane.py --tl PATH --cache DIR [--work DIR] [--check CHECK] [HOST …]

Installs the hosts that are missing in the cache, then drives each, offline, against a scripted model in a project that
`tl init --host` has connected, and checks what the model was told and what became of the plans. One line per host and
check; ends with 1 when a check failed. Standard library only.
"""
import argparse
import fcntl
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from checks import CHECKS  # noqa: E402
from hosts import HOSTS, NoRegistry  # noqa: E402
from session import DidNotRun, Session  # noqa: E402

NAMES = list(dict.fromkeys(host.name for host in HOSTS))


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


# ---------------------------------------------------------------- report --
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


def drive(host, checks, tl, cache, work, report):
    for label, check in checks:
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
    parser.add_argument("--check", choices=[label for label, _ in CHECKS], help="run this check alone")
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
    checks = [(label, check) for label, check in CHECKS if arguments.check in (None, label)]
    report, start = Report(), time.time()
    for host in hosts:
        drive(host, checks, os.path.abspath(arguments.tl), cache, work, report)
    result = "%d checks FAILED" % report.failed if report.failed else "everything holds"
    print("hosts: %s (%d s)" % (result, time.time() - start))
    if not report.failed and not arguments.work:
        shutil.rmtree(work, ignore_errors=True)
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
