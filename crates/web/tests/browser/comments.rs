//! Comments at a place in the text, as threads.

use serde_json::json;
use testkit::Project;

use crate::pictures;
use crate::stage::{Browser, Server, Setup, play, story};

const SCENE: &str = "/nodes/act-1/chapter-01/scene-0101";

/// Marks the words of an element, as a reader does with the mouse.
async fn mark_words(browser: &Browser, css: &str) {
    let script = format!(
        "getSelection().selectAllChildren(document.querySelector(\"{css}\")); return getSelection().toString()"
    );
    browser.evaluate(&script).await;
}

#[test]
fn words_are_quoted_answered_resolved_and_outdated() {
    let project = story();
    let server = Server::of(&project);
    play(async {
        let browser = Browser::open(&server, Setup::default()).await;
        browser.goto(&server, SCENE).await;
        browser.sees("tl-live", "live").await;
        mark_words(&browser, "#plan .prose p").await;
        browser.click("button.offer").await;
        let quote = "return document.querySelector('#about-words').value";
        browser
            .until_script_gives(quote, "The lamp goes out.")
            .await;
        browser.type_into("#say", "Why *now*?").await;
        browser.click("#add-comment .primary").await;
        browser.sees(".toast", "Comment added").await;
        browser
            .sees("#comments .quoted", "The lamp goes out.")
            .await;
        browser.sees("#comments .quoted footer", "Beats").await;
        browser.sees("#comments .thread em", "now").await;
        browser.sees("#comments .counter", "1 open").await;
        // The agent gets it as data, and answers.
        let comments = project.json(&["comment", "scene-0101"]);
        let said = &comments[0];
        assert_eq!(
            json!({ "path": said["path"], "section": said["section"], "quote": said["quote"], "text": said["text"] }),
            json!({ "path": "act-1/chapter-01/scene-0101", "section": "Beats", "quote": "The lamp goes out.", "text": "Why *now*?" })
        );
        let id = said["id"].as_str().expect("an id").to_owned();
        project.ok(&[
            "comment",
            "scene-0101",
            "--reply",
            &id,
            "-m",
            "The oil is gone.",
        ]);
        browser.sees("#comments .reply", "The oil is gone.").await;
        browser.picture(&pictures().join("comments.png")).await;
        assert_eq!(browser.violations().await, json!([]));
        // The words move with the text, and the thread with them.
        let text = project.read(Project::SCENE);
        let moved = text.replace("## Beats\n", "## Beats\n\nMara waits.\n");
        project.write(Project::SCENE, &moved);
        browser.sees("#plan", "Mara waits.").await;
        let line = moved.lines().position(|line| line.contains("goes out"));
        let line = line.map_or(0, |line| line + 1);
        browser
            .sees("#comments .quoted footer", &format!("line {line}"))
            .await;
        browser.sees("#comments .counter", "1 open").await;
        // A reply of the reader, then the end of the thread.
        browser.click("#comments .answer summary").await;
        browser
            .type_into("#comments .answer textarea", "Then say so.")
            .await;
        browser.click("#comments .answer button:not(.ghost)").await;
        browser.sees(".toast", "Comment added").await;
        browser.sees("#comments .thread", "Then say so.").await;
        browser.click("#comments .answer summary").await;
        browser.click("#comments .answer .ghost").await;
        browser.sees(".toast", "Resolved.").await;
        browser.sees("#comments .counter", "0 open").await;
        // Words that are gone make a comment outdated.
        browser.click("[popovertarget=add-comment]").await;
        browser.type_into("#about-words", "Mara waits.").await;
        browser.type_into("#say", "For whom?").await;
        browser.click("#add-comment .primary").await;
        browser.sees("#comments .counter", "1 open").await;
        project.write(Project::SCENE, &text);
        browser.sees("#comments .counter", "0 open").await;
        browser.click("#comments .closed summary").await;
        browser
            .sees("#comments .closed", "no longer in the text")
            .await;
    });
}
