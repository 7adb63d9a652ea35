//! Renders the next steps of messages for MCP clients: `{tool, arguments}` instead of commands,
//! because a client may have no shell. What no tool does, a person is asked to do.

use std::collections::BTreeMap;

use domain::next_step::NextStep;
use domain::profile::Profile;
use serde_json::{Map, Value, json};

use super::{ChosenTools, find_tool, more_tools};

/// A call of a tool.
struct ToolCall {
    tool: &'static str,
    arguments: Value,
}

impl ToolCall {
    fn new(tool: &'static str, arguments: Value) -> Option<Self> {
        Some(Self { tool, arguments })
    }
}

/// Renders a step for a client that is offered these tools.
pub(crate) fn render_step(text: &str, tools: &ChosenTools, profiles: &[Profile]) -> Value {
    // `carry it out, then: tl progress 017 complete`
    if let Some((first, then)) = text.split_once(", then: ")
        && then.starts_with("tl ")
    {
        return json!({ "do": first, "then": render_step(then, tools, profiles) });
    }
    let NextStep::Command { arguments, comment } = NextStep::parse(text) else {
        return json!({ "do": text });
    };
    let mut step = match find_offered_call(&arguments, tools, profiles) {
        // A tool outside the list is called through one that is in it.
        Some(call) if !is_listed(&call, tools) => json!({
            "tool": more_tools::CALL,
            "arguments": { "tool": call.tool, "arguments": call.arguments },
        }),
        Some(call) => json!({ "tool": call.tool, "arguments": call.arguments }),
        None => return json!({ "do": format!("ask the person to run: {text}") }),
    };
    if let Some(comment) = comment {
        step["why"] = Value::String(comment);
    }
    step
}

