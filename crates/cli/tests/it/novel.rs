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
    let html = run(&["story", "compile", "--format", "html"]).stdout;
    assert!(
        html.contains("<h1>Chapter &lt;1&gt;: Dust</h1>")
            && html.contains("&lt;script&gt;")
            && html.contains("<em>softly</em>"),
        "{html}"
    );
    run(&[
        "story",
        "compile",
        "--format",
        "epub",
        "--output",
        "book.epub",
    ]);
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

/// Imports a book of two parts, of which the first plans are approved.
fn two_parts() -> Project {
    let project = crate::story();
    let text = "---\ntitle: Salt\nauthor: Ann Bo\n---\n# Part One\n\n## The gate\n\nShut.\n\n***\n\nOpen & wide.\n\n# Part Two\n\n## Rain\n\nINT. she thought.\n";
    project.write("draft.md", text);
    project.ok(&["import", "draft.md"]);
    for node in ["act-1", "chapter-01", "scene-0101", "scene-0102"] {
        project.ok(&["approve", node]);
    }
    project
}

#[test]
fn a_book_has_part_headings_and_marks_what_is_stale() {
    let project = two_parts();
    project.write(
        "acts/act-1/chapters/chapter-01/scenes/scene-0102-blueprint.md",
        "# Scene 0102\n\nThe gate stays shut.\n",
    );
    let marked = project.ok(&["story", "compile", "--mark-stale"]);
    let book = &marked.stdout;
    assert!(book.contains("\n# Part One\n\n## The gate\n\nShut.\n\n* * *\n\n**[Stale: its plan is draft]**\n\nOpen & wide.\n"), "{book}");
    assert!(marked.stderr.contains("scene-0102 is stale"), "{marked:?}");
    let only = project
        .ok(&[
            "story", "compile", "--only", "act-2", "--format", "fountain",
        ])
        .stdout;
    assert_eq!(
        only,
        "Title: Salt\nCredit: by\nAuthor: Ann Bo\n\n# Part Two\n\n## Rain\n\n.SCENE 0201\n\n!INT. she thought.\n"
    );
    assert_refused(
        &project,
        &["story", "compile", "--format", "docx"],
        "invalid",
        &["--output", "book.docx"],
    );
    assert_refused(
        &project,
        &["story", "compile", "--only", "act-9"],
        "not-found",
        &["act-9"],
    );
}

/// Returns the files of an archive.
fn unpack(project: &Project, file: &str) -> Vec<(String, String)> {
    let bytes = std::fs::read(project.root().join(file)).expect("a value");
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(bytes)).expect("a value");
    let count = archive.len();
    let read = |index| {
        let mut entry = archive.by_index(index).expect("a value");
        let mut text = String::new();
        std::io::Read::read_to_string(&mut entry, &mut text).expect("a value");
        (entry.name().expect("a value").into_owned(), text)
    };
    (0..count).map(read).collect()
}

#[test]
fn an_epub_has_a_title_page_and_nested_contents() {
    let project = two_parts();
    project.write(
        "story/book.md",
        "---\ntitle: Salt\nauthor: Ann Bo\nlanguage: en-GB\nrights: © Ann Bo\n---\n",
    );
    project.ok(&[
        "story",
        "compile",
        "--format",
        "epub",
        "--output",
        "book.epub",
    ]);
    let files = unpack(&project, "book.epub");
    let text_of = |name: &str| {
        let found = files.iter().find(|(known, _)| known == name);
        found.map(|(_, text)| text.as_str()).unwrap_or_default()
    };
    assert_eq!(
        files[0],
        ("mimetype".to_owned(), "application/epub+zip".to_owned())
    );
    let package = text_of("OEBPS/book.opf");
    assert!(
        package.contains("<dc:creator>Ann Bo</dc:creator>")
            && package.contains("<dc:language>en-GB</dc:language>"),
        "{package}"
    );
    let contents = text_of("OEBPS/nav.xhtml");
    assert!(
        contents.contains("<li><a href=\"part-01.xhtml\">Part One</a>\n<ol>\n<li><a href=\"chapter-001.xhtml\">The gate</a></li>\n</ol>\n</li>"),
        "{contents}"
    );
    assert!(text_of("OEBPS/chapter-001.xhtml").contains("Open &amp; wide."));
}

/// Defect: a picture in the prose made the EPUB invalid, because it is not in the book.
#[test]
fn an_epub_refers_to_nothing_that_is_not_in_it() {
    let project = two_parts();
    let prose = "acts/act-1/chapters/chapter-01/content/scene-0101.md";
    let text =
        "Shut ![the gate](gate.png), see [notes](../notes.md) or [her](https://example.org).\n";
    project.write(prose, text);
    project.ok(&[
        "story",
        "compile",
        "--format",
        "epub",
        "--output",
        "book.epub",
    ]);
    let files = unpack(&project, "book.epub");
    let chapter = files
        .iter()
        .find(|(name, _)| name == "OEBPS/chapter-001.xhtml");
    let chapter = chapter.map(|(_, text)| text.as_str()).unwrap_or_default();
    let expected = "Shut the gate, see notes or <a href=\"https://example.org\">her</a>.";
    assert!(chapter.contains(expected), "{chapter}");
}

#[test]
fn a_docx_is_in_standard_manuscript_format() {
    let project = two_parts();
    project.ok(&[
        "story",
        "compile",
        "--format",
        "docx",
        "--output",
        "book.docx",
    ]);
    let files = unpack(&project, "book.docx");
    let text_of = |name: &str| {
        let found = files.iter().find(|(known, _)| known == name);
        found.map(|(_, text)| text.as_str()).unwrap_or_default()
    };
    assert_eq!(files[0].0, "[Content_Types].xml");
    let styles = text_of("word/styles.xml");
    assert!(
        styles.contains("<w:sz w:val=\"24\"/>") && styles.contains("w:line=\"480\""),
        "{styles}"
    );
    let header = text_of("word/header1.xml");
    assert!(
        header.contains("Bo / SALT / ") && header.contains(" PAGE "),
        "{header}"
    );
    let document = text_of("word/document.xml");
    assert!(
        document.contains("about 6 words") && document.contains("<w:titlePg/>"),
        "{document}"
    );
    assert!(document.contains(">#</w:t>"), "{document}");
}

#[test]
fn prose_by_hand_is_complete_when_said_so_and_stale_when_its_plan_changes() {
    let project = crate::planned();
    project.write(
        "acts/act-1/chapters/chapter-01/content/scene-0101.md",
        "By hand.\n",
    );
    project.ok(&["progress", "scene-0101", "complete"]);
    assert_refused(
        &project,
        &["story", "write", "--next"],
        "not-found",
        &["no approved blueprint"],
    );
    let book = project.ok(&["story", "compile"]);
    assert!(book.stdout.contains("By hand."), "{book:?}");
    assert!(!book.stderr.contains("stale"), "{book:?}");
    project.write(Project::SCENE, "# Scene\n\nQuite another plan.\n");
    project.ok(&["approve", "scene-0101"]);
    let book = project.ok(&["story", "compile"]);
    assert!(
        book.stderr
            .contains("its plan was changed and approved again"),
        "{book:?}"
    );
}
