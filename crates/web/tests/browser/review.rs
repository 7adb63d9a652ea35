//! A reviewer's morning: the inbox of a novel of 129 plans, by mouse and by keyboard alone.

use fantoccini::key::Key;
use serde_json::Value;
use testkit::Project;

use crate::access::assert_nothing_is_cut;
use crate::pictures;
use crate::stage::{Browser, Server, Setup, play, setting};

const ACT_2: &str = "acts/act-2/strategic-plan.md";
const CHAPTER_3: &str = "acts/act-1/chapters/chapter-03/plan.md";

fn act_text(act: usize, turn: &str) -> String {
    format!(
        "# Act {act}: the water\n\n## Characters\n- Mara\n- Teo\n\n## Turning points\n\n1. The lamp goes out.\n2. {turn}\n"
    )
}

fn chapter_text(chapter: usize, ending: &str) -> String {
    format!(
        "# Chapter {chapter}: the key\n\n## Characters\n- Mara\n- Teo\n\n## Beats\n\nMara counts the boats.\n\n## Ending\n\n{ending}\n"
    )
}

/// Returns a novel of 129 plans: act 2 changed after everything in it was approved, a chapter of act 1
/// changed, and act 3 has eight chapters that nobody has decided about.
fn novel() -> Project {
    let project = Project::story(&setting("THROUGHLINE_TL"));
    let mut chapter = 0;
    for act in 1..=3 {
        let file = format!("acts/act-{act}/strategic-plan.md");
        project.write(&file, act_text(act, "Teo hides the second key."));
        for _ in 0..8 {
            chapter += 1;
            let folder = format!("acts/act-{act}/chapters/chapter-{chapter:02}");
            project.write(
                &format!("{folder}/plan.md"),
                chapter_text(chapter, "She says nothing."),
            );
            let scenes = if chapter % 4 == 1 { 5 } else { 4 };
            for scene in 1..=scenes {
                let file = format!("{folder}/scenes/scene-{chapter:02}{scene:02}-blueprint.md");
                let text = format!("# Scene {chapter}.{scene}\n\n## Characters\n- Mara\n");
                project.write(&file, text);
            }
        }
    }
    for act in ["act-1", "act-2"] {
        project.ok(&["approve", "--below", act, "--force"]);
    }
    project.ok(&["approve", "act-3", "--force"]);
    project.write(ACT_2, act_text(2, "Teo hides the second key. Iva sees it."));
    project.ok(&["approve", "act-2", "--force"]);
    project.write(CHAPTER_3, chapter_text(3, "She gives the key to Iva."));
    project
}

/// Presses keys where the focus is.
pub(crate) async fn press(browser: &Browser, key: &str) {
    let active = browser.client.active_element().await.expect("an element");
    if active.send_keys(key).await.is_err() {
        // The page was replaced in between, and another element has the focus now.
        let active = browser.client.active_element().await.expect("an element");
        active.send_keys(key).await.expect("a key");
    }
}

#[test]
fn a_morning_by_mouse() {
    let project = novel();
    let server = Server::of(&project);
    play(async {
        let browser = Browser::open(&server, Setup::default()).await;
        browser.sees("tl-live", "live").await;
        // One number everywhere.
        browser.sees("#queue header", "17 decisions").await;
        browser.sees("#pending", "17").await;
        browser
            .sees("#queue", "Act 2: the water changed\n8 chapters, 34 scenes")
            .await;
        // The difference comes first.
        browser.sees("#item .title", "Chapter 3: the key").await;
        browser
            .sees("#change .added", "She gives the key to Iva.")
            .await;
        browser.picture(&pictures().join("inbox-morning.png")).await;
        browser.click("#decide .primary").await;
        browser.sees(".toast", "Approved.").await;
        // Its four scenes can be decided now.
        browser.sees("#queue header", "20 decisions").await;
        browser.sees("#item .title", "Chapter 9: the key").await;
        // All chapters of the changed act, after a look at what that changes.
        browser
            .click("#queue a[href='/decide?group=changed%3Aact-2']")
            .await;
        browser.sees("#preview", "8 plans are approved").await;
        browser.sees("#preview", "34 plans below become").await;
        browser.picture(&pictures().join("decide-group.png")).await;
        browser.click("#decide .primary").await;
        browser.sees("#queue header", "12 decisions").await;
        assert_eq!(project.status("act-2/chapter-09"), "approved");
        assert_eq!(project.status("act-2/chapter-16/scene-1601"), "approved");
        // One undo takes all of it back.
        browser.click(".toast button").await;
        browser.sees("#queue header", "20 decisions").await;
        assert_eq!(project.status("act-2/chapter-16"), "requires-revalidation");
        browser.sees(".toast", "Undone.").await;
        // What is asked of the agent leaves the queue.
        browser
            .click("#queue a[data-item='act-3/chapter-17']")
            .await;
        browser.click("[popovertarget=request-changes]").await;
        browser
            .type_into("#what-to-change", "Who rows the boat?")
            .await;
        browser.click("#request-changes .primary").await;
        browser.sees("#queue header", "19 decisions").await;
        browser.sees("#returned", "The agent's turn").await;
        assert_eq!(browser.violations().await, Value::Array(Vec::new()));
    });
    let status = project.json(&["status"]);
    assert_eq!(
        status["changes_requested"][0]["text"], "Who rows the boat?",
        "{status}"
    );
}

