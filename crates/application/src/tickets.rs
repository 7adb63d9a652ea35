//! Tickets: create one, set its phase or size, and finish scenarios.
//!
//! Files are edited by front matter key; every other byte stays.

use domain::duplicate_ids::id_of_alias;
use domain::fact::Fact;
use domain::front_matter;
use domain::ids::{OperationId, VersionHash};
use domain::node::{Node, Progress, WorkKeys};
use domain::operation::Verb;
use domain::ports::{FileReadResult, Snapshot, Transaction};
use domain::profile::{FilePattern, Level, Profile};
use domain::record;
use domain::suggest::nearest_words;
use domain::work::phase_order::parse_phase;
use domain::work::scenarios::slugify_title;
use domain::work::triage::Priority;
use domain::work::work_level::{Assessment, WorkLevel};
use schemars::JsonSchema;
use serde::Serialize;

use crate::claim_node::refuse_claimed_change;
use crate::completion::{
    CompletionScope, completion_scopes, consume_override, follow_progress, progress_fact,
    refuse_incomplete, refuse_incomplete_within,
};
use crate::context::Context;
use crate::coordination::reserve_id;
use crate::decisions::record_with_decisions;
use crate::duplicate_ids::refuse_duplicate;
use crate::failure::Failure;
use crate::file_writes::{self, PlannedFiles};
use crate::locate::{find_node, load_node, load_node_path, reject_extra_words};
use crate::observe::{
    build_named_operation, observe_node, observe_then_read, record_named_plans,
    record_planned_operation, with_new_files, with_observed_files_of, with_observed_node_files,
    with_recorded_node_files,
};
use crate::phase_moves::refuse_skipped_phase;
use crate::scan::{NamedPlans, NewPlanFile, ScanScope};
use crate::session_position::{KnownGuides, has_work_phases, load_ticket};
use crate::ticket_file::plan_ticket_file;
use crate::ticket_ids::{
    WantedIds, choose_root_id, is_id_recorded, list_folder_ids, next_child_id,
};
use crate::work_guides::announce_phase;

/// Request of [`new_ticket`].
#[derive(Clone, Debug)]
pub struct NewTicket {
    pub title: String,
    /// The id; by default the next free one.
    pub id: Option<String>,
    pub parent: Option<Vec<String>>,
    /// The front matter's `type`.
    pub kind: String,
    /// The text below the title; by default the outline of the level.
    pub body: Option<String>,
    /// Keys of the front matter.
    pub priority: Option<String>,
    pub due: Option<String>,
    pub labels: Vec<String>,
    pub links: Vec<String>,
    /// The branch it was made from.
    pub branch: Option<String>,
}

impl NewTicket {
    /// Returns the request for a root ticket with a title and nothing else.
    #[must_use]
    pub fn with_title(title: &str) -> Self {
        Self {
            title: title.to_owned(),
            id: None,
            parent: None,
            kind: "task".to_owned(),
            body: None,
            priority: None,
            due: None,
            labels: Vec::new(),
            links: Vec::new(),
            branch: None,
        }
    }
}

/// A ticket that was created or changed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TicketView {
    pub id: String,
    pub path: String,
    pub title: Option<String>,
    pub file_path: String,
    pub phase: Option<String>,
    pub work_level: String,
    pub reasons: Vec<String>,
    pub progress: Progress,
    /// The guide of the phase, if an agent has just set the phase or asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guide: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<OperationId>,
}

/// Returns the profile, level and file pattern of tickets: the level with work phases.
pub(crate) fn find_ticket_level<'p>(
    ctx: &Context<'p>,
) -> Result<(&'p Profile, &'p Level, &'p FilePattern), Failure> {
    let found = ctx
        .profiles
        .iter()
        .filter(|profile| !profile.work_phases.is_empty())
        .find_map(|profile| {
            let level = profile
                .levels
                .iter()
                .find(|level| level.is_flat() && !level.state_keys.is_empty())?;
            Some((profile, level, level.file.as_ref()?))
        });
    found.ok_or_else(|| {
        Failure::invalid("this project has no tickets")
            .with_step("add \"tickets\" to `profiles` in .throughline/config.toml")
    })
}

