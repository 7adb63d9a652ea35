//! Scenarios in a story: approvals, the tree, versions, undo.

use super::{Base, Scenario};

/// An approved act, chapter and scene, with earlier versions of the act and a second chapter that is a draft.
pub(crate) static STORY: Base = Base {
    name: "story",
    script: "\
tl init
mkdir -p acts/act-1/chapters/chapter-01/scenes acts/act-1/chapters/chapter-02
printf '# Act 1\\n\\n## Characters\\n- Mara\\n\\n## Purpose\\nBegin.\\n' > acts/act-1/strategic-plan.md
tl approve act 1
printf '# Chapter 1\\n\\n## Characters\\n- Mara\\n' > acts/act-1/chapters/chapter-01/plan.md
tl approve chapter 1
printf '# Scene 1.1\\n\\n## Characters\\n- Mara\\n' > acts/act-1/chapters/chapter-01/scenes/scene-0101-blueprint.md
tl approve scene 0101
printf '# Chapter 2\\n\\n## Characters\\n- Mara\\n' > acts/act-1/chapters/chapter-02/plan.md
tl comment act-1 -m first
tl status
",
};

/// Two more versions of the act, so that `-1` and the version before it differ.
const EDITED_TWICE: &str = "\
printf '# Act 1\\n\\n## Characters\\n- Mara\\n\\n## Purpose\\nBegin later.\\n' > acts/act-1/strategic-plan.md
tl status
printf '# Act 1\\n\\n## Characters\\n- Mara\\n\\n## Purpose\\nBegin much later.\\n' > acts/act-1/strategic-plan.md
tl status
";

/// A scene that is gone, and another one that is too different to be recognised.
const MOVED_AND_REWRITTEN: &str = "\
rm acts/act-1/chapters/chapter-01/scenes/scene-0101-blueprint.md
printf '# Another scene\\n\\nRewritten.\\n' > acts/act-1/chapters/chapter-01/scenes/scene-0103-blueprint.md
tl status
";

/// The same in a git repository, where decisions are files: one is superseded, one was lost.
pub(super) static REPOSITORY: Base = Base {
    name: "repository",
    script: "\
git init -q -b main .
tl init
mkdir -p acts/act-1/chapters/chapter-01
printf '# Act 1\\n\\n## Characters\\n- Mara\\n\\n## Purpose\\nBegin.\\n' > acts/act-1/strategic-plan.md
tl approve act 1
tl undo
tl approve act 1
printf '# Chapter 1\\n\\n## Characters\\n- Mara\\n' > acts/act-1/chapters/chapter-01/plan.md
tl status
git add -A
git -c user.name=a -c user.email=a@b.c commit -q -m begin
tl comment act-1 -m first
tl status
",
};

/// The files of decisions that are not committed yet.
const CLEANED: &str = "git clean -fdq .throughline/decisions\ntl status\n";

