//! Table from commands to tools: the call that does what a command line does.
//!
//! A command without a tool (one about this machine, or a person's decision) has none. An option that
//! a tool has no argument for is left out only where the call without it does no more than the
//! command; otherwise there is no call.

use domain::profile::Profile;
use serde_json::{Map, Value, json};

use super::command_line::{CallArguments, CommandLine, ToolCall};

/// Returns the tool that does what a command does.
pub(super) fn find_call(words: &[String], profiles: &[Profile]) -> Option<ToolCall> {
    let line = CommandLine::parse(words);
    let (family, rest) = line.words.split_first()?;
    match *family {
        "trail" => find_trail_call(&line, rest),
        "note" => find_note_call(&line, rest),
        "focus" => find_focus_call(&line, rest),
        "ticket" => find_ticket_call(&line, rest, profiles),
        "doc" => find_document_call(&line, rest),
        "flow" => find_flow_call(&line, rest),
        "review" => find_review_call(&line, rest),
        "story" => find_story_call(&line, rest),
        "evidence" => find_evidence_call(&line, rest),
        "add" | "insert" | "move" | "rename" | "renumber" | "split" | "merge" | "remove" => {
            find_shape_call(&line, family, rest, profiles)
        }
        _ => find_plan_call(&line, family, rest, profiles)
            .or_else(|| find_decision_call(&line, family, rest))
            .or_else(|| find_work_call(&line, family, rest)),
    }
}

/// Returns the node and the version of `NODE VERSION`; a node may be `chapter 2`.
fn split_last_word<'w>(
    words: &'w [&'w str],
    profiles: &[Profile],
) -> (&'w [&'w str], &'w [&'w str]) {
    let is_level = |word: &&&str| {
        let mut levels = profiles.iter().flat_map(|profile| &profile.levels);
        levels.any(|level| level.name == **word)
    };
    let node_words = match words.first().filter(is_level) {
        Some(_) => 2,
        None => 1,
    };
    words.split_at(node_words.min(words.len()))
}

/// Calls that show or restore plans.
fn find_plan_call(
    line: &CommandLine<'_>,
    command: &str,
    words: &[&str],
    profiles: &[Profile],
) -> Option<ToolCall> {
    let given = CallArguments::new(line);
    let of_node = |tool| match words {
        [] => None,
        words => CallArguments::new(line).words("node", words).call(tool),
    };
    match command {
        "tree" => given.words("node", words).call("plan_tree"),
        "show" => of_node("plan_read"),
        "why" => of_node("plan_why"),
        "children" => of_node("plan_children"),
        "versions" => of_node("plan_versions"),
        "outline" => given
            .words("node", words)
            .number_as("depth", "depth")
            .flag_as("full", "full")
            .call("plan_outline"),
        "stats" => given
            .words("node", words)
            .number_as("days", "days")
            .call("plan_stats"),
        "diff" | "restore" => {
            let (node, version) = split_last_word(words, profiles);
            let given = given.words("node", node).words("version", version);
            match command {
                "diff" => given.call("plan_diff"),
                _ => given
                    .option_as("replaces", "version_hash")
                    .call("plan_restore"),
            }
        }
        "plan" => match words {
            [level, id] => {
                let under = line.option("under");
                let node = under.map(|under| format!("{under}/{id}"));
                given
                    .with("node", node.unwrap_or_else(|| (*id).to_owned()))
                    .with("level", *level)
                    .call("plan_prompt")
            }
            _ => given.call("plan_prompt"),
        },
        _ => None,
    }
}