#[test]
fn a_morning_by_keyboard() {
    let project = novel();
    let server = Server::of(&project);
    play(async {
        let browser = Browser::open(&server, Setup::default()).await;
        browser.sees("#item .title", "Chapter 3: the key").await;
        press(&browser, "j").await;
        browser.sees("#item .title", "Chapter 9: the key").await;
        browser.sees("#item .steps", "2 of 17").await;
        press(&browser, "k").await;
        browser.sees("#item .title", "Chapter 3: the key").await;
        press(&browser, "?").await;
        browser.sees("#keys", "request changes").await;
        press(&browser, Key::Escape.as_ref()).await;
        press(&browser, "a").await;
        browser.sees(".toast", "Approved.").await;
        // The keys go on at the next plan, and those who hear the page are told.
        browser
            .sees("#item .title:focus", "Chapter 9: the key")
            .await;
        let said = "return [...document.querySelectorAll('p.hidden[role=status]')].map((one) => one.textContent).join()";
        browser
            .until_script_gives(said, "Approved. Agents that waited for it continue.")
            .await;
        press(&browser, "u").await;
        browser.sees(".toast", "Undone.").await;
        browser.sees("#queue header", "17 decisions").await;
        assert_eq!(project.status("act-1/chapter-03"), "draft");
        browser.goto(&server, "/?plan=act-2%2Fchapter-10").await;
        press(&browser, "x").await;
        browser.sees("#reject", "Why it must not be used").await;
        press(&browser, "The storm comes too early").await;
        let send = Key::Control + &Key::Enter;
        press(&browser, &send).await;
        browser.sees(".toast", "Rejected.").await;
        assert_eq!(project.status("act-2/chapter-10"), "invalid");
        press(&browser, "c").await;
        press(&browser, "Is Iva awake?").await;
        press(&browser, &send).await;
        browser.sees(".toast", "Comment added").await;
        browser.sees("#comments", "Is Iva awake?").await;
        // The whole group.
        press(&browser, "b").await;
        browser.sees("h1", "Act 2: the water changed").await;
        press(&browser, "a").await;
        browser.sees(".toast", "Kept as they are").await;
        assert_eq!(project.status("act-2/chapter-16"), "approved");
    });
}

/// A title of 74 letters, as novels have them.
const LONG_TITLE: &str =
    "What Mara never told her brother about the second key and the night it sank";

#[test]
fn long_titles_are_shown_whole_and_the_window_stays() {
    let project = novel();
    let text = chapter_text(16, "She says nothing.").replace("Chapter 16: the key", LONG_TITLE);
    project.write("acts/act-2/chapters/chapter-16/plan.md", text);
    project.ok(&["approve", "act-2/chapter-16", "--force"]);
    project.write(
        ACT_2,
        act_text(2, "Teo hides the second key. Iva sees it, and waits."),
    );
    project.ok(&["approve", "act-2", "--force"]);
    let server = Server::of(&project);
    play(async {
        for phone in [false, true] {
            let setup = Setup {
                phone,
                ..Setup::default()
            };
            let browser = Browser::open(&server, setup).await;
            browser.sees("#queue", LONG_TITLE).await;
            assert_nothing_is_cut(&browser, "the inbox").await;
            for path in [
                "/tree",
                "/board?level=chapter",
                "/graph",
                "/stats",
                "/decide",
            ] {
                browser.goto(&server, path).await;
                browser.sees("tl-live", "live").await;
                assert_nothing_is_cut(&browser, path).await;
            }
            // No word of a table's head is broken.
            browser.goto(&server, "/stats").await;
            let tall = "return [...document.querySelectorAll('thead th')].filter((one) => one.offsetHeight > 80).length";
            assert_eq!(browser.evaluate(tall).await, 0);
        }
        // A plan far down in the queue is opened without moving the page behind the header.
        let browser = Browser::open(&server, Setup::default()).await;
        browser.goto(&server, "/?plan=act-2/chapter-16").await;
        browser.sees("#item .title", LONG_TITLE).await;
        let moved = "return [scrollY, document.documentElement.scrollHeight - innerHeight].join()";
        assert_eq!(browser.evaluate(moved).await, "0,0");
    });
}

#[test]
fn news_waits_until_the_reader_wants_it() {
    let project = novel();
    let server = Server::of(&project);
    play(async {
        let browser = Browser::open(&server, Setup::default()).await;
        browser.sees("tl-live", "live").await;
        browser.sees("#item .title", "Chapter 3: the key").await;
        project.ok(&["approve", "act-2/chapter-09", "--force"]);
        browser.sees(".news", "1 decided").await;
        browser.sees("#queue header", "17 decisions").await;
        browser.click(".news").await;
        browser.sees("#queue header", "16 decisions").await;
    });
}

#[test]
fn undo_says_what_it_changes_before_it_does() {
    let project = novel();
    let server = Server::of(&project);
    play(async {
        let browser = Browser::open(&server, Setup::default()).await;
        let operations = project.json(&["log"]);
        let approval = operations
            .as_array()
            .and_then(|all| {
                let mut all = all.iter();
                all.find(|one| {
                    one["summary"]
                        .as_str()
                        .is_some_and(|it| it == "approve act-2")
                })
            })
            .map(|one| one["operation"].clone())
            .expect("the approval of act 2");
        browser.goto(&server, &format!("/undo/{approval}")).await;
        browser.sees("#changes", "act-2").await;
        browser.picture(&pictures().join("undo.png")).await;
        assert_eq!(
            project.status("act-2"),
            "approved",
            "a look changes nothing"
        );
        browser.click("form[action='/do/undo'] .primary").await;
        browser.sees(".toast", "Undone.").await;
    });
    assert_eq!(project.status("act-2"), "draft");
}
