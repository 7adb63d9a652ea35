//! Board, tree and the other pages that show the whole project.

use fantoccini::key::Key;
use serde_json::Value;
use testkit::Project;

use crate::pictures;
use crate::stage::{Browser, Server, Setup, play, setting};

/// Returns a project of 40 tickets: ten roots in all phases with three children each.
pub(crate) fn forty_tickets() -> Project {
    let project = Project::empty(&setting("THROUGHLINE_TL"));
    project.ok(&["init", "--profile", "tickets"]);
    let phases = [
        "intake",
        "define-behavior",
        "scenario-gate",
        "decomposition",
        "implement",
    ];
    for root in 1..=10 {
        let phase = phases[root % phases.len()];
        let needs = match root {
            1 => String::new(),
            other => format!("needs: ['{:03}']\n", other - 1),
        };
        project.write(
            &format!("tickets/{root:03}-part/ticket.md"),
            format!(
                "---\nid: '{root:03}'\ntype: feature\nphase: {phase}\npriority: P{}\n{needs}---\n# Part {root} of the shop\n\nWhat it is.\n",
                root % 3
            ),
        );
        for (child, letter) in ["a", "b", "c"].iter().enumerate() {
            let phase = phases[(root + child) % phases.len()];
            project.write(
                &format!("tickets/{root:03}{letter}-step/ticket.md"),
                format!(
                    "---\nid: {root:03}{letter}\nparent: '{root:03}'\ntype: task\nphase: {phase}\n---\n# Step {letter} of part {root}\n"
                ),
            );
        }
    }
    project.ok(&["status"]);
    project
}

const CARD: &str = ".board-card[data-path='001/001a']";

/// The column a card is in.
async fn column_of(browser: &Browser, card: &str) -> Value {
    let script = format!(
        "return document.querySelector(\"{card}\")?.closest('.cell').dataset.column ?? null"
    );
    browser.evaluate(&script).await
}

#[test]
fn a_card_is_moved_by_keys_by_dragging_and_by_its_menu() {
    let project = forty_tickets();
    let server = Server::of(&project);
    play(async {
        let browser = Browser::open(&server, Setup::default()).await;
        browser.goto(&server, "/board?by=progress").await;
        browser.sees("tl-live", "live").await;
        assert_eq!(column_of(&browser, CARD).await, "pending");
        let focus = format!("document.querySelector(\"{CARD} .name\").focus(); return 1");
        browser.evaluate(&focus).await;
        let name = browser.client.active_element().await.expect("a card");
        let right = format!("{}{}", Key::Shift, Key::Right);
        name.send_keys(&right).await.expect("a key");
        browser
            .sees("#board-said", "Step a of part 1 is in active.")
            .await;
        assert_eq!(column_of(&browser, CARD).await, "active");
        // The focus went with the card.
        browser
            .sees(".board-card a:focus", "Step a of part 1")
            .await;
        let drag = format!(
            "const card = document.querySelector(\"{CARD}\"); const cell = card.closest('.cell').nextElementSibling; \
             const data = new DataTransfer(); \
             for (const [target, type] of [[card, 'dragstart'], [cell, 'dragover'], [cell, 'drop'], [card, 'dragend']]) \
             target.dispatchEvent(new DragEvent(type, {{ bubbles: true, cancelable: true, dataTransfer: data }})); return 1"
        );
        browser.evaluate(&drag).await;
        browser.sees("#board-said", "Why is it blocked?").await;
        let reason = format!("{CARD} input[name=reason]");
        let typed = format!("waits for the key{}", Key::Enter);
        browser.type_into(&reason, &typed).await;
        browser.sees("#board-said", "is in blocked.").await;
        browser
            .sees(&format!("{CARD} .obstacle"), "waits for the key")
            .await;
        browser.goto(&server, "/board?by=phase").await;
        browser.sees("tl-live", "live").await;
        browser.picture(&pictures().join("board-phase.png")).await;
        // From intake over the phases between: refused, with the reason, and the card stays.
        let intake = ".board-card[data-path='005']";
        assert_eq!(column_of(&browser, intake).await, "intake");
        let skip = format!(
            "const form = document.querySelector(\"{intake} form\"); form.querySelector('select').value = 'implement'; \
             form.requestSubmit(); return 1"
        );
        browser.evaluate(&skip).await;
        browser.sees("dialog[open]", "005").await;
        browser.picture(&pictures().join("board-refused.png")).await;
        assert_eq!(browser.violations().await, Value::Array(Vec::new()));
        browser.click("dialog[open] button:last-child").await;
        assert_eq!(column_of(&browser, intake).await, "intake");
    });
    let ticket = project.json(&["show", "001a"]);
    assert_eq!(ticket["progress"], "blocked");
}

#[test]
fn a_card_is_moved_without_scripts() {
    let project = forty_tickets();
    let server = Server::of(&project);
    play(async {
        let setup = Setup {
            without_scripts: true,
            ..Setup::default()
        };
        let browser = Browser::open(&server, setup).await;
        browser.goto(&server, "/board?by=progress&lanes=none").await;
        browser.click(&format!("{CARD} summary")).await;
        browser.click(&format!("{CARD} option[value=active]")).await;
        browser.click(&format!("{CARD} button")).await;
        browser.sees(".toast", "The progress is changed.").await;
        browser
            .sees(".cell[data-column=active]", "Step a of part 1")
            .await;
    });
}

