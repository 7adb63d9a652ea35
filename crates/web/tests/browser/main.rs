//! The dashboard in a real browser, driven through WebDriver. Run by `./test --web`.

mod access;
mod comments;
mod developer;
mod edit;
mod large;
mod pages;
mod review;
mod stage;

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Instant;

use fantoccini::key::Key;
use serde_json::Value;
use testkit::Project;

use crate::stage::{
    Browser, Server, Setup, busy_story, fail_a_tick, play, setting, story, wandering,
};

/// Returns where pictures are put.
fn pictures() -> PathBuf {
    let folder = setting("THROUGHLINE_PICTURES");
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

const SCENE: &str = "/nodes/act-1/chapter-01/scene-0101";

#[test]
fn a_plan_is_approved_in_the_page() {
    let project = story();
    let server = Server::of(&project);
    play(async {
        let browser = Browser::open(&server, Setup::default()).await;
        browser.sees("#queue", "scene-0101").await;
        browser.goto(&server, SCENE).await;
        browser.sees("#standing", "draft").await;
        browser.sees("#parent", "Chapter 1").await;
        assert_eq!(
            browser
                .evaluate("return document.querySelector('.prose em').textContent")
                .await,
            "goes out"
        );
        browser.click("#decide .primary").await;
        browser.sees("#standing", "approved").await;
    });
    assert_eq!(project.status("scene-0101"), "approved");
}

#[test]
fn it_works_without_scripts() {
    let project = story();
    let server = Server::of(&project);
    play(async {
        let browser = Browser::open(
            &server,
            Setup {
                without_scripts: true,
                ..Setup::default()
            },
        )
        .await;
        browser.goto(&server, "/tree?text=scene").await;
        browser.sees("tl-tree", "Scene 1.1").await;
        browser.goto(&server, SCENE).await;
        browser.click("#decide .primary").await;
        browser.sees("#standing", "approved").await;
    });
    assert_eq!(project.status("scene-0101"), "approved");
}

#[test]
fn an_edited_file_makes_the_tree_stale_without_reload() {
    let project = story();
    let server = Server::of(&project);
    play(async {
        let browser = Browser::open(&server, Setup::default()).await;
        browser.goto(&server, "/tree").await;
        browser.sees("tl-live", "live").await;
        browser.evaluate("window.same = true; return 1").await;
        browser.sees("tl-tree li:nth-child(2)", "approved").await;
        project.write(
            Project::ACT,
            "# Act 1\n\n## Characters\n- Mara\n\n## Purpose\nEnd.\n",
        );
        browser.sees("tl-tree li:nth-child(2)", "stale").await;
        assert_eq!(
            browser.evaluate("return window.same").await,
            Value::Bool(true)
        );
        browser.goto(&server, "/nodes/act-1/chapter-01").await;
        browser.sees("#why", "Purpose").await;
        browser.sees("tl-live", "live").await;
        browser.picture(&pictures().join("readme-node.png")).await;
        browser.sees("#why .diff", "Begin").await;
    });
}

#[test]
fn a_version_comes_back() {
    let project = story();
    let before = project.read(Project::ACT);
    project.write(Project::ACT, "# Act 1\n\nnothing of what was\n");
    let server = Server::of(&project);
    play(async {
        let browser = Browser::open(&server, Setup::default()).await;
        browser.goto(&server, "/nodes/act-1").await;
        browser.click("#versions .acts a").await;
        browser.sees("#versions .diff", "nothing of what was").await;
        browser.click("#versions form button").await;
        browser.sees("main", "Restored").await;
    });
    assert_eq!(project.read(Project::ACT), before);
}

#[test]
fn what_is_decided_in_one_tab_is_seen_in_the_other_and_half_written_words_stay() {
    let project = story();
    let server = Server::of(&project);
    play(async {
        let browser = Browser::open(&server, Setup::default()).await;
        browser.goto(&server, SCENE).await;
        browser.sees("tl-live", "live").await;
        browser
            .evaluate("document.querySelector('#say').value = 'half a thou'; return 1")
            .await;
        let first = browser.client.window().await.expect("a tab");
        let second = browser.client.new_window(true).await.expect("a tab");
        browser
            .client
            .switch_to_window(second.handle)
            .await
            .expect("a switch");
        browser.goto(&server, SCENE).await;
        browser.click("#decide .primary").await;
        browser.sees("#standing", "approved").await;
        browser
            .client
            .switch_to_window(first)
            .await
            .expect("a switch");
        browser.sees("#standing", "approved").await;
        assert_eq!(
            browser
                .evaluate("return document.querySelector('#say').value")
                .await,
            "half a thou"
        );
    });
}

#[test]
fn keys_move_through_the_tree() {
    let project = Project::story(&setting("THROUGHLINE_TL"));
    project.write(Project::ACT, "# Act 1\n");
    for chapter in 1..=3 {
        let folder = format!("acts/act-1/chapters/chapter-{chapter:02}");
        project.write(
            &format!("{folder}/plan.md"),
            format!("# Chapter {chapter}\n"),
        );
        for scene in 1..=99 {
            let path = format!("{folder}/scenes/scene-{chapter:02}{scene:02}-blueprint.md");
            project.write(&path, format!("# Scene {chapter}.{scene}\n"));
        }
    }
    let server = Server::of(&project);
    play(async {
        let browser = Browser::open(&server, Setup::default()).await;
        browser.goto(&server, "/tree?fold=99").await;
        browser.sees("#found", "301 plans").await;
        browser.sees("tl-live", "live").await;
        browser
            .evaluate("document.querySelector('tl-tree li').focus(); return 1")
            .await;
        for (key, expected) in [
            (Key::Down, "Chapter 1"),
            (Key::End, "scene-0399"),
            (Key::Up, "scene-0398"),
            (Key::Home, "Act 1"),
            (Key::Down, "Chapter 1"),
        ] {
            let focused = browser.client.active_element().await.expect("a row");
            focused.send_keys(&key.to_string()).await.expect("a key");
            browser.sees("tl-tree li:focus", expected).await;
        }
        let focused = browser.client.active_element().await.expect("a row");
        focused.send_keys("/").await.expect("a key");
        assert_eq!(
            browser.evaluate("return document.activeElement.name").await,
            "text"
        );
    });
}

#[test]
fn strangers_are_turned_away() {
    let project = story();
    let server = Server::of(&project);
    play(async {
        let browser = Browser::start(Setup::default()).await;
        browser.goto(&server, "/").await;
        browser
            .sees("body", "needs the address that tl serve printed")
            .await;
        browser.goto(&server, "/?token=0123").await;
        browser
            .sees("body", "needs the address that tl serve printed")
            .await;
        browser
            .client
            .goto(&server.dashboard)
            .await
            .expect("the dashboard");
        browser.sees("h1", "Inbox").await;
        // A name that was made to lead here, as a rebinding page does it.
        browser
            .client
            .goto(&server.dashboard.replace("127.0.0.1", "evil.example"))
            .await
            .expect("an answer");
        browser
            .sees("body", "the `Host` header names another server")
            .await;
        // A form on that page: the browser says whose it is.
        let form = format!(
            "const form = document.createElement('form'); form.method = 'post'; form.action = '{}'; \
             document.body.append(form); form.submit(); return 1",
            server.at("/do/undo")
        );
        browser.evaluate(&form).await;
        browser
            .sees("body", "cross-origin requests are not allowed")
            .await;
    });
}

/// What the README promises: see in the dashboard of the demo what is blocked and why, approve it, and the agent goes on.
#[test]
fn who_never_saw_it_finds_what_is_blocked_and_lets_the_agent_go_on() {
    let project = Project::empty(&setting("THROUGHLINE_TL"));
    project.ok(&["demo", "tour"]);
    let within = |arguments: &[&str]| {
        let mut command = project.command(arguments);
        command.current_dir(project.root().join("tour"));
        command
    };
    let server = Server::started_by(within(&["--json", "serve", "--port", "0"]));
    let mut waiting = within(&["wait", "chapter", "2"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("a start");
    let agent = project.session("demo");
    let scene = project
        .root()
        .join("tour/acts/act-1/chapters/chapter-02/scenes/scene-0201-blueprint.md");
    let write = serde_json::json!({ "file_path": scene, "content": "# The lights\n" });
    assert!(
        agent.before("Write", &write).block().is_some(),
        "nobody approved the chapter"
    );
    play(async {
        let browser = Browser::open(&server, Setup::default()).await;
        browser.sees("#queue .item", "waits").await;
        browser
            .sees("#item .notice", "waits for this decision")
            .await;
        browser.sees("tl-live", "live").await;
        browser.picture(&pictures().join("readme-now.png")).await;
        browser.sees("#item .about", "draft").await;
        browser.sees("#parent", "The long watch").await;
        assert!(waiting.try_wait().expect("a process").is_none(), "it waits");
        browser.click("#decide .primary").await;
        browser
            .sees("main", "Approved. Agents that waited for it continue.")
            .await;
        let decided = Instant::now();
        assert!(waiting.wait().expect("an end").success());
        println!(
            "the waiting call went on {:?} after the page said so",
            decided.elapsed()
        );
        assert!(
            agent.before("Write", &write).block().is_none(),
            "the same call is let"
        );
        browser.goto(&server, "/").await;
        browser.sees("h1", "Inbox").await;
        let waiting = browser
            .evaluate("return document.querySelector('main').textContent.includes('waits for this decision')")
            .await;
        assert_eq!(waiting, Value::Bool(false), "nobody is stopped any more");
    });
}

#[test]
fn an_escalation_is_decided_in_the_page() {
    let project = busy_story();
    let server = Server::of(&project);
    play(async {
        let browser = Browser::open(&server, Setup::default()).await;
        browser.sees("#escalated", "The point of view holds").await;
        // It is one of the decisions: in the same window, and in their number.
        browser.sees("#queue header", "1 decision").await;
        browser.click("#escalated a").await;
        browser
            .sees("#item .title", "The point of view holds")
            .await;
        browser.sees("#item .steps", "1 of 1").await;
        browser
            .type_into(
                "form[action='/do/send-back'] textarea",
                "the second page, first line",
            )
            .await;
        browser.click("form[action='/do/send-back'] button").await;
        browser.sees("main", "Sent back to the author").await;
        browser.sees("h1", "Inbox").await;
        browser.goto(&server, "/reviews").await;
        browser.click("#reviews details.card > summary").await;
        browser
            .sees("#reviews", "the second page, first line")
            .await;
        browser.click("#reviews .decision > summary").await;
        browser
            .type_into("form[action='/do/accept'] textarea", "it is meant to slip")
            .await;
        browser.click("form[action='/do/accept'] button").await;
        browser.sees("main", "Accepted as it is").await;
        browser.click("#reviews details.card > summary").await;
        browser.click("form[action='/do/conclude'] button").await;
        browser.sees("#reviews", "complete").await;
    });
    assert_eq!(
        project.json(&["review", "status", "--of", "act-1"])["state"],
        "COMPLETE"
    );
}

#[test]
fn a_failed_tick_is_tried_again_and_put_aside() {
    let project = busy_story();
    let server = Server::of(&project);
    play(async {
        let browser = Browser::open(&server, Setup::default()).await;
        browser.goto(&server, "/story").await;
        browser.sees("#ticks .problem", "relationship.update").await;
        // What it missed is there by now.
        browser.click("form[action='/do/retry'] button").await;
        browser.sees("main", "Retried successfully.").await;
        browser.sees("#ticks .outcome", "done").await;
        fail_a_tick(&project);
        browser.sees("#ticks .outcome", "failed").await;
        browser.click("form[action='/do/retry'] button").await;
        browser.sees("main", "failed again").await;
        browser.sees("#ticks", "failed 2 times").await;
        browser.click("form[action='/do/skip'] button").await;
        browser.sees("#ticks .outcome", "skipped").await;
        browser.click("#scenes a[href^='/prose/']").await;
        browser.sees("#prose", "lamp").await;
    });
}

#[test]
fn the_memory_is_browsed_and_ties_are_drawn() {
    let project = busy_story();
    project.ok(&["note", "add", "The lamp is *green*."]);
    let server = Server::of(&project);
    play(async {
        let browser = Browser::open(&server, Setup::default()).await;
        browser.goto(&server, "/memory?text=Iva").await;
        browser.sees("#found", "Doctor Iva").await;
        browser.goto(&server, "/memory").await;
        browser.sees("#found", "The lamp is green.").await;
        let drawn = "return String(document.querySelectorAll('#relationships .graph-node').length)";
        browser.until_script_gives(drawn, "3").await;
        browser.sees("#relationships", "rivals").await;
        browser
            .click(".chips a[href='/memory?kind=character']")
            .await;
        browser.sees("#found", "pilot").await;
        // From a person to everything that names her.
        browser.click("#found h3 a").await;
        browser.sees("#found", "Named by").await;
        browser.sees("#found", "siblings").await;
        browser
            .goto(&server, "/memory?kind=nothing&shelf=none")
            .await;
        browser.sees("#found", "Nothing found.").await;
    });
}

#[test]
fn the_frame_names_project_and_reader_and_counts_what_waits() {
    let project = story();
    let name = project
        .root()
        .file_name()
        .expect("a name")
        .to_string_lossy()
        .into_owned();
    let server = Server::of(&project);
    play(async {
        let browser = Browser::open(&server, Setup::default()).await;
        browser.sees("tl-live", "live").await;
        browser.sees("header.top .brand", &name).await;
        browser.sees("header.top .reader", "may decide").await;
        browser.sees("#pending", "1").await;
        let title = format!("(1) Inbox · {name}");
        assert_eq!(browser.evaluate("return document.title").await, title);
        let icon = "return document.querySelector('link[rel=icon]').getAttribute('href')";
        assert_eq!(browser.evaluate(icon).await, "/icons/1");
        // Elsewhere, and without a reload.
        browser.goto(&server, "/tree").await;
        browser.sees("tl-live", "live").await;
        project.ok(&["approve", "scene", "0101"]);
        browser
            .until_script_gives("return document.title", &format!("Tree · {name}"))
            .await;
        assert_eq!(browser.evaluate(icon).await, "/icons/0");
    });
}

#[test]
fn a_chosen_theme_stays_on_every_page() {
    let project = story();
    let server = Server::of(&project);
    play(async {
        let browser = Browser::open(&server, Setup::default()).await;
        browser.goto(&server, "/tree?text=scene").await;
        browser.click(".themes summary").await;
        browser.click(".themes a[href^='/theme/dark']").await;
        browser.sees("h1", "Tree").await;
        let ground = "return getComputedStyle(document.body).backgroundColor";
        assert_eq!(browser.evaluate(ground).await, "rgb(16, 18, 22)");
        assert_eq!(
            browser.evaluate("return location.search").await,
            "?text=scene"
        );
        browser.goto(&server, SCENE).await;
        assert_eq!(browser.evaluate(ground).await, "rgb(16, 18, 22)");
        browser.click(".themes summary").await;
        browser.click(".themes a[href^='/theme/contrast']").await;
        browser.sees("#standing", "draft").await;
        assert_eq!(browser.evaluate(ground).await, "rgb(255, 255, 255)");
        browser.click(".themes summary").await;
        browser.picture(&pictures().join("contrast.png")).await;
        assert_eq!(browser.violations().await, Value::Array(Vec::new()));
        // A link that was made elsewhere leads to a page of ours.
        browser
            .goto(&server, "/theme/light?back=//evil.example/")
            .await;
        browser.sees("h1", "Not found").await;
    });
}

#[test]
fn who_may_only_read_is_offered_nothing_that_is_refused() {
    let project = story();
    let token = project.json(&[
        "team",
        "token",
        "create",
        "guest",
        "--as",
        "human:guest",
        "--scope",
        "read",
    ]);
    let server = Server::of(&project);
    play(async {
        let browser = Browser::start(Setup::default()).await;
        let secret = token["secret"].as_str().expect("a secret");
        browser
            .goto(&server, &format!("{SCENE}?token={secret}"))
            .await;
        browser.sees("header.top .reader", "guest · may read").await;
        browser.sees("#decide", "this needs approve").await;
        for path in [SCENE, "/timeline", "/reviews", "/story"] {
            browser.goto(&server, path).await;
            assert_eq!(
                browser
                    .evaluate("return document.querySelectorAll('form[method=post]').length")
                    .await,
                0,
                "{path}"
            );
        }
        // A form of a page from before the token was narrowed.
        browser
            .evaluate(
                "const form = document.createElement('form'); form.method = 'post'; \
                 form.action = '/do/comment'; document.body.append(form); form.submit(); return 1",
            )
            .await;
        browser.sees("h1", "Not allowed").await;
        browser.sees("main", "tl team token create NAME").await;
        browser.picture(&pictures().join("not-allowed.png")).await;
    });
}

#[test]
fn a_plan_below_an_undecided_one_leads_to_it_and_a_notice_is_said_once() {
    let project = story();
    project.write(
        "acts/act-1/chapters/chapter-02/plan.md",
        "# The second key\n\n## Characters\n- Mara\n",
    );
    project.write(
        "acts/act-1/chapters/chapter-02/scenes/scene-0201-blueprint.md",
        "# Scene 2.1\n\n## Characters\n- Mara\n",
    );
    let server = Server::of(&project);
    play(async {
        let browser = Browser::open(&server, Setup::default()).await;
        browser
            .goto(&server, "/nodes/act-1/chapter-02/scene-0201")
            .await;
        browser
            .sees("#decide", "The plan above is decided first")
            .await;
        browser.click("#decide a").await;
        browser.sees("h1", "The second key").await;
        browser.click("#decide .primary").await;
        browser.sees("main", "Approved. Agents").await;
        assert_eq!(browser.evaluate("return location.search").await, "");
        browser.client.refresh().await.expect("a page");
        browser.sees("#standing", "approved").await;
        assert_eq!(
            browser
                .evaluate("return document.querySelectorAll('.toast').length")
                .await,
            0
        );
        browser.goto(&server, "/nodes/act-1/chapter-99").await;
        browser.sees("h1", "Not found").await;
        browser.click("main li a").await;
        browser.sees("h1", "Tree").await;
    });
}

#[test]
fn a_restart_signs_nobody_out_and_keeps_what_was_typed() {
    let project = story();
    let server = Server::of(&project);
    let port = server.port.to_string();
    play(async {
        let browser = Browser::open(&server, Setup::default()).await;
        browser.goto(&server, SCENE).await;
        browser.sees("tl-live", "live").await;
        browser.click("[popovertarget=add-comment]").await;
        browser.type_into("#say", "half a thought").await;
        drop(server);
        browser.sees(".banner", "The server does not answer").await;
        browser.picture(&pictures().join("offline.png")).await;
        // The browser's error page would take the tab away.
        browser.click("#add-comment .primary").await;
        browser.sees(".banner", "Not sent").await;
        let again = ["--json", "serve", "--port", &port];
        let server = Server::started_by(project.command(&again));
        browser.sees("tl-live", "live").await;
        assert_eq!(
            browser
                .evaluate("return document.querySelectorAll('.banner').length")
                .await,
            0
        );
        browser.goto(&server, SCENE).await;
        let typed = "return document.querySelector('#say').value";
        assert_eq!(browser.evaluate(typed).await, "half a thought");
        browser.click("#add-comment .primary").await;
        browser.sees("main", "Comment added").await;
        browser.sees("#comments", "half a thought").await;
        assert_eq!(browser.evaluate(typed).await, "");
        drop(server);
        let signed_out = ["--json", "serve", "--sign-out", "--port", &port];
        let server = Server::started_by(project.command(&signed_out));
        browser.goto(&server, SCENE).await;
        browser.sees("h1", "This browser is not signed in").await;
    });
}

#[test]
fn a_menu_closes_on_escape_and_when_another_opens() {
    let project = story();
    let server = Server::of(&project);
    play(async {
        let browser = Browser::open(&server, Setup::default()).await;
        browser.goto(&server, SCENE).await;
        browser.sees("tl-live", "live").await;
        let open = "return [...document.querySelectorAll('.menu[open]')].map((one) => one.className).join()";
        browser.click(".exports > summary").await;
        browser.until_script_gives(open, "menu exports").await;
        browser.click(".themes > summary").await;
        browser.until_script_gives(open, "menu themes").await;
        browser.click("h1").await;
        browser.until_script_gives(open, "").await;
        browser.click(".more > summary").await;
        let escape = Key::Escape.to_string();
        browser.type_into(".more > summary", &escape).await;
        browser.until_script_gives(open, "").await;
    });
}

#[test]
fn a_plan_shows_titles_and_what_was_opened_stays_open() {
    let project = story();
    project.write(
        "acts/act-1/chapters/chapter-02/plan.md",
        "# The second key\n\n## Characters\n- Mara\n\n## Steps\n- [x] found\n- [ ] used\n\n## Scenario\n\nGiven a lamp\n\
         When it goes out\nThen it is dark\n\n## Code\n\n```\nlet a = 1;\n```\n",
    );
    let server = Server::of(&project);
    play(async {
        let browser = Browser::open(&server, Setup::default()).await;
        browser
            .sees("#queue", "The second key\nact-1/chapter-02")
            .await;
        browser.goto(&server, "/nodes/act-1").await;
        browser.sees("#plan .rows", "The second key").await;
        browser
            .sees("#plan h2:has(+ .rows)", "0 of 2 complete")
            .await;
        browser.click("#plan .rows a[href$='chapter-02']").await;
        browser.sees(".lineage", "Act 1").await;
        browser.sees("h1", "The second key").await;
        browser.sees("#plan .gherkin", "Given a lamp\nWhen").await;
        browser.click(".contents summary").await;
        browser.sees(".contents", "Scenario").await;
        browser.sees("#log time", "just now").await;
        browser.sees("tl-live", "live").await;
        browser.picture(&pictures().join("plan-light.png")).await;
        assert_eq!(browser.violations().await, Value::Array(Vec::new()));
        browser.click("[popovertarget=reject]").await;
        project.write(
            "acts/act-1/chapters/chapter-02/plan.md",
            "# The third key\n\n## Characters\n- Mara\n",
        );
        browser.sees("h1", "The third key").await;
        assert_eq!(
            browser
                .evaluate("return document.querySelector('#reject').matches(':popover-open')")
                .await,
            Value::Bool(true)
        );
    });
}

#[test]
fn an_empty_project_shows_first_steps() {
    let project = Project::story(&setting("THROUGHLINE_TL"));
    let server = Server::of(&project);
    play(async {
        let browser = Browser::open(&server, Setup::default()).await;
        browser.sees("#first-steps", "tl plan").await;
        browser.picture(&pictures().join("empty.png")).await;
        assert_eq!(browser.violations().await, Value::Array(Vec::new()));
    });
}

#[test]
fn back_leads_to_the_same_place_in_the_tree() {
    let project = Project::story(&setting("THROUGHLINE_TL"));
    project.write(Project::ACT, "# Act 1\n");
    for chapter in 1..=99 {
        let file = format!("acts/act-1/chapters/chapter-{chapter:02}/plan.md");
        project.write(&file, format!("# Chapter {chapter}\n"));
    }
    let server = Server::of(&project);
    play(async {
        let browser = Browser::open(&server, Setup::default()).await;
        browser.goto(&server, "/tree").await;
        browser.sees("tl-live", "live").await;
        browser
            .evaluate("document.querySelector('tl-tree').scrollTop = 1600; return 1")
            .await;
        browser.sees("tl-tree", "Chapter 45").await;
        browser.click("tl-tree a[href$='chapter-45']").await;
        browser.sees("h1", "Chapter 45").await;
        browser.client.back().await.expect("a page");
        browser.sees("tl-tree", "Chapter 45").await;
        browser
            .until_script_gives(
                "return String(document.querySelector('tl-tree').scrollTop)",
                "1600",
            )
            .await;
    });
}

#[test]
fn a_session_that_drifts_is_seen() {
    let project = wandering();
    let server = Server::of(&project);
    play(async {
        for dark in [false, true] {
            let browser = Browser::open(
                &server,
                Setup {
                    dark,
                    ..Setup::default()
                },
            )
            .await;
            browser.goto(&server, "/now").await;
            browser.sees("#signals", "undeclared-writes").await;
            browser
                .picture(&pictures().join(format!("signals-{dark}.png")))
                .await;
            assert_eq!(
                browser.violations().await,
                Value::Array(Vec::new()),
                "dark: {dark}"
            );
        }
    });
}
