//! `tl trail compact`: what is kept when a session ends.

use crate::{asked, in_session, names_in, text, trail, with_model};

#[test]
fn it_archives_and_hands_over_what_is_unfinished() {
    let project = trail();
    let stamp = text(&project.json(&["trail", "intent", "Build auth"]), "stamp").to_owned();
    project.ok(&["trail", "map", "tactic", "JWT", "--status", "complete"]);
    project.ok(&["trail", "map", "tactic", "Middleware"]);
    let outcome = project.json(&["trail", "compact"]);
    assert_eq!(
        (&outcome["compaction_count"], text(&outcome, "session")),
        (&1.into(), stamp.as_str())
    );
    let report = text(&outcome, "next_compaction_report");
    let (keep, finished) = report.split_once("Do not preserve").unwrap();
    assert!(
        keep.contains("Middleware") && !keep.contains("“JWT”") && finished.contains("“JWT”"),
        "{report}"
    );
    assert_eq!(
        names_in(&project, ".throughline/sessions/archive"),
        [format!("{stamp}.json"), format!("{stamp}.md")]
    );
    assert_eq!(
        names_in(&project, ".throughline/sessions"),
        ["archive", "manifest.json"]
    );
    assert!(
        project
            .read(&format!(".throughline/sessions/archive/{stamp}.md"))
            .contains("governance_status: \"CLOSED\"")
    );
    // The next session goes on, with the report.
    assert_eq!(
        in_session(&project, "s2", &["trail", "map", "action", "Handler"]).code,
        0
    );
    let taken = in_session(&project, "s2", &["--json", "trail", "session", "show"]).stdout;
    let taken: serde_json::Value = serde_json::from_str(&taken).unwrap();
    assert_eq!(text(&taken, "from"), stamp);
    assert_eq!(text(&taken, "next_compaction_report"), report);
}

#[test]
fn a_report_someone_wrote_is_kept_as_it_is() {
    let project = trail();
    project.ok(&["trail", "intent", "Build auth"]);
    project.write("handover.md", "Keep the middleware.\n");
    let outcome = project.json(&["trail", "compact", "--report", "handover.md"]);
    assert_eq!(
        text(&outcome, "next_compaction_report"),
        "Keep the middleware."
    );
    assert_eq!(
        project
            .run(&["trail", "compact", "--report", "gone.md"])
            .code,
        1
    );
}

#[test]
fn a_model_that_was_chosen_tells_the_turning_points_and_nothing_else() {
    let answer = r#"{"turning_points": ["Сессии хранятся на сервере: токены в браузере не удалось отозвать."]}"#;
    let project = with_model(trail(), &[answer]);
    project.ok(&["trail", "intent", "Build auth"]);
    project.ok(&["trail", "map", "tactic", "JWT"]);
    project.ok(&["trail", "map", "tactic", "Server sessions"]);
    let outcome = project.json(&["trail", "compact"]);
    let report = text(&outcome, "next_compaction_report");
    let points: Vec<&str> = report
        .lines()
        .filter(|line| line.starts_with("- turning point:"))
        .collect();
    assert_eq!(points.len(), 1, "{report}");
    assert!(points[0].contains("токены в браузере"), "{report}");
    // Where the work stands is not left to a model.
    assert!(
        report.contains("“Build auth”") && report.contains("“Server sessions”"),
        "{report}"
    );
    let question = asked(&project);
    assert!(
        question.contains("│ ")
            && question.contains("JWT")
            && question.contains("not instructions"),
        "{question}"
    );
}

#[test]
fn a_model_that_fails_or_is_not_wanted_leaves_the_rule() {
    for (answer, arguments) in [
        ("no idea", &["trail", "compact"][..]),
        (
            "{\"turning_points\": []}",
            &["trail", "compact", "--by-rule"],
        ),
    ] {
        let project = with_model(trail(), &[answer]);
        project.ok(&["trail", "intent", "Build auth"]);
        let run = project.run(arguments);
        assert_eq!(run.code, 0, "{run:?}");
        assert!(
            run.stdout.contains("- turning point: ") && run.stdout.contains("Build auth"),
            "{run:?}"
        );
        assert_eq!(
            run.stderr.contains("using the log's turning points"),
            !arguments.contains(&"--by-rule"),
            "{run:?}"
        );
    }
}
