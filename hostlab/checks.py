"""What is checked in each host: one function per session, which runs it and reports."""
from dashboard import Dashboard

ACT = "acts/act-1/strategic-plan.md"
CHAPTER = "acts/act-1/chapters/chapter-01/plan.md"
ACT_TEXT = "# Act 1\n\nThe keeper leaves the island before the storm.\n"
CHAPTER_TEXT = "# Chapter 1\n\nThe boat is ready.\n"

BRIEFING = "Throughline briefing:"
REASON = "Throughline (hierarchy gate): `act-1/chapter-01` cannot be planned"
PARENT = "The keeper leaves the island before the storm."
STALE = "below what changed now requires revalidation"
NEW_BRIEFING = "1 act (1 approved)"
POSITION = "Throughline briefing: you are at 001 [%s]"
NEXT_STEP = "Phase: %s. Expected next: "
GUIDES = {"intake": "# Intake: find out what is wanted", "define-behavior": "# Define behavior: examples before code"}
BLOCKED = "Throughline (%s gate): "
NOT_DELEGATED = "Throughline (hierarchy gate): cannot plan `chapter-01`: parent `act-1` is `draft`"
NEWS = "Throughline: changed by others since your last step:"
APPROVAL = "`act-1` was approved by ada on the dashboard"
LAST_GOOD = "the last good settings stay in force"
LINES = "450 uncommitted changed lines, the limit is 400"
SUMMARY = "SUMMARY-OF-THE-WORK"

# How the hosts ask for a summary of a conversation that became too long.
ASKS_FOR_SUMMARY = ("(?i)(create a detailed summary of the conversation|CONTEXT CHECKPOINT COMPACTION|"
                    "summariz(e|ing) (the|our|this) conversation|state_snapshot|anchored summary|"
                    "detailed prompt for continuing our conversation)")


def at(session, text, wanted):
    """Is this text for the first time in that request? As a pair for `Report.check`."""
    found = session.first_told(text)
    where = "never" if found is None else "first in request %d" % found
    return "\"%s\" was expected in request %d and is there %s" % (text, wanted, where), found != wanted


def create_story(session):
    """A story with one act that nobody approved yet."""
    session.must("init")
    session.put(ACT, ACT_TEXT)
    session.must("status")


def create_ticket(session, phase):
    """A ticket in this phase, in focus in a terminal: there a new session starts."""
    session.must("init", "--profile", "tickets")
    session.must("ticket", "new", "Discount codes")
    session.must("ticket", "phase", "001", phase)
    session.must("focus", "enter", "001")


def list_mistakes(session):
    """Commands of ours that failed, as pairs for `Report.check`."""
    return [(mistake, True) for mistake in session.mistakes]


def check_plans(host, session, report):
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

    session.go(create_story, [
        {"text": "I plan the chapter.", "tools": [write]},
        {"text": "Again.", "tools": [write], "before": after_blocked},
        {"text": "I change the act.", "tools": [host.shell("printf '\\nNobody waves.\\n' >> %s" % ACT)],
         "before": after_allowed},
        {"text": "All done.", "before": after_shell}])

    report.check(host, session, "set up", "`tl init --host` and what came after it worked", list_mistakes(session))
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


def compact(host, session, create, change):
    """A conversation that becomes too long. `change` is called after the first briefing, so that a second one differs
    from the first and cannot be taken for it. Returns the requests after the compaction."""
    session.arguments = list(host.compaction_arguments)
    session.environment = dict(host.compaction_environment)
    session.has_second_prompt = host.compacts_at_prompts_only
    first = [] if host.compacts_at_prompts_only else [host.shell("echo one")]
    session.go(create, [
        {"text": "First.", "tools": first, "usage": {"input": host.too_long}, "before": change},
        {"text": "Second.", "tools": [host.shell("echo two")]},
        {"text": "Third.", "tools": [host.shell("echo three")]},
        {"text": "All done."}],
        lanes=[{"match": ASKS_FOR_SUMMARY, "steps": [{"text": "<summary>%s</summary>" % SUMMARY}] * 6}])
    return [request for request in session.told() if SUMMARY in request]


def check_new_briefing(host, session, report, what, after, texts):
    """Is a briefing with these texts in a request after the compaction?"""
    number = next((i + 1 for i, request in enumerate(after) if all(text in request for text in texts)), None)
    report.check(host, session, what, "the briefing came again, in request %s after it" % number, list_mistakes(session) + [
        ("the host did not compact the conversation", not after),
        ("no new briefing in %d requests after it" % len(after), bool(after) and number is None)])


def check_compaction(host, session, report):
    after = compact(host, session, create_story, lambda: session.must("approve", "act-1"))
    check_new_briefing(host, session, report, "compaction", after, [NEW_BRIEFING])


def check_ticket_briefing(host, session, report):
    """The briefing of a session that starts in a ticket, and the one after a compaction."""
    before, later = "define-behavior", "decomposition"
    after = compact(host, session, lambda session: create_ticket(session, before),
                    lambda: session.must("ticket", "phase", "001", later))
    report.check(host, session, "tickets", "place, phase and next step are in the first request", [
        at(session, POSITION % before, 1), at(session, NEXT_STEP % before, 1),
        ("it is told to leave the ticket to the terminal that entered it",
         session.first_told("Do not continue its work") is not None)])
    check_new_briefing(host, session, report, "tickets, compaction", after, [POSITION % later, NEXT_STEP % later])


