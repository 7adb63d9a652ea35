//! Scenarios that make, replace, move or repair the whole state.

use super::super::lab::TYPED_YES;
use super::story::STORY;
use super::{Base, Repeats, Scenario};

static EMPTY: Base = Base {
    name: "empty",
    script: "true",
};

/// A backup, and history after it that it does not have.
const BACKED_UP: &str = "\
tl backup ../b.tlbackup
tl comment act-1 -m later
tl approve chapter-02
";

/// A clone by another user: nothing that git ignores, nothing in the user's directory.
const CLONED: &str = "\
tl repair
rm -rf .throughline/state.db* .throughline/journal.jsonl .throughline/looks.bin .throughline/*.lock .throughline/lock .throughline/logs
rm -rf ../home/throughline
";

/// A database that lost its header.
const DAMAGED: &str = "printf 'not a database at all' | dd of=.throughline/state.db conv=notrunc status=none\nrm -f .throughline/state.db-*\n";

const WITH_TOKEN: &str = "tl token create ci --as agent:ci/1 --scope agent\n";

/// `human` in force, and a looser value in the file that waits for a person.
const LOOSER_POLICY: &str = "\
sed -i 's/^# approval = .*/approval = \"human\"/' .throughline/config.toml
tl status
sed -i 's/^approval = \"human\"/approval = \"anyone\"/' .throughline/config.toml
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
        s("rebuild", &["rebuild"], &STORY, "", "tl rebuild"),
        s(
            "rebuild-lost",
            &["rebuild"],
            &STORY,
            "rm -f .throughline/state.db*",
            "tl rebuild",
        ),
        s(
            "repair",
            &["repair"],
            &STORY,
            "rm -rf .throughline/state",
            "tl repair",
        )
        .read_only(),
        s("repair-damaged", &["repair"], &STORY, DAMAGED, "tl repair").read_only(),
        // The state is made before it is trusted; until then every command refuses, as before.
        s("adopt", &["adopt"], &STORY, CLONED, "tl adopt --yes").with(Repeats::Resume),
        s("backup", &["backup"], &STORY, "", "tl backup b.tlbackup"),
        s(
            "restore-backup",
            &["restore-backup"],
            &STORY,
            BACKED_UP,
            "tl restore-backup ../b.tlbackup --yes",
        ),
        s("move-to-json", &["move"], &STORY, "", "tl move --to json"),
        s(
            "move-to-sqlite",
            &["move"],
            &STORY,
            "tl move --to json",
            "tl move --to sqlite",
        ),
        s(
            "json-comment",
            &["comment"],
            &STORY,
            "tl move --to json",
            "tl comment act-1 -m second",
        ),
        s(
            "token-create",
            &["token-create"],
            &STORY,
            "",
            "tl token create ci --as agent:ci/1 --scope agent",
        )
        .with_view(&["--json", "token", "list"]),
        s(
            "token-revoke",
            &["token-revoke"],
            &STORY,
            WITH_TOKEN,
            "tl token revoke 1",
        )
        .with_view(&["--json", "token", "list"]),
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
            &["secret-purge"],
            &STORY,
            SECRET_IN_LOG,
            "tl secret purge",
        )
        .with_input(TYPED_YES)
        .at_terminal()
        .with(Repeats::Resume),
    ]
}
