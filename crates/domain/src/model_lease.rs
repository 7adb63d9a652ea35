//! Model leases: the exclusive right of one process to ask the model about a tick or a scene, so that no
//! two processes pay for the same answer.
//!
//! Unlike a claim, a lease belongs to a process and not to a session, is not in the history, and ends
//! with its process. Only a holder whose process cannot be checked keeps it until its time is over.

use serde::{Deserialize, Serialize};

use crate::calling_session::ProcessIdentity;
use crate::ports::{NodeKey, Worktree};
use crate::time::Timestamp;

/// How long a lease lasts whose process cannot be checked. It is renewed before every call, and a slow
/// local model takes many minutes for a scene.
pub const LEASE_MINUTES: i64 = 60;

/// Age from which a lease is renewed: a write for every call would be a sync each.
const RENEW_AFTER_MS: i64 = 60_000;

/// What the model is asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelWork {
    Tick(u64),
    Scene(NodeKey),
}

/// The lease of one process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelLease {
    pub session: String,
    /// `None` where processes cannot be identified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcessIdentity>,
    pub since: Timestamp,
    /// When it ends, if its process cannot be checked.
    pub until: Timestamp,
}

/// A lease, and the working tree of its holder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldLease {
    pub lease: ModelLease,
    pub worktree: Worktree,
}

/// What is known of a holder's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HolderState {
    Running,
    Gone,
    /// It cannot be checked: another machine, or one that does not identify processes.
    Unknown,
}

/// What becomes of a lease, decided inside the write transaction that read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaseChange {
    Keep,
    Put(ModelLease),
    Remove,
}

/// Another process asks the model about the same work.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.describe())]
pub struct LeaseRefused {
    pub work: ModelWork,
    pub held: Box<HeldLease>,
    pub holder: HolderState,
}

/// A process asks for a lease.
#[derive(Clone, Debug)]
pub struct LeaseRequest<'a> {
    pub work: &'a ModelWork,
    pub session: &'a str,
    pub process: Option<ProcessIdentity>,
    pub now: Timestamp,
}

impl ModelWork {
    /// Returns the key under which its lease is kept.
    #[must_use]
    pub fn lease_key(&self) -> String {
        match self {
            Self::Tick(tick) => format!("tick/{tick}"),
            Self::Scene(node) => format!("scene/{node}"),
        }
    }
}

impl ModelLease {
    /// Whether two states of a lease are the same one, renewed or not.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.session == other.session && self.process == other.process && self.since == other.since
    }

    /// Whether it is time to renew it.
    #[must_use]
    pub fn needs_renewal(&self, now: Timestamp) -> bool {
        lease_end(now).as_millis() - self.until.as_millis() >= RENEW_AFTER_MS
    }

    fn is_in_force(&self, holder: HolderState, now: Timestamp) -> bool {
        match holder {
            HolderState::Running => true,
            HolderState::Gone => false,
            HolderState::Unknown => now < self.until,
        }
    }
}

impl LeaseRefused {
    fn describe(&self) -> String {
        let lease = &self.held.lease;
        let work = match &self.work {
            ModelWork::Tick(tick) => format!("tick {tick} is being planned"),
            ModelWork::Scene(node) => format!("`{}` is being written", node.path),
        };
        let process = lease.process.as_ref();
        let details: Vec<String> = process
            .map(|process| format!("process {}", process.pid))
            .into_iter()
            .chain(self.held.worktree.describe_place())
            .collect();
        let session = match lease.session.is_empty() {
            true => "another session",
            false => &lease.session,
        };
        let details = match details.is_empty() {
            true => String::new(),
            false => format!(" ({})", details.join(", ")),
        };
        let since = lease.since.format_local_minute();
        format!("{work} by {session}{details} since {since}")
    }
}

fn lease_end(now: Timestamp) -> Timestamp {
    Timestamp::from_millis(now.as_millis().saturating_add(LEASE_MINUTES * 60_000))
}

/// Decides whether a process may ask the model; `held` is the present lease with the state of its holder.
///
/// # Errors
/// When another process holds it.
pub fn decide_lease(
    held: Option<(&HeldLease, HolderState)>,
    request: &LeaseRequest<'_>,
) -> Result<ModelLease, LeaseRefused> {
    if let Some((held, holder)) = held
        && held.lease.is_in_force(holder, request.now)
    {
        return Err(LeaseRefused {
            work: request.work.clone(),
            held: Box::new(held.clone()),
            holder,
        });
    }
    Ok(ModelLease {
        session: request.session.to_owned(),
        process: request.process.clone(),
        since: request.now,
        until: lease_end(request.now),
    })
}

/// Decides whether a lease is renewed: as long as nobody else took it, also after its end.
///
/// # Errors
/// When another process has taken it meanwhile.
pub fn decide_renewal(
    held: Option<(&HeldLease, HolderState)>,
    own: &ModelLease,
    request: &LeaseRequest<'_>,
) -> Result<ModelLease, LeaseRefused> {
    let others = held.filter(|(held, _)| !held.lease.is_same(own));
    let renewed = decide_lease(others, request)?;
    Ok(ModelLease {
        since: own.since,
        ..renewed
    })
}

