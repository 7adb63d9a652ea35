//! Model leases: taken before the model is asked about a tick or a scene, renewed before each call, and
//! ended with the work.
//!
//! In a git repository the coordination of its worktrees keeps them; elsewhere a note of the store does.
//! Nothing of them is in the history.

use domain::model_lease::{
    HeldLease, HolderState, LeaseChange, LeaseRefused, LeaseRequest, ModelLease, ModelWork,
    decide_lease, decide_lease_end, decide_renewal,
};
use domain::ports::{LEASE_NOTE_PREFIX, NodeKey, Snapshot, Transaction, Worktree};
use domain::record;
use domain::tick::TickState;
use domain::time::Timestamp;

use crate::claim_node::read_store_time;
use crate::context::Context;
use crate::coordination::change_coordination;
use crate::failure::Failure;
use crate::generation::material::find_scene;
use crate::submit::observe_submitted_plans;

/// A lease that this process holds.
#[derive(Clone, Debug)]
pub struct TakenLease {
    work: ModelWork,
    lease: ModelLease,
}

impl TakenLease {
    /// The tick it is about; `None` for a scene.
    #[must_use]
    pub fn tick(&self) -> Option<u64> {
        match self.work {
            ModelWork::Tick(tick) => Some(tick),
            ModelWork::Scene(_) => None,
        }
    }
}

/// Takes the lease on a tick: the given one, or the next.
///
/// # Errors
/// When another process holds it.
pub fn lease_tick(ctx: &Context<'_>, again: Option<u64>) -> Result<TakenLease, Failure> {
    let tick = match again {
        Some(tick) => tick,
        None => next_tick(&*ctx.store.begin_read()?)?,
    };
    take_lease(ctx, ModelWork::Tick(tick))
}

fn next_tick(state: &dyn Snapshot) -> Result<u64, Failure> {
    let position = record::read_record::<TickState>(state, TickState::KEY)?;
    Ok(position.unwrap_or_default().current_tick + 1)
}

/// Takes the lease on a scene.
///
/// # Errors
/// When there is no such scene, or another process holds it.
pub fn lease_scene(ctx: &Context<'_>, words: &[String]) -> Result<TakenLease, Failure> {
    take_lease(ctx, find_scene_work(ctx, words)?)
}

fn find_scene_work(ctx: &Context<'_>, words: &[String]) -> Result<ModelWork, Failure> {
    let (state, tree) = observe_submitted_plans(ctx)?;
    let node = find_scene(ctx, &*state, &tree, words)?;
    Ok(ModelWork::Scene(NodeKey {
        profile: node.profile.clone(),
        path: tree.alias_path(node),
    }))
}

/// Fails if a process holds the lease on the next tick. Takes none: a host whose own model answers says
/// neither that it goes on nor that it has stopped.
///
/// # Errors
/// When another process holds it.
pub fn refuse_leased_tick(ctx: &Context<'_>) -> Result<(), Failure> {
    let tick = next_tick(&*ctx.store.begin_read()?)?;
    refuse_leased(ctx, &ModelWork::Tick(tick))
}

/// As [`refuse_leased_tick`], for a scene.
///
/// # Errors
/// When there is no such scene, or another process holds its lease.
pub fn refuse_leased_scene(ctx: &Context<'_>, words: &[String]) -> Result<(), Failure> {
    refuse_leased(ctx, &find_scene_work(ctx, words)?)
}

fn refuse_leased(ctx: &Context<'_>, work: &ModelWork) -> Result<(), Failure> {
    let decided = change_lease(ctx, work, |held, request| {
        (LeaseChange::Keep, decide_lease(held, request))
    })?;
    decided.map(drop).map_err(|refused| lease_failure(&refused))
}

fn take_lease(ctx: &Context<'_>, work: ModelWork) -> Result<TakenLease, Failure> {
    let lease = change_lease(ctx, &work, |held, request| {
        let decided = decide_lease(held, request);
        let change = put_if_granted(&decided);
        (change, decided)
    })?;
    let lease = lease.map_err(|refused| lease_failure(&refused))?;
    Ok(TakenLease { work, lease })
}

/// Renews a lease, and returns it; one that was renewed less than a minute ago is left as it is.
///
/// # Errors
/// When another process has taken it meanwhile.
pub fn renew_lease(ctx: &Context<'_>, taken: &TakenLease) -> Result<TakenLease, Failure> {
    if !taken.lease.needs_renewal(ctx.clock.now()) {
        return Ok(taken.clone());
    }
    let renewed = change_lease(ctx, &taken.work, |held, request| {
        let decided = decide_renewal(held, &taken.lease, request);
        let change = put_if_granted(&decided);
        (change, decided)
    })?;
    let lease = renewed.map_err(|refused| lease_failure(&refused))?;
    Ok(TakenLease {
        work: taken.work.clone(),
        lease,
    })
}

