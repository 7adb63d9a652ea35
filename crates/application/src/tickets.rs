//! Tickets: create one, split one, set its phase or size, and finish scenarios.
//!
//! Files are edited by front matter key; every other byte stays.

use domain::fact::Fact;
use domain::front_matter;
use domain::ids::OperationId;
use domain::node::{Node, Progress};
use domain::operation::Verb;
use domain::ports::{PlanFiles, Reading, Snapshot, Transaction};
use domain::profile::{FilePattern, Level, Profile};
use domain::record;
use domain::suggest::nearest;
use domain::work::scenarios::slug;
use domain::work::work_level::{Assessment, WorkLevel};
use serde::Serialize;

use crate::context::Context;
use crate::evidence::{completing, refuse_unproved};
use crate::failure::{Failure, FailureKind};
use crate::file_writes::{self, PlannedFiles};
use crate::locate::{find, get, nothing_left, path_of};
use crate::observe::{observed, record_planned, with_node_files, with_observed_files};
use crate::standing::{goes_through_phases, ticket};
use crate::survey::Scope;

/// Request of [`new_ticket`].
#[derive(Clone, Debug)]
pub struct NewTicket {
    pub title: String,
    /// The id; by default the next free one.
    pub id: Option<String>,
    pub parent: Option<Vec<String>>,
    /// The front matter's `type`.
    pub kind: String,
}

/// A ticket that was created or changed.
#[derive(Clone, Debug, Serialize)]
pub struct TicketView {
    pub id: String,
    pub path: String,
    pub title: Option<String>,
    pub file_path: String,
    pub phase: Option<String>,
    pub work_level: String,
    pub reasons: Vec<String>,
    pub progress: Progress,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<OperationId>,
}

/// Outcome of [`split_ticket`].
#[derive(Clone, Debug, Serialize)]
pub struct SplitOutcome {
    pub parent: String,
    pub children: Vec<TicketView>,
}

/// Returns the profile, level and file pattern of tickets: the level with work phases.
fn kind_of_ticket<'p>(
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
                .find(|level| level.lies_flat() && !level.state_keys.is_empty())?;
            Some((profile, level, level.file.as_ref()?))
        });
    found.ok_or_else(|| {
        Failure::new(FailureKind::Invalid, "this project has no tickets")
            .step("add \"tickets\" to `profiles` in .throughline/config.toml")
    })
}

/// Creates a ticket with its folder and file.
///
/// # Errors
/// When the id is taken, the parent is unknown, or the file cannot be written.
pub fn new_ticket(ctx: &Context<'_>, request: &NewTicket) -> Result<TicketView, Failure> {
    // Before the transaction: input errors need no lock, and no scan of the project.
    let (_, level, _) = kind_of_ticket(ctx)?;
    if request.title.trim().is_empty() {
        return Err(Failure::new(FailureKind::Invalid, "a ticket needs a title"));
    }
    // Identifies the request: repeated after a kill, it would otherwise create a second ticket with
    // the next id.
    let asked = file_writes::request(&("ticket new", request));
    with_observed_files(ctx, Scope::Everything, Some(asked), |planned, tx| {
        let (id, title) = new_id(ctx, &*tx, level, request)?;
        let parent = id.parent.as_ref().map(|node| node.alias.as_str());
        create(ctx, planned, &id.id, &title, parent, &request.kind)?;
        let summary = format!("new ticket {} {title}", id.id);
        let operation = record_planned(ctx, tx, planned, Verb::Ticket, summary, Vec::new())?;
        view(ctx, &*tx, &id.id, operation)
    })
}

/// The id of a new ticket, and its parent.
struct NewId {
    id: String,
    parent: Option<Node>,
}

