//! `tl outline` and `tl stats`.

use std::time::{Duration, SystemTime};

use testkit::Project;

use crate::planned;

const PROSE: &str = "acts/act-1/chapters/chapter-01/content/scene-0101.md";

#[test]
fn outline_and_statistics_of_a_story() {
    let project = planned();
    project.write(
        Project::ACT,
        "---\ntarget: 500\n---\n# Акт 1\n\nОна уходит из дома.\n",
    );
    project.write(PROSE, "Пять слов есть в тексте.\n");
    let outline = project.ok(&["outline"]).stdout;
    assert!(
        outline.contains("## Акт 1\n\n○ draft · act-1\n\nОна уходит из дома.\n"),
        "{outline}"
    );
    project.ok(&[
        "outline", "--full", "--format", "html", "--output", "o.html",
    ]);
    assert!(project.read("o.html").contains("<h2>Акт 1</h2>"));
    let stats = project.json(&["stats", "--days", "3"]);
    assert_eq!(stats["total"]["target"], 500);
    assert_eq!(stats["total"]["prose_words"], 5);
    assert_eq!(stats["history"].as_array().map(Vec::len), Some(3));
    let shown = project.ok(&["stats"]).stdout;
    assert!(
        shown.contains("500 (1 %)") && shown.contains("planned"),
        "{shown}"
    );
}

/// Words of the prose at the end of the day before yesterday, of yesterday and of today.
fn prose_by_day(project: &Project) -> Vec<i64> {
    let stats = project.json(&["stats", "--days", "3"]);
    let days = stats["history"].as_array().expect("days");
    let words = days.iter().map(|day| day["prose_words"].as_i64());
    words.map(|words| words.expect("a number")).collect()
}

/// Writes prose as if it had been done some days ago.
#[expect(clippy::disallowed_methods, reason = "a test sets the time of a file")]
fn write_prose(project: &Project, text: &str, days_ago: u64) {
    project.write(PROSE, text);
    let file = std::fs::File::options()
        .write(true)
        .open(project.root().join(PROSE))
        .expect("the prose");
    let at = SystemTime::now() - Duration::from_secs(days_ago * 24 * 60 * 60);
    file.set_modified(at).expect("another time");
}

/// Defect: only prose that a model wrote had a history.
#[test]
fn prose_written_by_hand_is_in_the_history_on_its_day() {
    let project = planned();
    write_prose(&project, "one two three four five", 1);
    assert_eq!(prose_by_day(&project), [0, 5, 5]);
    write_prose(&project, "one two three four five six seven", 0);
    assert_eq!(prose_by_day(&project), [0, 5, 7]);
    // Looked at again, and from a state that was built again: it is in the log.
    assert_eq!(prose_by_day(&project), [0, 5, 7]);
    write_prose(&project, "one two", 0);
    assert_eq!(prose_by_day(&project), [0, 5, 2]);
    let shown = project.ok(&["stats"]).stdout;
    assert!(shown.contains("prose words"), "{shown}");
}

/// An agent's edit is counted when it is made, on its day.
#[test]
fn prose_that_an_agent_wrote_is_counted_at_once() {
    let project = planned();
    let session = project.session("writer");
    let _ = session.write(PROSE, "one two three");
    let counted = project.json(&["log", "--limit", "3"]).to_string();
    assert!(counted.contains("is being written"), "{counted}");
    assert_eq!(prose_by_day(&project), [0, 0, 3]);
    let before = project.json(&["log", "--limit", "1"])[0]["operation"].clone();
    assert_eq!(prose_by_day(&project), [0, 0, 3]);
    assert_eq!(
        project.json(&["log", "--limit", "1"])[0]["operation"],
        before
    );
}
