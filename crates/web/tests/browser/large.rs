//! Ten thousand plans in the browser.

use std::time::Instant;

use testkit::Project;

use crate::stage::{Browser, Server, Setup, play, setting};

/// Returns a story of 10,010 plans.
fn ten_thousand_plans() -> Project {
    let project = Project::story(&setting("THROUGHLINE_TL"));
    for act in 1..=10 {
        project.write(
            &format!("acts/act-{act}/strategic-plan.md"),
            format!("# Act {act}\n"),
        );
        for chapter in 1..=10 {
            let folder = format!("acts/act-{act}/chapters/chapter-{chapter:02}");
            project.write(
                &format!("{folder}/plan.md"),
                format!("# Chapter {chapter}\n"),
            );
            for scene in 1..=99 {
                let path = format!("{folder}/scenes/scene-{chapter:02}{scene:02}-blueprint.md");
                project.write(
                    &path,
                    format!("# Scene {chapter}.{scene}\n\n## Characters\n- Mara\n"),
                );
            }
        }
    }
    project.ok(&["status"]);
    project
}

#[test]
fn ten_thousand_plans_stay_fluid() {
    let project = ten_thousand_plans();
    let server = Server::of(&project);
    play(async {
        let browser = Browser::open(&server, Setup::default()).await;
        let weight = "return performance.getEntriesByType('resource').concat(performance.getEntriesByType('navigation')).reduce((sum, one) => sum + one.encodedBodySize, 0)";
        browser.sees("tl-live", "live").await;
        let first_page = browser.evaluate(weight).await;
        browser.goto(&server, "/tree").await;
        let begun = Instant::now();
        browser.goto(&server, "/tree").await;
        browser.sees("#found", "10010 plans").await;
        let took = begun.elapsed();
        let paint = browser.evaluate("return performance.getEntriesByType('paint').map(one => `${one.name} ${Math.round(one.startTime)} ms`).join(', ')").await;
        let tree = browser.evaluate(weight).await;
        println!(
            "10,010 plans: {took:?} to be seen; {paint}; {first_page} bytes for the first page with all scripts and styles, \
             {tree} for the tree; {:?}",
            server.peak_memory()
        );
        let rows = browser
            .evaluate("return document.querySelectorAll('tl-tree li').length")
            .await;
        assert!(
            rows.as_u64().is_some_and(|rows| rows > 10 && rows < 300),
            "{rows} rows are in the page"
        );
        browser
            .evaluate("const tree = document.querySelector('tl-tree'); tree.scrollTop = tree.scrollHeight; return 1")
            .await;
        browser.sees("tl-tree li:last-child", "chapter-10").await;
        // Everything open, far down.
        browser.goto(&server, "/tree?fold=99").await;
        browser.sees("tl-live", "live").await;
        browser
            .evaluate("const tree = document.querySelector('tl-tree'); tree.scrollTop = tree.scrollHeight; return 1")
            .await;
        browser.sees("tl-tree li:last-child", "scene-1099").await;
        browser.evaluate("const text = document.querySelector('[name=text]'); text.value = 'scene-0577'; text.dispatchEvent(new Event('input', { bubbles: true })); return 1").await;
        browser.sees("#found", "10 found").await;
    });
}

/// Every page opens, is not as long as the project, and what it shows can be decided and taken back.
#[test]
fn every_page_opens_with_ten_thousand_plans() {
    let project = ten_thousand_plans();
    let server = Server::of(&project);
    play(async {
        let browser = Browser::open(&server, Setup::default()).await;
        browser.sees("#queue header", "10 decisions").await;
        for path in [
            "/board",
            "/timeline",
            "/operations/1",
            "/sessions",
            "/graph",
            "/progress",
            "/story",
            "/memory",
            "/stats",
            "/outline",
            "/outline?node=act-1/chapter-01",
            "/search?q=Mara",
            "/decide",
            "/new",
        ] {
            let begun = Instant::now();
            browser.goto(&server, path).await;
            browser.sees("tl-live", "live").await;
            let size = browser
                .evaluate("return document.querySelectorAll('main *').length")
                .await;
            println!("{path}: {:?}, {size} elements", begun.elapsed());
            assert!(
                size.as_u64().is_some_and(|size| size < 6_000),
                "{path} has {size} elements"
            );
        }
        println!("{:?}", server.peak_memory());
        // What a board has no room for is somewhere else.
        browser.goto(&server, "/board?level=scene&lanes=none").await;
        let rest = "return document.querySelector('.cell > p.quiet a').getAttribute('href')";
        assert_eq!(browser.evaluate(rest).await, "/tree?fold=99");
        browser.goto(&server, "/").await;
        browser.click("#decide .primary").await;
        browser.sees(".toast", "Approved.").await;
        // Its ten chapters can be decided now.
        browser.sees("#queue header", "19 decisions").await;
        browser.click(".toast button").await;
        browser.sees("#queue header", "10 decisions").await;
    });
}