/// Allocates the id of a new ticket. The transaction holds the write lock, so no other process can
/// allocate the same one.
fn new_id(
    ctx: &Context<'_>,
    tx: &dyn Transaction,
    level: &Level,
    request: &NewTicket,
) -> Result<(NewId, String), Failure> {
    let parent = match &request.parent {
        Some(words) => {
            let (id, rest) = find(ctx, tx, words)?;
            nothing_left(rest)?;
            Some(parent_ticket(ctx, get(tx, id)?)?)
        }
        None => None,
    };
    let taken = taken(ctx, tx, level)?;
    let id = match &request.id {
        Some(id) => {
            // Exactly as the pattern formats it, because the id becomes part of the folder's name,
            // and a scan recognises only that form.
            let read = level.alias.read_exact(id, &level.numbers).ok_or_else(|| {
                Failure::new(
                    FailureKind::Invalid,
                    format!("`{id}` is not a ticket id; expected one such as 017a"),
                )
            })?;
            if taken.contains(&read.alias) {
                return Err(Failure::new(
                    FailureKind::Conflict,
                    format!("there is a ticket `{}` already", read.alias),
                ));
            }
            read.alias
        }
        // A child's id continues its parent's, so that a plain file listing shows the tree.
        None => match &parent {
            Some(parent) => next_child(&parent.alias, &taken),
            None => next_root(&taken),
        },
    };
    Ok((NewId { id, parent }, clean(&request.title)))
}

/// Splits a ticket: one child per title, listed in the parent's `children`.
///
/// # Errors
/// When there is no such ticket or no title.
pub fn split_ticket(
    ctx: &Context<'_>,
    node: &[String],
    titles: &[String],
) -> Result<SplitOutcome, Failure> {
    let (_, level, _) = kind_of_ticket(ctx)?;
    if titles.iter().all(|title| title.trim().is_empty()) {
        return Err(Failure::new(
            FailureKind::Invalid,
            "a split needs the titles of its parts",
        )
        .step("tl ticket split 017 \"First part\" \"Second part\""));
    }
    let asked = file_writes::request(&("ticket split", node, titles));
    with_observed_files(ctx, Scope::Everything, Some(asked), |planned, tx| {
        let (id, rest) = find(ctx, &*tx, node)?;
        nothing_left(rest)?;
        let parent = parent_ticket(ctx, get(&*tx, id)?)?;
        let mut taken = taken(ctx, &*tx, level)?;
        let mut ids = Vec::new();
        for title in titles
            .iter()
            .map(|title| clean(title))
            .filter(|title| !title.is_empty())
        {
            let id = next_child(&parent.alias, &taken);
            create(ctx, planned, &id, &title, Some(&parent.alias), "task")?;
            // The files exist only as planned writes, so the scan for taken ids does not see them.
            taken.push(id.clone());
            ids.push(id);
        }
        let file = parent.path.clone().unwrap_or_default();
        let text = read(ctx, &file)?;
        // Appended to the present list, which people reorder and edit by hand.
        let mut children = front_matter::read(&text).list("children");
        children.extend(
            ids.iter()
                .filter(|id| !children.contains(id))
                .cloned()
                .collect::<Vec<_>>(),
        );
        let list = children
            .iter()
            // Quoted: YAML reads a bare `017` as an octal number.
            .map(|id| format!("'{id}'"))
            .collect::<Vec<_>>()
            .join(", ");
        planned.put(
            &file,
            Some(&front_matter::with_key(
                &text,
                "children",
                &format!("[{list}]"),
            )),
        )?;
        let summary = format!("split {} into {}", parent.alias, ids.join(", "));
        let operation = record_planned(ctx, tx, planned, Verb::Ticket, summary, Vec::new())?;
        let children = ids
            .iter()
            .map(|id| view(ctx, &*tx, id, operation))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(SplitOutcome {
            parent: parent.alias,
            children,
        })
    })
}

/// Sets the phase of a ticket: one key of its file.
///
/// # Errors
/// When there is no such ticket or phase, or the last phase is not proved.
pub fn set_phase(ctx: &Context<'_>, node: &[String], phase: &str) -> Result<TicketView, Failure> {
    let (profile, ..) = kind_of_ticket(ctx)?;
    let names: Vec<&str> = profile
        .work_phases
        .iter()
        .map(|phase| phase.name.as_str())
        .collect();
    // A misspelt phase would end up in the file, where no guide and no gate knows it.
    if !names.contains(&phase) {
        let near = nearest(phase, names.iter().copied(), 1);
        let hint = near
            .first()
            .map(|near| format!("; did you mean `{near}`?"))
            .unwrap_or_default();
        return Err(Failure::new(
            FailureKind::Invalid,
            format!("there is no phase `{phase}`{hint}"),
        )
        .step(format!("phases: {}", names.join(", "))));
    }
    with_node_files(ctx, node, None, |planned, tx, id, rest| {
        nothing_left(rest)?;
        let node = parent_ticket(ctx, get(&*tx, id)?)?;
        // The last phase means done, so it requires the same proof as `tl progress complete`.
        if names.last() == Some(&phase) {
            refuse_unproved(ctx, &*tx, &node)?;
        }
        let file = node.path.clone().unwrap_or_default();
        let text = read(ctx, &file)?;
        planned.put(&file, Some(&front_matter::with_key(&text, "phase", phase)))?;
        let summary = format!("{} is in phase {phase}", node.alias);
        let operation = record_planned(ctx, tx, planned, Verb::Ticket, summary, Vec::new())?;
        view(ctx, &*tx, &node.alias, operation)
    })
}