/// Whether the plans of a level are tickets.
#[must_use]
pub fn is_ticket_level(ctx: &Context<'_>, level: &str) -> bool {
    find_ticket_level(ctx).is_ok_and(|(_, ticket, _)| ticket.name == level)
}

/// What a use case of tickets does with what it planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TicketMode {
    /// Records it as an operation of this kind.
    Record(Verb),
    /// Nothing: the outcome lists what would change. The id may be another one later, because none is
    /// reserved.
    Preview,
}

/// A new ticket before it is shown.
#[derive(Clone, Debug)]
pub(crate) struct MadeTicket {
    pub(crate) id: String,
    pub(crate) path: String,
    pub(crate) file: String,
    pub(crate) operation: Option<OperationId>,
}

/// Creates a ticket with its folder and file.
///
/// # Errors
/// When the id is taken, the parent is unknown, or the file cannot be written.
pub fn create_ticket(ctx: &Context<'_>, request: &NewTicket) -> Result<TicketView, Failure> {
    let mode = TicketMode::Record(Verb::Ticket);
    make_ticket(ctx, request, mode, |state, made| {
        load_ticket_view(ctx, state, &made.id, made.operation)
    })
}

/// Creates a ticket or previews it; `show` describes it from the state it is in.
pub(crate) fn make_ticket<T>(
    ctx: &Context<'_>,
    request: &NewTicket,
    mode: TicketMode,
    show: impl FnOnce(&dyn Snapshot, MadeTicket) -> Result<T, Failure>,
) -> Result<T, Failure> {
    // Before the transaction: input errors need no lock, and no scan of the project.
    let (profile, level, _) = find_ticket_level(ctx)?;
    if request.title.trim().is_empty() {
        return Err(Failure::invalid("a ticket needs a title")
            .with_step("tl ticket new \"what is wanted\""));
    }
    check_triage(request)?;
    // Identifies the request: repeated after a kill, it would otherwise create a second ticket with
    // the next id.
    let asked = file_writes::hash_request(&("ticket new", request));
    let scope = IdScope::new(profile, level, asked, mode);
    let create = |planned: &PlannedFiles<'_>, tx: &mut dyn Transaction, parent: Option<Node>| {
        let id = allocate_id(ctx, &*tx, &scope, request, parent.as_ref())?;
        let title = collapse_whitespace(&request.title);
        let trial = PlannedFiles::new(ctx, None);
        let target = if mode == TicketMode::Preview {
            &trial
        } else {
            planned
        };
        let path = plan_ticket_file(ctx, target, &id, &title, parent.as_ref(), request)?;
        let above = parent.as_ref().map(|parent| load_node_path(&*tx, parent));
        let mut made = MadeTicket {
            path: match above.transpose()? {
                Some(above) => format!("{above}/{id}"),
                None => id.clone(),
            },
            file: path.clone(),
            id: id.clone(),
            operation: None,
        };
        let TicketMode::Record(verb) = mode else {
            return show(&*tx, made);
        };
        let summary = format!("new ticket {id} {title}");
        let named = NamedPlans {
            new: vec![NewPlanFile {
                profile,
                level,
                alias: id.clone(),
                path,
                parent: parent.map(|node| node.id),
            }],
            ..NamedPlans::default()
        };
        let verb = (verb, summary);
        made.operation = record_named_plans(ctx, tx, planned, &named, verb, Vec::new())?;
        show(&*tx, made)
    };
    let asked = (mode != TicketMode::Preview).then_some(asked);
    // Only what the new ticket depends on is scanned: its parent, if it has one.
    match &request.parent {
        None => with_new_files(ctx, asked, |planned, tx| create(planned, tx, None)),
        Some(words) => with_recorded_node_files(ctx, words, asked, |planned, tx, id, rest| {
            reject_extra_words(rest)?;
            let parent = require_ticket(ctx, load_node(&*tx, id)?)?;
            create(planned, tx, Some(parent))
        }),
    }
}

