//! `tl story`: a story from its first directory to a book.

use crate::{assert_refused, empty, text};
use testkit::Project;

#[test]
fn an_interrupted_new_story_is_completed_by_the_same_command() {
    let project = empty();
    // It died before there was a state.
    project.ok(&["story", "new", "Drawer"]);
    let kept = project.root().join("Drawer/.throughline");
    for entry in std::fs::read_dir(&kept)
        .unwrap()
        .map(|entry| entry.unwrap().path())
    {
        if entry.is_file() {
            std::fs::remove_file(entry).unwrap()
        } else {
            std::fs::remove_dir_all(entry).unwrap()
        }
    }
    project.ok(&["story", "new", "Drawer"]);
    let log = project.ok(&["--project", "Drawer", "log"]).stdout;
    assert!(log.contains("name the story"), "{log}");
    assert_refused(
        &project,
        &["story", "new", "Drawer"],
        "conflict",
        &["already exists"],
    );
    // An existing directory is not changed.
    project.write("Mine/notes.md", "mine");
    assert_refused(
        &project,
        &["story", "new", "Mine"],
        "conflict",
        &["already exists"],
    );
}

#[test]
fn a_story_becomes_a_book() {
    let project = empty();
    project.ok(&["story", "new", "The Drawer & Co"]);
    assert_refused(
        &project,
        &["story", "new", "The Drawer & Co"],
        "conflict",
        &["already exists"],
    );
    assert_refused(
        &project,
        &["story", "new", "../x"],
        "invalid",
        &["not a valid directory name"],
    );
    let inside = |arguments: &[&str]| -> Vec<String> {
        let all = ["--project", "The Drawer & Co"].iter().chain(arguments);
        all.map(|word| (*word).to_owned()).collect()
    };
    let run = |arguments: &[&str]| {
        let words = inside(arguments);
        project.ok(&words.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let put = |path: &str, text: &str| project.write(&format!("The Drawer & Co/{path}"), text);
    put(Project::ACT, "# Act 1\n");
    put(Project::CHAPTER, "# Chapter <1>: Dust\n");
    put(Project::SCENE, "# The drawer\n\n## Goal\nElena opens it.\n");
    put(&Project::SCENE.replace("0101", "0102"), "# The letter\n");
    for node in ["act-1", "chapter-01", "scene-0101"] {
        run(&["approve", node]);
    }
    let nothing = inside(&["story", "compile"]);
    let nothing = project.run(&nothing.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(
        nothing.code == 1 && nothing.stderr.contains("tl story write --next"),
        "{nothing:?}"
    );
    run(&["story", "write", "--next"]);
    let markdown = run(&["story", "compile"]);
    assert!(
        markdown
            .stdout
            .starts_with("# The Drawer & Co\n\n## Chapter <1>: Dust\n\n> Placeholder:"),
        "{markdown:?}"
    );
    assert!(
        markdown
            .stderr
            .contains("not written yet: act-1/chapter-01/scene-0102"),
        "{markdown:?}"
    );
    put(
        "acts/act-1/chapters/chapter-01/content/scene-0102.md",
        "He said <script>alert(1)</script>, *softly*.\n",
    );
    let html = run(&["story", "compile", "--form", "html"]).stdout;
    assert!(
        html.contains("<h1>Chapter &lt;1&gt;: Dust</h1>")
            && html.contains("&lt;script&gt;")
            && html.contains("<em>softly</em>"),
        "{html}"
    );
    run(&["story", "compile", "--form", "epub", "--out", "book.epub"]);
    let bytes = std::fs::read(project.root().join("book.epub")).unwrap();
    assert_eq!(
        &bytes[30..58],
        b"mimetypeapplication/epub+zip",
        "the kind comes first, as it is"
    );
    let stats = run(&["--json", "story", "stats"]).stdout;
    let stats: serde_json::Value = serde_json::from_str(&stats).unwrap();
    assert_eq!(text(&stats, "novel"), "The Drawer & Co");
    assert_eq!(
        (
            stats["scenes_planned"].clone(),
            stats["scenes_written"].clone()
        ),
        (2.into(), 2.into())
    );
}
