//! The dashboard's gates page and changes of shape, and how `tl serve` announces several projects.

use std::io::{BufRead, BufReader};

use serde_json::json;

use crate::dashboard::{Browser, drafted};
use crate::planned;
use crate::serve::{Reply, Server};

/// Defect: the announcements of several projects were mixed, and none said which project it was of.
#[test]
fn several_projects_are_announced_with_their_names_and_ways_to_sign_in() {
    let novel = drafted();
    let other = novel.user_directory().join("shop");
    std::fs::create_dir_all(&other).expect("a directory");
    let made = novel
        .command(&["init", "--profile", "story"])
        .current_dir(&other)
        .status();
    assert!(made.expect("a start").success());
    let directory = other.display().to_string();
    let mut child = novel
        .command(&["serve", "--port", "0", "--also", &directory])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("a start");
    let output = BufReader::new(child.stdout.take().expect("an output"));
    // Seven lines of each.
    let lines: Vec<String> = output
        .lines()
        .take(14)
        .map(|line| line.expect("a line"))
        .collect();
    child.kill().expect("a running server");
    child.wait().expect("an ended server");
    for root in [novel.root(), other] {
        let name = root
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let head = format!("{name}  {}", root.display());
        let at = lines.iter().position(|line| *line == head);
        let at = at.unwrap_or_else(|| panic!("{head}: {lines:#?}"));
        let block = &lines[at + 1..at + 6];
        for (line, wanted) in block.iter().zip([
            "  http://127.0.0.1:",
            "  sign in: open this URL once",
            "  inbox of all projects: http://127.0.0.1:",
            "  MCP clients: http://127.0.0.1:",
            "  token: ",
        ]) {
            assert!(line.starts_with(wanted), "{wanted}: {lines:#?}");
        }
    }
}

/// Every change of shape has a page that shows what changes first, and a form that needs no script.
#[test]
fn the_shape_is_changed_on_pages_with_a_preview_and_one_undo() {
    let project = planned();
    let chapter = |number: u8| format!("acts/act-1/chapters/chapter-{number:02}/plan.md");
    project.write(
        &chapter(2),
        "# The harbour\n\nBoats.\n\n## The storm\n\nWind.\n",
    );
    project.write(&chapter(3), "# The road\n");
    project.ok(&["status"]);
    let server = Server::start(&project, &[]);
    let browser = Browser::welcome(&server);
    let tree = || {
        let names = project.json(&["tree"]);
        names.to_string()
    };
    let before = tree();
    let change = |query: &str, wanted: &str| -> Reply {
        let page = browser.get(&format!("/shape/{query}"));
        assert_eq!(page.status, 200, "{query}: {page:?}");
        assert!(page.body.contains(wanted), "{query}: {}", page.body);
        let form = hidden_fields(&page.body, "/do/shape");
        let done = browser.post("/do/shape", &form);
        assert_eq!(done.status, 303, "{query}: {form}: {done:?}");
        done
    };
    let undo = |done: &Reply| {
        let location = done.header("location").expect("a page");
        let (_, operation) = location.split_once("operation=").expect("an operation");
        let undone = browser.post("/do/undo", &format!("operation={operation}"));
        assert_eq!(undone.status, 303, "{undone:?}");
        assert_eq!(tree(), before, "{location}");
    };
    for (query, wanted) in [
        (
            "insert?node=act-1/chapter-02&place=before&title=The%20inn&preview=1",
            "1 file is new",
        ),
        (
            "move?node=act-1/chapter-03&place=before&target=act-1/chapter-02",
            "plans get another path",
        ),
        (
            "rename?node=act-1/chapter-03&name=interlude-03&preview=1",
            "interlude-03",
        ),
        (
            "split?node=act-1/chapter-02&at=The%20storm&title=The%20gale&preview=1",
            "1 file is new",
        ),
        (
            "merge?node=act-1/chapter-03&target=act-1/chapter-02&preview=1",
            "1 plan goes",
        ),
        ("remove?node=act-1/chapter-02", "1 file is deleted"),
    ] {
        undo(&change(query, wanted));
    }
    // Titles everywhere, and the headings of the text to choose from.
    let page = browser.get("/shape/split?node=act-1/chapter-02");
    assert!(page.body.contains("Split The harbour"), "{}", page.body);
    assert!(
        page.body.contains("<option value=\"The storm\">"),
        "{}",
        page.body
    );
    assert!(!page.body.contains("/do/shape"), "nothing was previewed");
    let gap = change("remove?node=act-1/chapter-02", "The harbour");
    assert!(
        gap.header("location")
            .is_some_and(|to| to.starts_with("/nodes/act-1?done=removed"))
    );
    change("renumber?node=act-1", "The road");
    // What was previewed is not done to another plan.
    let page = browser.get("/shape/remove?node=act-1/chapter-02");
    let form = hidden_fields(&page.body, "/do/shape");
    project.ok(&["insert", "act-1/chapter-02", "--title", "Meanwhile"]);
    let refused = browser.post("/do/shape", &form);
    assert_eq!(refused.status, 409, "{refused:?}");
    assert_eq!(browser.get("/shape/melt?node=act-1").status, 404);
    assert_eq!(browser.get("/shape/remove?node=act-7").status, 404);
}

/// Returns the hidden fields of the form that is sent to an address.
fn hidden_fields(page: &str, action: &str) -> String {
    let (_, form) = page
        .split_once(&format!("action=\"{action}\""))
        .unwrap_or_else(|| panic!("no form for {action}: {page}"));
    let (form, _) = form.split_once("</form>").expect("an end");
    let fields = form.split("<input type=\"hidden\" name=\"").skip(1);
    let pairs: Vec<String> = fields
        .filter_map(|field| {
            let (name, rest) = field.split_once("\" value=\"")?;
            let (value, _) = rest.split_once('"')?;
            Some(format!(
                "{name}={}",
                value.replace('/', "%2F").replace(' ', "%20")
            ))
        })
        .collect();
    pairs.join("&")
}

#[test]
fn the_gates_page_has_every_gate_and_says_what_would_stop_a_write() {
    let project = drafted();
    project.write("acts/act-1/chapters/chapter-01/plan.md", "# The harbour\n");
    let input = json!({
        "file_path": project.root().join("acts/act-1/chapters/chapter-01/plan.md"),
        "content": "# The harbour\n\nBoats.\n",
    });
    let _ = project.session("one").before("Write", &input);
    let server = Server::start(&project, &[]);
    let browser = Browser::welcome(&server);
    let page = browser.get("/gates").body;
    for gate in project.json(&["gate", "list"]).as_array().expect("gates") {
        let name = gate["name"].as_str().expect("a name");
        assert!(page.contains(name), "{name}: {page}");
    }
    assert!(page.contains("data-mode=\"block\""), "{page}");
    assert!(page.contains("Stopping a session now"), "{page}");
    let asked = browser.get("/gates?for=act-1/chapter-01").body;
    assert!(
        asked.contains("is stopped by <span class=\"tag\">hierarchy</span>"),
        "{asked}"
    );
    assert!(asked.contains("The harbour</a>"), "{asked}");
    let as_session = browser.get("/gates?for=act-1&session=one");
    assert_eq!(as_session.status, 200);
    let unknown = browser.get("/gates?for=act-9");
    assert_eq!(unknown.status, 200);
    assert!(unknown.body.contains("role=\"alert\""), "{}", unknown.body);
}