/// Refuses words that nothing understands: in the file they would be ignored without a word.
fn check_triage(request: &NewTicket) -> Result<(), Failure> {
    if let Some(word) = request.priority.as_ref()
        && Priority::from_word(word).is_none()
    {
        let known = Priority::ALL.map(Priority::as_str).join(", ");
        let what = format!("`{word}` is not a priority: expected one of {known}");
        return Err(Failure::invalid(what));
    }
    let keys = WorkKeys {
        due: request.due.clone(),
        ..WorkKeys::default()
    };
    match (&request.due, keys.due_day()) {
        (Some(day), None) => Err(Failure::invalid(format!(
            "`{day}` is not a day: expected one such as 2026-12-01"
        ))),
        _ => Ok(()),
    }
}

/// Where ids are allocated, and for which request.
pub(crate) struct IdScope<'p> {
    level: &'p Level,
    /// The name of the scope in the coordination.
    name: String,
    request: String,
    mode: TicketMode,
}

impl<'p> IdScope<'p> {
    pub(crate) fn new(
        profile: &Profile,
        level: &'p Level,
        request: VersionHash,
        mode: TicketMode,
    ) -> Self {
        Self {
            level,
            name: format!("{}/{}", profile.name, level.name),
            request: request.to_string(),
            mode,
        }
    }

    /// Reserves an id in all worktrees; `false` if another one has it. A preview reserves none.
    fn reserve_id(&self, ctx: &Context<'_>, id: &str) -> Result<bool, Failure> {
        match self.mode {
            TicketMode::Record(_) => reserve_id(ctx, &self.name, id, &self.request),
            TicketMode::Preview => Ok(true),
        }
    }

    /// Reserves the first free id that `next` proposes, given the ids of folders.
    pub(crate) fn reserve_next(
        &self,
        ctx: &Context<'_>,
        state: &dyn Snapshot,
        taken: &mut Vec<String>,
        next: impl Fn(&[String]) -> String,
    ) -> Result<String, Failure> {
        loop {
            let id = next(taken);
            // A recorded ticket whose folder is gone keeps its id: its history is under it.
            let is_free = !is_id_recorded(state, self.level, &id)? && self.reserve_id(ctx, &id)?;
            // One that another worktree has counts as taken, so that every round proposes another.
            taken.push(id.clone());
            if is_free {
                return Ok(id);
            }
        }
    }
}

/// Allocates the id of a new ticket. The transaction holds the write lock, so no other process can
/// allocate the same one in this worktree; the reservation excludes the other worktrees.
fn allocate_id(
    ctx: &Context<'_>,
    tx: &dyn Transaction,
    scope: &IdScope<'_>,
    request: &NewTicket,
    parent: Option<&Node>,
) -> Result<String, Failure> {
    let level = scope.level;
    let Some(id) = &request.id else {
        let Some(parent) = parent else {
            let scheme = ctx.policy.ids;
            let mut taken = list_folder_ids(ctx, level, WantedIds::of_scheme(scheme));
            return scope.reserve_next(ctx, tx, &mut taken, |taken| choose_root_id(scheme, taken));
        };
        // A child's id continues its parent's, so that a plain file listing shows the tree.
        let parent = id_of_alias(&parent.alias);
        let mut taken = list_folder_ids(ctx, level, WantedIds::Below(parent));
        return scope.reserve_next(ctx, tx, &mut taken, |taken| next_child_id(parent, taken));
    };
    // Exactly as the pattern formats it, because the id becomes part of the folder's name, and a
    // scan recognises only that form.
    let read = level.alias.parse_exact_alias(id, &level.numbers);
    let id = read.map(|read| read.alias).ok_or_else(|| {
        Failure::invalid(format!(
            "`{id}` is not a ticket id; expected one such as 017a"
        ))
    })?;
    let is_taken = !list_folder_ids(ctx, level, WantedIds::Exactly(&id)).is_empty();
    if is_taken || is_id_recorded(tx, level, &id)? {
        return Err(Failure::conflict(format!("a ticket `{id}` exists already")));
    }
    if !scope.reserve_id(ctx, &id)? {
        return Err(
            Failure::conflict(format!("the id `{id}` is reserved in another worktree"))
                .with_step("tl overlap   # what is open where"),
        );
    }
    Ok(id)
}

