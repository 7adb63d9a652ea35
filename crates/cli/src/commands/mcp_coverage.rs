//! Inventory: which MCP tool does what a command does, and why some commands have none.
//!
//! An agent with nothing but MCP can do everything that is not about this machine and not a
//! person's decision. A new command has to take a side here.

use std::collections::BTreeSet;

use domain::profile::built_in_profile;
use mcp::surface::{Catalogue, find_call_of_command};

/// Commands (a family, or one of its members) and the tools that do the same.
const OVER_MCP: &[(&str, &str)] = &[
    ("status", "work_where"),
    ("where", "work_where"),
    ("next", "work_next"),
    ("brief", "work_brief"),
    ("search", "work_search"),
    ("outline", "plan_outline"),
    ("stats", "plan_stats"),
    ("claim", "work_claim"),
    ("release", "work_release"),
    ("overlap", "work_overlap"),
    ("log", "work_log"),
    ("undo", "work_undo"),
    ("check", "work_check"),
    ("submit", "work_submit"),
    ("gate list", "work_gates"),
    ("gate explain", "work_gates"),
    ("decisions", "work_decisions"),
    ("decisions restore", "work_decisions_restore"),
    ("decisions prune", "work_decisions_prune"),
    ("tree", "plan_tree"),
    ("show", "plan_read"),
    ("plan", "plan_prompt"),
    ("approve", "plan_approve"),
    ("revalidate", "plan_keep"),
    ("why", "plan_why"),
    ("children", "plan_children"),
    ("invalidate", "plan_reject"),
    ("progress", "plan_progress"),
    ("comment", "plan_comment"),
    ("diff", "plan_diff"),
    ("restore", "plan_restore"),
    ("versions", "plan_versions"),
    ("move", "plan_move"),
    ("renumber", "plan_renumber"),
    ("add", "plan_reshape"),
    ("insert", "plan_reshape"),
    ("rename", "plan_reshape"),
    ("split", "plan_reshape"),
    ("merge", "plan_reshape"),
    ("remove", "plan_reshape"),
    ("wait", "plan_wait"),
    ("evidence add", "plan_prove"),
    ("evidence run", "plan_prove"),
    ("evidence show", "plan_evidence"),
    ("evidence propose", "plan_evidence_propose"),
    ("focus", "ticket_focus"),
    ("ticket new", "ticket_new"),
    ("ticket from-branch", "ticket_from_branch"),
    ("ticket list", "ticket_list"),
    ("ticket archive", "ticket_archive"),
    ("ticket split", "ticket_split"),
    ("ticket phase", "ticket_phase"),
    ("ticket level", "ticket_level"),
    ("ticket priority", "ticket_priority"),
    ("ticket scenario list", "ticket_scenarios"),
    ("ticket scenario done", "ticket_scenario_done"),
    ("note add", "note_add"),
    ("note find", "note_find"),
    ("note list", "note_list"),
    ("note shelves", "note_shelves"),
    ("note pin", "note_pin"),
    ("note unpin", "note_pin"),
    ("note remove", "note_remove"),
    ("trail intent", "trail_intent"),
    ("trail map", "trail_map"),
    ("trail scan", "trail_scan"),
    ("trail back", "trail_back"),
    ("trail drift", "trail_drift"),
    ("trail rate", "trail_rate"),
    ("trail compact", "trail_compact"),
    ("trail prune", "trail_prune"),
    ("trail migrate", "trail_migrate"),
    ("trail trace", "trail_trace"),
    ("trail session list", "trail_sessions"),
    ("trail session show", "trail_sessions"),
    ("trail session archive", "trail_archive"),
    ("review add", "review_check"),
    ("review verdict", "review_verdict"),
    ("review status", "review_status"),
    ("review escalated", "review_escalated"),
    ("review accept", "review_accept"),
    ("review conclude", "review_conclude"),
    ("flow list", "flow_list"),
    ("flow status", "flow_status"),
    ("flow abort", "flow_abort"),
    ("flow next", "flow_next"),
    ("flow apply", "flow_apply"),
    ("flow", "flow_move"),
    ("doc new", "doc_new"),
    ("doc list", "doc_list"),
    ("doc use", "doc_use"),
    ("doc show", "doc_show"),
    ("doc validate", "doc_validate"),
    ("doc freeze", "doc_freeze"),
    ("doc revise", "doc_revise"),
    ("doc render", "doc_render"),
    ("doc restore", "doc_restore"),
    ("doc diff", "doc_diff"),
    ("doc reconcile", "doc_reconcile"),
    ("doc", "doc_change"),
    ("story tick", "story_tick_begin"),
    ("story write", "story_scene_begin"),
    ("story generation status", "story_scene_status"),
    ("story generation resume", "story_scene_resume"),
    ("story generation variants", "story_scene_variants"),
    ("story generation choose", "story_scene_choose"),
    ("story generation cancel", "story_scene_cancel"),
    ("story memory show", "story_memory"),
    ("story memory search", "story_memory_search"),
    ("story memory edit", "story_memory_edit"),
    ("story memory forget", "story_memory_forget"),
    ("story memory reread", "story_memory_reread"),
    ("story memory at", "story_memory_at"),
    ("story memory merge", "story_memory_merge"),
    ("story memory split", "story_memory_split"),
    ("story memory intend", "story_memory_intend"),
    ("story compile", "story_compile"),
    ("story follow", "story_follow"),
    ("story stats", "story_stats"),
];

