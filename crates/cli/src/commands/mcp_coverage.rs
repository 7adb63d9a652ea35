//! Inventory: which MCP tool does what a command does, and why some commands have none.
//!
//! An agent with nothing but MCP can do everything that is not about this machine and not a
//! person's decision. A new command has to take a side here.

use std::collections::BTreeSet;

use domain::profile::built_in_profile;
use mcp::surface::Catalogue;

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
    ("story generation cancel", "story_scene_cancel"),
    ("story memory show", "story_memory"),
    ("story memory search", "story_memory_search"),
    ("story memory edit", "story_memory_edit"),
    ("story memory forget", "story_memory_forget"),
    ("story compile", "story_compile"),
    ("story stats", "story_stats"),
];

/// Commands without a tool, and why.
const NOT_OVER_MCP: &[(&str, &str)] = &[
    ("init", "makes the project a server needs"),
    ("demo", "a project of its own"),
    (
        "config",
        "this machine's and the repository's settings: a person edits them",
    ),
    ("host", "the hosts of this machine"),
    ("completions", "the shell"),
    ("man", "the terminal"),
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

fn leaves(command: &clap::Command, above: &str, found: &mut BTreeSet<String>) {
    for one in command
        .get_subcommands()
        .filter(|one| one.get_name() != "help")
    {
        let path = format!("{above} {}", one.get_name());
        match one.has_subcommands() {
            true => leaves(one, path.trim(), found),
            false => drop(found.insert(path.trim().to_owned())),
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
        let covers = |entry: &&(&str, &str)| {
            let rest = command.strip_prefix(entry.0);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        };
        // The nearest entry counts: a family may have a member that differs.
        let entry = OVER_MCP
            .iter()
            .chain(NOT_OVER_MCP)
            .filter(covers)
            .max_by_key(|entry| entry.0.len());
        let entry = entry.unwrap_or_else(|| panic!("`tl {command}` is in neither list"));
        used.insert(entry.0);
    }
    for (command, tool) in OVER_MCP {
        assert!(tools.contains(tool), "{command}: there is no tool {tool}");
    }
    for (command, _) in OVER_MCP.iter().chain(NOT_OVER_MCP) {
        assert!(used.contains(command), "there is no command `tl {command}`");
    }
}