/// Returns the name of a work phase, as the profile spells it.
///
/// # Errors
/// When there is no such phase.
pub(crate) fn require_phase<'p>(profile: &'p Profile, word: &str) -> Result<&'p str, Failure> {
    let phases = &profile.work_phases;
    if let Some(phase) = parse_phase(phases, word) {
        return Ok(&phase.name);
    }
    let names: Vec<&str> = phases.iter().map(|phase| phase.name.as_str()).collect();
    let near = nearest_words(word, names.iter().copied(), 1);
    let hint = near
        .first()
        .map(|near| format!("; did you mean `{near}`?"))
        .unwrap_or_default();
    Err(
        Failure::invalid(format!("there is no phase `{word}`{hint}"))
            .with_step(format!("phases: {}", names.join(", "))),
    )
}

/// Sets the phase of a ticket: one key of its file.
///
/// # Errors
/// When there is no such ticket or phase, a phase would be skipped, or something about the ticket is
/// open that has to be closed before the last phase.
pub fn set_phase(
    ctx: &Context<'_>,
    node: &[String],
    phase: &str,
    reason: Option<&str>,
) -> Result<TicketView, Failure> {
    let (profile, ..) = find_ticket_level(ctx)?;
    // A misspelt phase would end up in the file, where no guide and no gate knows it.
    let phase = require_phase(profile, phase)?;
    // The last phase means done, so the same rule applies as for `tl progress complete`.
    let is_last = profile
        .work_phases
        .last()
        .is_some_and(|last| last.name == phase);
    let set = |planned: &PlannedFiles<'_>, tx: &mut dyn Transaction, id, rest: &[String]| {
        reject_extra_words(rest)?;
        let node = require_single_ticket(ctx, &*tx, load_node(&*tx, id)?)?;
        refuse_claimed_change(ctx, &*tx, &node)?;
        // Before the rule for done: a skipped phase is the reason that has to be settled first.
        refuse_skipped_phase(ctx, tx, &node, phase, reason)?;
        if is_last {
            refuse_incomplete_within(ctx, &*tx, &node, CompletionScope::WithoutPhases)?;
        }
        let file = node.path.clone().unwrap_or_default();
        let text = read_ticket_file(ctx, &file)?;
        planned.put_file(&file, Some(&front_matter::set_key(&text, "phase", phase)))?;
        let reason = reason.map(collapse_whitespace).unwrap_or_default();
        let because = match reason.is_empty() {
            true => String::new(),
            false => format!(": {reason}"),
        };
        let summary = format!("{} is in phase {phase}{because}", node.alias);
        let verb = (Verb::Ticket, summary);
        let named = NamedPlans {
            changed: vec![id],
            ..NamedPlans::default()
        };
        let built = build_named_operation(ctx, tx, planned, &named, Verb::Ticket)?;
        let mut more = Vec::new();
        let is_changed =
            |fact: &Fact| matches!(fact, Fact::ProgressChanged { node, .. } if *node == id);
        // The file may have said so before, when something was still open.
        if is_last
            && node.progress != Progress::Complete
            && !built
                .as_ref()
                .is_some_and(|operation| operation.facts.iter().any(is_changed))
        {
            more.push(progress_fact(&node, Progress::Complete));
            follow_progress(ctx, &*tx, &mut more)?;
            consume_override(ctx, tx, &node)?;
        }
        let operation = record_planned_operation(ctx, tx, planned, built, verb, more)?;
        let mut view = load_ticket_view(ctx, &*tx, &node.alias, operation)?;
        let ticket = load_ticket(ctx, &*tx, load_node(&*tx, id)?, None)?;
        // After the phase is recorded, so that the guide is that of the new one; it counts as given
        // with this answer.
        view.guide = announce_phase(ctx, tx, &ticket)?;
        Ok(view)
    };
    match is_last {
        true => with_observed_files_of(ctx, node, completion_scopes, set),
        false => with_observed_node_files(ctx, node, None, set),
    }
}

