//! `tl import`: manuscripts of other tools as plans and prose.

#![expect(
    clippy::disallowed_methods,
    reason = "a test makes files outside of its project"
)]

use std::io::{Cursor, Write as _};

use serde_json::Value;
use testkit::Project;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::{assert_refused, planned, story, text};

const SCENE_PROSE: &str = "chapters/chapter-01/content/scene-0101.md";

/// Packs files as DOCX and zipped projects are packed.
fn pack(files: &[(&str, &str)]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in files {
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
        archive.start_file(*name, options).expect("a value");
        archive.write_all(text.as_bytes()).expect("a value");
    }
    archive.finish().expect("a value").into_inner()
}

fn paths(outcome: &Value) -> Vec<String> {
    let plans = outcome["plans"].as_array().expect("a list of plans");
    let paths = plans.iter().map(|plan| text(plan, "path").to_owned());
    paths.collect()
}

/// Imports and returns the outcome and the prose of all scenes.
fn import(project: &Project, file: &str) -> (Value, Vec<String>) {
    let outcome = project.json(&["import", file]);
    let plans = outcome["plans"].as_array().expect("a list of plans");
    let files = plans.iter().filter_map(|plan| plan["prose_file"].as_str());
    let prose = files.map(|file| project.read(file)).collect();
    (outcome, prose)
}

#[test]
fn a_folder_of_chapters_and_a_list_of_them_are_one_manuscript() {
    for arguments in [
        &["import", "manuscript"][..],
        &["import", "manuscript", "--format", "markdown"],
        &["import", "manuscript", "--format", "text"],
        &[
            "import",
            "manuscript/chapter-10.md",
            "manuscript/chapter-2.md",
            "manuscript/chapter-1.md",
        ],
    ] {
        let project = story();
        for number in [1, 2, 10] {
            let file = format!("manuscript/chapter-{number}.md");
            project.write(&file, format!("Text of {number}.\n"));
        }
        let outcome = project.json(arguments);
        assert_eq!(paths(&outcome).len(), 6, "{arguments:?}: {outcome}");
        let last = project.read("chapters/chapter-03/content/scene-0301.md");
        assert_eq!(last, "Text of 10.\n", "{arguments:?}");
    }
}

#[test]
fn several_files_have_to_be_texts() {
    let project = story();
    project.write("one.md", "One.\n");
    project.write("two.rtf", "{\\rtf1 Two.}\n");
    assert_refused(
        &project,
        &["import", "one.md", "two.rtf"],
        "invalid",
        &["`two.rtf` is not a Markdown or plain text file", "--append"],
    );
}

#[test]
fn a_markdown_manuscript_becomes_plans_and_prose_and_is_taken_back_whole() {
    let project = story();
    let manuscript = "---\ntitle: Salt\nauthor: Ann Bo\n---\n\n## Chapter 1\n\nThe gate was shut.\n\n* * *\n\nLater it *opened*.\n\n## Chapter 2: Rain\n\nIt rained.\n";
    project.write("draft.md", manuscript);
    let before = project.ok(&["log"]).stdout;

    let preview = project.ok(&["import", "draft.md", "--dry-run"]);
    assert!(
        preview
            .stdout
            .contains("would import Salt by Ann Bo (markdown): 2 chapters, 3 scenes, 9 words"),
        "{preview:?}"
    );
    assert!(
        preview.stdout.contains(&format!("new  {SCENE_PROSE}")),
        "{preview:?}"
    );
    assert!(!project.root().join("chapters").exists());
    assert_eq!(
        project.ok(&["log"]).stdout,
        before,
        "a preview records nothing"
    );

    let (outcome, prose) = import(&project, "draft.md");
    assert_eq!(
        paths(&outcome),
        [
            "chapter-01",
            "chapter-01/scene-0101",
            "chapter-01/scene-0102",
            "chapter-02",
            "chapter-02/scene-0201"
        ]
    );
    assert_eq!(
        prose,
        [
            "The gate was shut.\n",
            "Later it *opened*.\n",
            "It rained.\n"
        ]
    );
    assert_eq!(
        project.read("chapters/chapter-02/plan.md"),
        "# Chapter 2: Rain\n"
    );
    // What is written is complete, nothing is approved.
    let scene = project.json(&["show", "scene-0101"]);
    assert_eq!(text(&scene, "progress"), "complete", "{scene}");
    assert_eq!(project.status("scene-0101"), "draft");
    // A second import would double the book.
    assert_refused(
        &project,
        &["import", "draft.md"],
        "refused",
        &["5 plans already", "--append"],
    );
    // Once approved, they are still the author's: nothing writes them again.
    for node in ["chapter-01", "scene-0101"] {
        project.ok(&["approve", node]);
    }
    assert_refused(
        &project,
        &["story", "write", "--next"],
        "not-found",
        &["no approved blueprint"],
    );
    // The book is whole, with title and author.
    let book = project.ok(&["story", "compile"]).stdout;
    assert!(
        book.starts_with("---\ntitle: \"Salt\"\nauthor: \"Ann Bo\"\n---\n# Salt\n\n## Chapter 1\n"),
        "{book}"
    );

    let operation = outcome["operation"].to_string();
    for _ in 0..2 {
        project.ok(&["undo"]);
    }
    project.ok(&["undo", &operation]);
    assert!(!project.root().join(SCENE_PROSE).exists());
    assert!(!project.root().join("chapters/chapter-02/plan.md").exists());
    assert!(project.root().join("draft.md").exists());
    assert_eq!(
        project.json(&["tree"])["nodes"]
            .as_array()
            .map_or(0, Vec::len),
        0
    );
}