/// Sets the size of a ticket, or with `None` estimates it again. A size set by a person or agent
/// holds until the ticket has more scenarios.
///
/// # Errors
/// When there is no such ticket.
pub fn set_level(
    ctx: &Context<'_>,
    node: &[String],
    level: Option<WorkLevel>,
    reason: Option<&str>,
) -> Result<TicketView, Failure> {
    with_node_files(ctx, node, None, |planned, tx, id, rest| {
        nothing_left(rest)?;
        let found = ticket(ctx, &*tx, parent_ticket(ctx, get(&*tx, id)?)?, None)?;
        let key = found.node.id.0.to_string();
        let before = record::read::<Assessment>(&*tx, &key)?;
        let after = match level {
            Some(level) => Assessment {
                level,
                reasons: vec![reason.map_or_else(|| format!("set by {}", ctx.actor), clean)],
                // The size was set in view of this many scenarios; with more of them the ticket has
                // grown, and the estimate counts again.
                accepted_scenarios: Some(found.scenarios.len()),
            },
            None => {
                let mut operation =
                    ctx.operation(Verb::Ticket, format!("assess {} again", found.node.alias));
                operation
                    .facts
                    .extend(record::changed::<Assessment>(&key, before.as_ref(), None));
                if !operation.facts.is_empty() {
                    tx.record(operation)?;
                }
                found.assessment(&*tx)?
            }
        };
        // Read again: the branch above may have removed the record, and a fact names the value it
        // replaces.
        let before = record::read::<Assessment>(&*tx, &key)?;
        let (node, judged) = (&found.node, after.level);
        let summary = format!(
            "{} is a {}: {}",
            node.alias,
            judged.word(),
            after.reasons.join(", ")
        );
        let facts: Vec<Fact> = record::changed(&key, before.as_ref(), Some(&after))
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
        if level.is_some() && known != Some(judged.word()) {
            let file = node.path.clone().unwrap_or_default();
            let text = read(ctx, &file)?;
            // Both spellings exist in projects; a second key beside the first would contradict it.
            let key = if front_matter::written(&text, "workLevel").is_some() {
                "workLevel"
            } else {
                "work_level"
            };
            planned.put(
                &file,
                Some(&front_matter::with_key(&text, key, judged.word())),
            )?;
        }
        let operation = record_planned(ctx, tx, planned, Verb::Ticket, summary, facts)?;
        view(ctx, &*tx, &node.alias, operation)
    })
}

/// One scenario of a ticket.
#[derive(Clone, Debug, Serialize)]
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
#[derive(Clone, Debug, Serialize)]
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
    let state = observed(ctx, Scope::Everything)?;
    scenarios(ctx, &*state, node)
}

/// Builds the list of scenarios.
fn scenarios(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &[String],
) -> Result<ScenariosView, Failure> {
    let found = match node {
        [] => crate::standing::standing(ctx, state)?
            .ticket
            .ok_or_else(|| {
                Failure::new(FailureKind::NotFound, "this session works on no ticket")
                    .step("tl scenario list 017a")
                    .step("tl focus enter 017a")
            })?,
        words => {
            let (id, rest) = find(ctx, state, words)?;
            nothing_left(rest)?;
            ticket(ctx, state, parent_ticket(ctx, get(state, id)?)?, None)?
        }
    };
    let current = found.current.as_ref().map(|node| node.id);
    let mut list = Vec::new();
    for node in &found.scenarios {
        let tdd =
            record::read::<domain::work::tdd::Tdd>(state, &crate::standing::tdd_key(node.id))?
                .unwrap_or_default();
        list.push(ScenarioView {
            name: node.alias.clone(),
            title: node.description.title.clone(),
            progress: node.progress,
            current: Some(node.id) == current,
            cycle: tdd.cycle.map(domain::work::tdd::Cycle::word),
            last_commit: tdd.last_commit,
        });
    }
    Ok(ScenariosView {
        ticket: found.node.alias.clone(),
        completed: found.completed(),
        total: found.scenarios.len(),
        scenarios: list,
    })
}