#[test]
fn the_tree_folds_and_a_plan_is_moved_after_its_preview() {
    let project = Project::story(&setting("THROUGHLINE_TL"));
    for act in 1..=2 {
        project.write(
            &format!("acts/act-{act}/strategic-plan.md"),
            format!("# Act {act}\n"),
        );
        for chapter in 1..=3 {
            let number = (act - 1) * 3 + chapter;
            project.write(
                &format!("acts/act-{act}/chapters/chapter-{number:02}/plan.md"),
                format!("# Chapter {number}\n"),
            );
        }
    }
    let server = Server::of(&project);
    play(async {
        let browser = Browser::open(&server, Setup::default()).await;
        browser.goto(&server, "/tree").await;
        browser.sees("#found", "8 plans").await;
        browser.sees("tl-live", "live").await;
        let rows = "return String(document.querySelectorAll('tl-tree li').length)";
        browser.until_script_gives(rows, "8").await;
        browser
            .evaluate("document.querySelector('tl-tree li').focus(); return 1")
            .await;
        for (key, expected) in [(Key::Left, "5"), (Key::Right, "8")] {
            let focused = browser.client.active_element().await.expect("a row");
            focused.send_keys(&key.to_string()).await.expect("a key");
            browser.until_script_gives(rows, expected).await;
            browser.sees("tl-tree li:focus", "Act 1").await;
        }
        browser.click("tl-tree li[data-path='act-2'] a.fold").await;
        browser.until_script_gives(rows, "5").await;
        // The address keeps what is folded, for Back and for a link.
        browser
            .click("tl-tree a[href='/nodes/act-1/chapter-02']")
            .await;
        browser.sees("h1", "Chapter 2").await;
        browser.client.back().await.expect("a page");
        browser.until_script_gives(rows, "5").await;
        assert_eq!(browser.violations().await, Value::Array(Vec::new()));
        let drag = "const at = (path) => document.querySelector(`tl-tree li[data-path='${path}']`); \
             const [from, to] = [at('act-1/chapter-01'), at('act-1/chapter-03')]; const data = new DataTransfer(); \
             const clientY = to.getBoundingClientRect().bottom - 2; \
             from.dispatchEvent(new DragEvent('dragstart', { bubbles: true, dataTransfer: data })); \
             to.dispatchEvent(new DragEvent('drop', { bubbles: true, cancelable: true, clientY, dataTransfer: data })); return 1";
        browser.evaluate(drag).await;
        browser.sees("#preview", "What changes").await;
        browser.sees("#preview", "act-1/chapter-01").await;
        browser.picture(&pictures().join("move.png")).await;
        assert_eq!(browser.violations().await, Value::Array(Vec::new()));
        browser.click("#preview button").await;
        browser.sees(".toast", "Moved").await;
    });
    // Numbers in headings follow the place, so the texts alone do not tell; the log does.
    let log = project.ok(&["log"]).stdout;
    assert!(log.contains("move act-1/chapter-01"), "{log}");
}

#[test]
fn one_key_finds_plans_texts_and_pages() {
    let project = forty_tickets();
    let server = Server::of(&project);
    play(async {
        let browser = Browser::open(&server, Setup::default()).await;
        browser.goto(&server, "/tree").await;
        browser.sees("tl-live", "live").await;
        let open = "document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'k', ctrlKey: true, bubbles: true })); return 1";
        browser.evaluate(open).await;
        browser.sees(".palette [role=listbox]", "Open Board").await;
        browser
            .type_into(".palette input", "step b of part 7")
            .await;
        browser
            .sees(".palette [aria-selected=true]", "Step b of part 7")
            .await;
        assert_eq!(browser.violations().await, Value::Array(Vec::new()));
        browser.picture(&pictures().join("palette.png")).await;
        let enter = Key::Enter.to_string();
        browser.type_into(".palette input", &enter).await;
        browser.sees("h1", "Step b of part 7").await;
        let keys = "document.body.dispatchEvent(new KeyboardEvent('keydown', { key: '?', bubbles: true })); return 1";
        browser.evaluate(keys).await;
        browser.sees("dialog.keys-dialog", "search and jump").await;
        assert_eq!(browser.violations().await, Value::Array(Vec::new()));
    });
}

#[test]
fn a_plan_shows_code_pictures_and_footnotes() {
    let project = Project::story(&setting("THROUGHLINE_TL"));
    // The smallest PNG.
    let pixel: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\nIDATx\x9cc\0\x01\0\0\x05\0\x01\r\n-\xb4\0\0\0\0IEND\xaeB`\x82";
    project.write(
        Project::ACT,
        "# Act 1\n\n![The harbour](harbour.png) ![x](secret.png)\n\n```rust\nlet x = 1;\n```\n\n```mermaid\ngraph TD\n```\n\nIt is so[^1].\n\n[^1]: Because.\n",
    );
    project.write("acts/act-1/harbour.png", pixel);
    // A text that is called a picture stays where it is.
    project.write("acts/act-1/secret.png", "secret");
    let server = Server::of(&project);
    play(async {
        let browser = Browser::open(&server, Setup::default()).await;
        browser.goto(&server, "/nodes/act-1").await;
        browser.sees("#plan .c-keyword", "let").await;
        browser.sees("#plan figcaption", "Mermaid").await;
        let width =
            "return String(document.querySelector('img[alt=\"The harbour\"]').naturalWidth)";
        browser.until_script_gives(width, "1").await;
        let other = "return String(document.querySelector('img[alt=x]').naturalWidth)";
        browser.until_script_gives(other, "0").await;
        for path in [
            "/images/acts/act-1/secret.png",
            "/images/acts/act-1/strategic-plan.md",
            "/images/../../etc/passwd",
        ] {
            let script = format!(
                "const request = new XMLHttpRequest(); request.open('GET', '{path}', false); request.send(); return String(request.status)"
            );
            assert_eq!(browser.evaluate(&script).await, "404", "{path}");
        }
        assert_eq!(browser.violations().await, Value::Array(Vec::new()));
    });
}
