//! Every page for everyone: axe, widths, zoom, notifications and export.

use serde_json::json;
use testkit::Project;

use crate::pictures;
use crate::stage::{Browser, Server, Setup, busy_story, play, story};

/// Every page with its name in pictures.
const PAGES: &[(&str, &str)] = &[
    ("inbox", "/"),
    ("item", "/?plan=act-1"),
    ("decide", "/decide"),
    ("undo", "/undo/2"),
    ("now", "/now"),
    ("styleguide", "/styleguide"),
    ("tree", "/tree"),
    ("node", "/nodes/act-1/chapter-01"),
    ("timeline", "/timeline"),
    ("reviews", "/reviews"),
    ("story", "/story"),
    ("prose", "/prose/act-1/chapter-01/scene-0101"),
    ("gates", "/gates"),
    ("gates-of-plan", "/gates?for=act-1/chapter-01"),
    ("insert", "/shape/insert?node=act-1/chapter-01&preview=1"),
    ("split", "/shape/split?node=act-1&at=Purpose&preview=1"),
    ("remove", "/shape/remove?node=act-1/chapter-01"),
    ("memory", "/memory?text=Iva"),
    ("memory-all", "/memory"),
    ("board", "/board?level=scene"),
    ("sessions", "/sessions"),
    ("graph", "/graph"),
    ("progress", "/progress"),
    ("operation", "/operations/2"),
    ("search", "/search?text=lamp"),
    ("settings", "/settings"),
    ("outline", "/outline"),
    ("stats", "/stats"),
    ("refused", "/nodes/nothing"),
    ("edit", "/edit/act-1/chapter-01"),
    ("new", "/new"),
    ("projects", "/projects"),
];

/// A story in which something is on every page, with an act that changed after its approval.
fn changed_story() -> Project {
    let project = busy_story();
    project.write(
        Project::ACT,
        "# Act 1\n\n## Characters\n- Mara\n\n## Purpose\nEnd.\n",
    );
    project
}

/// Asserts that a page needs no scrolling sideways.
async fn assert_fits(browser: &Browser, name: &str) {
    let wide = "const wide = document.documentElement.scrollWidth; return wide > innerWidth ? `${wide} of ${innerWidth}` : ''";
    assert_eq!(browser.evaluate(wide).await, "", "{name} is too wide");
}

/// Asserts that every text of a page is there to its end.
pub(crate) async fn assert_nothing_is_cut(browser: &Browser, name: &str) {
    let cut = "return [...document.querySelectorAll('body *')].filter((one) => { \
        const style = getComputedStyle(one); \
        const isCut = ['hidden', 'clip'].includes(style.overflowX) && style.clipPath === 'none' && one.scrollWidth > one.clientWidth + 1; \
        return isCut && one.clientWidth > 1 && one.textContent.trim() !== ''; \
      }).map((one) => `${one.tagName}.${one.getAttribute('class')}: ${one.textContent.trim().slice(0, 60)}`).join('; ')";
    assert_eq!(browser.evaluate(cut).await, "", "{name} cuts a text");
}

#[test]
fn everyone_can_use_every_page() {
    let project = changed_story();
    let server = Server::of(&project);
    play(async {
        for (look, dark, phone) in [
            ("light-1280", false, false),
            ("dark-1280", true, false),
            ("light-390", false, true),
            ("dark-390", true, true),
        ] {
            let setup = Setup {
                dark,
                phone,
                ..Setup::default()
            };
            let browser = Browser::open(&server, setup).await;
            for (name, path) in PAGES {
                browser.goto(&server, path).await;
                browser.sees("tl-live", "live").await;
                browser
                    .evaluate("document.querySelectorAll('main details').forEach((one) => { one.open = true; }); return 1")
                    .await;
                browser
                    .picture(&pictures().join(format!("{name}-{look}.png")))
                    .await;
                let found = browser.violations().await;
                assert_eq!(found, json!([]), "{name} {look}");
                assert_fits(&browser, &format!("{name} {look}")).await;
                assert_nothing_is_cut(&browser, &format!("{name} {look}")).await;
            }
        }
    });
}

/// At 200 %, a window of 1280 pixels has 640: the pages are laid out again, and text alone may be twice
/// as large.
#[test]
fn every_page_can_be_read_at_twice_its_size() {
    let project = changed_story();
    let server = Server::of(&project);
    play(async {
        let setup = Setup {
            zoomed: true,
            ..Setup::default()
        };
        let browser = Browser::open(&server, setup).await;
        for (name, path) in PAGES {
            browser.goto(&server, path).await;
            browser.sees("tl-live", "live").await;
            browser
                .picture(&pictures().join(format!("{name}-zoom-200.png")))
                .await;
            assert_fits(&browser, &format!("{name} at 200 %")).await;
            browser
                .evaluate(
                    "document.documentElement.style.setProperty('font-size', '200%'); return 1",
                )
                .await;
            assert_fits(&browser, &format!("{name} with text of 200 %")).await;
        }
    });
}

