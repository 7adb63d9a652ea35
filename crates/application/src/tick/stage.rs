//! Executes the actions of a plan on a copy of the memory, with access to the store, the files and
//! the gates.

use domain::gates::{self, Doing, Parent, Step};
use domain::host_event::Effect;
use domain::memory::{EntryKind, Memory};
use domain::ports::{FileLook, Reading, Snapshot};
use domain::profile::place_of;
use domain::search::{Matching, Query};
use domain::tick::TickRecord;
use domain::tick::execute::{Executed, execute};
use domain::tick::tools::{Draft, DraftPlace, Stage, World};
use domain::tree::Tree;

use super::gather::{self, Surroundings};
use crate::claim_node;
use crate::context::Context;
use crate::handle_host_event::recorded;
use crate::plan_node::{PlanRequest, place};

/// Runs the actions on a copy of the memory. Returns the executed actions, the memory, and the
/// drafts to write.
pub(super) fn on_stage(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    tree: &Tree,
    around: &Surroundings,
    record: &TickRecord,
) -> (Vec<Executed>, Memory, Vec<Draft>) {
    let search = |kinds: &[EntryKind], query: &str, most: usize| {
        let words: Vec<&str> = kinds.iter().map(|kind| kind.word()).collect();
        let found = state.search(&words, &Query::read(query), Matching::AllElseAny, most);
        found
            .map(|keys| keys.into_iter().map(|key| key.key).collect())
            .map_err(|fault| fault.to_string())
    };
    let text = |path: &str| gather::plan_text(state, tree, path);
    let prose = |path: &str| gather::prose(ctx, tree, path);
    let placed =
        |level: &str, id: &str, under: Option<&str>| placed(ctx, state, tree, level, id, under);
    let allows = |file: &str, text: &str| allowed(ctx, state, file, text);
    // The domain's tools do no I/O; they get what they may read as closures.
    let world = World {
        nodes: around.nodes.clone(),
        search: &search,
        text: &text,
        prose: &prose,
        place: &placed,
        allows: &allows,
    };
    let mut stage = Stage {
        memory: around.memory.clone(),
        tick: record.tick,
        world: &world,
        drafts: Vec::new(),
    };
    // Actions that succeeded before an interruption are passed in and not run again.
    let executed = execute(&mut stage, &record.plan, record.executed.clone());
    (executed, stage.memory, stage.drafts)
}

fn placed(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    tree: &Tree,
    level: &str,
    id: &str,
    under: Option<&str>,
) -> Result<DraftPlace, String> {
    let request = PlanRequest {
        kind: level.to_owned(),
        id: id.to_owned(),
        under: under.map(str::to_owned),
    };
    let planned = place(ctx, state, tree, &request).map_err(|failure| failure.message)?;
    let file = planned
        .file
        .ok_or_else(|| format!("a {level} has no plan file"))?;
    let text = match ctx.files.read(&file, ctx.policy.max_plan_bytes) {
        Reading::Text { text, .. } => Some(text),
        Reading::Missing => None,
        // The action fails, not the tick's transaction: the planner can choose another place.
        Reading::Unreadable { why, .. } => return Err(format!("`{file}`: {why}")),
    };
    Ok(DraftPlace {
        node: planned.path,
        file,
        text,
    })
}

/// Evaluates the gates as for an agent's tool call. The loop counts as having read what it changes.
fn allowed(ctx: &Context<'_>, state: &dyn Snapshot, file: &str, text: &str) -> Result<(), String> {
    let place = place_of(ctx.profiles, file)
        .ok_or_else(|| format!("`{file}` is not the path of a plan"))?;
    let found = recorded(state, &place).map_err(|fault| fault.to_string())?;
    let above = found.node.as_ref().or(found.parent.as_ref());
    // A node that a session has claimed is not written by the loop either.
    let holder = above
        .map(|node| claim_node::holder(ctx, state, node))
        .transpose()
        .map_err(|failure| failure.message)?;
    let holder = holder.flatten().map(|(_, claim)| claim.session);
    let size = match ctx.files.look(file) {
        FileLook::Present(stamp) => Some(stamp.size),
        FileLook::Missing => None,
        FileLook::Refused(why) | FileLook::Unavailable(why) => {
            return Err(format!("`{file}`: {why}"));
        }
    };
    let step = Step {
        doing: Doing::Changing(&Effect::Write {
            text: Some(text.to_owned()),
        }),
        place: &place,
        file,
        node: found.node.as_ref(),
        parent: match &found.parent {
            Some(parent) => Parent::Known(parent),
            None if place.aliases.len() > 1 => Parent::Missing,
            None => Parent::None,
        },
        size,
        read: found.node.as_ref().and_then(|node| node.content.version()),
        session_is_known: true,
        claimed_by: holder.as_deref(),
        // A person's override is for the agent they talk to, not for the loop.
        overridden: &[],
    };
    match gates::evaluate(&[step], ctx.policy).blocks.first() {
        Some(fired) => Err(format!("{} gate: {}", fired.gate, fired.objection.why)),
        None => Ok(()),
    }
}