#[test]
fn nothing_that_exists_is_overwritten() {
    let project = story();
    project.write(SCENE_PROSE, "Mine.\n");
    project.write("draft.txt", "Chapter 1\n\nText.\n");
    assert_refused(
        &project,
        &["import", "draft.txt"],
        "conflict",
        &[SCENE_PROSE, "exist already"],
    );
    assert_eq!(project.read(SCENE_PROSE), "Mine.\n");
    assert!(!project.root().join("chapters/chapter-01/plan.md").exists());
}

#[test]
fn more_chapters_go_below_an_act_and_continue_its_numbers() {
    let project = planned();
    project.write(
        "more.txt",
        "CHAPTER TWO\n\nText here.\n\nChapter Three\n\nMore.\n",
    );
    let outcome = project.json(&["import", "more.txt", "--under", "act-1"]);
    assert_eq!(
        paths(&outcome),
        [
            "act-1/chapter-02",
            "act-1/chapter-02/scene-0201",
            "act-1/chapter-03",
            "act-1/chapter-03/scene-0301"
        ]
    );
    assert_eq!(project.status("act-1"), "approved", "the act is as it was");
}

#[test]
fn prose_without_a_chapter_below_and_plain_text_in_other_words_are_read() {
    let project = story();
    project.write(
        "kniga.txt",
        "Часть первая\n\nГлава первая\n\nВорота закрыты.\n\nГлава вторая\n\nДождь.\n",
    );
    let (outcome, prose) = import(&project, "kniga.txt");
    assert_eq!(
        paths(&outcome)[..3],
        ["act-1", "act-1/chapter-01", "act-1/chapter-01/scene-0101"]
    );
    assert_eq!(prose, ["Ворота закрыты.\n", "Дождь.\n"]);
}

#[test]
fn a_docx_keeps_headings_emphasis_and_accepted_changes() {
    let project = story();
    let document = r#"<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>
        <w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>The gate</w:t></w:r></w:p>
        <w:p><w:r><w:t xml:space="preserve">She </w:t></w:r><w:r><w:rPr><w:i/></w:rPr><w:t>never</w:t></w:r><w:del><w:r><w:delText>x</w:delText></w:r></w:del><w:ins><w:r><w:t xml:space="preserve"> asked.</w:t></w:r></w:ins></w:p>
        <w:p><w:r><w:t>#</w:t></w:r></w:p><w:p><w:r><w:t>Later.</w:t></w:r></w:p></w:body></w:document>"#;
    let styles = r#"<w:styles xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/><w:pPr><w:outlineLvl w:val="0"/></w:pPr></w:style></w:styles>"#;
    let core = r#"<cp:coreProperties xmlns:cp="a" xmlns:dc="b"><dc:title>Salt</dc:title><dc:creator>Ann Bo</dc:creator></cp:coreProperties>"#;
    let comments = r#"<w:comments xmlns:w="w"><w:comment w:id="0"/></w:comments>"#;
    project.write(
        "salt.docx",
        pack(&[
            ("[Content_Types].xml", "<Types/>"),
            ("word/document.xml", document),
            ("word/styles.xml", styles),
            ("word/comments.xml", comments),
            ("docProps/core.xml", core),
        ]),
    );
    let (outcome, prose) = import(&project, "salt.docx");
    assert_eq!(prose, ["She *never* asked.\n", "Later.\n"]);
    assert_eq!(text(&outcome, "author"), "Ann Bo");
    assert_eq!(outcome["left_out"], serde_json::json!(["1 comment"]));
    assert!(project.read("story/book.md").contains("title: \"Salt\""));
}

