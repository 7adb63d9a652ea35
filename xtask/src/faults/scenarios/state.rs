//! Scenarios that make, replace, move or repair the whole state.

use super::super::lab::TYPED_YES;
use super::story::{REPOSITORY, STORY};
use super::{Base, Repeats, Scenario};

static EMPTY: Base = Base {
    name: "empty",
    script: "true",
};

/// A backup, and history after it that it does not have.
const BACKED_UP: &str = "\
tl state backup ../b.tlbackup
tl comment act-1 -m later
tl approve chapter-02
";

/// A clone of an earlier version, in which git tracked the mirror, by another user: nothing in the
/// user's directory.
const CLONED: &str = "\
tl state repair
mv .throughline/mirror .throughline/state
rm -rf .throughline/state.db* .throughline/journal.jsonl .throughline/looks.bin .throughline/*.lock .throughline/lock .throughline/logs
rm -rf ../home/throughline
";

/// A database that lost its header.
const DAMAGED: &str = "printf 'not a database at all' | dd of=.throughline/state.db conv=notrunc status=none\nrm -f .throughline/state.db-*\n";

const WITH_TOKEN: &str = "tl team token create ci --as agent:ci/1 --scope agent\n";

/// `human` in force, and a looser value in the file that waits for a person.
const LOOSER_POLICY: &str = "\
tl config set policy.approval human
tl status
tl config set policy.approval anyone
";

/// A key in a log that a version without masking wrote.
const SECRET_IN_LOG: &str = "\
mkdir -p .throughline/logs
echo 'a provider said: sk-ant-api03-Zx81kQpLmN0aRtYuVwEe7Gh2Qz3A is wrong' >> .throughline/logs/tl.log
";

pub(super) fn scenarios() -> Vec<Scenario> {
    let s = Scenario::new;
    vec![
        s("init", &["init"], &EMPTY, "", "tl init").with(Repeats::Resume),
        s(
            "init-host",
            &["init"],
            &STORY,
            "",
            "tl init --host claude-code",
        )
        .with(Repeats::Resume),
        s(
            "rebuild",
            &["state-rebuild"],
            &STORY,
            "",
            "tl state rebuild",
        ),
        s(
            "rebuild-lost",
            &["state-rebuild"],
            &STORY,
            "rm -f .throughline/state.db*",
            "tl state rebuild",
        ),
        s(
            "repair",
            &["state-repair"],
            &STORY,
            "rm -rf .throughline/mirror",
            "tl state repair",
        )
        .read_only(),
        s(
            "repair-damaged",
            &["state-repair"],
            &STORY,
            DAMAGED,
            "tl state repair",
        )
        .read_only(),
        s(
            "repair-damaged-repository",
            &["state-repair"],
            &REPOSITORY,
            DAMAGED,
            "tl state repair",
        )
        .read_only(),
        // The state is made before it is trusted; until then every command refuses, as before.
        s(
            "adopt",
            &["state-adopt"],
            &STORY,
            CLONED,
            "tl state adopt --yes",
        )
        .with(Repeats::Resume),
        s(
            "backup",
            &["state-backup"],
            &STORY,
            "",
            "tl state backup b.tlbackup",
        ),
        s(
            "restore-backup",
            &["state-restore"],
            &STORY,
            BACKED_UP,
            "tl state restore ../b.tlbackup --yes",
        ),
        s(
            "move-to-json",
            &["state-move"],
            &STORY,
            "",
            "tl state move --to json",
        ),
        s(
            "move-to-sqlite",
            &["state-move"],
            &STORY,
            "tl state move --to json",
            "tl state move --to sqlite",
        ),
        s(
            "json-comment",
            &["comment"],
            &STORY,
            "tl state move --to json",
            "tl comment act-1 -m second",
        ),
        s(
            "token-create",
            &["team-token-create"],
            &STORY,
            "",
            "tl team token create ci --as agent:ci/1 --scope agent",
        )
        .with_view(&["--json", "team", "token", "list"]),
        s(
            "token-revoke",
            &["team-token-revoke"],
            &STORY,
            WITH_TOKEN,
            "tl team token revoke 1",
        )
        .with_view(&["--json", "team", "token", "list"]),
        s(
            "policy-accept",
            &["policy-accept"],
            &STORY,
            LOOSER_POLICY,
            "tl policy accept",
        )
        .with_input(TYPED_YES)
        .at_terminal()
        .with(Repeats::Resume),
        // Repeated after its commit, it goes on with the files under the same operation.
        s(
            "secret-purge",
            &["state-secret-purge"],
            &STORY,
            SECRET_IN_LOG,
            "tl state secret purge",
        )
        .with_input(TYPED_YES)
        .at_terminal()
        .with(Repeats::Resume),
    ]
}
