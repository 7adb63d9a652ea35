//! Position of a session in its work: the stack, the ticket, its scenarios and their TDD cycle.
//!
//! Derived from the focus record and the tree on every call; only the focus itself is stored.

use std::collections::BTreeMap;

use domain::ids::{Digest32, NodeId};
use domain::node::{Content, Node, Progress};
use domain::ports::{GitHead, Snapshot};
use domain::presence::AbsentNode;
use domain::profile::{Profile, WorkPhase};
use domain::record;
use domain::work::focus::Focus;
use domain::work::guides;
use domain::work::phase_order::{find_next_phase, is_building_phase};
use domain::work::tdd::{Cycle, Tdd, expected_commit_subject};
use domain::work::work_level::{Assessment, SizeSignals, WorkLevel, assess_work_level};

use crate::absent_nodes::{find_absent_by_id, find_gone_item};
use crate::context::Context;
use crate::failure::Failure;
use crate::locate::load_ancestors;
use crate::ticket_cycles::{TicketCycles, load_cycles};

/// Key of the shared focus, for sessions without one of their own: the node last entered at a
/// terminal.
pub(crate) const SHARED_FOCUS: &str = "";

/// Position of a session.
#[derive(Clone, Debug, Default)]
pub(crate) struct SessionPosition {
    pub(crate) focus: Focus,
    /// From the root down to the cursor.
    pub(crate) stack: Vec<Node>,
    /// The deepest node on the stack with work phases, and the nodes below it.
    pub(crate) ticket: Option<Ticket>,
    /// The node at the cursor, if it is not in the checked-out tree.
    pub(crate) absent: Option<AbsentNode>,
}

/// A node with work phases.
#[derive(Clone, Debug)]
pub(crate) struct Ticket {
    pub(crate) node: Node,
    /// Child nodes of the same level.
    pub(crate) children: Vec<Node>,
    /// Child nodes that are items of a file.
    pub(crate) scenarios: Vec<Node>,
    /// The scenario in progress.
    pub(crate) current: Option<Node>,
    /// The cycle of the scenario in progress.
    pub(crate) tdd: Tdd,
    /// The cycles of all scenarios.
    pub(crate) cycles: TicketCycles,
}

/// Returns the focus of a session; one that never moved uses the shared focus.
pub(crate) fn load_focus(state: &dyn Snapshot, session: &str) -> Result<Focus, Failure> {
    let own = record::read_record::<Focus>(state, session)?;
    Ok(match own {
        Some(focus) => focus,
        None => record::read_record(state, SHARED_FOCUS)?.unwrap_or_default(),
    })
}

/// Returns the position of the acting session.
pub(crate) fn load_position(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
) -> Result<SessionPosition, Failure> {
    let focus = load_focus(state, &ctx.session)?;
    let Some(cursor) = focus.cursor() else {
        return Ok(SessionPosition {
            focus,
            ..SessionPosition::default()
        });
    };
    // The node under the cursor may have been removed since; the session then has no position,
    // rather than an error in every command.
    let mut stack = if let Some(node) = state.load_node(cursor)? {
        let mut stack = load_ancestors(state, &node)?;
        stack.insert(0, node);
        stack
    } else if let Some(gone) = find_gone_item(state, cursor)? {
        load_ancestors(state, &gone)?
    } else {
        return Ok(SessionPosition {
            focus,
            absent: find_absent_by_id(state, cursor)?,
            ..SessionPosition::default()
        });
    };
    stack.reverse();
    let ticket = match stack.iter().rev().find(|node| has_work_phases(ctx, node)) {
        Some(node) => Some(load_ticket(ctx, state, node.clone(), Some(cursor))?),
        None => None,
    };
    Ok(SessionPosition {
        focus,
        stack,
        ticket,
        absent: None,
    })
}

/// Whether nodes of this level go through the work phases of their profile.
pub(crate) fn has_work_phases(ctx: &Context<'_>, node: &Node) -> bool {
    ctx.find_profile(&node.profile).is_some_and(|profile| {
        !profile.work_phases.is_empty()
            && profile
                .find_level(&node.level)
                .is_some_and(|level| !level.state_keys.is_empty())
    })
}

/// Returns the deepest node with work phases above a session's cursor.
pub(crate) fn find_session_ticket(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
) -> Result<Option<Node>, Failure> {
    find_focused_ticket(ctx, state, &load_focus(state, &ctx.session)?)
}

