//! Renders the next steps of messages for MCP clients: `{tool, arguments}` instead of commands,
//! because a client may have no shell. What no tool does, a person is asked to do.

mod command_calls;
mod command_line;

use domain::next_step::{FilePurpose, NextStep};
use domain::profile::{Profile, locate_plan};
use domain::workflow::command_usage;
use serde_json::{Value, json};

use self::command_calls::find_call;
use self::command_line::{CommandLine, ToolCall};
use super::{ChosenTools, Tool, find_tool, more_tools};

/// Begins the step of what no tool does.
const ASK_TO_RUN: &str = "ask the person to run: ";
const WRITE_TOOL: &str = "plan_write";

/// Renders a step for a client that is offered these tools.
pub(crate) fn render_step(text: &str, tools: &ChosenTools, profiles: &[Profile]) -> Value {
    // `carry it out, then: tl progress 017 complete`
    if let Some((first, then)) = text.split_once(", then: ")
        && then.starts_with("tl ")
    {
        return json!({ "do": first, "then": render_step(then, tools, profiles) });
    }
    let (words, comment) = match NextStep::parse(text) {
        NextStep::Command { arguments, comment } => (arguments, comment),
        NextStep::AskPerson { node } => {
            let asks = "asks the person, or waits for them".to_owned();
            (vec!["approve".to_owned(), node], Some(asks))
        }
        NextStep::AskToRevalidate { node } => {
            let shows = "shows what changed above it; plan_keep asks the person".to_owned();
            (vec!["revalidate".to_owned(), node], Some(shows))
        }
        NextStep::WritePlan { node } => {
            let arguments = json!({ "node": node, "text": "…" });
            return match find_tool(&tools.callable, WRITE_TOOL) {
                Some(tool) => write_call(tool.name, arguments, None, tools),
                None => json!({ "do": text }),
            };
        }
        NextStep::OpenFile { path, purpose } => match locate_plan(profiles, &path) {
            Some(place) => {
                let then = match purpose {
                    FilePurpose::Edit => "then change it with plan_write",
                    FilePurpose::Review => "review it",
                };
                let words = vec!["show".to_owned(), place.aliases.join("/")];
                (words, Some(then.to_owned()))
            }
            None => return json!({ "do": text }),
        },
        NextStep::Instruction(text) => return render_instruction(&text, tools, profiles),
    };
    let comment = comment.map(|comment| render_text(&comment, tools, profiles));
    match find_offered_call(&words, tools, profiles) {
        Some(call) => write_call(call.tool, call.arguments, comment, tools),
        None if text.starts_with("tl ") => json!({ "do": format!("{ASK_TO_RUN}{text}") }),
        None => json!({ "do": text }),
    }
}

/// Renders an instruction. A command at its end is the call it leads to.
fn render_instruction(text: &str, tools: &ChosenTools, profiles: &[Profile]) -> Value {
    if text.starts_with(ASK_TO_RUN) {
        return json!({ "do": text });
    }
    if let Some((why, command)) = text.split_once(": tl ")
        && let NextStep::Command { arguments, .. } = NextStep::parse(&format!("tl {command}"))
        && let Some(call) = find_offered_call(&arguments, tools, profiles)
    {
        return write_call(call.tool, call.arguments, Some(why.to_owned()), tools);
    }
    json!({ "do": name_arguments(&render_text(text, tools, profiles)) })
}

/// Renders a step that repeats a call with one more option, such as `--finding "what is wrong"`;
/// `None` if it is another step, or the tool has no such argument.
pub(crate) fn render_repeated_call(
    step: &str,
    (tool, arguments): (&Tool, &Value),
    tools: &ChosenTools,
    profiles: &[Profile],
) -> Option<Value> {
    if !step.starts_with("--") {
        return None;
    }
    let NextStep::Command {
        arguments: words,
        comment,
    } = NextStep::parse(&format!("tl {step}"))
    else {
        return None;
    };
    let line = CommandLine::parse(&words);
    let (option, value) = line.options.first_key_value()?;
    let name = option.replace('-', "_");
    let schema = (tool.input)(profiles);
    let value = match schema["properties"].get(&name)?["type"].as_str() {
        Some("integer") => json!(value.parse::<u64>().ok()?),
        _ => json!(value),
    };
    let mut arguments = arguments.clone();
    arguments.as_object_mut()?.insert(name, value);
    Some(write_call(tool.name, arguments, comment, tools))
}