/// Commands without a tool, and why.
const NOT_OVER_MCP: &[(&str, &str)] = &[
    ("init", "makes the project a server needs"),
    ("demo", "a project of its own"),
    ("import", "a file of this machine, which a person chooses"),
    (
        "config",
        "this machine's and the repository's settings: a person edits them",
    ),
    ("host", "the hosts of this machine"),
    ("completions", "the shell"),
    ("man", "the terminal"),
    ("ui", "the terminal"),
    ("reference", "writes our own documentation"),
    ("hook", "called by hosts"),
    ("statusline", "called by hosts"),
    ("mcp", "is the server"),
    ("serve", "is the server"),
    ("team", "servers, tokens and this machine's choice of them"),
    ("state", "the stored state on this machine"),
    ("conflicts", "the queue of this machine"),
    ("request-changes", "a person's decision"),
    ("policy", "a person's decision"),
    ("gate override", "a person's decision"),
    ("gate stats", "this machine's ledger"),
    (
        "doc schema",
        "constant; doc_change has the fields in its own schema",
    ),
    ("story new", "makes a project"),
    ("story model", "this machine's model and key"),
    (
        "story run",
        "calls this machine's model; over MCP the host's model runs the steps",
    ),
    ("story memory index", "this machine's embedding model"),
    ("story memory graph", "a picture"),
];

/// Examples of commands with a tool that have none themselves, and why.
const EXAMPLES_WITHOUT_TOOL: &[(&str, &str)] = &[
    ("tl check --accept-history", "a person's decision"),
    ("tl check --ci", "for continuous integration"),
    (
        "tl doc apply",
        "a file; doc_change takes the changes themselves",
    ),
    (
        "tl move acts/",
        "the rename of a misplaced file on this machine",
    ),
    ("tl outline --full --format", "a file for an editor"),
    ("tl plan chapter 2 --act", "`--under` is the same"),
    ("tl story compile --format", "a file on this machine"),
    (
        "tl ticket new --from",
        "a file; ticket_new and plan_write take the text",
    ),
    (
        "tl trail compact --report",
        "a file; trail_compact takes the text",
    ),
];

/// Tools that do what a command does with some of its options.
const OTHER_TOOLS: &[(&str, &str)] = &[
    ("claim", "work_overlap"),
    ("comment", "plan_comments"),
    ("next", "work_claim"),
    ("note add", "note_anchor"),
    ("renumber", "plan_reshape"),
    ("move", "plan_reshape"),
    ("revalidate", "plan_stale"),
    ("story tick", "story_tick_retry"),
    ("story tick", "story_tick_skip"),
];