/// Calls that decide or say something about plans.
fn find_decision_call(line: &CommandLine<'_>, command: &str, words: &[&str]) -> Option<ToolCall> {
    let given = CallArguments::new(line);
    match command {
        "approve" => {
            let given = given
                .flag_as("force", "force")
                .option_as("version", "version_hash");
            match (line.option("below"), words) {
                (Some(node), _) => given.with("node", node).with("below", true),
                (None, []) if line.has("all") => given.with("below", true),
                (None, []) => return None,
                (None, words) => given.words("node", words),
            }
            .call("plan_approve")
        }
        "revalidate" => {
            let below = line.option("below");
            let node = match (below, words) {
                (Some(node), _) => given.with("node", node),
                (None, words) => given.words("node", words),
            };
            match line.has("keep") && node.given.contains_key("node") {
                true => node
                    .flag_as("force", "force")
                    .flag_as("below", "all_below")
                    .flag_as("all", "all_below")
                    .option_as("version", "version_hash")
                    .call("plan_keep"),
                false => node.call("plan_stale"),
            }
        }
        "invalidate" => given
            .words("node", words)
            .with("reason", line.option("reason").unwrap_or("WHY"))
            .option_as("version", "version_hash")
            .call("plan_reject"),
        "progress" => {
            let (word, node) = words.split_last()?;
            given
                .words("node", node)
                .with("progress", *word)
                .call("plan_progress")
        }
        "comment" => find_comment_call(line, words),
        "wait" => {
            let given = given.words("node", words);
            let given = given
                .number_as("timeout", "timeout_seconds")
                .number_as("since", "since");
            match line.has("changed") {
                true => given.with("until", "changed"),
                false => given,
            }
            .call("plan_wait")
        }
        _ => None,
    }
}

fn find_comment_call(line: &CommandLine<'_>, words: &[&str]) -> Option<ToolCall> {
    let given = CallArguments::new(line).words("node", words);
    let is_new = ["message", "m", "reply", "resolve"];
    if !is_new.iter().any(|option| line.has(option)) {
        return given.call("plan_comments");
    }
    let given = given
        .option_as("message", "text")
        .option_as("m", "text")
        .options(&["quote", "section"])
        .option_as("reply", "reply_to");
    match line.option("resolve") {
        Some(comment) => given.with("reply_to", comment).with("resolve", true),
        None => given,
    }
    .call("plan_comment")
}

/// Calls about the work as a whole.
fn find_work_call(line: &CommandLine<'_>, command: &str, words: &[&str]) -> Option<ToolCall> {
    let given = CallArguments::new(line);
    match (command, words) {
        ("status" | "where", []) => given.call("work_where"),
        ("next", []) if line.has("claim") => given.call("work_claim"),
        ("next", []) => given.number_as("limit", "limit").call("work_next"),
        ("brief", []) => given.call("work_brief"),
        ("claim", []) => given.call("work_overlap"),
        ("claim", node) => given.words("node", node).call("work_claim"),
        ("release", node) => given
            .words("node", node)
            .number_as("token", "token")
            .call("work_release"),
        ("overlap", []) => given.call("work_overlap"),
        ("log", node) => given
            .words("node", node)
            .number_as("limit", "limit")
            .call("work_log"),
        ("undo", []) => given
            .number_as("to", "back_to")
            .flag_as("dry-run", "dry_run")
            .call("work_undo"),
        ("undo", [operation]) => {
            let operation: u64 = operation.parse().ok()?;
            given
                .with("operation", operation)
                .flag_as("dry-run", "dry_run")
                .call("work_undo")
        }
        ("gate", ["list"] | ["explain"]) => given.call("work_gates"),
        ("gate", ["explain", gate]) => given.with("gate", *gate).call("work_gates"),
        ("search", [_, ..]) => given
            .words("query", words)
            .number_as("limit", "limit")
            .call("work_search"),
        // Accepting another history is a person's decision, and `--ci` is for continuous integration.
        ("check", []) if line.options.keys().all(|option| *option == "json") => {
            given.call("work_check")
        }
        ("decisions", ["restore"]) => given.call("work_decisions_restore"),
        ("decisions", ["prune"]) => given
            .flag_as("dry-run", "dry_run")
            .call("work_decisions_prune"),
        ("decisions", node) => given.words("node", node).call("work_decisions"),
        ("submit", nodes) => given
            .with("nodes", nodes)
            .flag_as("deleted", "deleted")
            .flag_as("dry-run", "dry_run")
            .call("work_submit"),
        _ => None,
    }
}