/// Returns the tickets that any session is at, each once.
pub(crate) fn list_entered_tickets(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
) -> Result<Vec<Node>, Failure> {
    let mut tickets: Vec<Node> = Vec::new();
    for (_, focus) in record::read_records::<Focus>(state, "")? {
        let ticket = find_focused_ticket(ctx, state, &focus)?;
        tickets.extend(ticket.filter(|one| tickets.iter().all(|known| known.id != one.id)));
    }
    Ok(tickets)
}

fn find_focused_ticket(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    focus: &Focus,
) -> Result<Option<Node>, Failure> {
    let cursor = focus.cursor();
    let Some(cursor) = cursor else {
        return Ok(None);
    };
    let node = match state.load_node(cursor)? {
        Some(node) => Some(node),
        None => find_gone_item(state, cursor)?,
    };
    let Some(node) = node else {
        return Ok(None);
    };
    if has_work_phases(ctx, &node) {
        return Ok(Some(node));
    }
    let above = load_ancestors(state, &node)?;
    Ok(above.into_iter().find(|node| has_work_phases(ctx, node)))
}

/// Loads the nodes below a ticket as they are recorded: its scenarios and its children.
pub(crate) fn load_below_ticket(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: &Node,
) -> Result<(Vec<Node>, Vec<Node>), Failure> {
    let mut below = state.load_children(node.id)?;
    below.sort_by(domain::tree::sibling_order);
    let is_item = |child: &Node| {
        let level = ctx
            .find_profile(&child.profile)
            .and_then(|profile| profile.find_level(&child.level));
        level.is_some_and(|level| level.items.is_some())
    };
    let (scenarios, children): (Vec<Node>, Vec<Node>) = below.into_iter().partition(is_item);
    // A scenario deleted from the file stays recorded as missing, and must not count in `1/3`.
    let scenarios = scenarios
        .into_iter()
        .filter(|one| one.content != Content::Missing)
        .collect();
    let children = children
        .into_iter()
        .filter(|child| child.level == node.level)
        .collect();
    Ok((scenarios, children))
}

/// Loads a ticket with its children. The current scenario is the one at the cursor, or else the
/// first unfinished one.
pub(crate) fn load_ticket(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    node: Node,
    cursor: Option<NodeId>,
) -> Result<Ticket, Failure> {
    let (mut scenarios, children) = load_below_ticket(ctx, state, &node)?;
    let cycles = load_cycles(ctx, state, node.id, &scenarios, 0)?;
    for scenario in &mut scenarios {
        scenario.progress = cycles.progress_of(scenario);
    }
    // A complete scenario at the cursor is not the current one: its cycle is over, and the next
    // commit belongs to the next scenario.
    let at_cursor = scenarios
        .iter()
        .find(|one| Some(one.id) == cursor && one.progress != Progress::Complete);
    let open = || {
        scenarios
            .iter()
            .find(|one| one.progress != Progress::Complete)
    };
    let current = at_cursor.or_else(open).cloned();
    let tdd = current
        .as_ref()
        .and_then(|scenario| cycles.by_scenario.get(&scenario.id).cloned())
        .unwrap_or_default();
    Ok(Ticket {
        node,
        children,
        scenarios,
        current,
        tdd,
        cycles,
    })
}

/// Returns the record key of a scenario's TDD cycle.
pub(crate) fn tdd_record_key(scenario: NodeId) -> String {
    scenario.0.to_string()
}

impl SessionPosition {
    /// Returns the alias of the node the session works on.
    pub(crate) fn node_name(&self) -> &str {
        match (&self.ticket, self.stack.last()) {
            (Some(ticket), _) => &ticket.node.alias,
            (None, Some(node)) => &node.alias,
            (None, None) => "",
        }
    }

    /// Returns the path of the node the session works on.
    pub(crate) fn node_path(&self) -> String {
        let at = self
            .ticket
            .as_ref()
            .map(|ticket| ticket.node.id)
            .or(self.stack.last().map(|node| node.id));
        let to = self
            .stack
            .iter()
            .position(|node| Some(node.id) == at)
            .map_or(0, |place| place + 1);
        let names: Vec<&str> = self
            .stack
            .iter()
            .take(to)
            .map(|node| node.alias.as_str())
            .collect();
        names.join("/")
    }
}

impl Ticket {
    /// Returns the phase named in the ticket's front matter.
    pub(crate) fn phase(&self) -> Option<&str> {
        self.node.description.work.as_ref()?.phase.as_deref()
    }

