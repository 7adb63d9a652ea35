//! Prose under the rules of its plan: gated while the blueprint is not approved, recorded when it is written, marked
//! by `tl story compile` when its blueprint changed.

use serde_json::{Value, json};
use testkit::{Answer, Project, Session};

use crate::planned;

const PROSE: &str = "acts/act-1/chapters/chapter-01/content/scene-0101.md";
const SCENE: &str = "act-1/chapter-01/scene-0101";

fn may_write(project: &Project, session: &Session<'_>, path: &str) -> Answer {
    session.before(
        "Write",
        &json!({ "file_path": project.root().join(path), "content": "It begins.\n" }),
    )
}

#[track_caller]
fn refused(answer: &Answer) -> String {
    let reason = answer.block().unwrap_or_else(|| panic!("{answer:?}"));
    assert!(
        reason.starts_with("Throughline (hierarchy gate): "),
        "{reason}"
    );
    reason
}

fn progress(project: &Project) -> Value {
    project.json(&["show", SCENE])["progress"].clone()
}

#[test]
fn prose_is_written_only_from_an_approved_blueprint() {
    let project = planned();
    let session = project.session("s");
    let given = may_write(&project, &session, PROSE);
    assert_eq!(given.block(), None);
    let given = given.context().unwrap_or_default();
    assert!(
        given.contains("## Parent context: scene `act-1/chapter-01/scene-0101`"),
        "{given}"
    );

    // The chapter is edited: the scene goes stale.
    project.write(
        Project::CHAPTER,
        "# Chapter 1\n\n## Characters\n- Mara\n- Ivo\n",
    );
    let reason = refused(&may_write(&project, &session, PROSE));
    assert!(
        reason.contains(&format!("its plan `{SCENE}` went stale"))
            && reason.contains(&format!("next: tl why {SCENE}")),
        "{reason}"
    );
    project.ok(&["approve", "act-1/chapter-01"]);
    refused(&may_write(&project, &session, PROSE));
    project.ok(&["revalidate", SCENE, "--keep"]);
    assert_eq!(may_write(&project, &session, PROSE).block(), None);

    project.write(
        Project::SCENE,
        "# Scene 1.1\n\n## Characters\n- Mara\n\nOther.\n",
    );
    let reason = refused(&may_write(&project, &session, PROSE));
    assert!(reason.contains("is a draft, not approved"), "{reason}");
    let unplanned = "acts/act-1/chapters/chapter-01/content/scene-0102.md";
    let reason = refused(&may_write(&project, &session, unplanned));
    assert!(
        reason.contains("`act-1/chapter-01/scene-0102` has no plan yet"),
        "{reason}"
    );

    // By a command, and by a subagent, too.
    let input = json!({ "command": format!("echo text > {PROSE}") });
    refused(&session.before("Bash", &input));
    refused(&may_write(
        &project,
        &project.session("s").with("agent_id", "a-1"),
        PROSE,
    ));
    // Removing it writes nothing, and other files are free.
    assert_eq!(
        session
            .before("Bash", &json!({ "command": format!("rm {PROSE}") }))
            .block(),
        None
    );
    let notes = "acts/act-1/chapters/chapter-01/content/notes.md";
    assert!(may_write(&project, &session, notes).is_silent());

    project.configure("policy.gates.hierarchy", "\"warn\"");
    let warned = may_write(&project, &session, PROSE);
    assert_eq!(warned.block(), None);
    assert!(
        warned
            .context()
            .unwrap_or_default()
            .contains("is a draft, not approved")
    );
    project.configure("policy.gates.hierarchy", "\"off\"");
    assert_eq!(may_write(&project, &session, PROSE).block(), None);
}

#[test]
fn written_prose_is_known_and_marked_when_its_blueprint_changes() {
    let project = planned();
    let session = project.session("s");
    assert_eq!(progress(&project), json!("pending"));
    let (before, after) = session.write(PROSE, "It begins.\n");
    assert_eq!(before.block(), None);
    assert!(after.expect("written").is_silent());
    assert_eq!(progress(&project), json!("active"));
    let compiled = || project.run(&["story", "compile"]).stderr;
    assert!(!compiled().contains("stale"), "{}", compiled());

    // A draft, then approved with another text: the prose is still of the old one.
    let edited = "# Scene 1.1\n\n## Characters\n- Mara\n\nShe leaves.\n";
    project.write(Project::SCENE, edited);
    assert!(
        compiled().contains(&format!("warning: {SCENE} is stale: its plan is draft")),
        "{}",
        compiled()
    );
    project.ok(&["approve", SCENE]);
    assert!(
        compiled().contains(&format!(
            "{SCENE} is stale: its plan was changed and approved again since it was written"
        )),
        "{}",
        compiled()
    );
    let view = project.json(&["story", "compile"]);
    assert_eq!(view["book"]["stale"][0]["path"], json!(SCENE), "{view}");
    // Written again, it follows from its plan.
    let (_, after) = session.write(PROSE, "She leaves.\n");
    assert!(after.is_some());
    assert!(!compiled().contains("stale"), "{}", compiled());
    // Formatting alone changes nothing.
    project.write(Project::SCENE, format!("{edited}\n\n"));
    project.ok(&["approve", SCENE]);
    assert!(!compiled().contains("stale"), "{}", compiled());
}

#[test]
fn prose_that_a_command_wrote_unasked_is_told_afterwards() {
    let project = planned();
    let session = project.session("s");
    project.write(
        Project::SCENE,
        "# Scene 1.1\n\n## Characters\n- Mara\n\nOther.\n",
    );
    let folder = PROSE.rsplit_once('/').expect("a folder").0;
    let told = session.shell_unasked(&format!("mkdir -p {folder} && echo text > {PROSE}"));
    let told = told.context().unwrap_or_default();
    assert!(
        told.contains(&format!("`{PROSE}` was written although its plan is draft")),
        "{told}"
    );
}