/// Returns the entry of a command line in the tables: the nearest one counts, because a family may have
/// a member that differs.
fn find_entry(command: &str) -> Option<&'static (&'static str, &'static str)> {
    let covers = |entry: &&(&str, &str)| {
        let rest = command.strip_prefix(entry.0);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    let entries = OVER_MCP.iter().chain(NOT_OVER_MCP);
    entries.filter(covers).max_by_key(|entry| entry.0.len())
}

/// Returns the examples in the help of all commands.
fn examples(command: &clap::Command, found: &mut BTreeSet<String>) {
    let help = command.get_after_help().map(ToString::to_string);
    for line in help.unwrap_or_default().lines() {
        // A remark is behind two spaces.
        let line = line.trim();
        let example = line.split("  ").next().unwrap_or_default();
        if example.starts_with("tl ") && !example.contains(['|', '>', '<']) {
            found.insert(example.to_owned());
        }
    }
    for one in command.get_subcommands() {
        examples(one, found);
    }
}

/// Messages suggest commands; a client that has only MCP gets them as calls.
#[test]
fn the_examples_of_every_command_with_a_tool_are_calls_that_fit_their_schema() {
    let names = ["story", "tickets", "trail", "milestones"];
    let profiles = names.map(|name| built_in_profile(name).expect("a profile"));
    let tools = Catalogue::of(&profiles).expect("a catalogue").tools;
    let mut found = BTreeSet::new();
    examples(&crate::help::full_parser(), &mut found);
    assert!(found.len() > 150, "{}", found.len());
    let mut problems = Vec::new();
    for example in &found {
        let command = example.trim_start_matches("tl ");
        let Some(entry) = find_entry(command).filter(|entry| OVER_MCP.contains(entry)) else {
            continue;
        };
        let mut left_out = EXAMPLES_WITHOUT_TOOL.iter();
        if left_out.any(|(start, _)| example.starts_with(start)) {
            continue;
        }
        let Some((name, arguments)) = find_call_of_command(example, &profiles) else {
            problems.push(format!("{example}: no call"));
            continue;
        };
        if name != entry.1 && !OTHER_TOOLS.contains(&(entry.0, name)) {
            problems.push(format!("{example}: {name} instead of {}", entry.1));
        }
        let tool = tools.iter().find(|tool| tool.name == name);
        let schema = &tool.expect("a tool of the catalogue").input_schema;
        if let Err(error) = jsonschema::validate(schema, &arguments) {
            problems.push(format!("{example}: {name} {arguments}: {error}"));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

fn leaves(command: &clap::Command, above: &str, found: &mut BTreeSet<String>) {
    for one in command
        .get_subcommands()
        .filter(|one| one.get_name() != "help")
    {
        let path = format!("{above} {}", one.get_name());
        leaves(one, path.trim(), found);
        // Also a family that does something without a member, such as `tl decisions`.
        let mut entries = OVER_MCP.iter().chain(NOT_OVER_MCP);
        if !one.has_subcommands() || entries.any(|entry| entry.0 == path.trim()) {
            found.insert(path.trim().to_owned());
        }
    }
}

#[test]
fn every_command_has_a_tool_or_a_reason_for_none() {
    let names = ["story", "tickets", "trail", "milestones"];
    let profiles = names.map(|name| built_in_profile(name).expect("a profile"));
    let tools: BTreeSet<&str> = Catalogue::of(&profiles)
        .expect("a catalogue")
        .tools
        .iter()
        .map(|tool| tool.name)
        .collect();
    let mut commands = BTreeSet::new();
    leaves(&crate::help::full_parser(), "", &mut commands);
    assert!(commands.len() > 100, "{commands:?}");
    let mut used = BTreeSet::new();
    for command in &commands {
        let entry =
            find_entry(command).unwrap_or_else(|| panic!("`tl {command}` is in neither list"));
        used.insert(entry.0);
    }
    for (command, tool) in OVER_MCP {
        assert!(tools.contains(tool), "{command}: there is no tool {tool}");
    }
    for (command, _) in OVER_MCP.iter().chain(NOT_OVER_MCP) {
        assert!(used.contains(command), "there is no command `tl {command}`");
    }
}
