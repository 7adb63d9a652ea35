//! The walk of `tl demo story`: a plan is approved, changed, decided on again and restored.

use application::Failure;

use super::Demo;
use crate::exit_code::ExitCode;
use crate::ui::{BOLD, styled};

const ACT_TEXT: &str = include_str!("act.md");
const CHAPTER_TEXT: &str = include_str!("chapter.md");
const SCENE_TEXT: &str = include_str!("scene.md");
const SECOND_CHAPTER_TEXT: &str = include_str!("chapter-2.md");

const ACT_FILE: &str = "acts/act-1/strategic-plan.md";
const CHAPTER_FILE: &str = "acts/act-1/chapters/chapter-01/plan.md";
const SCENE_FILE: &str = "acts/act-1/chapters/chapter-01/scenes/scene-0101-blueprint.md";
const SECOND_CHAPTER_FILE: &str = "acts/act-1/chapters/chapter-02/plan.md";
const SECOND_SCENE_FILE: &str = "acts/act-1/chapters/chapter-02/scenes/scene-0201-blueprint.md";

pub(super) fn run_steps(demo: &Demo) -> Result<(), Failure> {
    demo.print_heading("A new project");
    demo.run_command(&["init", "--profile", "story"], ExitCode::Done)?;

    demo.print_heading("1. Plan from the top: the prompt an agent gets for act 1");
    demo.run_plan_truncated(&["plan", "act", "1"])?;
    demo.write_as_agent(ACT_FILE, ACT_TEXT)?;

    demo.print_heading("2. Nothing is planned below a plan that is not approved");
    // Expected to fail: the refusal is what this step shows.
    demo.run_command(&["plan", "chapter", "1"], ExitCode::Failed)?;
    demo.run_command(&["approve", "act", "1"], ExitCode::Done)?;
    demo.print_remark("Now the chapter may be planned, and the prompt carries the whole act plan.");
    demo.write_as_agent(CHAPTER_FILE, CHAPTER_TEXT)?;
    demo.run_command(&["approve", "chapter", "1"], ExitCode::Done)?;
    demo.print_remark(
        "The scene names a character the chapter does not mention: a warning, not a block.",
    );
    demo.write_as_agent(SCENE_FILE, SCENE_TEXT)?;
    demo.run_command(&["approve", "scene", "0101"], ExitCode::Done)?;
    demo.run_command(&["tree"], ExitCode::Done)?;

    demo.print_heading("3. The act is edited, in whatever way: everything below is stale at once");
    // Edited in the file and not by a command, because that is how it happens: the next command
    // has to notice it by itself.
    let edited = ACT_TEXT.replace(
        "She refuses to leave the ship.",
        "She leaves the ship for the first time in nine years.",
    );
    demo.edit_as_author(ACT_FILE, &edited)?;
    demo.run_command(&["tree"], ExitCode::Done)?;
    demo.run_command(&["why", "scene", "0101"], ExitCode::Done)?;

    demo.print_heading("4. Decide: approve the new act, and keep the chapter as it is");
    demo.run_command(&["approve", "act", "1"], ExitCode::Done)?;
    demo.run_command(&["revalidate", "chapter", "1", "--keep"], ExitCode::Done)?;
    demo.print_remark("The chapter did not change, so its scene holds again by itself.");
    demo.run_command(&["tree"], ExitCode::Done)?;

    demo.print_heading("5. Every version is kept: restore one, and undo that too");
    demo.run_command(&["versions", "act", "1"], ExitCode::Done)?;
    demo.run_command(&["restore", "act", "1", "-1"], ExitCode::Done)?;
    demo.run_command(&["undo"], ExitCode::Done)?;
    demo.run_command(&["log", "--limit", "5"], ExitCode::Done)?;
    demo.run_command(&["check"], ExitCode::Done)?;

    demo.print_heading("6. An agent is blocked, and waits for you");
    demo.write_as_agent(SECOND_CHAPTER_FILE, SECOND_CHAPTER_TEXT)?;
    demo.run_command(&["status"], ExitCode::Done)?;
    demo.print_remark(
        "That chapter is not approved. The agent's host asks before it writes a scene below it:",
    );
    // A real hook process with a real event, so that the demo also proves that hooks work here.
    demo.run_hook(SECOND_SCENE_FILE, "# The lights\n")?;
    // Printed instead of run: a server would block the demo, and opening a browser unasked is
    // rude.
    demo.print_remark("Decide in the browser. In one terminal, in the new directory:");
    demo.ui
        .print_line(format_args!("  {}", styled(BOLD, "tl serve --open")));
    demo.print_remark("In another one, as the agent, which goes on as soon as you have approved the chapter there:");
    demo.ui.print_line(format_args!(
        "  {}",
        styled(BOLD, "tl wait chapter 2 && tl plan scene 0201")
    ));

    demo.print_what_next(&[
        (
            "tl status",
            "the state of the work and what needs a decision",
        ),
        (
            "tl plan scene 0102",
            "the prompt for the next scene, with the chapter's plan in it",
        ),
        (
            "rm .throughline/state.db; tl tree",
            "lose the database and watch it come back",
        ),
        ("tl --help", "everything else"),
    ]);
    demo.print_own_project(&[
        (
            "tl init --host auto",
            "a project for your plans, and hooks for your agent",
        ),
        ("tl plan", "what can be planned"),
    ]);
    Ok(())
}