/// Replaces the commands in a text of ours by calls of tools: those in backticks, and lines that
/// are one. Lines of material (`│`) stay as they are.
pub(crate) fn render_text(text: &str, tools: &ChosenTools, profiles: &[Profile]) -> String {
    let lines = text.split('\n').map(|line| {
        if line.trim_start().starts_with('│') || !line.contains("tl ") {
            return line.to_owned();
        }
        render_line(line, tools, profiles)
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn render_line(line: &str, tools: &ChosenTools, profiles: &[Profile]) -> String {
    let call = |command: &str| {
        let NextStep::Command { arguments, comment } = NextStep::parse(command) else {
            return None;
        };
        let ToolCall { tool, arguments } = find_offered_call(&arguments, tools, profiles)?;
        let comment = comment.map_or_else(String::new, |comment| format!("   # {comment}"));
        Some(format!("{tool} {arguments}{comment}"))
    };
    // A command at the end of a line: alone, or behind `next: ` and the like.
    for start in ["tl ", ": tl ", "- tl "] {
        let at = match start {
            "tl " => line.find(|c: char| !c.is_whitespace()),
            _ => line.find(start).map(|at| at + 2),
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

fn is_listed(call: &ToolCall, tools: &ChosenTools) -> bool {
    let is_one = |name: &str| tools.listed.iter().any(|tool| tool.name == name);
    // Without the way around, the name is all there is.
    is_one(call.tool) || !is_one(more_tools::CALL)
}

fn find_offered_call(
    words: &[String],
    tools: &ChosenTools,
    profiles: &[Profile],
) -> Option<ToolCall> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    find_call(&words, profiles).filter(|call| find_tool(&tools.callable, call.tool).is_some())
}

/// Returns the tool that does what a command does.
fn find_call(words: &[&str], profiles: &[Profile]) -> Option<ToolCall> {
    let (plain, options) = split_options(words);
    let node = |tool: &'static str, words: &[&str]| {
        ToolCall::new(tool, json!({ "node": words.join(" ") }))
    };
    match plain.as_slice() {
        ["status" | "where", ..] => ToolCall::new("work_where", json!({})),
        ["next", ..] if options.contains_key("claim") => ToolCall::new("work_claim", json!({})),
        ["next", ..] => ToolCall::new("work_next", json!({})),
        ["brief", ..] => ToolCall::new("work_brief", json!({})),
        ["tree"] => ToolCall::new("plan_tree", json!({})),
        ["tree", rest @ ..] => node("plan_tree", rest),
        ["show", rest @ ..] => node("plan_read", rest),
        ["why", rest @ ..] => node("plan_why", rest),
        ["children", rest @ ..] => node("plan_children", rest),
        ["versions", rest @ ..] => node("plan_versions", rest),
        ["diff", rest @ ..] => node("plan_diff", rest.get(..1)?),
        ["restore", name, version] => {
            ToolCall::new("plan_restore", json!({ "node": name, "version": version }))
        }
        ["plan"] => ToolCall::new("plan_prompt", json!({})),
        ["plan", level, id] => plan_call(level, id, options.get("under").copied()),
        ["approve", rest @ ..] if options.contains_key("force") => ToolCall::new(
            "plan_approve",
            json!({ "node": rest.join(" "), "force": true }),
        ),
        ["approve", rest @ ..] => node("plan_approve", rest),
        ["wait", rest @ ..] => node("plan_wait", rest),
        ["revalidate"] => ToolCall::new("plan_stale", json!({})),
        ["revalidate", rest @ ..] if options.contains_key("keep") => node("plan_keep", rest),
        ["revalidate", rest @ ..] => node("plan_stale", rest),
        ["invalidate", rest @ ..] => ToolCall::new(
            "plan_reject",
            json!({ "node": rest.join(" "), "reason": options.get("reason").unwrap_or(&"WHY") }),
        ),
        ["progress", name @ .., word] => ToolCall::new(
            "plan_progress",
            json!({ "node": name.join(" "), "progress": word }),
        ),
        ["comment", rest @ ..] => match options.get("message").or(options.get("m")) {
            Some(text) => ToolCall::new(
                "plan_comment",
                json!({ "node": rest.join(" "), "text": text }),
            ),
            None => node("plan_comments", rest),
        },
        ["move", was, now] => ToolCall::new("plan_move", json!({ "was": was, "now": now })),
        ["renumber", rest @ ..] => node("plan_renumber", rest),
        ["evidence", "show", rest @ ..] => node("plan_evidence", rest),
        ["evidence", action @ ("run" | "add"), rest @ ..] => {
            find_evidence_call(words, action, rest, &options)
        }
        ["claim"] => ToolCall::new("work_overlap", json!({})),
        ["claim", rest @ ..] => node("work_claim", rest),
        ["release", rest @ ..] => node("work_release", rest),
        ["overlap", ..] => ToolCall::new("work_overlap", json!({})),
        ["log"] => ToolCall::new("work_log", json!({})),
        ["log", rest @ ..] => node("work_log", rest),
        ["undo", operation] => {
            let operation: u64 = operation.parse().ok()?;
            ToolCall::new("work_undo", json!({ "operation": operation }))
        }
        ["undo"] => ToolCall::new("work_undo", json!({})),
        ["gate", "list"] | ["gate", "explain"] => ToolCall::new("work_gates", json!({})),
        ["gate", "explain", gate] => ToolCall::new("work_gates", json!({ "gate": gate })),
        ["search", query @ ..] if !query.is_empty() => {
            ToolCall::new("work_search", json!({ "query": query.join(" ") }))
        }
        ["check"] => ToolCall::new("work_check", json!({})),
        ["decisions", ..] => ToolCall::new("work_decisions", json!({})),
        ["submit", rest @ ..] => ToolCall::new("work_submit", json!({ "nodes": rest })),
        ["trail", rest @ ..] => find_trail_call(rest),
        ["note", rest @ ..] => find_note_call(rest, &options),
        ["focus" | "ticket", ..] => find_ticket_call(&plain, profiles),
        ["doc", ..] => find_document_call(&plain, &options),
        ["flow" | "review", ..] => find_workflow_call(&plain, &options),
        ["story", rest @ ..] => find_story_call(rest),
        _ => None,
    }
}

/// Returns the call for the planning prompt; a number alone needs its level.
fn plan_call(level: &str, id: &str, under: Option<&str>) -> Option<ToolCall> {
    let node = match under {
        Some(under) => format!("{under}/{id}"),
        None => id.to_owned(),
    };
    ToolCall::new("plan_prompt", json!({ "node": node, "level": level }))
}

fn find_evidence_call(
    words: &[&str],
    action: &str,
    node: &[&str],
    options: &BTreeMap<&str, &str>,
) -> Option<ToolCall> {
    // Behind `--` is the command, whose own options are not ours.
    let command: Vec<&str> = match words.iter().position(|word| *word == "--") {
        Some(at) => words.get(at + 1..)?.to_vec(),
        None => Vec::new(),
    };
    let node = node.first()?;
    let mut arguments = json!({ "action": action, "node": node });
    if !command.is_empty() {
        arguments["command"] = json!(command);
    }
    let named: &[&str] = match command.is_empty() {
        true => &["file", "review"],
        false => &["test", "report"],
    };
    for name in named {
        if let Some(value) = options.get(name) {
            arguments[name] = json!(value);
        }
    }
    ToolCall::new("plan_prove", arguments)
}

fn find_trail_call(words: &[&str]) -> Option<ToolCall> {
    let (tool, arguments) = match words {
        ["intent", focus, ..] => ("trail_intent", json!({ "focus": focus })),
        ["map", level @ ("tactic" | "action"), content] => {
            ("trail_map", json!({ "level": level, "content": content }))
        }
        ["compact", ..] => ("trail_compact", json!({})),
        ["scan", ..] => ("trail_scan", json!({})),
        ["back", ..] => ("trail_back", json!({})),
        ["drift", ..] => ("trail_drift", json!({})),
        ["rate", score, ..] => {
            let score: u8 = score.parse().ok()?;
            ("trail_rate", json!({ "score": score }))
        }
        ["prune", ..] => ("trail_prune", json!({})),
        ["migrate", ..] => ("trail_migrate", json!({})),
        ["session", "list"] => ("trail_sessions", json!({})),
        ["session", "show", stamp] => ("trail_sessions", json!({ "stamp": stamp })),
        ["trace", stamp] => ("trail_trace", json!({ "stamp": stamp })),
        _ => return None,
    };
    ToolCall::new(tool, arguments)
}

fn find_note_call(words: &[&str], options: &BTreeMap<&str, &str>) -> Option<ToolCall> {
    let (tool, arguments) = match words {
        ["add", text, ..] if options.contains_key("pin") => {
            ("note_anchor", json!({ "text": text }))
        }
        // `--pin TEXT` takes the text for its value.
        ["add"] => ("note_anchor", json!({ "text": options.get("pin")? })),
        ["add", text, ..] => ("note_add", json!({ "text": text })),
        ["find", query @ ..] => ("note_find", json!({ "query": query.join(" ") })),
        ["list", ..] => ("note_list", json!({})),
        ["shelves"] => ("note_shelves", json!({})),
        ["pin", stamp] => ("note_pin", json!({ "stamp": stamp })),
        ["unpin", stamp] => ("note_pin", json!({ "stamp": stamp, "pinned": false })),
        ["remove", stamp] => ("note_remove", json!({ "stamp": stamp })),
        _ => return None,
    };
    ToolCall::new(tool, arguments)
}

fn find_ticket_call(words: &[&str], profiles: &[Profile]) -> Option<ToolCall> {
    let is_phase = |word: &str| {
        let mut phases = profiles.iter().flat_map(|profile| &profile.work_phases);
        phases.any(|phase| phase.name == word)
    };
    let (tool, arguments) = match words {
        ["focus", action @ ("enter" | "back" | "switch"), node @ ..] if !node.is_empty() => (
            "ticket_focus",
            json!({ "action": action, "node": node.join(" ") }),
        ),
        ["focus", action @ ("exit" | "park"), ..] => ("ticket_focus", json!({ "action": action })),
        ["ticket", "new", title] => ("ticket_new", json!({ "title": title })),
        ["ticket", "from-branch"] => ("ticket_from_branch", json!({})),
        ["ticket", "list"] => ("ticket_list", json!({})),
        ["ticket", "archive"] => ("ticket_archive", json!({})),
        ["ticket", "archive", tickets @ ..] => ("ticket_archive", json!({ "tickets": tickets })),
        ["ticket", "split", ticket, titles @ ..] => (
            "ticket_split",
            json!({ "ticket": ticket, "titles": titles }),
        ),
        ["ticket", "phase", ticket, phase] if is_phase(phase) => {
            ("ticket_phase", json!({ "ticket": ticket, "phase": phase }))
        }
        ["ticket", "level", ticket, ..] => ("ticket_level", json!({ "ticket": ticket })),
        ["ticket", "scenario", "list"] => ("ticket_scenarios", json!({})),
        ["ticket", "scenario", "list", ticket] => ("ticket_scenarios", json!({ "ticket": ticket })),
        ["ticket", "scenario", "done"] => ("ticket_scenario_done", json!({})),
        ["ticket", "scenario", "done", scenario] => {
            ("ticket_scenario_done", json!({ "scenario": scenario }))
        }
        _ => return None,
    };
    ToolCall::new(tool, arguments)
}

/// Arguments that are given only if the command has them.
#[derive(Default)]
struct GivenArguments(Map<String, Value>);

impl GivenArguments {
    fn add(&mut self, name: &str, value: Option<&&str>) -> &mut Self {
        self.0
            .extend(value.map(|value| (name.to_owned(), json!(value))));
        self
    }

    fn call(&mut self, tool: &'static str) -> Option<ToolCall> {
        ToolCall::new(tool, Value::Object(std::mem::take(&mut self.0)))
    }
}

fn find_document_call(words: &[&str], options: &BTreeMap<&str, &str>) -> Option<ToolCall> {
    let mut given = GivenArguments::default();
    match words {
        ["doc", "new", title] => given.add("title", Some(title)).call("doc_new"),
        ["doc", "list"] => given.call("doc_list"),
        ["doc", "use", document] => given.add("document", Some(document)).call("doc_use"),
        ["doc", "show", entity @ ..] => given
            .add("entity", entity.first())
            .add("document", options.get("doc"))
            .call("doc_show"),
        // Accepting a change made by hand is a person's decision.
        ["doc", "validate"] if options.contains_key("accept") => None,
        [
            "doc",
            action @ ("validate" | "freeze" | "revise" | "render" | "reconcile"),
        ] => {
            given.add("document", options.get("doc"));
            match *action {
                "validate" => given.call("doc_validate"),
                "freeze" => given.call("doc_freeze"),
                "revise" => given.call("doc_revise"),
                "render" => given.call("doc_render"),
                _ => given
                    .add("since", options.get("since"))
                    .call("doc_reconcile"),
            }
        }
        ["doc", "diff", documents @ ..] => given
            .add("older", documents.first())
            .add("newer", documents.get(1))
            .call("doc_diff"),
        ["doc", "apply", ..] => ToolCall::new("doc_change", json!({ "changes": [] })),
        ["doc", change, ..] if change.starts_with("add-") || ["set", "remove"].contains(change) => {
            // Its fields are in the schema; a command line names them otherwise.
            let change = json!({ "changes": [{ "do": change }] });
            ToolCall::new("doc_change", change)
        }
        _ => None,
    }
}

fn find_workflow_call(words: &[&str], options: &BTreeMap<&str, &str>) -> Option<ToolCall> {
    let mut given = GivenArguments::default();
    match words {
        ["flow", "list"] => given.call("flow_list"),
        ["flow", "status"] => given.add("subject", options.get("for")).call("flow_status"),
        ["flow", action @ ("next" | "abort")] => {
            given
                .add("subject", options.get("for"))
                .add("workflow", options.get("flow"));
            given.call(if *action == "next" {
                "flow_next"
            } else {
                "flow_abort"
            })
        }
        [
            "flow",
            how @ ("start" | "take" | "done" | "pass" | "fail"),
            workflow @ ..,
        ] => given
            .add("how", Some(how))
            .add("subject", options.get("for"))
            .add("workflow", workflow.first().or(options.get("flow")))
            .add("new", options.get("new"))
            .call("flow_move"),
        ["review", "status"] => given.add("of", options.get("of")).call("review_status"),
        ["review", "escalated"] => given.call("review_escalated"),
        ["review", "conclude"] => given.add("of", options.get("of")).call("review_conclude"),
        ["review", "add"] => given
            .add("of", options.get("of"))
            .add("check", options.get("check"))
            .add("severity", options.get("severity"))
            .call("review_check"),
        ["review", "verdict", item, verdict] => given
            .add("of", options.get("of"))
            .add("item", Some(item))
            .add("verdict", Some(verdict))
            .add("finding", options.get("finding"))
            .call("review_verdict"),
        // `review accept` is a person's decision.
        _ => None,
    }
}

fn find_story_call(words: &[&str]) -> Option<ToolCall> {
    let (tool, arguments) = match words {
        ["tick"] => ("story_tick_begin", json!({})),
        ["write"] => ("story_scene_begin", json!({})),
        ["write", scene] => ("story_scene_begin", json!({ "scene": scene })),
        ["generation", "status"] => ("story_scene_status", json!({})),
        ["generation", "status", scene] => ("story_scene_status", json!({ "scene": scene })),
        ["generation", "resume", scene] => ("story_scene_resume", json!({ "scene": scene })),
        ["generation", "cancel", scene] => ("story_scene_cancel", json!({ "scene": scene })),
        ["memory", "show"] => ("story_memory", json!({})),
        ["memory", "show", entry] => ("story_memory", json!({ "entry": entry })),
        ["memory", "search", query @ ..] => {
            ("story_memory_search", json!({ "query": query.join(" ") }))
        }
        ["stats"] => ("story_stats", json!({})),
        ["compile"] => ("story_compile", json!({})),
        _ => return None,
    };
    ToolCall::new(tool, arguments)
}

/// Separates the options with their values; one without a value has an empty one.
fn split_options<'w>(words: &[&'w str]) -> (Vec<&'w str>, BTreeMap<&'w str, &'w str>) {
    let (mut plain, mut options) = (Vec::new(), BTreeMap::new());
    let mut words = words.iter().copied().peekable();
    while let Some(word) = words.next() {
        match word.strip_prefix("--").or((word == "-m").then_some("m")) {
            Some("") => break,
            Some(name) => {
                let value = words.next_if(|next| !next.starts_with("--"));
                options.insert(name, value.unwrap_or_default());
            }
            None => plain.push(word),
        }
    }
    (plain, options)
}

#[cfg(test)]
mod tests {
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
            ("tl wait act-1", "plan_wait"),
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
    fn what_no_tool_does_is_asked_of_a_person() {
        let profiles = profiles();
        let tools = default_tools(&profiles);
        for command in ["tl state adopt", "tl doc validate --accept --doc x"] {
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
