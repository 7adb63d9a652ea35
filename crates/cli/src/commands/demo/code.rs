//! The walk of `tl demo code`: a ticket with two scenarios, an edit that is too large, a test-driven
//! cycle, and a second worktree.

use std::fmt::Write;

use application::Failure;
use domain::ports::PlanFiles;

use super::Demo;
use crate::exit_code::ExitCode;

const PRICE_FILE: &str = "price.sh";
const TEST_FILE: &str = "test_price.sh";
const SCENARIOS_FILE: &str = "tickets/001-discount-codes/test-definitions.md";
const LARGE_FILE: &str = "codes.sh";

const PRICE_TEXT: &str = include_str!("price.sh");
const TEST_TEXT: &str = include_str!("test_price.sh");
const SCENARIOS_TEXT: &str = include_str!("test-definitions.md");

/// The test of the first scenario, and the code that makes it pass.
const CODE_TEST: &str = "check \"$(price 50 SPRING)\" 45\n";
const CODE_BRANCH: &str = "\
price() {
    if [ \"$2\" = SPRING ]; then echo $(($1 * 90 / 100)); else echo \"$1\"; fi
}
";
const CODE_TABLE: &str = "\
percent_of() { case \"$1\" in SPRING) echo 90 ;; *) echo 100 ;; esac; }

price() { echo $(($1 * $(percent_of \"$2\") / 100)); }
";

pub(super) fn run_steps(demo: &Demo) -> Result<(), Failure> {
    start_repository(demo)?;

    demo.print_heading("1. A ticket, and what it has to do");
    demo.run_command(&["ticket", "new", "Discount codes"], ExitCode::Done)?;
    demo.write_as_agent(SCENARIOS_FILE, SCENARIOS_TEXT)?;
    demo.run_command(&["tree"], ExitCode::Done)?;
    let size = ["ticket", "level", "001", "task", "--reason", "one function"];
    demo.run_command(&size, ExitCode::Done)?;
    commit(demo, "docs: describe discount codes")?;
    demo.run_command_silently(
        &["focus", "enter", "001"],
        "(the guide of its phase, and the ticket: what the agent reads first)",
    )?;
    demo.run_command_silently(
        &["ticket", "phase", "001", "implement"],
        "(the guide of this phase)",
    )?;

    demo.print_heading("2. 401 changed lines without a commit: the next edit is blocked");
    demo.write_as_agent(LARGE_FILE, &build_large_file())?;
    demo.run_hook(PRICE_FILE, CODE_BRANCH)?;
    demo.print_remark("The agent throws it away and takes a smaller step.");
    demo.files.remove_file(LARGE_FILE)?;

    run_cycle(demo)?;

    demo.print_heading("4. Done means done");
    demo.run_command(&["ticket", "phase", "001", "done"], ExitCode::Failed)?;

    demo.print_heading("5. A second agent in a second worktree shares the claims");
    demo.run_command(&["claim", "001"], ExitCode::Done)?;
    demo.run_git(&["worktree", "add", "-q", "-b", "beside", "../beside"])?;
    demo.run_command_beside("../beside", &["claim", "001"], ExitCode::Failed)?;

    demo.print_what_next(&[
        ("tl where", "the position, in one line"),
        ("tl focus enter 001", "what the agent gets at the start"),
        ("tl evidence show 001", "what proves that it is done"),
        ("tl overlap", "who works on what, in which worktree"),
        ("tl serve --open", "the same in the browser"),
    ]);
    demo.print_own_project(&[
        (
            "tl init --host auto",
            "tickets for this repository, and hooks for your agent",
        ),
        ("tl ticket new \"…\"", "the first ticket"),
    ]);
    Ok(())
}

/// A repository with a function and its test. Git needs a name for the commits.
fn start_repository(demo: &Demo) -> Result<(), Failure> {
    demo.print_heading("A small repository: one function and its test");
    // Without the user's template, whose hooks and files would change the walk.
    demo.run_git_silently(&["init", "-q", "-b", "main", "--template="])?;
    demo.run_git_silently(&["config", "user.name", "demo"])?;
    demo.run_git_silently(&["config", "user.email", "demo@example.com"])?;
    demo.write_as_agent(PRICE_FILE, PRICE_TEXT)?;
    demo.write_as_agent(TEST_FILE, TEST_TEXT)?;
    // After the files: `tl init` chooses tickets because of the code it finds.
    demo.run_command(&["init"], ExitCode::Done)?;
    commit(demo, "chore: start")
}

fn run_cycle(demo: &Demo) -> Result<(), Failure> {
    demo.print_heading("3. Red, green, refactor: read from the commits");
    let declare = [
        "evidence", "add", "001", "--input", PRICE_FILE, "--input", TEST_FILE, "--", "sh",
        TEST_FILE,
    ];
    demo.run_command(&declare, ExitCode::Done)?;
    demo.write_as_agent(TEST_FILE, &format!("{TEST_TEXT}{CODE_TEST}"))?;
    demo.run_command(&["evidence", "run", "001"], ExitCode::Findings)?;
    commit(demo, "test: a known code lowers the price")?;
    demo.run_command(&["where"], ExitCode::Done)?;
    demo.write_as_agent(PRICE_FILE, CODE_BRANCH)?;
    commit(demo, "feat: a known code lowers the price")?;
    demo.write_as_agent(PRICE_FILE, CODE_TABLE)?;
    demo.run_command(&["evidence", "run", "001"], ExitCode::Done)?;
    commit(demo, "refactor: keep the codes in one place")?;
    demo.run_command(&["where"], ExitCode::Done)
}

fn commit(demo: &Demo, message: &str) -> Result<(), Failure> {
    demo.run_git_silently(&["add", "-A"])?;
    demo.run_git(&["commit", "-q", "-m", message])
}

/// One line more than the limit of the `loc` gate.
fn build_large_file() -> String {
    (0..401).fold(String::new(), |mut text, number| {
        let _ = writeln!(text, "code_{number}={number}");
        text
    })
}