#[test]
fn a_novelwriter_project_keeps_synopsis_point_of_view_and_cast() {
    let project = story();
    let project_file = r#"<?xml version='1.0' encoding='utf-8'?>
<novelWriterXML appVersion="2.4" fileVersion="1.5"><project id="x"><name>Salt</name><author>Ann Bo</author></project><content items="4">
<item handle="aaaaaaaaaaaaa" parent="None" root="aaaaaaaaaaaaa" order="0" type="ROOT" class="NOVEL"><name>Novel</name></item>
<item handle="ccccccccccccc" parent="aaaaaaaaaaaaa" root="aaaaaaaaaaaaa" order="1" type="FILE" class="NOVEL" layout="DOCUMENT"><name active="yes">Second</name></item>
<item handle="bbbbbbbbbbbbb" parent="aaaaaaaaaaaaa" root="aaaaaaaaaaaaa" order="0" type="FILE" class="NOVEL" layout="DOCUMENT"><name active="yes">First</name></item>
<item handle="ddddddddddddd" parent="aaaaaaaaaaaaa" root="aaaaaaaaaaaaa" order="2" type="FILE" class="NOVEL" layout="DOCUMENT"><name active="no">Old</name></item>
</content></novelWriterXML>"#;
    project.write("book/nwProject.nwx", project_file);
    project.write(
        "book/content/bbbbbbbbbbbbb.nwd",
        "%%~name: First\n%%~kind: NOVEL/DOCUMENT\n#! Salt\n\n# Part One\n\n## The harbour\n\n### At the gate\n\n@pov: Mara\n@char: Ines\n@location: Harbour\n\n%Synopsis: Mara is refused.\n\nThe gate was [i]shut[/i].\n",
    );
    project.write(
        "book/content/ccccccccccccc.nwd",
        "### The road\n\nShe left.\n",
    );
    project.write("book/content/ddddddddddddd.nwd", "### Old\n\nNot this.\n");
    let (outcome, prose) = import(&project, "book");
    assert_eq!(text(&outcome, "format"), "novelwriter");
    assert_eq!(prose, ["The gate was *shut*.\n", "She left.\n"]);
    let blueprint = project.read("acts/act-1/chapters/chapter-01/scenes/scene-0101-blueprint.md");
    assert_eq!(
        blueprint,
        "---\npov: \"Mara\"\n---\n\n# At the gate\n\nMara is refused.\n\n## Characters\n\n- Mara\n- Ines\n\n## Locations\n\n- Harbour\n"
    );
    assert_eq!(
        outcome["left_out"],
        serde_json::json!(["1 inactive document"])
    );
}

#[test]
fn a_scrivener_project_is_read_by_its_binder() {
    let scrivx = r#"<?xml version="1.0" encoding="UTF-8"?><ScrivenerProject Version="2.0" Identifier="X"><Binder>
<BinderItem UUID="D" Type="DraftFolder"><Title>Manuscript</Title><Children>
 <BinderItem UUID="C1" Type="Folder"><Title>The gate</Title><MetaData><IncludeInCompile>Yes</IncludeInCompile></MetaData><Children>
  <BinderItem UUID="S1" Type="Text"><Title>Shut</Title><MetaData><IncludeInCompile>Yes</IncludeInCompile></MetaData></BinderItem>
  <BinderItem UUID="S2" Type="Text"><Title>Cut scene</Title><MetaData><IncludeInCompile>No</IncludeInCompile></MetaData></BinderItem>
 </Children></BinderItem></Children></BinderItem>
<BinderItem UUID="R" Type="ResearchFolder"><Title>Research</Title><Children><BinderItem UUID="S3" Type="Text"><Title>Notes</Title></BinderItem></Children></BinderItem>
</Binder></ScrivenerProject>"#;
    let rtf = r"{\rtf1\ansi\ansicpg1252{\fonttbl\f0 Times;}\f0 The gate was {\i shut}.\par \'93No.\'94\par}";
    let files = [
        ("Salt.scriv/Salt.scrivx", scrivx),
        ("Salt.scriv/Files/Data/S1/content.rtf", rtf),
        ("Salt.scriv/Files/Data/S1/synopsis.txt", "Mara is refused."),
        ("Salt.scriv/Files/Data/S2/content.rtf", r"{\rtf1 Cut.\par}"),
        (
            "Salt.scriv/Files/Data/S3/content.rtf",
            r"{\rtf1 Research.\par}",
        ),
    ];
    let project = story();
    for (path, text) in files {
        project.write(path, text);
    }
    let (outcome, prose) = import(&project, "Salt.scriv");
    assert_eq!(text(&outcome, "title"), "Salt");
    assert_eq!(prose, ["The gate was *shut*.\n\n“No.”\n"]);
    assert!(
        project
            .read("chapters/chapter-01/scenes/scene-0101-blueprint.md")
            .contains("# Shut\n\nMara is refused.\n")
    );
    // The same from an archive of the folder.
    let other = story();
    other.write("salt.zip", pack(&files));
    assert_eq!(import(&other, "salt.zip").1, prose);
}