def check_guides(host, session, report):
    """The first edit in a ticket, and the first one in its next phase: the guide comes with the edit, which passes. Where a
    host takes no context before a tool it comes with a block, and the same edit passes when it is repeated."""
    files = ["src/one.rs", "src/two.rs"]
    attempts = 1 if host.takes_context_before_tools else 2
    steps = [{"text": "I edit.", "tools": [host.write(session, path, "x\n")]} for path in files for _ in range(attempts)]

    def begin_phase():
        session.must("ticket", "phase", "001", "define-behavior")
        # With uncommitted changes the phase gate demands a commit, in every host.
        session.commit("chore: begin a phase")

    def create(session):
        create_ticket(session, "intake")
        session.commit("chore: begin")

    steps[attempts]["before"] = begin_phase
    session.go(create, steps + [{"text": "All done."}])
    second = 2 + attempts  # the request after the first edit in the second phase
    if host.takes_context_before_tools:
        holds = "the first edit in a phase passed, and its guide is in the next request"
        blocks = [("the %s gate blocked an edit" % gate, session.first_told(BLOCKED % gate) is not None)
                  for gate in ("context", "phase")]
    else:
        holds = "the first edit in a phase was blocked once, with its guide"
        blocks = [at(session, BLOCKED % "context", 2), at(session, BLOCKED % "phase", second)]
    report.check(host, session, "guide", holds, list_mistakes(session) + blocks + [
        ("%s was not written" % path, session.read(path) is None) for path in files] + [
        at(session, GUIDES["intake"], 2), at(session, GUIDES["define-behavior"], second)])


def check_shell_lines(host, session, report):
    """A shell command that writes more lines than may be uncommitted, in a session that never uses an edit tool."""
    def create(session):
        create_ticket(session, "intake")
        session.commit("chore: begin")

    # Where a host takes no context before a tool, the first command that plainly writes a file is blocked with it.
    attempts = 1 if host.takes_context_before_tools else 2
    generate = {"text": "I generate.", "tools": [host.shell("seq 450 > numbers.txt")]}
    session.go(create, [generate] * attempts + [{"text": "All done."}])
    report.check(host, session, "shell lines", "the model was told that the line limit is crossed",
                 list_mistakes(session) + [at(session, LINES, 1 + attempts)])


def check_subagent(host, session, report):
    """Planning below an unapproved act, handed to a subagent: refused before it starts."""
    call = host.subagent("/plan-chapter 1")
    session.go(create_story, [{"text": "A subagent plans.", "tools": [call]}, {"text": "All done."}])
    report.check(host, session, "subagent", "planning handed over was refused, and the reason reached the model",
                 list_mistakes(session) + [
                     at(session, NOT_DELEGATED, 2), ("%d requests, not 2" % len(session.told()), len(session.told()) != 2)])


def check_dashboard_decision(host, session, report):
    """A person approves the act on the dashboard while the session runs."""
    seen = {}

    def decide():
        with Dashboard(session) as dashboard:
            seen["response"] = dashboard.approve("act-1")

    session.go(create_story, [
        {"text": "I plan the chapter.", "tools": [host.write(session, CHAPTER, CHAPTER_TEXT)]},
        {"text": "I take a note.", "tools": [host.shell("echo waiting > notes.txt")], "before": decide},
        {"text": "All done."}])
    report.check(host, session, "dashboard", "the approval reached the running session", list_mistakes(session) + [
        ("the form was answered with %s" % seen.get("response"), seen.get("response") != 303),
        at(session, NEWS, 3), at(session, APPROVAL, 3)])


def check_broken_settings(host, session, report):
    """The settings are broken before the session continues with a second prompt."""
    session.go(create_story, [
        {"text": "First."},
        {"text": "I plan the chapter.", "tools": [host.write(session, CHAPTER, CHAPTER_TEXT)]},
        {"text": "All done."}], between=lambda: session.put(".throughline/config.toml", "[policy\n"))
    report.check(host, session, "broken settings", "reported with the second prompt, and the gate still blocked",
                 list_mistakes(session) + [
                     ("the host began another session", "First." not in "".join(session.told()[1:2])),
                     ("the file was written", session.read(CHAPTER) is not None),
                     at(session, LAST_GOOD, 2), at(session, REASON, 3)])


def check_mcp_tool(host, session, report):
    """A tool of the MCP server that `tl init --host` registered: called by the model, its result in the next request."""
    session.go(create_story, [{"text": "Where are we?", "tools": [host.mcp("work_where")]}, {"text": "All done."}])
    report.check(host, session, "MCP", "`work_where` was called and its result reached the model", [
        *list_mistakes(session), at(session, "more_attention", 2)])


CHECKS = [
    ("plans", check_plans),
    ("compaction", check_compaction),
    ("tickets", check_ticket_briefing),
    ("guides", check_guides),
    ("lines", check_shell_lines),
    ("subagent", check_subagent),
    ("dashboard", check_dashboard_decision),
    ("settings", check_broken_settings),
    ("mcp", check_mcp_tool),
]
