//! Coordination in memory, shared by several worlds as by the worktrees of a repository.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use domain::model_lease::{HeldLease, LeaseChange, ModelWork};
use domain::ports::{
    ClaimChange, Coordination, HeldClaim, LiveSession, SessionActivity, StoreFault, Worktree,
};
use domain::time::Timestamp;

/// How the database behaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum DatabaseState {
    #[default]
    Usable,
    ReadOnly,
    Locked,
}

/// The coordination as one worktree sees it.
pub(crate) struct FakeCoordination<'r> {
    pub(crate) repository: &'r FakeRepository,
    pub(crate) folder: &'static str,
}

/// What the worktrees share; sessions by name and folder.
#[derive(Default)]
pub(crate) struct FakeRepository {
    pub(crate) state: Cell<DatabaseState>,
    claims: RefCell<Vec<HeldClaim>>,
    token: Cell<u64>,
    sessions: RefCell<BTreeMap<(String, String), LiveSession>>,
    leases: RefCell<BTreeMap<String, HeldLease>>,
    ids: RefCell<BTreeMap<(String, String), String>>,
}

impl FakeCoordination<'_> {
    fn worktree(&self, folder: &str) -> Worktree {
        Worktree {
            folder: folder.to_owned(),
            branch: Some(format!("branch-of{}", folder.replace('/', "-"))),
            is_here: folder == self.folder,
        }
    }

    fn check_writable(&self) -> Result<(), StoreFault> {
        match self.repository.state.get() {
            DatabaseState::Usable => Ok(()),
            DatabaseState::ReadOnly => Err(StoreFault::ReadOnly {
                path: "claims.json".into(),
            }),
            DatabaseState::Locked => Err(StoreFault::Locked { holder: None }),
        }
    }
}

impl Coordination for FakeCoordination<'_> {
    fn is_shared(&self) -> bool {
        true
    }

    fn list_claims(&self) -> Result<Vec<HeldClaim>, StoreFault> {
        let heard = |held: &HeldClaim| {
            let key = (held.claim.session.clone(), held.worktree.folder.clone());
            self.repository
                .sessions
                .borrow()
                .get(&key)
                .map(|one| one.heard)
        };
        let claims = self.repository.claims.borrow();
        Ok(claims
            .iter()
            .map(|held| HeldClaim {
                heard: heard(held),
                worktree: self.worktree(&held.worktree.folder),
                ..held.clone()
            })
            .collect())
    }

    fn change_claims(
        &self,
        decide: &mut dyn FnMut(&[HeldClaim], u64) -> ClaimChange,
    ) -> Result<(), StoreFault> {
        self.check_writable()?;
        let held = self.list_claims()?;
        match decide(&held, self.repository.token.get() + 1) {
            ClaimChange::Keep => {}
            ClaimChange::Remove(node) => {
                self.repository
                    .claims
                    .borrow_mut()
                    .retain(|held| held.node != node);
            }
            ClaimChange::Rename { from, to, .. } => {
                let mut claims = self.repository.claims.borrow_mut();
                let renamed = claims.iter_mut().filter(|held| held.node == from);
                renamed.for_each(|held| held.node = to.clone());
            }
            ClaimChange::Put(node, claim) => {
                self.repository
                    .token
                    .set(self.repository.token.get().max(claim.token));
                self.repository
                    .claims
                    .borrow_mut()
                    .retain(|held| held.node != node);
                self.repository.claims.borrow_mut().push(HeldClaim {
                    node,
                    claim,
                    worktree: self.worktree(self.folder),
                    heard: None,
                });
            }
        }
        Ok(())
    }

    fn change_lease(
        &self,
        work: &ModelWork,
        decide: &mut dyn FnMut(Option<&HeldLease>) -> LeaseChange,
    ) -> Result<(), StoreFault> {
        self.check_writable()?;
        let mut leases = self.repository.leases.borrow_mut();
        let key = work.lease_key();
        let held = leases.get(&key).map(|held| HeldLease {
            worktree: self.worktree(&held.worktree.folder),
            lease: held.lease.clone(),
        });
        match decide(held.as_ref()) {
            LeaseChange::Keep => {}
            LeaseChange::Remove => drop(leases.remove(&key)),
            LeaseChange::Put(lease) => {
                let worktree = self.worktree(self.folder);
                leases.insert(key, HeldLease { lease, worktree });
            }
        }
        Ok(())
    }

    fn list_sessions(&self, since: Timestamp) -> Result<Vec<LiveSession>, StoreFault> {
        let sessions = self.repository.sessions.borrow();
        Ok(sessions
            .values()
            .filter(|one| one.heard >= since)
            .map(|one| LiveSession {
                worktree: self.worktree(&one.worktree.folder),
                ..one.clone()
            })
            .collect())
    }

    fn record_activity(&self, activity: &SessionActivity<'_>) -> Result<(), StoreFault> {
        self.check_writable()?;
        let mut sessions = self.repository.sessions.borrow_mut();
        let one = sessions
            .entry((activity.session.to_owned(), self.folder.to_owned()))
            .or_insert_with(|| LiveSession {
                session: activity.session.to_owned(),
                worktree: self.worktree(self.folder),
                focus: None,
                touched: Vec::new(),
                heard: activity.at,
            });
        one.heard = activity.at;
        one.focus = activity.focus.cloned();
        one.touched.extend_from_slice(activity.touched);
        Ok(())
    }

    fn end_session(&self, session: &str) -> Result<(), StoreFault> {
        let key = (session.to_owned(), self.folder.to_owned());
        self.repository.sessions.borrow_mut().remove(&key);
        Ok(())
    }

    fn reserve_id(
        &self,
        scope: &str,
        candidate: &str,
        request: &str,
        _now: Timestamp,
    ) -> Result<bool, StoreFault> {
        self.check_writable()?;
        let mut ids = self.repository.ids.borrow_mut();
        let holder = ids
            .entry((scope.to_owned(), candidate.to_owned()))
            .or_insert_with(|| format!("{}/{request}", self.folder));
        Ok(*holder == format!("{}/{request}", self.folder))
    }
}