/// Ends a lease.
///
/// # Errors
/// When the state cannot be written; the lease then ends with this process.
pub fn end_lease(ctx: &Context<'_>, taken: &TakenLease) -> Result<(), Failure> {
    change_lease(ctx, &taken.work, |held, _| {
        (
            decide_lease_end(held.map(|(held, _)| held), &taken.lease),
            (),
        )
    })
}

fn put_if_granted(decided: &Result<ModelLease, LeaseRefused>) -> LeaseChange {
    match decided {
        Ok(lease) => LeaseChange::Put(lease.clone()),
        Err(_) => LeaseChange::Keep,
    }
}

/// Decides about a lease where it is kept, in one write transaction.
fn change_lease<T>(
    ctx: &Context<'_>,
    work: &ModelWork,
    decide: impl Fn(Option<(&HeldLease, HolderState)>, &LeaseRequest<'_>) -> (LeaseChange, T),
) -> Result<T, Failure> {
    let request = |now: Timestamp| LeaseRequest {
        work,
        session: &ctx.session,
        process: ctx.processes.own_identity(),
        now,
    };
    let mut outcome = None;
    change_coordination(ctx, |coordination| {
        coordination.change_lease(work, &mut |held| {
            let known = held.map(|held| (held, judge_holder(ctx, &held.lease, true)));
            let (change, decided) = decide(known, &request(ctx.clock.now()));
            outcome = Some(decided);
            change
        })
    })?;
    if let Some(outcome) = outcome {
        return Ok(outcome);
    }
    let tx = ctx.store.begin_write()?;
    let has_one_machine = tx.store_time()?.is_none();
    let now = read_store_time(ctx, &*tx)?;
    let held = load_noted_lease(&*tx, work)?;
    let known = held
        .as_ref()
        .map(|held| (held, judge_holder(ctx, &held.lease, has_one_machine)));
    let (change, decided) = decide(known, &request(now));
    save_noted_lease(ctx, tx, work, &change)?;
    Ok(decided)
}

/// Returns what is known of the process that holds a lease.
fn judge_holder(ctx: &Context<'_>, lease: &ModelLease, has_one_machine: bool) -> HolderState {
    let (Some(process), Some(own)) = (&lease.process, ctx.processes.own_identity()) else {
        return HolderState::Unknown;
    };
    match process.boot == own.boot {
        true if ctx.processes.is_running(process) => HolderState::Running,
        true => HolderState::Gone,
        // Started before the machine was, unless it is another machine.
        false if has_one_machine => HolderState::Gone,
        false => HolderState::Unknown,
    }
}

fn note_key(work: &ModelWork) -> String {
    format!("{LEASE_NOTE_PREFIX}{}", work.lease_key())
}

fn load_noted_lease(state: &dyn Snapshot, work: &ModelWork) -> Result<Option<HeldLease>, Failure> {
    let text = state.load_note(&note_key(work))?;
    // An unreadable note counts as no lease: it would block the work for good.
    let lease = text.and_then(|text| serde_json::from_str(&text).ok());
    Ok(lease.map(|lease| HeldLease {
        lease,
        worktree: Worktree::default(),
    }))
}

fn save_noted_lease(
    ctx: &Context<'_>,
    mut tx: Box<dyn Transaction + '_>,
    work: &ModelWork,
    change: &LeaseChange,
) -> Result<(), Failure> {
    let body = match change {
        LeaseChange::Keep => return Ok(()),
        LeaseChange::Remove => None,
        LeaseChange::Put(lease) => serde_json::to_string(lease).ok(),
    };
    tx.save_note(&note_key(work), body.as_deref(), ctx.clock.now())?;
    Ok(tx.commit()?)
}

fn lease_failure(refused: &LeaseRefused) -> Failure {
    let failure = Failure::refused(refused.to_string());
    let failure = match &refused.work {
        ModelWork::Tick(_) => failure.with_step("tl story tick   # when it is done"),
        ModelWork::Scene(node) => failure
            .with_step(format!(
                "tl story generation status {}   # how far it is",
                node.path
            ))
            // Not `tl story write`: of a finished scene it would write another one, at full price.
            .with_step("tl story run   # when it is done"),
    };
    let process = refused.held.lease.process.as_ref();
    match (process, refused.holder) {
        (Some(process), HolderState::Running) => failure.with_step(format!(
            "kill {}   # only if it hangs; what it has recorded stays",
            process.pid
        )),
        _ => failure.with_step(format!(
            "wait: if it was interrupted, its lease ends at {}",
            refused.held.lease.until.format_local_minute()
        )),
    }
}