fn find_shape_call(
    line: &CommandLine<'_>,
    command: &str,
    words: &[&str],
    profiles: &[Profile],
) -> Option<ToolCall> {
    let given = CallArguments::new(line).flag_as("dry-run", "dry_run");
    let (node, other) = split_last_word(words, profiles);
    let reshape =
        |given: CallArguments<'_>, action: &str| given.with("action", action).call("plan_reshape");
    match command {
        "add" => reshape(
            given
                .words("level", words)
                .options(&["under", "name", "title"]),
            "add",
        ),
        "insert" => reshape(
            match line.has("after") {
                true => given.words("after", words),
                false => given.words("node", words),
            }
            .options(&["under", "title"]),
            "insert",
        ),
        "move" if line.has("was") => given
            .options(&["was"])
            .words("now", words)
            .call("plan_move"),
        "move"
            if ["before", "after", "under"]
                .iter()
                .any(|place| line.has(place)) =>
        {
            reshape(
                given
                    .words("node", words)
                    .options(&["before", "after", "under"]),
                "move",
            )
        }
        // A misplaced file, whose place is known.
        "move" if matches!(words, [file] if file.to_lowercase().ends_with(".md")) => {
            reshape(given.words("node", words), "move")
        }
        "rename" => reshape(given.words("node", node).words("name", other), "rename"),
        "renumber" if line.has("children") => reshape(given.words("node", words), "close-gaps"),
        "renumber" => given
            .words("node", node)
            .words("id", other)
            .call("plan_renumber"),
        "split" => reshape(
            given
                .words("node", words)
                .options(&["at", "title"])
                .option_as("from", "children_from"),
            "split",
        ),
        "merge" => reshape(given.words("node", node).words("into", other), "merge"),
        "remove" => reshape(given.words("node", words), "remove"),
        _ => None,
    }
}

fn find_evidence_call(line: &CommandLine<'_>, words: &[&str]) -> Option<ToolCall> {
    let (action, node) = words.split_first()?;
    let given = CallArguments::new(line).words("node", node);
    match *action {
        "show" => given.call("plan_evidence"),
        "propose" => given.call("plan_evidence_propose"),
        "run" => given.with("action", "run").call("plan_prove"),
        "add" => {
            let given = given
                .with("action", "add")
                .options(&["file", "review", "test", "report"]);
            let given = match line.option("input") {
                Some(input) => given.with("inputs", vec![input]),
                None => given,
            };
            match line.program.is_empty() {
                true => given,
                false => given.with("command", line.program.clone()),
            }
            .call("plan_prove")
        }
        _ => None,
    }
}

fn find_trail_call(line: &CommandLine<'_>, words: &[&str]) -> Option<ToolCall> {
    let given = CallArguments::new(line);
    match words {
        ["intent", focus @ ..] => given
            .words("focus", focus)
            .options(&["mode"])
            .call("trail_intent"),
        ["map", level @ ("tactic" | "action"), content @ ..] => given
            .with("level", *level)
            .words("content", content)
            .options(&["status"])
            .call("trail_map"),
        // The report of the command is a file, that of the tool its text.
        ["compact"] => given
            .flag_as("keep-open", "keep_open")
            .option_as("report", "report")
            .call("trail_compact"),
        ["scan"] => given.call("trail_scan"),
        ["back"] => given.call("trail_back"),
        ["drift"] => given.call("trail_drift"),
        ["rate", score] => {
            let score: u8 = score.parse().ok()?;
            given
                .with("score", score)
                .option_as("note", "reason")
                .call("trail_rate")
        }
        ["prune"] => given.call("trail_prune"),
        ["migrate"] => given.call("trail_migrate"),
        ["session", "list"] => given.call("trail_sessions"),
        ["session", "show", stamp @ ..] => given.words("stamp", stamp).call("trail_sessions"),
        ["session", "archive", stamp @ ..] => given.words("stamp", stamp).call("trail_archive"),
        ["trace", stamp] => given.with("stamp", *stamp).call("trail_trace"),
        _ => None,
    }
}

