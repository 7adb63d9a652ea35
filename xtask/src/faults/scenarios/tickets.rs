//! Scenarios in a repository with tickets: work, focus, claims, evidence.

use super::{Base, Scenario};

/// A git repository with `017` and its children `017a` (two scenarios) and `017b`, and `045`.
pub(super) static TICKETS: Base = Base {
    name: "tickets",
    script: "\
git init -q -b main .
git config user.name mara
git config user.email mara@example.org
tl init --profile tickets
ticket() {
    mkdir -p tickets/$1-$2
    printf -- '---\\nid: \"%s\"\\ntype: task\\n%sstatus: ready\\n---\\n\\n# %s\\n\\n## Problem\\n\\nSomething.\\n' \"$1\" \"$3\" \"$2\" > tickets/$1-$2/ticket.md
}
ticket 017 quality 'phase: implement\nchildren: [\"017a\", \"017b\"]\n'
ticket 017a loc 'phase: implement\nparent: \"017\"\n'
ticket 017b phases 'phase: intake\nparent: \"017\"\n'
ticket 045 search 'phase: intake\n'
printf '# Tests\\n\\n## Scenario: One\\nGiven edits\\n\\n## Scenario: Two\\nGiven lines\\n' > tickets/017a-loc/test-definitions.md
mkdir src
printf 'fn main() {}\\n' > src/main.rs
git add -A
git commit -q -m 'chore: start'
tl status
",
};

pub(super) fn scenarios() -> Vec<Scenario> {
    let s = Scenario::new;
    vec![
        s(
            "ticket-new",
            &["ticket-new"],
            &TICKETS,
            "",
            "tl ticket new Monitoring",
        ),
        s(
            "ticket-new-child",
            &["ticket-new"],
            &TICKETS,
            "",
            "tl ticket new Tracking --parent 017",
        ),
        s(
            "ticket-from-branch",
            &["ticket-from-branch"],
            &TICKETS,
            "git switch -q -c feature/discount-codes",
            "tl ticket from-branch",
        ),
        s(
            "ticket-archive",
            &["ticket-archive"],
            &TICKETS,
            "tl progress 045 complete",
            "tl ticket archive 045",
        ),
        s("next-claim", &["next"], &TICKETS, "", "tl next --claim"),
        s(
            "ticket-split",
            &["ticket-split"],
            &TICKETS,
            "",
            "tl ticket split 045 Left Right",
        ),
        s(
            "ticket-phase",
            &["ticket-phase"],
            &TICKETS,
            "",
            "tl ticket phase 017b define-behavior",
        ),
        s(
            "ticket-priority",
            &["ticket-priority"],
            &TICKETS,
            "",
            "tl ticket priority 017b high",
        ),
        s(
            "ticket-level",
            &["ticket-level"],
            &TICKETS,
            "",
            "tl ticket level 017b feature --reason wide",
        ),
        s("claim", &["claim"], &TICKETS, "", "tl claim 017a"),
        s(
            "release",
            &["release"],
            &TICKETS,
            "tl claim 017a",
            "tl release 017a",
        ),
        s(
            "renumber",
            &["renumber"],
            &TICKETS,
            "",
            "tl renumber 017 031",
        ),
        s(
            "focus-enter",
            &["focus-enter"],
            &TICKETS,
            "",
            "tl focus enter 017a",
        ),
        s(
            "focus-claim",
            &["focus-enter"],
            &TICKETS,
            "",
            "tl focus enter 017a --claim",
        ),
        s(
            "focus-exit",
            &["focus-exit"],
            &TICKETS,
            "tl focus enter 017b",
            "tl focus exit",
        ),
        s(
            "focus-back",
            &["focus-back"],
            &TICKETS,
            "tl focus enter 017a\ntl focus enter 017b",
            "tl focus back 017a",
        ),
        s(
            "focus-park",
            &["focus-park"],
            &TICKETS,
            "tl focus enter 017a",
            "tl focus park",
        ),
        s(
            "focus-switch",
            &["focus-switch"],
            &TICKETS,
            "tl focus enter 017a\ntl focus enter 045",
            "tl focus switch 017",
        ),
        s(
            "scenario-done",
            &["ticket-scenario-done"],
            &TICKETS,
            "tl focus enter 017a",
            "tl ticket scenario done",
        ),
        s(
            "evidence-add",
            &["evidence-add"],
            &TICKETS,
            "",
            "tl evidence add 017b --input src -- true",
        ),
        s(
            "evidence-run",
            &["evidence-run"],
            &TICKETS,
            "tl evidence add 017b --input src -- true",
            "tl evidence run 017b",
        ),
    ]
}
