//! A developer's day on 40 tickets, by mouse and by keyboard alone.

use fantoccini::key::Key;
use serde_json::json;

use crate::pages::forty_tickets;
use crate::pictures;
use crate::review::press;
use crate::stage::{Browser, Server, Setup, play};

/// The path of the page.
const PLACE: &str = "return decodeURIComponent(location.pathname)";

#[test]
fn a_day_by_mouse() {
    let project = forty_tickets();
    let server = Server::of(&project);
    play(async {
        let browser = Browser::open(&server, Setup::default()).await;
        // What is there: a board of ten parts with three steps each.
        browser.goto(&server, "/board?by=progress").await;
        browser.sees(".column-head", "pending 40").await;
        // A report comes in.
        browser.click("a[href='/new']").await;
        browser
            .type_into("#title-tickets-ticket", "Parcels come back")
            .await;
        browser
            .click("#priority-tickets-ticket option[value=high]")
            .await;
        browser
            .type_into("#body-tickets-ticket", "A customer sends a parcel back.")
            .await;
        browser.picture(&pictures().join("new-ticket.png")).await;
        browser.click("section.create .primary").await;
        browser.sees(".toast", "Created").await;
        browser.sees("h1", "Parcels come back").await;
        browser.sees(".facts", "high").await;
        assert_eq!(browser.evaluate(PLACE).await, "/nodes/011");
        // Its behaviour is defined, and the work begins.
        browser.click("[popovertarget=set-work]").await;
        browser.picture(&pictures().join("set-work.png")).await;
        browser
            .click("#set-phase option[value=define-behavior]")
            .await;
        browser.click("form[action='/do/phase'] button").await;
        browser.sees(".toast", "The phase is changed").await;
        browser.sees(".facts", "define-behavior").await;
        browser.click("[popovertarget=set-work]").await;
        browser.click("#set-progress option[value=active]").await;
        browser.click("form[action='/do/progress'] button").await;
        browser.sees(".toast", "The progress is changed").await;
        browser.sees("#standing", "active").await;
        // A slip, taken back.
        browser.click("[popovertarget=set-work]").await;
        browser.click("#set-priority option[value=low]").await;
        browser.click("form[action='/do/priority'] button").await;
        browser.sees(".facts", "low").await;
        browser.click(".toast button").await;
        browser.sees(".facts", "high").await;
        // A step below it.
        browser.click(".plan-actions a[href^='/new']").await;
        browser
            .type_into("#title-tickets-ticket", "Print the label")
            .await;
        browser.click("section.create .primary").await;
        browser.sees("h1", "Edit Print the label").await;
        browser
            .append_to("#text", "\nThe label has a code.\n")
            .await;
        browser.click("#editor .primary").await;
        browser.sees("#plan", "The label has a code.").await;
        browser.sees(".lineage", "Parcels come back").await;
        // Found again, and the numbers agree.
        browser.goto(&server, "/board?by=progress&lanes=none").await;
        browser
            .sees(".cell[data-column=active]", "Parcels come back")
            .await;
        browser.sees(".column-head", "pending 41").await;
        browser.goto(&server, "/tree").await;
        browser.sees("#found", "42 plans").await;
        browser.goto(&server, "/graph").await;
        browser.sees("svg", "Part 2 of the shop").await;
        browser.picture(&pictures().join("graph-tickets.png")).await;
        browser.goto(&server, "/progress").await;
        browser.sees("#levels", "42 plans").await;
    });
    let ticket = project.json(&["show", "011"]);
    assert_eq!(
        json!([ticket["progress"], ticket["title"]]),
        json!(["active", "Parcels come back"])
    );
}

#[test]
fn a_day_by_keyboard() {
    let project = forty_tickets();
    let server = Server::of(&project);
    play(async {
        let browser = Browser::open(&server, Setup::default()).await;
        browser.goto(&server, "/board?by=progress").await;
        browser.sees("tl-live", "live").await;
        let (tab, enter) = (Key::Tab.to_string(), Key::Enter.to_string());
        // By Tab to the first card, one column on, and into it.
        let at_card = "return String(document.activeElement.matches('.board-card .name'))";
        for _ in 0..60 {
            if browser.evaluate(at_card).await == "true" {
                break;
            }
            press(&browser, &tab).await;
        }
        browser.until_script_gives(at_card, "true").await;
        press(&browser, &format!("{}{}", Key::Shift, Key::Right)).await;
        browser.sees("#board-said", "is in active.").await;
        press(&browser, &enter).await;
        browser.sees("#standing", "active").await;
        // Its priority, in the dialog.
        press(&browser, "s").await;
        browser.sees("#set-work", "Priority").await;
        let at_priority = "return document.activeElement.id";
        for _ in 0..20 {
            if browser.evaluate(at_priority).await == "set-priority" {
                break;
            }
            press(&browser, &tab).await;
        }
        press(&browser, "urgent").await;
        press(&browser, &tab).await;
        press(&browser, &enter).await;
        browser.sees(".toast", "The priority is changed").await;
        browser.sees(".facts", "urgent").await;
        press(&browser, "u").await;
        browser.sees(".toast", "Undone.").await;
        // Its text.
        press(&browser, "e").await;
        browser.sees("h1", "Edit ").await;
        let end = format!("{}{}", Key::Control, Key::End);
        press(&browser, &end).await;
        press(&browser, "\nWritten without a mouse.\n").await;
        browser.sees("#preview", "Written without a mouse.").await;
        press(&browser, &(Key::Control + &Key::Enter)).await;
        browser.sees(".toast", "Saved.").await;
        browser.sees("#plan", "Written without a mouse.").await;
        // A step below it, and back to the board by the palette.
        press(&browser, "n").await;
        browser.sees("h1", "New plan").await;
        press(&browser, "Check it").await;
        press(&browser, &enter).await;
        browser.sees("h1", "Edit Check it").await;
        press(&browser, &Key::Escape.to_string()).await;
        browser.goto(&server, "/tree").await;
        browser.sees("#found", "41 plans").await;
        press(&browser, &format!("{}k", Key::Control)).await;
        browser.sees(".palette", "Open Board").await;
        browser.type_into(".palette input", "check it").await;
        browser
            .sees(".palette [aria-selected=true]", "Check it")
            .await;
        press(&browser, &enter).await;
        browser.sees("h1", "Check it").await;
    });
}