fn find_note_call(line: &CommandLine<'_>, words: &[&str]) -> Option<ToolCall> {
    let given = CallArguments::new(line);
    match words {
        ["add", text @ ..] if line.has("pin") => given.words("text", text).call("note_anchor"),
        ["add", text @ ..] => given
            .words("text", text)
            .options(&["shelf"])
            .call("note_add"),
        ["find", query @ ..] => given
            .words("query", query)
            .options(&["shelf"])
            .number_as("limit", "limit")
            .call("note_find"),
        ["list"] => given
            .options(&["shelf"])
            .flag_as("pinned", "pinned")
            .call("note_list"),
        ["shelves"] => given.call("note_shelves"),
        ["pin", stamp] => given.with("stamp", *stamp).call("note_pin"),
        ["unpin", stamp] => given
            .with("stamp", *stamp)
            .with("pinned", false)
            .call("note_pin"),
        ["remove", stamp] => given.with("stamp", *stamp).call("note_remove"),
        _ => None,
    }
}

fn find_focus_call(line: &CommandLine<'_>, words: &[&str]) -> Option<ToolCall> {
    let given = CallArguments::new(line);
    match words {
        [action @ ("enter" | "back" | "switch"), node @ ..] if !node.is_empty() => given
            .with("action", *action)
            .words("node", node)
            .flag_as("claim", "claim")
            .call("ticket_focus"),
        [action @ ("exit" | "park")] => given.with("action", *action).call("ticket_focus"),
        // Without a move the command shows the position.
        [] => given.call("work_where"),
        _ => None,
    }
}

fn find_ticket_call(
    line: &CommandLine<'_>,
    words: &[&str],
    profiles: &[Profile],
) -> Option<ToolCall> {
    let is_phase = |word: &str| {
        let mut phases = profiles.iter().flat_map(|profile| &profile.work_phases);
        // `NAME` stands for any of them.
        word == "NAME" || phases.any(|phase| phase.name == word)
    };
    let given = CallArguments::new(line);
    match words {
        ["new", title @ ..] if !title.is_empty() => {
            let given = given
                .words("title", title)
                .options(&["parent", "type", "priority", "due"]);
            match line.option("label") {
                Some(label) => given.with("labels", vec![label]),
                None => given,
            }
            .call("ticket_new")
        }
        ["from-branch"] => given.call("ticket_from_branch"),
        ["list"] => given
            .options(&["label", "phase"])
            .flag_as("all", "all")
            .call("ticket_list"),
        ["archive"] => given.call("ticket_archive"),
        ["archive", tickets @ ..] => given.with("tickets", tickets).call("ticket_archive"),
        ["split", ticket, titles @ ..] => given
            .with("ticket", *ticket)
            .with("titles", titles)
            .call("ticket_split"),
        // Skipping a phase, with a reason, is a person's decision.
        ["phase", ..] if line.has("reason") => None,
        ["phase", ticket] => given.with("ticket", *ticket).call("ticket_phase"),
        ["phase", ticket, phase] if is_phase(phase) => given
            .with("ticket", *ticket)
            .with("phase", *phase)
            .call("ticket_phase"),
        ["level", ticket, level @ ..] => given
            .with("ticket", *ticket)
            .words("level", level)
            .options(&["reason"])
            .call("ticket_level"),
        ["priority", ticket, priority] => given
            .with("ticket", *ticket)
            .with("priority", *priority)
            .call("ticket_priority"),
        ["scenario", "list", ticket @ ..] => given.words("ticket", ticket).call("ticket_scenarios"),
        ["scenario", "done", scenario @ ..] => given
            .words("scenario", scenario)
            .call("ticket_scenario_done"),
        _ => None,
    }
}