/// Returns a ticket with the guide of the phase it is in, in full.
///
/// # Errors
/// When there is no such ticket, or the state cannot be read.
pub fn show_phase(ctx: &Context<'_>, node: &[String]) -> Result<TicketView, Failure> {
    let seen = observe_node(ctx, node, ScanScope::Lineage)?;
    reject_extra_words(seen.rest)?;
    let state = &*seen.state;
    let node = require_single_ticket(ctx, state, load_node(state, seen.id)?)?;
    let mut view = load_ticket_view(ctx, state, &node.alias, None)?;
    let ticket = load_ticket(ctx, state, node, None)?;
    view.guide = Some(ticket.render_phase_text(ctx, state, &KnownGuides::new())?);
    Ok(view)
}

/// Sets the size of a ticket, or with `None` estimates it again. A size set by a person or agent
/// holds until the ticket has more scenarios.
///
/// # Errors
/// When there is no such ticket.
pub fn set_work_level(
    ctx: &Context<'_>,
    node: &[String],
    level: Option<WorkLevel>,
    reason: Option<&str>,
) -> Result<TicketView, Failure> {
    with_observed_node_files(ctx, node, None, |planned, tx, id, rest| {
        reject_extra_words(rest)?;
        let ticket = require_single_ticket(ctx, &*tx, load_node(&*tx, id)?)?;
        refuse_claimed_change(ctx, &*tx, &ticket)?;
        let found = load_ticket(ctx, &*tx, ticket, None)?;
        let key = found.node.id.0.to_string();
        let before = record::read_record::<Assessment>(&*tx, &key)?;
        let after = match level {
            Some(level) => Assessment {
                level,
                reasons: vec![
                    reason.map_or_else(|| format!("set by {}", ctx.actor), collapse_whitespace),
                ],
                // The size was set in view of this many scenarios; with more of them the ticket has
                // grown, and the estimate counts again.
                accepted_scenarios: Some(found.scenarios.len()),
            },
            None => {
                let mut operation =
                    ctx.new_operation(Verb::Ticket, format!("assess {} again", found.node.alias));
                operation
                    .facts
                    .extend(record::record_changed_fact::<Assessment>(
                        &key,
                        before.as_ref(),
                        None,
                    ));
                if !operation.facts.is_empty() {
                    tx.record_operation(operation)?;
                }
                found.load_assessment(&*tx)?
            }
        };
        // Read again: the branch above may have removed the record, and a fact names the value it
        // replaces.
        let before = record::read_record::<Assessment>(&*tx, &key)?;
        let (node, judged) = (&found.node, after.level);
        let summary = format!(
            "{} is a {}: {}",
            node.alias,
            judged.as_str(),
            after.reasons.join(", ")
        );
        let facts: Vec<Fact> = record::record_changed_fact(&key, before.as_ref(), Some(&after))
            .into_iter()
            .collect();
        // Also written to the file, for readers without this program.
        let known = node
            .description
            .work
            .as_ref()
            .and_then(|work| work.work_level.as_deref());
        // An estimate is not written to the file: there it would look like a decision, and override
        // later estimates.
        if level.is_some() && known != Some(judged.as_str()) {
            let file = node.path.clone().unwrap_or_default();
            let text = read_ticket_file(ctx, &file)?;
            // Both spellings exist in projects; a second key beside the first would contradict it.
            let is_camel = front_matter::raw_value(&text, "workLevel").is_some();
            let key = if is_camel { "workLevel" } else { "work_level" };
            let text = front_matter::set_key(&text, key, judged.as_str());
            planned.put_file(&file, Some(&text))?;
        }
        let named = NamedPlans {
            changed: vec![id],
            ..NamedPlans::default()
        };
        let verb = (Verb::Ticket, summary);
        let operation = record_named_plans(ctx, tx, planned, &named, verb, facts)?;
        load_ticket_view(ctx, &*tx, &node.alias, operation)
    })
}

