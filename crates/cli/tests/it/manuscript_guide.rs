//! The walk of `docs/guides/manuscript.md`, run to the letter: from an import to a judged scene, variants and a revision.

use std::path::Path;

use serde_json::json;
use testkit::Project;

use crate::binary;

const GUIDE: &str = include_str!("../../../../docs/guides/manuscript.md");

/// A writer and a judge that answer by what they are asked.
const MODEL: &str = r#"asked=$(cat)
case "$asked" in
*"Check this scene"*) cat verdict ;;
*) cat prose ;;
esac
"#;

const PROSE: &str = "Mara found Tomas where the nets hung, and he did not look up. He had seen the ferry, he said, on the night it \
    did not come, with one lamp and nobody at the rail. Mara shook her head, because lamps do not sail. Then the old man told it again, slowly, \
    and Ines, behind the door, heard every word of it. Mara asked for his boat before the rain had stopped.";

/// Returns the commands of a page, in order.
fn shell_commands(page: &str) -> String {
    let blocks = page.split("```sh\n").skip(1);
    blocks
        .map(|block| block.split("```").next().unwrap_or_default())
        .collect()
}

fn run_guide(project: &Project) -> String {
    std::os::unix::fs::symlink(project.binary(), project.root().join("tl")).expect("a link");
    let script = format!("set -e\nPATH=\"$PWD:$PATH\"\n{}", shell_commands(GUIDE));
    let mut command = project.command_of(Path::new("/bin/sh"));
    let output = command.args(["-c", &script]).output().expect("a shell");
    let (stdout, stderr) = (
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    );
    assert!(output.status.success(), "{stdout}\n{stderr}");
    stdout
}

#[test]
fn the_guide_leads_from_a_manuscript_to_a_judged_scene() {
    let project = Project::empty(binary());
    let verdict = json!({ "findings": [], "summary": ["Tomas tells what he saw"], "facts": [
        { "subject": "Tomas", "predicate": "saw", "object": "the ferry", "quote": "He had seen the ferry" }] });
    project.write("../model/verdict", verdict.to_string());
    project.write("../model/prose", PROSE);
    let folder = project.root().join("../model");
    let folder = folder.canonicalize().expect("it is written");
    let folder = folder.display();
    project.write("../model/answer", format!("cd '{folder}'\n{MODEL}"));
    let project = project
        .with_environment("THROUGHLINE_LLM_PROVIDER", "command")
        .with_environment(
            "THROUGHLINE_LLM_COMMAND",
            &format!("/bin/sh {folder}/answer"),
        );
    let printed = run_guide(&project);
    for part in [
        "2 chapters, 3 scenes",
        "scene-0202 complete",
        "variant 3",
        "prose 1: counted the boats",
    ] {
        assert!(printed.contains(part), "no `{part}` in {printed}");
    }
    let written = project.read("Salt/chapters/chapter-02/content/scene-0202.md");
    assert!(
        written.contains("one lamp and nobody at the rail"),
        "{written}"
    );
    let compiled = project.read("Salt/salt.md");
    assert!(compiled.contains("asked for his boat"), "{compiled}");
    for file in ["Salt/salt.docx", "Salt/salt.epub"] {
        assert!(project.root().join(file).exists(), "no {file}");
    }
}
