//! `tl outline` and `tl stats`.

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