fn find_document_call(line: &CommandLine<'_>, words: &[&str]) -> Option<ToolCall> {
    let given = CallArguments::new(line).option_as("doc", "document");
    match words {
        ["new", title] => given.with("title", *title).call("doc_new"),
        ["list"] => given.call("doc_list"),
        ["use", document] => given.with("document", *document).call("doc_use"),
        ["show", entity @ ..] => given.words("entity", entity).call("doc_show"),
        // Accepting a change made by hand is a person's decision.
        ["validate"] if line.has("accept") => None,
        ["validate"] => given.call("doc_validate"),
        ["freeze"] => given.call("doc_freeze"),
        ["revise"] => given.call("doc_revise"),
        ["render"] => given.call("doc_render"),
        ["restore"] => given.call("doc_restore"),
        ["reconcile"] => given.options(&["since"]).call("doc_reconcile"),
        ["diff", documents @ ..] => {
            let (older, newer) = documents.split_at(documents.len().min(1));
            given
                .words("older", older)
                .words("newer", newer)
                .call("doc_diff")
        }
        ["apply", ..] => given.with("changes", json!([])).call("doc_change"),
        [change, entity @ ..] => {
            let change = describe_change(line, change, entity)?;
            given.with("changes", json!([change])).call("doc_change")
        }
        [] => None,
    }
}

/// Names that options of `tl doc add-…` have as fields of a change.
const CHANGE_FIELDS: &[(&str, &str)] = &[
    ("decision-ref", "decision_ref"),
    ("intent", "intent_ref"),
    ("type", "type"),
];

/// Returns a change of a document as an item of `doc_change`; its schema names the optional fields.
fn describe_change(line: &CommandLine<'_>, change: &str, words: &[&str]) -> Option<Value> {
    let mut item = json!({ "do": change });
    match change {
        "set" | "remove" => {
            item["id"] = json!(words.first()?);
            if let Some(Ok(version)) = line.option("version").map(str::parse::<u64>) {
                item["version"] = json!(version);
            }
            let fields = words.iter().filter_map(|word| word.split_once('='));
            let fields: Map<String, Value> = fields
                .map(|(name, value)| (name.trim_end_matches(':').to_owned(), json!(value)))
                .collect();
            if change == "set" {
                item["fields"] = Value::Object(fields);
            }
        }
        change if change.starts_with("add-") => {
            // Of a milestone it is one of several.
            let is_text = |name: &&&str| match **name {
                "doc" => false,
                "file" => change == "add-intent",
                _ => true,
            };
            for name in line.options.keys().filter(is_text) {
                let field = CHANGE_FIELDS.iter().find(|(option, _)| option == name);
                let field = field.map_or(*name, |(_, field)| field);
                item[field] = json!(line.option(name));
            }
        }
        _ => return None,
    }
    Some(item)
}

fn find_flow_call(line: &CommandLine<'_>, words: &[&str]) -> Option<ToolCall> {
    let given = CallArguments::new(line)
        .option_as("for", "subject")
        .option_as("flow", "workflow");
    match words {
        ["list"] => given.call("flow_list"),
        ["status"] => given.call("flow_status"),
        ["next"] => given.call("flow_next"),
        ["abort"] => given.call("flow_abort"),
        ["apply", milestone] => given.with("milestone", *milestone).call("flow_apply"),
        [
            how @ ("start" | "take" | "done" | "pass" | "fail"),
            workflow @ ..,
        ] => given
            .with("how", *how)
            .words("workflow", workflow)
            .options(&["new"])
            .call("flow_move"),
        _ => None,
    }
}