/// One scenario of a ticket.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ScenarioView {
    pub name: String,
    pub title: Option<String>,
    pub progress: Progress,
    pub current: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycle: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_commit: Option<String>,
}

/// The scenarios of a ticket.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ScenariosView {
    pub ticket: String,
    pub completed: usize,
    pub total: usize,
    pub scenarios: Vec<ScenarioView>,
}

/// Lists the scenarios of a ticket, or of the session's current one.
///
/// # Errors
/// When there is no such ticket, or the session has none.
pub fn list_scenarios(ctx: &Context<'_>, node: &[String]) -> Result<ScenariosView, Failure> {
    let state = observe_then_read(ctx, ScanScope::Everything)?;
    build_scenarios_view(ctx, &*state, node)
}

/// Builds the list of scenarios.
fn build_scenarios_view(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &[String],
) -> Result<ScenariosView, Failure> {
    let found = match node {
        [] => crate::session_position::load_position(ctx, state)?
            .ticket
            .ok_or_else(|| {
                Failure::not_found("this session works on no ticket")
                    .with_step("tl next   # what is ready")
                    .with_step("tl ticket list   # each with its id: tl focus enter ID")
            })?,
        words => {
            let (id, rest) = find_node(ctx, state, words)?;
            reject_extra_words(rest)?;
            load_ticket(
                ctx,
                state,
                require_ticket(ctx, load_node(state, id)?)?,
                None,
            )?
        }
    };
    let current = found.current.as_ref().map(|node| node.id);
    let mut list = Vec::new();
    for node in &found.scenarios {
        let tdd = found
            .cycles
            .by_scenario
            .get(&node.id)
            .cloned()
            .unwrap_or_default();
        list.push(ScenarioView {
            name: node.alias.clone(),
            title: node.description.title.clone(),
            progress: node.progress,
            current: Some(node.id) == current,
            cycle: tdd.cycle.map(domain::work::tdd::Cycle::as_str),
            last_commit: tdd.last_commit,
        });
    }
    Ok(ScenariosView {
        ticket: found.node.alias.clone(),
        completed: found.count_completed(),
        total: found.scenarios.len(),
        scenarios: list,
    })
}

/// Completes a scenario: the named one, or the session's current one.
///
/// # Errors
/// When there is no such scenario or it is not proved.
pub fn finish_scenario(ctx: &Context<'_>, words: &[String]) -> Result<ScenariosView, Failure> {
    crate::observe::with_observed_files(ctx, ScanScope::Everything, None, |planned, tx| {
        // Commits that no hook saw belong to the scenario before it is completed.
        crate::follow_commits::follow_commits(ctx, tx, 0)?;
        let place = crate::session_position::load_position(ctx, &*tx)?;
        let node = match words {
            [] => place
                .ticket
                .as_ref()
                .and_then(|ticket| ticket.current.clone())
                .ok_or_else(|| {
                    Failure::not_found("this session works on no scenario")
                        .with_step("tl ticket scenario done NAME")
                })?,
            words => find_scenario(ctx, &*tx, place.ticket.as_ref(), words)?,
        };
        if node.progress != Progress::Complete {
            refuse_claimed_change(ctx, &*tx, &node)?;
            refuse_incomplete(ctx, &*tx, &node)?;
            consume_override(ctx, tx, &node)?;
            let path = load_node_path(&*tx, &node)?;
            let mut operation = ctx.new_operation(Verb::Progress, format!("{path} is complete"));
            let after = Progress::Complete;
            operation.facts = vec![Fact::ProgressChanged {
                node: node.id,
                before: node.progress,
                after,
            }];
            follow_progress(ctx, &*tx, &mut operation.facts)?;
            record_with_decisions(ctx, planned, tx, operation)?;
        }
        let parent = node.parent.map(|id| load_node(&*tx, id)).transpose()?;
        let alias = parent.map(|node| node.alias).unwrap_or_default();
        build_scenarios_view(ctx, &*tx, &[alias])
    })
}