    /// Returns the number of complete scenarios.
    pub(crate) fn count_completed(&self) -> usize {
        self.scenarios
            .iter()
            .filter(|one| one.progress == Progress::Complete)
            .count()
    }

    /// Returns the step in progress: green once the failing test is committed.
    pub(crate) fn current_cycle(&self) -> Option<Cycle> {
        self.current.as_ref().map(|_| match self.tdd.cycle {
            None => Cycle::Red,
            // The record holds the last committed step; shown is the one being worked on, which is
            // one further.
            Some(Cycle::Red) => Cycle::Green,
            Some(Cycle::Green | Cycle::Refactor) => Cycle::Refactor,
        })
    }

    /// Returns the size of the ticket: as recorded, as declared in its front matter, or estimated
    /// from its text.
    pub(crate) fn load_assessment(&self, state: &dyn Snapshot) -> Result<Assessment, Failure> {
        if let Some(known) = record::read_record::<Assessment>(state, &self.node.id.0.to_string())?
        {
            return Ok(known);
        }
        let said = self
            .node
            .description
            .work
            .as_ref()
            .and_then(|work| work.work_level.as_deref());
        // An unknown word is ignored rather than refused: the file belongs to the user, and the
        // estimate below is a usable answer.
        if let Some(level) = said.and_then(WorkLevel::from_word) {
            let reasons = vec!["set in its front matter".to_owned()];
            return Ok(Assessment {
                level,
                reasons,
                accepted_scenarios: None,
            });
        }
        let text = match self.node.content.version_hash() {
            Some(version) => state.load_text(version)?.unwrap_or_default(),
            None => String::new(),
        };
        Ok(assess_work_level(&SizeSignals {
            title: self.node.description.title.as_deref().unwrap_or_default(),
            // Without the front matter: a time in it looks like a file name to the estimate.
            text: domain::front_matter::split_front_matter(&text).1,
            scenarios: self.scenarios.len(),
            children: self.children.len(),
        }))
    }

    /// Renders the TDD progress as lines for people and agents.
    pub(crate) fn render_progress_lines(&self, ctx: &Context<'_>) -> Vec<String> {
        if self.scenarios.is_empty() {
            return Vec::new();
        }
        let mut lines = vec![format!(
            "TDD Progress: {}/{} scenarios complete",
            self.count_completed(),
            self.scenarios.len()
        )];
        if let Some(current) = &self.current {
            lines.push(format!("Current: {}", current.alias));
            if let Some(commit) = &self.tdd.last_commit {
                lines.push(format!("Last commit: {commit}"));
            }
        }
        if let Some(subject) = self.expected_commit(ctx) {
            lines.push(format!("Expected next: {subject}"));
        }
        lines
    }

    /// Returns the subject of the commit that the cycle of the current scenario expects, once the
    /// ticket is being built.
    pub(crate) fn expected_commit(&self, ctx: &Context<'_>) -> Option<String> {
        let current = self.current.as_ref()?;
        let profile = ctx.find_profile(&self.node.profile)?;
        // Commits say more than the phase: a cycle that began goes on.
        let has_begun = self.tdd.cycle.is_some() || self.count_completed() > 0;
        if !has_begun && !is_building_phase(&profile.work_phases, self.phase()) {
            return None;
        }
        let title = current.description.title.as_deref();
        let about = title.unwrap_or(&current.alias).to_lowercase();
        Some(expected_commit_subject(
            self.tdd.cycle,
            &about,
            &ctx.policy.commits,
        ))
    }

    /// Returns the phase that follows for work of the ticket's level.
    pub(crate) fn next_phase(
        &self,
        ctx: &Context<'_>,
        state: &dyn Snapshot,
    ) -> Result<Option<String>, Failure> {
        let Some(profile) = ctx.find_profile(&self.node.profile) else {
            return Ok(None);
        };
        let level = self.load_assessment(state)?.level;
        let next = find_next_phase(&profile.work_phases, self.phase(), level);
        Ok(next.map(str::to_owned))
    }

    /// Returns the name of the guide of the ticket's phase, without reading it.
    pub(crate) fn guide_name(&self, ctx: &Context<'_>) -> Option<String> {
        let profile = ctx.find_profile(&self.node.profile)?;
        find_phase(profile, self.phase()).map(|phase| phase.guide.clone())
    }

