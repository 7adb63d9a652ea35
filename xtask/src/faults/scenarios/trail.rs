//! Scenarios with a trail: intents, sessions, notes, anchors.

use super::{Base, Scenario};

/// A trail with two finished branches and an open one.
pub(super) static TRAIL: Base = Base {
    name: "trail",
    script: "\
tl init --profile trail
tl trail intent 'Build auth'
tl trail map tactic One
tl trail map action Step --status complete
tl trail map tactic One --status complete
tl trail map tactic Two
tl trail map action Other
tl note add --shelf decisions 'JWT with jose'
tl note add --pin 'No new dependency'
tl status
",
};

static EMPTY_TRAIL: Base = Base {
    name: "empty-trail",
    script: "tl init --profile trail\ntl status\n",
};

pub(super) fn scenarios() -> Vec<Scenario> {
    let s = Scenario::new;
    vec![
        s(
            "intent",
            &["trail-intent"],
            &EMPTY_TRAIL,
            "",
            "tl trail intent Auth",
        ),
        s(
            "map",
            &["trail-map"],
            &TRAIL,
            "",
            "tl trail map action Route",
        ),
        s(
            "map-status",
            &["trail-map"],
            &TRAIL,
            "",
            "tl trail map action Other --status complete",
        ),
        s(
            "rate",
            &["trail-rate"],
            &TRAIL,
            "",
            "tl trail rate 7 --note good",
        ),
        s(
            "mem-save",
            &["note-add"],
            &TRAIL,
            "",
            "tl note add --shelf decisions BM25",
        ),
        s(
            "anchor-add",
            &["note-add"],
            &TRAIL,
            "",
            "tl note add --pin Offline",
        ),
        s("note-pin", &["note-pin"], &TRAIL, NOTED, "sh ../note pin"),
        s(
            "note-unpin",
            &["note-unpin"],
            &TRAIL,
            PINNED,
            "sh ../note unpin",
        ),
        s(
            "note-remove",
            &["note-remove"],
            &TRAIL,
            PINNED,
            "sh ../note remove",
        ),
        s("prune", &["trail-prune"], &TRAIL, "", "tl trail prune"),
        s(
            "compact",
            &["trail-compact"],
            &TRAIL,
            "",
            "tl trail compact",
        ),
        s(
            "session-archive",
            &["trail-session-archive"],
            &TRAIL,
            ANOTHER,
            "sh ../archive",
        ),
        s(
            "migrate",
            &["trail-migrate"],
            &EMPTY_TRAIL,
            OLDER,
            "tl trail migrate",
        ),
    ]
}

/// A second session, and a command that names it: its stamp is a time.
const ANOTHER: &str = "\
THROUGHLINE_SESSION=s2 tl trail intent Another
stamp=$(tl --json trail session list | grep -o '\"stamp\": *\"[0-9]*\"' | grep -o '[0-9]*' | tail -1)
echo \"exec tl trail session archive $stamp\" > ../archive
";

/// A command about the note on a shelf: its stamp is a time.
const NOTED: &str = "\
stamp=$(tl --json note list --shelf decisions | grep -o '\"stamp\": *\"[0-9]*\"' | grep -o '[0-9]*')
echo \"exec tl note \\$1 $stamp\" > ../note
";

const PINNED: &str = "\
stamp=$(tl --json note list --shelf decisions | grep -o '\"stamp\": *\"[0-9]*\"' | grep -o '[0-9]*')
echo \"exec tl note \\$1 $stamp\" > ../note
tl note pin $stamp
";

const OLDER: &str = "\
mkdir .hivemind
printf '{\"hierarchy\":{\"trajectory\":\"Auth\",\"tactic\":\"JWT\",\"action\":\"\"}}' > .hivemind/brain.json
";
