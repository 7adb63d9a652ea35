//! `tl compact`: what is kept when a session ends.

use crate::{in_session, names_in, text, trail};

#[test]
fn it_archives_and_hands_over_what_is_unfinished() {
    let project = trail();
    let stamp = text(&project.json(&["intent", "Build auth"]), "stamp").to_owned();
    project.ok(&["map", "tactic", "JWT", "--status", "complete"]);
    project.ok(&["map", "tactic", "Middleware"]);
    let outcome = project.json(&["compact"]);
    assert_eq!((&outcome["compaction_count"], text(&outcome, "session")), (&1.into(), stamp.as_str()));
    let report = text(&outcome, "next_compaction_report");
    let (keep, finished) = report.split_once("Do not preserve").unwrap();
    assert!(keep.contains("Middleware") && !keep.contains("“JWT”") && finished.contains("“JWT”"), "{report}");
    assert_eq!(names_in(&project, ".throughline/sessions/archive"), [format!("{stamp}.json"), format!("{stamp}.md")]);
    assert_eq!(names_in(&project, ".throughline/sessions"), ["archive", "manifest.json"]);
    assert!(
        project.read(&format!(".throughline/sessions/archive/{stamp}.md")).contains("governance_status: \"CLOSED\"")
    );
    // The next session goes on, with the report.
    assert_eq!(in_session(&project, "s2", &["map", "action", "Handler"]).code, 0);
    let taken = in_session(&project, "s2", &["--json", "session", "show"]).stdout;
    let taken: serde_json::Value = serde_json::from_str(&taken).unwrap();
    assert_eq!(text(&taken, "from"), stamp);
    assert_eq!(text(&taken, "next_compaction_report"), report);
}

#[test]
fn a_report_someone_wrote_is_kept_as_it_is() {
    let project = trail();
    project.ok(&["intent", "Build auth"]);
    project.write("handover.md", "Keep the middleware.\n");
    let outcome = project.json(&["compact", "--report", "handover.md"]);
    assert_eq!(text(&outcome, "next_compaction_report"), "Keep the middleware.");
    assert_eq!(project.run(&["compact", "--report", "gone.md"]).code, 1);
}