/// Completes a scenario: the named one, or the session's current one.
///
/// # Errors
/// When there is no such scenario or it is not proved.
pub fn finish_scenario(ctx: &Context<'_>, words: &[String]) -> Result<ScenariosView, Failure> {
    crate::observe::with_observed(ctx, Scope::Everything, |tx| {
        let place = crate::standing::standing(ctx, &*tx)?;
        let node = match words {
            [] => place
                .ticket
                .as_ref()
                .and_then(|ticket| ticket.current.clone())
                .ok_or_else(|| {
                    Failure::new(FailureKind::NotFound, "this session works on no scenario")
                        .step("tl scenario done NAME")
                })?,
            words => named_scenario(ctx, &*tx, place.ticket.as_ref(), words)?,
        };
        if node.progress != Progress::Complete {
            refuse_unproved(ctx, &*tx, &node)?;
            completing(ctx, tx, &node)?;
            let path = path_of(&*tx, &node)?;
            let mut operation = ctx.operation(Verb::Progress, format!("{path} is complete"));
            let after = Progress::Complete;
            operation.facts = vec![Fact::ProgressChanged {
                node: node.id,
                before: node.progress,
                after,
            }];
            tx.record(operation)?;
        }
        let parent = node.parent.map(|id| get(&*tx, id)).transpose()?;
        let alias = parent.map(|node| node.alias).unwrap_or_default();
        scenarios(ctx, &*tx, &[alias])
    })
}

/// Finds a scenario of the current ticket by its bare name, or any by its path.
fn named_scenario(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    at: Option<&crate::standing::Ticket>,
    words: &[String],
) -> Result<Node, Failure> {
    // People copy the title from the file; its slug is the alias.
    let wanted = slug(&words.join(" "));
    if let Some(node) =
        at.and_then(|ticket| ticket.scenarios.iter().find(|node| node.alias == wanted))
    {
        return Ok(node.clone());
    }
    let (id, rest) = find(ctx, state, words)?;
    nothing_left(rest)?;
    let node = get(state, id)?;
    // A ticket is completed by its phase or progress; closing it as a scenario would skip both.
    if goes_through_phases(ctx, &node) {
        let name = node.alias;
        return Err(Failure::new(
            FailureKind::Invalid,
            format!("`{name}` is a ticket, not a scenario"),
        )
        .step(format!("tl scenario list {name}"))
        .step(format!("tl progress {name} complete")));
    }
    Ok(node)
}

/// Returns the node if it is a ticket.
fn parent_ticket(ctx: &Context<'_>, node: Node) -> Result<Node, Failure> {
    if goes_through_phases(ctx, &node) {
        return Ok(node);
    }
    Err(Failure::new(
        FailureKind::Invalid,
        format!("`{}` is not a ticket but a {}", node.alias, node.level),
    ))
}

