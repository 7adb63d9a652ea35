//! Editing and creating plans in the browser.

use fantoccini::key::Key;
use testkit::Project;

use crate::pictures;
use crate::review::press;
use crate::stage::{Browser, Server, Setup, play, story};

const EDIT: &str = "/edit/act-1/chapter-01/scene-0101";
const PAGE: &str = "/nodes/act-1/chapter-01/scene-0101";
const TYPED: &str = "return document.querySelector('#text').value";

#[test]
fn a_text_is_edited_with_its_preview_and_saved() {
    let project = story();
    let before = project.read(Project::SCENE);
    let server = Server::of(&project);
    play(async {
        let browser = Browser::open(&server, Setup::default()).await;
        browser.goto(&server, PAGE).await;
        browser.sees("tl-live", "live").await;
        press(&browser, "e").await;
        browser.sees("h1", "Edit Scene 1.1").await;
        browser
            .append_to("#text", "\nTeo brings a *second* lamp.\n")
            .await;
        browser.sees("#preview p:last-child em", "second").await;
        browser.picture(&pictures().join("edit-preview.png")).await;
        // What was typed survives a walk through other pages.
        browser.goto(&server, "/tree").await;
        browser.goto(&server, EDIT).await;
        browser.sees(".restored", "your unsaved text").await;
        browser.sees("#preview", "Teo brings a second lamp.").await;
        browser.click("#editor .primary").await;
        browser.sees(".toast", "Saved.").await;
        browser.sees("#plan", "Teo brings a second lamp.").await;
        assert_eq!(
            project.read(Project::SCENE),
            format!("{before}\nTeo brings a *second* lamp.\n")
        );
        let saved = project.read(Project::SCENE);
        // The saved text is no draft any more.
        browser.goto(&server, EDIT).await;
        assert_eq!(browser.evaluate(TYPED).await, saved);
    });
}

#[test]
fn a_text_that_changed_meanwhile_is_not_replaced_unseen() {
    let project = story();
    let server = Server::of(&project);
    let other = "# Scene 1.1\n\n## Characters\n- Mara\n\n## Beats\n\nThe lamp stays lit.\n";
    play(async {
        let browser = Browser::open(&server, Setup::default()).await;
        browser.goto(&server, EDIT).await;
        browser.sees("tl-live", "live").await;
        browser.append_to("#text", "\nMine.\n").await;
        project.write(Project::SCENE, other);
        browser.sees(".news", "This plan changed").await;
        browser.click("#editor .primary").await;
        browser
            .sees("#problem", "the plan was changed since you opened it")
            .await;
        browser.sees("#problem .added", "The lamp stays lit.").await;
        browser.picture(&pictures().join("edit-conflict.png")).await;
        assert_eq!(browser.violations().await, serde_json::json!([]));
        assert_eq!(project.read(Project::SCENE), other);
        let typed = browser.evaluate(TYPED).await;
        let typed = typed.as_str().expect("a text").to_owned();
        assert!(typed.ends_with("Mine.\n"), "{typed}");
        // Once it was seen, saving again is a decision.
        browser.click("#editor .primary").await;
        browser.sees(".toast", "Saved.").await;
        assert_eq!(project.read(Project::SCENE), typed);
    });
}

#[test]
fn a_gate_that_refuses_a_text_loses_none_of_it() {
    let project = story();
    // A chapter of an act that nobody approved.
    let chapter = "acts/act-2/chapters/chapter-05/plan.md";
    project.write("acts/act-2/strategic-plan.md", "# Act 2\n");
    project.write(chapter, "# Chapter 5\n");
    let server = Server::of(&project);
    play(async {
        let browser = Browser::open(&server, Setup::default()).await;
        browser.goto(&server, "/edit/act-2/chapter-05").await;
        browser.append_to("#text", "\nMore.\n").await;
        browser.click("#editor .primary").await;
        browser.sees("#problem", "Not saved").await;
        browser.sees("#problem", "act-2").await;
        browser.sees("#preview", "More.").await;
    });
    assert_eq!(project.read(chapter), "# Chapter 5\n");
}

#[test]
fn a_text_is_edited_and_a_plan_created_without_scripts() {
    let project = story();
    let server = Server::of(&project);
    play(async {
        let setup = Setup {
            without_scripts: true,
            ..Setup::default()
        };
        let browser = Browser::open(&server, setup).await;
        browser.goto(&server, PAGE).await;
        browser.click(".plan-actions a[href^='/edit/']").await;
        browser.append_to("#text", "\nA **third** lamp.\n").await;
        browser.click("#editor button[value=preview]").await;
        browser.sees("#preview", "A third lamp.").await;
        browser.click("#editor .primary").await;
        browser.sees(".toast", "Saved.").await;
        browser
            .goto(&server, "/new?under=act-1&level=chapter")
            .await;
        browser
            .type_into("#title-story-chapter", "The long night")
            .await;
        let enter = Key::Enter.to_string();
        browser.type_into("#title-story-chapter", &enter).await;
        browser.sees(".toast", "Created").await;
        browser.sees("h1", "The long night").await;
    });
    assert!(project.read(Project::SCENE).contains("A **third** lamp."));
    let tree = project.ok(&["tree"]).stdout;
    assert!(tree.contains("chapter-02"), "{tree}");
}
