//! Trust: which policy holds for this user in this project, and what of it waits for a person.
//!
//! `config.toml` can be edited by any agent, so it is not what decides: the policy pinned for the store in the user's
//! directory is, and the one recorded in the state. The file can only tighten them. On a team server the server's recorded
//! policy decides, and in a shared database the one recorded there.

use application::record_policy::{PolicyOrigin, record_policy, recorded_policy};
use application::{Context, Failure, FailureKind};
use domain::ids::{Principal, StoreId};
use domain::operation::Channel;
use domain::policy::{ApprovalPolicy, Policy};
use domain::ports::{History, Store};
use domain::settings::Storage;
use domain::trust_policy::{PolicyChange, TrustPolicy};
use store::{DiskFiles, SystemClock};

use crate::caller::calling_host;
use crate::settings;
use crate::wiring::Project;

/// The policy in force, as found with an open store.
#[derive(Clone, Debug)]
pub(crate) struct Trusted {
    /// What decides: the policy in force, made stricter by the environment where that is.
    pub(crate) policy: Policy,
    /// Whose approvals make a status.
    pub(crate) judged_by: ApprovalPolicy,
    pub(crate) in_force: TrustPolicy,
    /// Looser values in `config.toml` that have no effect.
    pub(crate) waiting: Vec<PolicyChange>,
    /// Who says so.
    pub(crate) authority: Authority,
}

/// Where the policy in force comes from, besides `config.toml`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Authority {
    /// Pinned in the user's directory.
    Pin,
    /// Recorded in the shared database.
    Database,
    /// Recorded on the team server.
    Server,
}

/// Returns one line about looser values that wait, with the next step; `None` when there are none.
pub(crate) fn waiting_notice(waiting: &[PolicyChange]) -> Option<String> {
    if waiting.is_empty() {
        return None;
    }
    let changes: Vec<String> = waiting.iter().map(ToString::to_string).collect();
    Some(format!(
        "config.toml asks for a looser policy, which has no effect until a person accepts it ({}); next: tl policy accept, in \
         your own terminal",
        changes.join(", ")
    ))
}

impl Project {
    /// Returns what `config.toml` says about trust.
    pub(crate) fn declared(&self) -> TrustPolicy {
        self.settings
            .declared
            .as_deref()
            .cloned()
            .unwrap_or_else(|| TrustPolicy::of(&self.settings.policy))
    }

    /// Makes the settings as strict as the pins of this directory's store, before that is opened.
    pub(crate) fn tightened_by_pins(mut self) -> Self {
        // On a server or in a shared database other rules decide, and they are read there.
        if !matches!(self.settings.storage, Storage::Sqlite | Storage::Json) {
            return self;
        }
        // The journal names its store. Where it is gone, every store this user had here counts.
        let stores = match store::journal_store(&self.layout) {
            Some(store) => vec![store],
            None => self.known.stores_at(&self.root),
        };
        for store in stores {
            if let Some(pinned) = self
                .pinned(&store)
                .filter(|pinned| pinned.approval.only_people())
            {
                pinned.tighten(&mut self.settings.policy);
            }
        }
        self
    }

    /// Returns the policy pinned for a store. One that cannot be read counts as the strictest there is.
    fn pinned(&self, store: &StoreId) -> Option<TrustPolicy> {
        self.pins.pinned(store).unwrap_or_else(|_| {
            Some(TrustPolicy::of(&Policy {
                approval: ApprovalPolicy::Human,
                ..Policy::default()
            }))
        })
    }

    /// Finds the policy in force, and records and pins it where it became another.
    pub(crate) fn trusted(&self, store: &dyn Store) -> Result<Trusted, Failure> {
        let (id, recorded) = {
            // Asking a team server here would make what the use case then writes older by that much, and so lose to others
            // more often. An approval is decided by what the server says then in any case.
            let state = store.read_known()?;
            (state.store_id()?, recorded_policy(&*state)?)
        };
        let declared = self.declared();
        let storage = self.settings.storage;
        let pinned = if storage == Storage::Remote {
            None
        } else {
            self.pinned(&id)
        };
        let (base, authority) = match storage {
            Storage::Remote => (recorded.clone(), Authority::Server),
            Storage::Postgres => (
                recorded.clone().or_else(|| pinned.clone()),
                Authority::Database,
            ),
            Storage::Sqlite | Storage::Json => {
                let known = pinned
                    .clone()
                    .or_else(|| self.inherited(&id, store.history()));
                let base = match (known, &recorded) {
                    (Some(known), Some(recorded)) => Some(known.tightened_by(recorded)),
                    (known, recorded) => known.or_else(|| recorded.clone()),
                };
                (base, Authority::Pin)
            }
        };
        let in_force = base.map_or_else(|| declared.clone(), |base| base.tightened_by(&declared));
        let mut policy = self.settings.policy.clone();
        if in_force.approval.only_people() {
            in_force.tighten(&mut policy);
        }
        // What a laptop's file says has no effect on the server, and nobody there can accept it.
        let waits = in_force.approval.only_people() && authority != Authority::Server;
        let trusted = Trusted {
            policy,
            // A replica's statuses are the server's: it judges by what is recorded, whatever this file says.
            judged_by: if authority == Authority::Server {
                ApprovalPolicy::Anyone
            } else {
                in_force.approval
            },
            waiting: if waits {
                in_force.changes_to(&declared)
            } else {
                Vec::new()
            },
            in_force,
            authority,
        };
        if authority == Authority::Server {
            return Ok(trusted);
        }
        self.keep_policy(store, &id, pinned.as_ref(), recorded.as_ref(), &trusted)?;
        Ok(trusted)
    }