/// Returns a call as a step: through `call_tool` where the client may not know the tool.
fn write_call(tool: &str, arguments: Value, comment: Option<String>, tools: &ChosenTools) -> Value {
    let mut step = match is_called_through_list(tool, tools) {
        true => json!({
            "tool": more_tools::CALL,
            "arguments": { "tool": tool, "arguments": arguments },
        }),
        false => json!({ "tool": tool, "arguments": arguments }),
    };
    if let Some(comment) = comment {
        step["why"] = Value::String(comment);
    }
    step
}

/// Names the options in an instruction as arguments: `--version 3` is the argument `version`.
fn name_arguments(text: &str) -> String {
    let words = text.split(' ').map(|word| {
        let option = word.strip_prefix("--").or(word.strip_prefix("`--"));
        let is_option = |rest: &&str| rest.starts_with(|c: char| c.is_ascii_lowercase());
        let Some(rest) = option.filter(is_option) else {
            return word.to_owned();
        };
        let ends = |c: char| !c.is_ascii_alphanumeric() && c != '-';
        let (name, tail) = rest.split_at(rest.find(ends).unwrap_or(rest.len()));
        let tail = tail.strip_prefix('`').unwrap_or(tail);
        format!("`{}`{tail}", name.replace('-', "_"))
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Replaces the commands in a text of ours by calls of tools: those in backticks, and lines that
/// are one. Material stays as it is: lines marked with `│`, and whole files between `┌` and `└`.
pub(crate) fn render_text(text: &str, tools: &ChosenTools, profiles: &[Profile]) -> String {
    let lines: Vec<&str> = text.split('\n').collect();
    // To the last end, because a file could contain one.
    let begins = lines.iter().position(|line| line.starts_with("┌────"));
    let ends = lines.iter().rposition(|line| line.starts_with("└────"));
    let is_in_file = |at: usize| match (begins, ends) {
        (Some(begins), Some(ends)) => (begins..=ends).contains(&at),
        (Some(begins), None) => at >= begins,
        (None, _) => false,
    };
    let rendered = lines.iter().enumerate().map(|(at, line)| {
        let is_material = is_in_file(at) || line.trim_start().starts_with('│');
        match is_material || !["tl ", "`--"].iter().any(|sign| line.contains(sign)) {
            true => (*line).to_owned(),
            false => render_line(line, tools, profiles),
        }
    });
    rendered.collect::<Vec<_>>().join("\n")
}

fn render_line(line: &str, tools: &ChosenTools, profiles: &[Profile]) -> String {
    let line = &keep_batch_fields(line);
    let call = |command: &str| {
        let NextStep::Command { arguments, comment } = NextStep::parse(command) else {
            return None;
        };
        let ToolCall { tool, arguments } = find_offered_call(&arguments, tools, profiles)?;
        let comment = comment.map_or_else(String::new, |comment| format!("   # {comment}"));
        Some(match is_called_through_list(tool, tools) {
            true => format!(
                "{} {{\"tool\":\"{tool}\",\"arguments\":{arguments}}}{comment}",
                more_tools::CALL
            ),
            false => format!("{tool} {arguments}{comment}"),
        })
    };
    // A command at the end of a line: alone, or behind `next: ` and the like.
    for start in ["tl ", ": tl ", "- tl ", "; tl ", ", then tl "] {
        let at = match start {
            "tl " => line.find(|c: char| !c.is_whitespace()),
            _ => line.find(start).map(|at| at + start.len() - "tl ".len()),
        };
        if let Some((before, command)) = at.and_then(|at| line.split_at_checked(at))
            && command.starts_with("tl ")
            && !command.contains('`')
            && let Some(call) = call(command)
        {
            return format!("{before}{call}");
        }
    }
    let spans = line.split('`').enumerate().map(|(index, span)| {
        let is_code = index % 2 == 1;
        match is_code.then(|| call(span)).flatten() {
            Some(call) => call,
            None => span.to_owned(),
        }
    });
    spans.collect::<Vec<_>>().join("`")
}

/// Keeps the field of "`--needs`, in a batch `depends_on`", which is how a call names it.
fn keep_batch_fields(line: &str) -> String {
    let parts: Vec<&str> = line.split("`, in a batch `").collect();
    let last = parts.len() - 1;
    let kept = parts.iter().enumerate().map(|(at, part)| {
        let option = part.rfind("`--").filter(|_| at < last);
        option.and_then(|option| part.get(..option)).unwrap_or(part)
    });
    kept.collect::<Vec<_>>().join("`")
}

/// Returns the tools that do what a role of a workflow may do.
pub(crate) fn name_role_tools(
    commands: &[Value],
    tools: &ChosenTools,
    profiles: &[Profile],
) -> Vec<Value> {
    let mut names: Vec<Value> = Vec::new();
    let usage = commands
        .iter()
        .filter_map(Value::as_str)
        .flat_map(command_usage);
    for line in usage {
        if let NextStep::Command { arguments, .. } = NextStep::parse(line)
            && let Some(call) = find_offered_call(&arguments, tools, profiles)
            && !names.contains(&json!(call.tool))
        {
            names.push(json!(call.tool));
        }
    }
    names
}

/// Returns the call that does what a command line does.
pub(crate) fn find_call_of_command(
    command: &str,
    profiles: &[Profile],
) -> Option<(&'static str, Value)> {
    let NextStep::Command { arguments, .. } = NextStep::parse(command) else {
        return None;
    };
    find_call(&arguments, profiles).map(|call| (call.tool, call.arguments))
}

/// Whether a tool is outside the list, so that not every client can call it by its name.
fn is_called_through_list(tool: &str, tools: &ChosenTools) -> bool {
    let is_listed = |name: &str| tools.listed.iter().any(|tool| tool.name == name);
    // Without the way around, the name is all there is.
    !is_listed(tool) && is_listed(more_tools::CALL)
}

fn find_offered_call(
    words: &[String],
    tools: &ChosenTools,
    profiles: &[Profile],
) -> Option<ToolCall> {
    find_call(words, profiles).filter(|call| find_tool(&tools.callable, call.tool).is_some())
}

#[cfg(test)]
mod tests {
    use domain::approval::{ask_person_next_step, ask_to_revalidate_next_step};
    use domain::profile::{Profile, built_in_profile};
    use serde_json::{Value, json};

    use super::super::{ChosenTools, ToolNames, ToolSelection, find_tool};
    use super::{render_step, render_text};

    fn profiles() -> Vec<Profile> {
        let names = ["story", "tickets", "trail", "milestones"];
        names.map(|name| built_in_profile(name).unwrap()).to_vec()
    }

    fn default_tools(profiles: &[Profile]) -> ChosenTools {
        ToolSelection::default().choose(profiles).unwrap()
    }

    /// Returns the call of a step, taken out of `call_tool` where it is in it.
    fn called(step: &Value) -> (String, Value) {
        let (tool, arguments) = (&step["tool"], &step["arguments"]);
        match tool.as_str() {
            Some("call_tool") => called(arguments),
            Some(tool) => (tool.to_owned(), arguments.clone()),
            None => panic!("{step}"),
        }
    }

    #[test]
    fn commands_become_tools_with_arguments_that_fit() {
        let profiles = profiles();
        let tools = default_tools(&profiles);
        for (command, expected) in [
            ("tl tree", "plan_tree"),
            ("tl next   # unclaimed work", "work_next"),
            ("tl show act-1/chapter-01   # read it", "plan_read"),
            ("tl plan act act-1", "plan_prompt"),
            ("tl plan chapter chapter-01 --under act-1", "plan_prompt"),
            ("tl versions act-1", "plan_versions"),
            ("tl approve act-1", "plan_approve"),
            (
                "tl approve act-1/chapter-01/scene-0101 --force",
                "plan_approve",
            ),
            ("tl wait act-1 --since 12", "plan_wait"),
            ("tl revalidate act-1/chapter-01", "plan_stale"),
            ("tl revalidate act-1/chapter-01 --keep", "plan_keep"),
            (
                "tl invalidate act-1 --reason \"another story\"",
                "plan_reject",
            ),
            ("tl progress act-1 complete", "plan_progress"),
            ("tl comment act-1 -m \"too long\"", "plan_comment"),
            ("tl comment act-1", "plan_comments"),
            ("tl why act-1", "plan_why"),
            ("tl log act-1", "work_log"),
            ("tl undo 12", "work_undo"),
            ("tl gate explain loc", "work_gates"),
            ("tl trail intent \"what it is for\"", "trail_intent"),
            ("tl trail map tactic \"the way\"", "trail_map"),
            ("tl note add \"the details\"", "note_add"),
            ("tl note add --pin \"no new dependency\"", "note_anchor"),
            ("tl focus enter 017a", "ticket_focus"),
            ("tl ticket new \"TITLE\"   # the first ticket", "ticket_new"),
            ("tl ticket split 017 \"one\" \"two\"", "ticket_split"),
            ("tl ticket scenario list 017a", "ticket_scenarios"),
            ("tl claim 017", "work_claim"),
            ("tl evidence add 017 -- cargo test", "plan_prove"),
            ("tl evidence show 017", "plan_evidence"),
            ("tl doc show M-001 --doc plan", "doc_show"),
            ("tl doc validate --doc plan   # look at it", "doc_validate"),
            ("tl doc reconcile", "doc_reconcile"),
            (
                "tl flow start planner --new \"TITLE\"   # plan milestones",
                "flow_move",
            ),
            ("tl flow start executor --for plan", "flow_move"),
            ("tl flow next --for plan", "flow_next"),
            ("tl flow abort --for plan --flow executor", "flow_abort"),
            ("tl flow list", "flow_list"),
            (
                "tl review add --of plan --check TEXT --severity MUST",
                "review_check",
            ),
            ("tl review verdict qa-001 pass", "review_verdict"),
            ("tl story write --next", "story_scene_begin"),
            (
                "tl story generation status scene-0101",
                "story_scene_status",
            ),
        ] {
            let step = render_step(command, &tools, &profiles);
            let (name, arguments) = called(&step);
            assert_eq!(name, expected, "{command}: {step}");
            let tool = find_tool(&tools.callable, &name).unwrap();
            let schema = tool.offered(&profiles, ToolNames::Own).input_schema;
            if let Err(error) = jsonschema::validate(&schema, &arguments) {
                panic!("{command}: {step}: {error}");
            }
        }
    }

    #[test]
    fn tools_outside_the_list_are_called_through_it() {
        let profiles = profiles();
        let tools = default_tools(&profiles);
        assert_eq!(
            render_step("tl approve act-1   # together", &tools, &profiles),
            json!({ "tool": "plan_approve", "arguments": { "node": "act-1" }, "why": "together" })
        );
        assert_eq!(
            render_step("tl why act-1", &tools, &profiles),
            json!({
                "tool": "call_tool",
                "arguments": { "tool": "plan_why", "arguments": { "node": "act-1" } },
            })
        );
        assert_eq!(
            render_step(
                "carry it out, then: tl progress a complete",
                &tools,
                &profiles
            ),
            json!({
                "do": "carry it out",
                "then": {
                    "tool": "plan_progress",
                    "arguments": { "node": "a", "progress": "complete" },
                },
            })
        );
    }

    #[test]
    fn files_and_approvals_are_calls_too() {
        let profiles = profiles();
        let tools = default_tools(&profiles);
        for (step, tool, node, why) in [
            (
                "edit acts/act-1/chapters/chapter-02/plan.md",
                "plan_read",
                "act-1/chapter-02",
                "then change it with plan_write",
            ),
            (
                "review tickets/001-limits/ticket.md",
                "plan_read",
                "001",
                "review it",
            ),
            (
                &ask_person_next_step("act-1"),
                "plan_approve",
                "act-1",
                "asks the person, or waits for them",
            ),
        ] {
            assert_eq!(
                render_step(step, &tools, &profiles),
                json!({ "tool": tool, "arguments": { "node": node }, "why": why }),
                "{step}"
            );
        }
        assert_eq!(
            render_step(&ask_to_revalidate_next_step("act-1"), &tools, &profiles),
            json!({
                "tool": "call_tool",
                "arguments": { "tool": "plan_stale", "arguments": { "node": "act-1" } },
                "why": "shows what changed above it; plan_keep asks the person",
            })
        );
        for step in ["edit README.md", "edit the plan"] {
            assert_eq!(render_step(step, &tools, &profiles), json!({ "do": step }));
        }
        assert_eq!(
            render_text(
                "Expected next: a commit, then tl ticket phase 001 implement",
                &tools,
                &profiles
            ),
            "Expected next: a commit, then ticket_phase {\"phase\":\"implement\",\"ticket\":\"001\"}"
        );
    }

    #[test]
    fn what_no_tool_does_is_asked_of_a_person() {
        let profiles = profiles();
        let tools = default_tools(&profiles);
        for command in [
            "tl state adopt",
            "tl doc validate --accept --doc x",
            "tl check --accept-history",
            "tl ticket phase 017 done --reason \"…\"   # a person skips it",
        ] {
            let step = render_step(command, &tools, &profiles);
            assert_eq!(
                step,
                json!({ "do": format!("ask the person to run: {command}") })
            );
        }
        assert_eq!(
            render_step("edit the plan", &tools, &profiles),
            json!({ "do": "edit the plan" })
        );
    }

    #[test]
    fn a_file_in_a_text_stays_as_it_is() {
        let profiles = profiles();
        let tools = default_tools(&profiles);
        let file = "┌──── ticket.md ────\n`tl approve act-1`\n└────\ntl approve act-1\n└────";
        let text = format!("`tl next`\n{file}\n`tl next`");
        assert_eq!(
            render_text(&text, &tools, &profiles),
            format!("`work_next {{}}`\n{file}\n`work_next {{}}`")
        );
    }

    #[test]
    fn steps_of_prompts_keep_what_is_said_about_them() {
        let profiles = profiles();
        let tools = default_tools(&profiles);
        assert_eq!(
            render_text(
                "- done: tl flow done --for x   # → Review",
                &tools,
                &profiles
            ),
            "- done: flow_move {\"how\":\"done\",\"subject\":\"x\"}   # → Review"
        );
        assert_eq!(
            render_text(
                "`tl review add --check TEXT --severity MUST|SHOULD [--scope TEXT]`",
                &tools,
                &profiles
            ),
            "`call_tool {\"tool\":\"review_check\",\"arguments\":{\"check\":\"TEXT\",\"severity\":\"MUST\"}}`"
        );
        // Undoing everything since an operation is not undoing the newest one.
        assert_eq!(
            called(&render_step(
                "tl undo --to 8   # with everything after it",
                &tools,
                &profiles
            )),
            ("work_undo".to_owned(), json!({ "back_to": 8 }))
        );
    }

    #[test]
    fn commands_inside_texts_become_calls_and_material_stays() {
        let profiles = profiles();
        let tools = default_tools(&profiles);
        let text = "Take one with `tl flow take`, then:\n    tl doc show M-001\n- done: tl flow done --for add\n│ tl approve act-1\n`tl state adopt`";
        assert_eq!(
            render_text(text, &tools, &profiles),
            "Take one with `flow_move {\"how\":\"take\"}`, then:\n    doc_show {\"entity\":\"M-001\"}\n\
             - done: flow_move {\"how\":\"done\",\"subject\":\"add\"}\n│ tl approve act-1\n`tl state adopt`"
        );
    }
}
