//! Scenarios with a trail: intents, sessions, notes, anchors.

use super::{Base, Scenario};

/// A trail with two finished branches and an open one.
pub(super) static TRAIL: Base = Base {
    name: "trail",
    script: "\
tl init --profile trail
tl intent 'Build auth'
tl map tactic One
tl map action Step --status complete
tl map tactic One --status complete
tl map tactic Two
tl map action Other
tl mem save --shelf decisions 'JWT with jose'
tl anchor add 'No new dependency'
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
        s("intent", &["intent"], &EMPTY_TRAIL, "", "tl intent Auth"),
        s("map", &["map"], &TRAIL, "", "tl map action Route"),
        s(
            "map-status",
            &["map"],
            &TRAIL,
            "",
            "tl map action Other --status complete",
        ),
        s("rate", &["rate"], &TRAIL, "", "tl rate 7 --note good"),
        s(
            "mem-save",
            &["mem-save"],
            &TRAIL,
            "",
            "tl mem save --shelf decisions BM25",
        ),
        s(
            "anchor-add",
            &["anchor-add"],
            &TRAIL,
            "",
            "tl anchor add Offline",
        ),
        s("prune", &["prune"], &TRAIL, "", "tl prune"),
        s("compact", &["compact"], &TRAIL, "", "tl compact"),
        s(
            "session-archive",
            &["session-archive"],
            &TRAIL,
            ANOTHER,
            "sh ../archive",
        ),
        s("migrate", &["migrate"], &EMPTY_TRAIL, OLDER, "tl migrate"),
    ]
}

/// A second session, and a command that names it: its stamp is a time.
const ANOTHER: &str = "\
THROUGHLINE_SESSION=s2 tl intent Another
stamp=$(tl --json session list | grep -o '\"stamp\": *\"[0-9]*\"' | grep -o '[0-9]*' | tail -1)
echo \"exec tl session archive $stamp\" > ../archive
";

const OLDER: &str = "\
mkdir .hivemind
printf '{\"hierarchy\":{\"trajectory\":\"Auth\",\"tactic\":\"JWT\",\"action\":\"\"}}' > .hivemind/brain.json
";