#[test]
fn a_tab_in_the_background_notifies_of_what_begins_to_wait() {
    let project = story();
    project.ok(&["approve", "scene", "0101"]);
    let server = Server::of(&project);
    play(async {
        let browser = Browser::open(&server, Setup::default()).await;
        browser.allow_notifications().await;
        browser.goto(&server, "/settings").await;
        browser.click("#browser-notifications button").await;
        browser
            .sees("#browser-notifications [role=status]", "On")
            .await;
        browser
            .picture(&pictures().join("settings-notifications.png"))
            .await;
        browser.goto(&server, "/tree").await;
        browser.sees("tl-live", "live").await;
        let seen = "return sessionStorage.getItem('tl-notified') ?? ''";
        browser.until_script_gives(seen, "[]").await;
        let first = browser.client.window().await.expect("a tab");
        let other = browser.client.new_window(true).await.expect("a tab");
        let switched = browser.client.switch_to_window(other.handle).await;
        switched.expect("a switch");
        project.write(
            "acts/act-1/chapters/chapter-02/plan.md",
            "# The second key\n\n## Characters\n- Mara\n",
        );
        project.ok(&["status"]);
        tokio::time::sleep(std::time::Duration::from_secs(2)).await;
        let switched = browser.client.switch_to_window(first).await;
        switched.expect("a switch");
        let notified = "return document.querySelector('tl-live').dataset.notified ?? ''";
        browser
            .until_script_gives(notified, "The second key waits for you")
            .await;
    });
}

#[test]
fn any_page_is_exported_as_a_document() {
    let project = changed_story();
    let server = Server::of(&project);
    play(async {
        let browser = Browser::open(&server, Setup::default()).await;
        // Two are refusals: an undo that would take the project back to its start, and a plan that is not there.
        let exported = |(name, _): &&(&str, &str)| !matches!(*name, "refused" | "undo");
        for (name, path) in PAGES.iter().filter(exported) {
            browser.goto(&server, path).await;
            // The link of the page itself, as a reader follows it.
            let fetched = |format: &str| {
                format!(
                    "const link = [...document.querySelectorAll('.exports a')].find((one) => one.href.includes('format={format}')); \
                     const request = new XMLHttpRequest(); request.open('GET', link.href, false); request.send(); \
                     return [request.status, request.getResponseHeader('content-disposition'), request.responseText]"
                )
            };
            let title = browser
                .evaluate("return document.querySelector('main h1').textContent.trim()")
                .await;
            let title = title.as_str().expect("a title").to_owned();
            let markdown = browser.evaluate(&fetched("md")).await;
            assert_eq!(markdown[0], 200, "{name}");
            let text = markdown[2].as_str().expect("a text");
            // The title of the page is without markup; an id in it is code in the document.
            let first_words = title.split(['*', '[']).next().unwrap_or_default();
            assert!(
                text.replace('`', "").contains(&format!("# {first_words}")),
                "{name}: {title}: {text}"
            );
            assert!(!text.contains("<form"), "{name}: {text}");
            let html = browser.evaluate(&fetched("html")).await;
            let disposition = html[1].as_str().unwrap_or_default();
            assert!(disposition.ends_with(".html\""), "{name}: {disposition}");
            let text = html[2].as_str().expect("a text");
            assert!(
                text.contains("<style>") && !text.contains("<form"),
                "{name}: {text}"
            );
        }
    });
}

/// The inbox on paper is the plan, also where it is as narrow as a phone; a plan has no buttons there.
#[test]
fn a_printed_page_is_the_document_alone() {
    let project = changed_story();
    let server = Server::of(&project);
    play(async {
        let setup = Setup {
            phone: true,
            ..Setup::default()
        };
        let browser = Browser::open(&server, setup).await;
        browser.show_as_printed().await;
        browser.goto(&server, "/").await;
        let height = "return String(document.querySelector('#item .title').offsetHeight > 0)";
        browser.until_script_gives(height, "true").await;
        for path in [
            "/",
            "/nodes/act-1/chapter-01",
            "/board?level=scene",
            "/graph",
        ] {
            browser.goto(&server, path).await;
            let shown = "return [...document.querySelectorAll('button, .button, header.top')].filter((one) => one.offsetHeight > 0).length";
            assert_eq!(browser.evaluate(shown).await, 0, "{path}");
            assert_fits(&browser, path).await;
        }
    });
}