#[test]
fn a_longform_vault_is_read_by_its_index_note() {
    let project = story();
    project.write(
        "vault/Salt.md",
        "---\nlongform:\n  format: scenes\n  title: Salt\n  sceneFolder: scenes\n  scenes:\n    - The gate\n    - - Shut\n      - Open\n    - Rain\n  ignoredFiles: []\n---\n",
    );
    for (name, text) in [
        ("The gate", ""),
        (
            "Shut",
            "---\npov: Mara\nsynopsis: Refused.\n---\nThe gate was shut. %%check%%\n",
        ),
        ("Open", "It opened.\n"),
        ("Rain", "It rained.\n\n***\n\nIt stopped.\n"),
        ("Not listed", "No.\n"),
    ] {
        project.write(&format!("vault/scenes/{name}.md"), text);
    }
    let (outcome, prose) = import(&project, "vault/Salt.md");
    assert_eq!(text(&outcome, "format"), "longform");
    assert_eq!(
        prose,
        [
            "The gate was shut.\n",
            "It opened.\n",
            "It rained.\n",
            "It stopped.\n"
        ]
    );
    assert_eq!(
        outcome["levels"][0],
        serde_json::json!({ "level": "chapter", "plans": 2 })
    );
}

#[test]
fn hostile_and_unknown_files_are_refused() {
    let project = story();
    project.write("way-out.docx", pack(&[("../../word/document.xml", "<a/>")]));
    assert_refused(
        &project,
        &["import", "way-out.docx"],
        "refused",
        &["leads out of the archive"],
    );
    // 80 MB of blanks in some kilobytes.
    let blanks = " ".repeat(80 * 1024 * 1024);
    project.write("bomb.docx", pack(&[("word/document.xml", &blanks)]));
    assert_refused(
        &project,
        &["import", "bomb.docx"],
        "refused",
        &["more than 64 MB"],
    );
    let entities = "<!DOCTYPE a [<!ENTITY b \"bbbb\">]><a>&b;</a>";
    project.write("entities.docx", pack(&[("word/document.xml", entities)]));
    assert_refused(&project, &["import", "entities.docx"], "invalid", &["DTD"]);
    project.write("cut.docx", &pack(&[("word/document.xml", "<a/>")])[..60]);
    assert_refused(&project, &["import", "cut.docx"], "refused", &["ZIP"]);
    project.write("latin.txt", b"Chapter 1\n\nCaf\xe9.\n");
    assert_refused(
        &project,
        &["import", "latin.txt"],
        "invalid",
        &["expected UTF-8"],
    );
    project.write("book.odt", "text");
    assert_refused(
        &project,
        &["import", "book.odt"],
        "invalid",
        &["format", "DOCX"],
    );
    project.write("empty.md", "# Only a title\n");
    assert_refused(&project, &["import", "empty.md"], "refused", &["no prose"]);
    assert_refused(
        &project,
        &["import", "nowhere.md"],
        "not-found",
        &["does not exist"],
    );
    assert!(!project.root().join("chapters").exists());
}

#[test]
fn links_in_a_project_folder_are_not_followed() {
    let project = story();
    let secret = project.user_directory().join("secret.md");
    std::fs::create_dir_all(secret.parent().unwrap()).unwrap();
    std::fs::write(&secret, "Secret.\n").unwrap();
    project.write(
        "vault/Salt.md",
        "---\nlongform:\n  format: scenes\n  title: Salt\n  sceneFolder: /\n  scenes: [Mine, secret]\n---\n",
    );
    project.write("vault/Mine.md", "Mine.\n");
    std::os::unix::fs::symlink(&secret, project.root().join("vault/secret.md")).unwrap();
    let (outcome, prose) = import(&project, "vault");
    assert_eq!(prose, ["Mine.\n"]);
    assert!(
        outcome["left_out"]
            .to_string()
            .contains("`secret`, which has no note"),
        "{outcome}"
    );
}

#[test]
fn a_book_survives_export_and_import() {
    let project = story();
    project.write(
        "draft.md",
        "---\ntitle: Salt & Rain\nauthor: Ann Bo\n---\n# Part One\n\n## Prologue\n\nFog.\n\n## The gate\n\nShut *fast*.\n\n***\n\nOpen.\n\n# Part Two\n\n## Rain\n\nIt rained.\n",
    );
    let (first, prose) = import(&project, "draft.md");
    for (format, file) in [("markdown", "book.md"), ("docx", "book.docx")] {
        project.ok(&["story", "compile", "--format", format, "--output", file]);
        let other = story();
        std::fs::copy(project.root().join(file), other.root().join(file)).unwrap();
        let (again, same) = import(&other, file);
        assert_eq!(same, prose, "{format}");
        assert_eq!(paths(&again), paths(&first), "{format}");
        assert_eq!(again["title"], first["title"], "{format}");
        assert_eq!(again["author"], first["author"], "{format}");
    }
}