    /// Returns the policy of this user's other states in the same directory, when this one is seen there for the first time: a
    /// state in the place of a protected one inherits its policy. Else `rm -r .throughline; tl init`, or a state copied from
    /// elsewhere, would be a way to loosen it.
    fn inherited(&self, id: &StoreId, history: History) -> Option<TrustPolicy> {
        if history != History::FirstSeen {
            return None;
        }
        let others = self
            .known
            .stores_at(&self.root)
            .into_iter()
            .filter(|other| other != id);
        let human = others
            .filter_map(|other| self.pinned(&other))
            .filter(|pin| pin.approval.only_people());
        human.reduce(|one, other| one.strictest(&other))
    }

    /// Records the policy in the state, then pins it: what is pinned was recorded, whenever a process ends.
    fn keep_policy(
        &self,
        store: &dyn Store,
        id: &StoreId,
        pinned: Option<&TrustPolicy>,
        recorded: Option<&TrustPolicy>,
        trusted: &Trusted,
    ) -> Result<(), Failure> {
        let in_force = &trusted.in_force;
        let differs = match recorded {
            Some(recorded) => recorded != in_force,
            None => in_force.approval.only_people(),
        };
        if differs {
            let recorded =
                self.record_in_state(store, trusted, PolicyOrigin::File, settings::actor());
            match recorded {
                Ok(()) => {}
                // What cannot be written can still be read, and is decided by the stricter policy in any case.
                Err(failure) if failure.damage.is_none() && !failure.overtaken => {
                    self.log(&format!(
                        "the policy could not be recorded: {}",
                        failure.message
                    ));
                    return Ok(());
                }
                Err(failure) => return Err(failure),
            }
        }
        // Without a protected policy there is nothing to pin, unless one was pinned before.
        if pinned != Some(in_force)
            && (pinned.is_some() || in_force.approval.only_people())
            && let Err(error) = self.pins.pin(id, in_force)
        {
            self.log(&format!(
                "the policy could not be pinned in {}: {error}",
                self.pins.folder().display()
            ));
        }
        Ok(())
    }

    fn record_in_state(
        &self,
        store: &dyn Store,
        trusted: &Trusted,
        origin: PolicyOrigin,
        actor: Principal,
    ) -> Result<(), Failure> {
        let files = DiskFiles::open(&self.root).map_err(|error| {
            Failure::new(
                FailureKind::Unavailable,
                format!("cannot open `{}`: {error}", self.root.display()),
            )
        })?;
        let clock = SystemClock;
        let ctx = Context::new(
            store,
            &files,
            &clock,
            &self.profiles,
            &trusted.policy,
            actor,
            Channel::Cli,
        )
        .judged_by(trusted.judged_by);
        record_policy(&ctx, &trusted.in_force, origin).map(drop)
    }

    /// Makes what `config.toml` says the policy in force: a person's decision, which the caller has made sure of.
    pub(crate) fn accept_policy(&self, store: &dyn Store) -> Result<(), Failure> {
        let id = store.read()?.store_id()?;
        let in_force = self.declared();
        let accepted = Trusted {
            policy: self.settings.policy.clone(),
            judged_by: in_force.approval,
            in_force,
            waiting: Vec::new(),
            authority: Authority::Pin,
        };
        // The pin first: what is recorded is still the stricter policy, so an interrupted acceptance accepted nothing.
        self.pins.pin(&id, &accepted.in_force).map_err(|error| {
            let folder = self.pins.folder().display();
            Failure::new(
                FailureKind::Unavailable,
                format!("cannot write in `{folder}`: {error}"),
            )
        })?;
        self.record_in_state(store, &accepted, PolicyOrigin::Accepted, settings::actor())
    }

    /// Says why it is not a person who runs this command; `None` when it is one.
    pub(crate) fn why_no_person(&self) -> Option<String> {
        match calling_host(self) {
            Some(host) => Some(format!("{host} runs this command")),
            None if settings::at_terminal() => None,
            None => Some("there is no terminal here".to_owned()),
        }
    }

    /// Refuses what would let an agent decide for a person, where only people approve.
    pub(crate) fn refuse_agents(&self, what: &str, steps: &[&str]) -> Result<(), Failure> {
        let Some(why) = self
            .settings
            .policy
            .approval
            .only_people()
            .then(|| self.why_no_person())
            .flatten()
        else {
            return Ok(());
        };
        let failure = Failure::new(
            FailureKind::Refused,
            format!(
                "{what} is a person's act where only people approve (policy.approval is `human`), and {why}"
            ),
        );
        Err(steps
            .iter()
            .fold(failure, |failure, step| failure.step(*step)))
    }
}