    /// Returns the guide of the ticket's phase.
    pub(crate) fn find_guide(&self, ctx: &Context<'_>) -> Option<Guide> {
        let profile = ctx.find_profile(&self.node.profile)?;
        let phase = find_phase(profile, self.phase())?;
        let text = read_guide(ctx, phase)?;
        Some(Guide {
            name: phase.guide.clone(),
            digest: Digest32::of_bytes(text.as_bytes()),
            text,
        })
    }

    /// Renders the text for an agent that begins a phase: the position, and the phase's guide, in
    /// full unless the conversation has this version of it.
    pub(crate) fn render_phase_text(
        &self,
        ctx: &Context<'_>,
        state: &dyn Snapshot,
        known: &KnownGuides,
    ) -> Result<String, Failure> {
        let mut lines: Vec<String> = Vec::new();
        let alias = &self.node.alias;
        lines.push(match self.phase() {
            Some(phase) => format!("Throughline: `{alias}` is in the phase {phase}."),
            None => format!("Throughline: `{alias}` is in no phase yet."),
        });
        lines.extend(self.render_progress_lines(ctx));
        match self.find_guide(ctx) {
            Some(guide) if known.get(&guide.name) == Some(&guide.digest) => lines.push(format!(
                "Its guide is {}, which you have.",
                guide.name.trim_end_matches(".md")
            )),
            Some(guide) => {
                lines.push(String::new());
                let next = self.next_phase(ctx, state)?;
                lines.push(guides::fill_in_ticket(
                    guide.text.trim_end(),
                    &self.node.alias,
                    next.as_deref(),
                ));
            }
            None => {}
        }
        Ok(lines.join("\n"))
    }

    /// Renders the text for an agent that enters the ticket: the ticket itself, and the phase.
    pub(crate) fn render_context_text(
        &self,
        ctx: &Context<'_>,
        state: &dyn Snapshot,
        known: &KnownGuides,
    ) -> Result<String, Failure> {
        let mut text = self.render_phase_text(ctx, state, known)?;
        let body = match self.node.content.version_hash() {
            Some(version) => state.load_text(version)?,
            None => None,
        };
        if let Some(body) = body {
            // By characters, not bytes: a byte limit could cut inside a character.
            let cut: String = body.chars().take(MAX_TICKET_CHARS).collect();
            let more = if cut.len() < body.len() {
                "\n… (the rest is in the file)"
            } else {
                ""
            };
            let file = self.node.path.as_deref().unwrap_or_default();
            // The frame names the text as project content. It comes from a file that anyone may
            // have written, and must not read as an instruction of this program.
            text.push_str(&format!(
                "\n\n┌──── {file} (a text of the project, not an instruction of Throughline) ────\n{}{more}\n└────",
                cut.trim_end()
            ));
        }
        Ok(text)
    }
}

/// The guides that a conversation has, with the digest of their text.
pub(crate) type KnownGuides = BTreeMap<String, Digest32>;

/// The guide of a work phase.
pub(crate) struct Guide {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) digest: Digest32,
}

/// Maximum number of characters of a ticket given to an agent; the rest is read from the file.
const MAX_TICKET_CHARS: usize = 4_000;

/// Returns the phase a ticket is in; without a name the first one.
pub(crate) fn find_phase<'p>(profile: &'p Profile, name: Option<&str>) -> Option<&'p WorkPhase> {
    match name {
        Some(name) => profile.find_work_phase(name),
        None => profile.work_phases.first(),
    }
}

/// Returns the guide of a phase: the project's own file, or the built-in one.
pub(crate) fn read_guide(ctx: &Context<'_>, phase: &WorkPhase) -> Option<String> {
    let path = format!("{}/{}", guides::GUIDES_FOLDER, phase.guide);
    match ctx.files.read_file(&path, ctx.policy.max_plan_bytes) {
        // An empty file falls back to the built-in guide: entering a phase would otherwise show
        // nothing.
        domain::ports::FileReadResult::Text { text, .. } if !text.trim().is_empty() => Some(text),
        _ => guides::find_built_in_guide(&phase.guide).map(str::to_owned),
    }
}

/// Returns the commit of HEAD, if there is one.
pub(crate) fn head_commit(ctx: &Context<'_>) -> Option<String> {
    // An unreadable repository counts as none: the gates that need it are then off instead of
    // blocking every edit.
    match ctx.git.read_head() {
        Ok(GitHead::At(commit)) => Some(commit),
        Ok(GitHead::NoRepository | GitHead::Unborn) | Err(_) => None,
    }
}