fn find_review_call(line: &CommandLine<'_>, words: &[&str]) -> Option<ToolCall> {
    let given = CallArguments::new(line).options(&["of"]);
    match words {
        ["status"] => given.call("review_status"),
        ["escalated"] => given.call("review_escalated"),
        ["conclude"] => given
            .number_as("iteration", "iteration")
            .call("review_conclude"),
        ["add"] => given
            .options(&["check", "severity", "scope"])
            .call("review_check"),
        ["verdict", item, verdict] => given
            .with("item", *item)
            .with("verdict", *verdict)
            .options(&["finding"])
            .number_as("cost", "cost")
            .number_as("version", "version")
            .call("review_verdict"),
        ["accept", item] => given
            .with("item", *item)
            .with("reason", line.option("reason").unwrap_or("WHY"))
            .number_as("version", "version")
            .call("review_accept"),
        _ => None,
    }
}

fn find_story_call(line: &CommandLine<'_>, words: &[&str]) -> Option<ToolCall> {
    let given = CallArguments::new(line);
    match words {
        ["tick"] if line.has("retry") => given.number_as("retry", "tick").call("story_tick_retry"),
        ["tick"] if line.has("skip") => given.number_as("skip", "tick").call("story_tick_skip"),
        ["tick"] => given.call("story_tick_begin"),
        ["write", scene @ ..] => given.words("scene", scene).call("story_scene_begin"),
        ["generation", "status", scene @ ..] => {
            given.words("scene", scene).call("story_scene_status")
        }
        ["generation", "resume", scene @ ..] => {
            given.words("scene", scene).call("story_scene_resume")
        }
        ["generation", "variants", scene, ..] => {
            given.with("scene", *scene).call("story_scene_variants")
        }
        ["generation", "choose", scene @ .., variant] => given
            .words("scene", scene)
            .with("variant", variant.parse::<u64>().ok()?)
            .flag_as("discard", "discard")
            .call("story_scene_choose"),
        ["generation", "cancel", scene @ ..] => {
            given.words("scene", scene).call("story_scene_cancel")
        }
        ["memory", rest @ ..] => find_memory_call(line, rest),
        ["follow", character @ ..] => given
            .words("character", character)
            .flag_as("by-plan", "by_plan")
            .call("story_follow"),
        ["stats"] => given.call("story_stats"),
        ["compile"] => given.call("story_compile"),
        _ => None,
    }
}

fn find_memory_call(line: &CommandLine<'_>, words: &[&str]) -> Option<ToolCall> {
    let given = CallArguments::new(line);
    match words {
        ["show", entry @ ..] => given.words("entry", entry).call("story_memory"),
        ["search", query @ ..] => given
            .words("query", query)
            .number_as("limit", "limit")
            .call("story_memory_search"),
        ["edit", rest @ ..] => {
            let fields = rest.iter().filter_map(|word| word.split_once('='));
            let fields: Map<String, Value> = fields
                .map(|(name, value)| (name.to_owned(), json!(value)))
                .collect();
            let entry = rest.first().filter(|word| !word.contains('='));
            given
                .words("entry", entry.map(std::slice::from_ref).unwrap_or_default())
                .options(&["new"])
                .with("fields", fields)
                .call("story_memory_edit")
        }
        ["forget", entry] => given.with("entry", *entry).call("story_memory_forget"),
        ["reread", node @ ..] => given.words("node", node).call("story_memory_reread"),
        ["at", scene @ ..] => given.words("scene", scene).call("story_memory_at"),
        ["merge", kept, gone] => given
            .with("kept", *kept)
            .with("gone", *gone)
            .call("story_memory_merge"),
        ["split", entry, name] => given
            .with("entry", *entry)
            .with("name", *name)
            .call("story_memory_split"),
        ["intend", entry] => given.with("entry", *entry).call("story_memory_intend"),
        _ => None,
    }
}