pub(super) fn scenarios() -> Vec<Scenario> {
    let s = Scenario::new;
    vec![
        s(
            "decisions-restore",
            &["decisions-restore"],
            &REPOSITORY,
            CLEANED,
            "tl decisions restore",
        ),
        s(
            "decisions-prune",
            &["decisions-prune"],
            &REPOSITORY,
            "",
            "tl decisions prune",
        ),
        s("approve", &["approve"], &STORY, "", "tl approve chapter-02"),
        s(
            "approve-below",
            &["approve"],
            &STORY,
            "",
            "tl approve --below act-1",
        ),
        s(
            "request-changes-of-plans",
            &["request-changes"],
            &STORY,
            "",
            "tl request-changes chapter-01 chapter-02 -m later",
        ),
        s(
            "approve-cascade",
            &["approve"],
            &STORY,
            EDITED_TWICE,
            "tl approve act-1",
        ),
        s(
            "request-changes",
            &["request-changes"],
            &STORY,
            "",
            "tl request-changes chapter-01 -m wind",
        ),
        s(
            "invalidate",
            &["invalidate"],
            &STORY,
            "",
            "tl invalidate chapter-01 --reason wrong",
        ),
        s(
            "revalidate",
            &["revalidate"],
            &STORY,
            CHANGED_ABOVE,
            "tl revalidate chapter-01 --keep",
        ),
        s(
            "revalidate-all",
            &["revalidate"],
            &STORY,
            CHANGED_ABOVE,
            "tl revalidate --all --keep",
        ),
        s(
            "comment",
            &["comment"],
            &STORY,
            "",
            "tl comment act-1 -m second",
        ),
        s(
            "progress",
            &["progress"],
            &STORY,
            "",
            "tl progress scene-0101 active",
        ),
        s(
            "move",
            &["move"],
            &STORY,
            MOVED_AND_REWRITTEN,
            "tl move --was scene-0101 scene-0103",
        ),
        s(
            "insert",
            &["insert"],
            &STORY,
            "",
            "tl insert act-1/chapter-01 --title storm",
        ),
        s(
            "move-plan",
            &["move"],
            &STORY,
            "",
            "tl move scene-0101 --under chapter-02",
        ),
        s("add", &["add"], &STORY, "", "tl add chapter --title Three"),
        s(
            "rename",
            &["rename"],
            &STORY,
            "",
            "tl rename chapter-02 prologue",
        ),
        s(
            "split",
            &["split"],
            &STORY,
            "",
            "tl split scene-0101 --at Characters",
        ),
        s(
            "merge",
            &["merge"],
            &STORY,
            "",
            "tl merge chapter-02 chapter-01",
        ),
        s("remove", &["remove"], &STORY, "", "tl remove chapter-01"),
        s(
            "renumber-children",
            &["renumber"],
            &STORY,
            "tl remove chapter-01",
            "tl renumber act-1 --children",
        ),
        s(
            "restore",
            &["restore"],
            &STORY,
            EDITED_TWICE,
            "tl restore act-1 -1",
        ),
        s(
            "undo",
            &["undo"],
            &STORY,
            "tl approve chapter-02",
            "tl undo",
        ),
        s("undo-restore", &["undo"], &STORY, RESTORED, "tl undo"),
        s(
            "undo-to",
            &["undo"],
            &STORY,
            RESTORED_THEN_APPROVED,
            "tl undo --to 10",
        ),
        s(
            "sync-hashes",
            &["state-sync-hashes"],
            &STORY,
            EDITED_UNSEEN,
            "tl state sync-hashes",
        )
        .read_only(),
        s("observe", &["status"], &STORY, EDITED_UNSEEN, "tl status").read_only(),
        s(
            "gate-override",
            &["gate-override"],
            &STORY,
            "",
            "tl gate override shrink chapter-01 --reason outline",
        )
        .at_terminal(),
    ]
}

/// The act was changed and approved again: what is below it has to be looked at.
const CHANGED_ABOVE: &str = "\
printf '# Act 1\\n\\n## Characters\\n- Mara\\n\\n## Purpose\\nBegin later.\\n' > acts/act-1/strategic-plan.md
tl approve act-1
";

const EDITED_UNSEEN: &str =
    "printf '# Act 1\\n\\n## Purpose\\nAnother.\\n' > acts/act-1/strategic-plan.md\n";

const RESTORED: &str = "\
printf '# Act 1\\n\\n## Purpose\\nBegin later.\\n' > acts/act-1/strategic-plan.md
tl status
tl restore act-1 -1
";

const RESTORED_THEN_APPROVED: &str = "\
printf '# Act 1\\n\\n## Purpose\\nBegin later.\\n' > acts/act-1/strategic-plan.md
tl status
tl restore act-1 -1
printf '# Chapter 2\\n\\n## Purpose\\nMore.\\n' > acts/act-1/chapters/chapter-02/plan.md
tl status
tl restore chapter-02 -1
tl approve chapter-02
";
