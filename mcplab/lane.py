#!/usr/bin/env python3
"""Throughline's MCP server under programs nobody here wrote: `./test --mcp [CHECK …]` ends up here.

  lane.py --tl PATH --cache DIR [--release PATH] [--fixtures PATH] [--work DIR] [CHECK …]

One line per check: `ok|skip|FAIL  tool  era  transport  what`, with the log of what failed. Ends with 1 when a check
failed. Standard library only; the tools are installed into the cache (tools.py).
"""
import argparse
import os
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
from report import Report  # noqa: E402
from tools import NoRegistry, Tools  # noqa: E402

CHECKS = ["conformance", "inspector", "sdk", "frames", "crowd", "speed"]


def main():
    parser = argparse.ArgumentParser(usage="./test --mcp [CHECK …]", description="checks: " + ", ".join(CHECKS))
    parser.add_argument("--tl", required=True)
    parser.add_argument("--cache", required=True)
    parser.add_argument("--release")
    parser.add_argument("--fixtures", help="for conformance: the server with the suite's own tools")
    parser.add_argument("--work")
    parser.add_argument("--only", help="for sdk: one client, era or transport")
    parser.add_argument("checks", nargs="*", metavar="CHECK")
    options = parser.parse_args()
    unknown = [check for check in options.checks if check not in CHECKS]
    if unknown:
        parser.error("there is no check `%s`; checks: %s" % (unknown[0], ", ".join(CHECKS)))
    chosen = options.checks or CHECKS
    tl = os.path.abspath(options.tl)

    tools = Tools(options.cache)
    if {"conformance", "inspector", "sdk"} & set(chosen):
        try:
            tools.install()
        except NoRegistry as problem:
            print("skipped: the MCP tools cannot be installed (%s)" % problem)
            return 0

    work = os.path.abspath(options.work) if options.work else tempfile.mkdtemp(prefix="throughline-mcp-")
    os.makedirs(work, exist_ok=True)
    report = Report(work)
    for check in chosen:
        run(check, tools, tl, report, options)
    if report.failed:
        print("\nmcp: %d FAILED, everything is in %s" % (report.failed, work))
        return 1
    if not options.work:
        shutil.rmtree(work, ignore_errors=True)
    print("\nmcp: everything holds")
    return 0


def run(check, tools, tl, report, options):
    import crowd
    import drive
    import frames
    import outsiders
    import speed
    if check == "conformance":
        outsiders.conformance(tools, tl, options.fixtures, report)
    elif check == "inspector":
        outsiders.inspector(tools, tl, report)
    elif check == "sdk":
        drive.drive(tools, tl, report, options.only)
    elif check == "frames":
        frames.malformed(tl, report)
    elif check == "crowd":
        crowd.crowd(tl, report)
    else:
        speed.speed(options.release, report)


if __name__ == "__main__":
    sys.exit(main())