/// Finds a scenario of the current ticket by its bare name, or any by its path.
fn find_scenario(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    at: Option<&crate::session_position::Ticket>,
    words: &[String],
) -> Result<Node, Failure> {
    // People copy the title from the file; its slug is the alias.
    let wanted = slugify_title(&words.join(" "));
    if let Some(node) =
        at.and_then(|ticket| ticket.scenarios.iter().find(|node| node.alias == wanted))
    {
        return Ok(node.clone());
    }
    let (id, rest) = find_node(ctx, state, words)?;
    reject_extra_words(rest)?;
    let node = load_node(state, id)?;
    // A ticket is completed by its phase or progress; closing it as a scenario would skip both.
    if has_work_phases(ctx, &node) {
        let name = node.alias;
        return Err(
            Failure::invalid(format!("`{name}` is a ticket, not a scenario"))
                .with_step(format!("tl ticket scenario list {name}"))
                .with_step(format!("tl progress {name} complete")),
        );
    }
    Ok(node)
}

/// Returns the node if it is a ticket.
pub(crate) fn require_ticket(ctx: &Context<'_>, node: Node) -> Result<Node, Failure> {
    if has_work_phases(ctx, &node) {
        return Ok(node);
    }
    Err(Failure::invalid(format!(
        "`{}` is not a ticket but a {}",
        node.alias, node.level
    )))
}

/// Returns the node if it is a ticket and the only one with its id: a change names it by that.
pub(crate) fn require_single_ticket(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: Node,
) -> Result<Node, Failure> {
    let node = require_ticket(ctx, node)?;
    refuse_duplicate(ctx, state, &node)?;
    Ok(node)
}

/// Collapses whitespace.
pub(crate) fn collapse_whitespace(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Reads a ticket's file.
pub(crate) fn read_ticket_file(ctx: &Context<'_>, file: &str) -> Result<String, Failure> {
    match ctx.files.read_file(file, ctx.policy.max_plan_bytes) {
        FileReadResult::Text { text, .. } => Ok(text),
        FileReadResult::Missing => Err(Failure::not_found(format!("`{file}` is gone"))),
        FileReadResult::Unreadable { why, .. } => {
            Err(Failure::invalid(format!("`{file}` cannot be read: {why}")))
        }
    }
}

/// Loads a ticket as recorded.
pub(crate) fn load_ticket_view(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    alias: &str,
    operation: Option<OperationId>,
) -> Result<TicketView, Failure> {
    // Read back from the transaction: the outcome shows the recorded ticket, not the request.
    let (id, _) = find_node(ctx, state, &[alias.to_owned()])?;
    let found = load_ticket(ctx, state, load_node(state, id)?, None)?;
    let assessment = found.load_assessment(state)?;
    Ok(TicketView {
        id: found.node.alias.clone(),
        path: load_node_path(state, &found.node)?,
        title: found.node.description.title.clone(),
        file_path: found.node.path.clone().unwrap_or_default(),
        phase: found.phase().map(str::to_owned),
        work_level: assessment.level.as_str().to_owned(),
        reasons: assessment.reasons,
        progress: found.node.progress,
        guide: None,
        operation,
    })
}