/// Decides what the end of a process's work does to the lease: only its own ends.
#[must_use]
pub fn decide_lease_end(held: Option<&HeldLease>, own: &ModelLease) -> LeaseChange {
    match held {
        Some(held) if held.lease.is_same(own) => LeaseChange::Remove,
        _ => LeaseChange::Keep,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{
        HeldLease, HolderState, LEASE_MINUTES, LeaseChange, LeaseRequest, ModelLease, ModelWork,
        decide_lease, decide_lease_end, decide_renewal,
    };
    use crate::calling_session::ProcessIdentity;
    use crate::ports::{NodeKey, Worktree};
    use crate::time::Timestamp;

    const MINUTE: i64 = 60_000;

    fn process(pid: u32) -> ProcessIdentity {
        ProcessIdentity {
            boot: "boot".to_owned(),
            pid,
            started: 1,
        }
    }

    fn request(work: &ModelWork, pid: u32, now: i64) -> LeaseRequest<'_> {
        LeaseRequest {
            work,
            session: "shell",
            process: Some(process(pid)),
            now: Timestamp::from_millis(now),
        }
    }

    fn held(lease: ModelLease) -> HeldLease {
        HeldLease {
            lease,
            worktree: Worktree::default(),
        }
    }

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Take,
        Renew,
        End,
        Kill,
    }

    proptest! {
        /// Law: at no time two running processes hold the lease of one piece of work.
        #[test]
        fn no_two_running_processes_hold_one_lease(
            steps in prop::collection::vec(
                (
                    0..3_u32,
                    prop::sample::select(vec![Step::Take, Step::Renew, Step::End, Step::Kill]),
                    0..90_i64,
                    any::<bool>(),
                ),
                1..60,
            )
        ) {
            let work = ModelWork::Tick(1);
            let mut kept: Option<HeldLease> = None;
            let mut own: [Option<ModelLease>; 3] = [None, None, None];
            let mut is_running = [true; 3];
            let mut now = 0;
            for (pid, step, minutes, is_checkable) in steps {
                now += minutes * MINUTE;
                let at = pid as usize;
                let holder = |one: &HeldLease| {
                    let pid = one.lease.process.as_ref().map_or(0, |it| it.pid) as usize;
                    match (is_checkable, is_running[pid]) {
                        (true, true) => HolderState::Running,
                        (true, false) => HolderState::Gone,
                        (false, _) => HolderState::Unknown,
                    }
                };
                let known = kept.as_ref().map(|one| (one, holder(one)));
                let asked = request(&work, pid, now);
                match (step, own[at].clone()) {
                    (Step::Kill, _) => {
                        is_running[at] = false;
                        own[at] = None;
                    }
                    _ if !is_running[at] => is_running[at] = true,
                    (Step::Take, None) => {
                        if let Ok(lease) = decide_lease(known, &asked) {
                            own[at] = Some(lease.clone());
                            kept = Some(held(lease));
                        }
                    }
                    (Step::Renew, Some(lease)) => match decide_renewal(known, &lease, &asked) {
                        Ok(lease) => {
                            own[at] = Some(lease.clone());
                            kept = Some(held(lease));
                        }
                        Err(_) => own[at] = None,
                    },
                    (Step::End, Some(lease)) => {
                        if decide_lease_end(kept.as_ref(), &lease) == LeaseChange::Remove {
                            kept = None;
                        }
                        own[at] = None;
                    }
                    _ => {}
                }
                // A holder that did not renew in time does not ask: it renews before each call, and is
                // refused then.
                let holders = own.iter().flatten().filter(|lease| {
                    kept.as_ref().is_some_and(|one| one.lease.is_same(lease))
                });
                prop_assert!(holders.count() <= 1);
            }
        }
    }

    #[test]
    fn a_lease_ends_with_its_process_or_with_its_time() {
        let work = ModelWork::Tick(7);
        let lease = held(decide_lease(None, &request(&work, 1, 0)).unwrap());
        let after = LEASE_MINUTES * MINUTE;
        for (holder, now, is_free) in [
            (HolderState::Running, 0, false),
            (HolderState::Running, after + 1, false),
            (HolderState::Gone, 0, true),
            (HolderState::Unknown, after - 1, false),
            (HolderState::Unknown, after, true),
        ] {
            let taken = decide_lease(Some((&lease, holder)), &request(&work, 2, now));
            assert_eq!(taken.is_ok(), is_free, "{holder:?} {now}");
        }
    }

    #[test]
    fn a_refusal_names_work_holder_place_and_time() {
        let scene = ModelWork::Scene(NodeKey {
            profile: "story".to_owned(),
            path: "act-1/chapter-01/scene-0101".to_owned(),
        });
        let mut lease = held(decide_lease(None, &request(&scene, 4711, 0)).unwrap());
        lease.worktree = Worktree {
            folder: "/there".to_owned(),
            branch: Some("draft".to_owned()),
            is_here: false,
        };
        let known = Some((&lease, HolderState::Running));
        let refused = decide_lease(known, &request(&scene, 2, MINUTE)).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "`act-1/chapter-01/scene-0101` is being written by shell (process 4711, /there, branch draft) since \
             1970-01-01 00:00"
        );
    }
}