/// Collapses whitespace.
fn clean(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the ids in use: of recorded tickets, and of folders that are not tickets yet.
fn taken(ctx: &Context<'_>, state: &dyn Snapshot, level: &Level) -> Result<Vec<String>, Failure> {
    // The trail has no tickets and can have thousands of nodes.
    let nodes = state.nodes_outside(&[domain::trail::PROFILE])?;
    let mut taken: Vec<String> = nodes
        .into_iter()
        .filter(|node| node.level == level.name)
        .map(|node| node.alias)
        .collect();
    // A folder without its file is not recorded, but a ticket with its id would be written into it.
    for entry in level
        .file
        .iter()
        .flat_map(|pattern| ctx.files.list(&pattern.listing("")))
    {
        let alias = level
            .file
            .as_ref()
            .and_then(|pattern| pattern.alias_in(&entry.name));
        let read = alias.and_then(|alias| level.alias.read_exact(alias, &level.numbers));
        taken.extend(
            read.map(|read| read.alias)
                .filter(|alias| !taken.contains(alias)),
        );
    }
    Ok(taken)
}

/// Returns the next number: `018` after `017b`.
fn next_root(taken: &[String]) -> String {
    let number = |alias: &String| {
        let digits: String = alias.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<u32>().ok()
    };
    let next = taken.iter().filter_map(number).max().unwrap_or(0) + 1;
    format!("{next:03}")
}

/// Returns the id of the next child: `017a`, `017b` … `017z`, `017aa`; below `017a` it is `017a1`.
fn next_child(parent: &str, taken: &[String]) -> String {
    // Letters and digits alternate per level, so that an id can be split into its ancestors without
    // a separator.
    let letters = parent.ends_with(|c: char| c.is_ascii_digit());
    let name = |index: usize| match letters {
        true => format!("{parent}{}", letters_of(index)),
        false => format!("{parent}{}", index + 1),
    };
    (0..)
        .map(name)
        .find(|name| !taken.contains(name))
        .unwrap_or_default()
}

/// Counts in letters: a, b … z, aa, ab …
fn letters_of(mut index: usize) -> String {
    let mut letters = Vec::new();
    loop {
        letters.push(char::from(
            b'a' + u8::try_from(index % 26).unwrap_or_default(),
        ));
        index /= 26;
        if index == 0 {
            break;
        }
        // Bijective base 26: there is no zero digit, so `aa` follows `z`.
        index -= 1;
    }
    letters.into_iter().rev().collect()
}

/// Plans the file of a new ticket.
fn create(
    ctx: &Context<'_>,
    planned: &PlannedFiles<'_>,
    id: &str,
    title: &str,
    parent: Option<&str>,
    kind: &str,
) -> Result<(), Failure> {
    // The title becomes a folder name as well, which no later masking could reach.
    let title = &ctx.mask(title, "title");
    let (profile, level, pattern) = kind_of_ticket(ctx)?;
    let phase = profile
        .work_phases
        .first()
        .map_or("", |phase| phase.name.as_str());
    let now = ctx.clock.now();
    let parent = parent
        .map(|parent| format!("parent: '{parent}'\n"))
        .unwrap_or_default();
    let outline: String = level
        .outline
        .iter()
        .map(|heading| format!("\n## {heading}\n"))
        .collect();
    let text = format!(
        "---\nid: '{id}'\ntype: {kind}\nphase: {phase}\nstatus: ready\n{parent}created: {now}\n---\n\n# {title}\n{outline}"
    );
    let file = pattern.file_at("", &format!("{id}-{}", slug(title)), id);
    Ok(planned.create(&file, &text)?)
}

/// Reads a ticket's file.
fn read(ctx: &Context<'_>, file: &str) -> Result<String, Failure> {
    match ctx.files.read(file, ctx.policy.max_plan_bytes) {
        Reading::Text { text, .. } => Ok(text),
        Reading::Missing => Err(Failure::new(
            FailureKind::NotFound,
            format!("`{file}` is gone"),
        )),
        Reading::Unreadable { why, .. } => Err(Failure::new(
            FailureKind::Invalid,
            format!("`{file}` cannot be read: {why}"),
        )),
    }
}

/// Loads a ticket as recorded.
fn view(
    ctx: &Context<'_>,
    tx: &dyn Transaction,
    alias: &str,
    operation: Option<OperationId>,
) -> Result<TicketView, Failure> {
    // Read back from the transaction: the outcome shows the recorded ticket, not the request.
    let (id, _) = find(ctx, tx, &[alias.to_owned()])?;
    let found = ticket(ctx, tx, get(tx, id)?, None)?;
    let assessment = found.assessment(tx)?;
    Ok(TicketView {
        id: found.node.alias.clone(),
        path: path_of(tx, &found.node)?,
        title: found.node.description.title.clone(),
        file_path: found.node.path.clone().unwrap_or_default(),
        phase: found.phase().map(str::to_owned),
        work_level: assessment.level.word().to_owned(),
        reasons: assessment.reasons,
        progress: found.node.progress,
        operation,
    })
}

#[cfg(test)]
mod tests {
    use super::{next_child, next_root};

    #[test]
    fn ids_go_on_where_they_were() {
        let taken = |list: &[&str]| list.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
        assert_eq!(next_root(&[]), "001");
        assert_eq!(next_root(&taken(&["017", "017a", "x"])), "018");
        assert_eq!(next_child("017", &taken(&["017"])), "017a");
        assert_eq!(next_child("017", &taken(&["017a", "017b"])), "017c");
        assert_eq!(next_child("017a", &taken(&["017a1"])), "017a2");
        let all: Vec<String> = ('a'..='z').map(|letter| format!("017{letter}")).collect();
        assert_eq!(next_child("017", &all), "017aa");
    }
}
