//! Trust policy resolution: which policy is in force for this user, and which changes wait for a
//! person's acceptance.
//!
//! `config.toml` can be edited by any agent, so it cannot loosen anything: the policy pinned for
//! the store in the user's directory decides, together with the one recorded in the state. The file
//! can only tighten them. On a team server the server's recorded policy decides, and in a shared
//! database the one recorded there.

use std::path::Path;

use application::record_policy::{PolicyOrigin, load_recorded_policy, record_policy};
use application::{Context, Failure};
use domain::ids::{Principal, StoreId};
use domain::operation::Channel;
use domain::policy::{ApprovalPolicy, Policy};
use domain::ports::{HistoryState, Snapshot, Store, StoreFault};
use domain::settings::Storage;
use domain::trust_policy::{PolicyChange, ProfileRules, TrustPolicy};
use store::{KnownStores, PolicyPins, SystemClock};

use crate::caller::{acting_principal, find_calling_host};
use crate::settings;
use crate::wiring::{Project, open_project_files};

/// The policy in force, resolved with an open store.
#[derive(Clone, Debug)]
pub(crate) struct ResolvedPolicy {
    /// The effective policy: the one in force, tightened by the environment.
    pub(crate) policy: Policy,
    /// Whose approvals count for a status.
    pub(crate) judged_by: ApprovalPolicy,
    pub(crate) in_force: TrustPolicy,
    /// Looser values in `config.toml`, without effect until a person accepts them.
    pub(crate) waiting: Vec<PolicyChange>,
    /// Source of the policy in force.
    pub(crate) authority: PolicySource,
}

/// Where the policy in force comes from, besides `config.toml`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PolicySource {
    /// Pinned in the user's directory.
    Pin,
    /// Recorded in the shared database.
    Database,
    /// Recorded on the team server.
    Server,
}

/// The policy recorded in the state, with the store it belongs to.
#[derive(Debug)]
pub(crate) struct RecordedPolicy {
    id: StoreId,
    policy: Option<TrustPolicy>,
}

impl RecordedPolicy {
    /// Reads it from an open snapshot.
    pub(crate) fn read_from(state: &dyn Snapshot) -> Result<Self, StoreFault> {
        Ok(Self {
            id: state.store_id()?,
            policy: load_recorded_policy(state)?,
        })
    }
}

/// Renders the notice about looser values that wait for acceptance, with the next step.
pub(crate) fn pending_policy_notice(waiting: &[PolicyChange]) -> Option<String> {
    if waiting.is_empty() {
        return None;
    }
    let changes: Vec<String> = waiting.iter().map(ToString::to_string).collect();
    Some(format!(
        "the project's files contain a looser policy, which has no effect until a person accepts it ({}); next: tl policy accept, in \
         your own terminal",
        changes.join(", ")
    ))
}

impl Project {
    /// Returns the trust policy declared in `config.toml`.
    pub(crate) fn declared_policy(&self) -> TrustPolicy {
        let settings = self
            .settings
            .declared
            .as_deref()
            .cloned()
            .unwrap_or_else(|| TrustPolicy::from_policy(&self.settings.policy));
        TrustPolicy {
            profiles: self.declared_profiles.clone(),
            ..settings
        }
    }

    /// Takes the profiles as the files have them, and gives them the pinned rules they lack.
    pub(crate) fn with_tightened_profiles(mut self) -> Self {
        self.declared_profiles = self
            .profiles
            .iter()
            .map(|profile| (profile.name.clone(), ProfileRules::from_profile(profile)))
            .collect();
        for pinned in self.protecting_pins() {
            for profile in &mut self.profiles {
                if let Some(rules) = pinned.profiles.get(&profile.name) {
                    rules.tighten_profile(profile);
                }
            }
        }
        self
    }

    /// Tightens the settings to the pinned policy of this directory's store, before it is opened.
    pub(crate) fn tighten_by_pins(mut self) -> Self {
        for pinned in self.protecting_pins() {
            pinned.tighten_policy(&mut self.settings.policy);
        }
        self
    }

    /// Returns the policies pinned for this directory's store, where only people may approve: without
    /// `human` there is nothing that only a person may loosen, and the files decide.
    fn protecting_pins(&self) -> Vec<TrustPolicy> {
        // With a server or a shared database the policy recorded there decides.
        if !matches!(self.settings.storage, Storage::Sqlite | Storage::Json) {
            return Vec::new();
        }
        // The journal names its store. If it was deleted, the pins of all stores this user ever had
        // here apply: deleting a file must not loosen the policy.
        let stores = match store::journal_store_id(&self.layout) {
            Some(store) => vec![store],
            None => self.known.stores_at_root(&self.root),
        };
        stores
            .iter()
            .filter_map(|store| self.pinned_policy(store))
            .filter(|pinned| pinned.approval.requires_person())
            .collect()
    }

    /// Returns the policy pinned for a store. An unreadable pin counts as the strictest policy.
    fn pinned_policy(&self, store: &StoreId) -> Option<TrustPolicy> {
        self.pins.load_pin(store).unwrap_or_else(|_| {
            Some(TrustPolicy::from_policy(&Policy {
                approval: ApprovalPolicy::Human,
                ..Policy::default()
            }))
        })
    }

    /// Resolves the policy in force, and records and pins it if it changed.
    pub(crate) fn resolve_policy(&self, store: &dyn Store) -> Result<ResolvedPolicy, Failure> {
        // Of the local replica: a team server applies its own policy in any case.
        let recorded = RecordedPolicy::read_from(&*store.begin_read_cached()?)?;
        self.resolve_policy_from(store, &recorded)
    }

    /// Like [`Self::resolve_policy`], with what was read from the state before.
    pub(crate) fn resolve_policy_from(
        &self,
        store: &dyn Store,
        recorded: &RecordedPolicy,
    ) -> Result<ResolvedPolicy, Failure> {
        let RecordedPolicy {
            id,
            policy: recorded,
        } = recorded;
        let declared = self.declared_policy();
        let storage = self.settings.storage;
        let pinned = if storage == Storage::Remote {
            None
        } else {
            self.pinned_policy(id)
        };
        let (base, authority) = match storage {
            Storage::Remote => (recorded.clone(), PolicySource::Server),
            Storage::Postgres => (
                // The record is the whole team's; the pin only bridges a database
                // that has none yet.
                recorded.clone().or_else(|| pinned.clone()),
                PolicySource::Database,
            ),
            Storage::Sqlite | Storage::Json => {
                let known = pinned
                    .clone()
                    .or_else(|| self.inherited_policy(id, store.history_state()));
                let base = match (known, recorded) {
                    // Neither loosens the other: the pin holds against a replaced state, the record
                    // against a deleted pin.
                    (Some(known), Some(recorded)) => Some(known.tightened_by(recorded)),
                    (known, recorded) => known.or_else(|| recorded.clone()),
                };
                (base, PolicySource::Pin)
            }
        };
        let in_force = base.map_or_else(|| declared.clone(), |base| base.tightened_by(&declared));
        let mut policy = self.settings.policy.clone();
        if in_force.approval.requires_person() {
            in_force.tighten_policy(&mut policy);
        }
        // A replica's `config.toml` has no effect on the server, and cannot be accepted there.
        let waits = in_force.approval.requires_person() && authority != PolicySource::Server;
        let trusted = ResolvedPolicy {
            policy,
            // The server has already judged which approvals count; judging again by the local file
            // could contradict it.
            judged_by: if authority == PolicySource::Server {
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
        if authority == PolicySource::Server {
            return Ok(trusted);
        }
        self.record_and_pin_policy(store, id, pinned.as_ref(), recorded.as_ref(), &trusted)?;
        Ok(trusted)
    }

    /// Returns the policy of this user's other stores in the same directory, when this one is seen
    /// there for the first time: a state that replaces a protected one inherits its policy.
    /// Otherwise `rm -r .throughline; tl init`, or a state copied from elsewhere, would loosen it.
    fn inherited_policy(&self, id: &StoreId, history: HistoryState) -> Option<TrustPolicy> {
        if history != HistoryState::FirstSeen {
            return None;
        }
        let others = self
            .known
            .stores_at_root(&self.root)
            .into_iter()
            .filter(|other| other != id);
        let human = others
            .filter_map(|other| self.pinned_policy(&other))
            .filter(|pin| pin.approval.requires_person());
        // Which of the earlier states this one replaces is not known, so the
        // strictest of all holds.
        human.reduce(|one, other| one.stricter_of_each(&other))
    }

    /// Records the policy in the state, then pins it. In this order, so that after a crash a pinned
    /// policy is always a recorded one.
    fn record_and_pin_policy(
        &self,
        store: &dyn Store,
        id: &StoreId,
        pinned: Option<&TrustPolicy>,
        recorded: Option<&TrustPolicy>,
        trusted: &ResolvedPolicy,
    ) -> Result<(), Failure> {
        let in_force = &trusted.in_force;
        // The default policy is not recorded: projects that never asked for protection get no
        // operation in their history.
        let differs = match recorded {
            Some(recorded) => recorded.differs_from(in_force),
            None => in_force.approval.requires_person(),
        };
        if differs {
            let recorded =
                self.record_policy_in_state(store, trusted, PolicyOrigin::File, acting_principal());
            match recorded {
                Ok(()) => {}
                // A read-only state can still be read, and the stricter policy decides anyway.
                Err(failure) if !failure.needs_runner() => {
                    self.append_log_message(&format!(
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
            && (pinned.is_some() || in_force.approval.requires_person())
            && let Err(error) = self.pins.save_pin(id, in_force)
        {
            self.append_log_message(&format!(
                "the policy could not be pinned in {}: {error}",
                self.pins.folder().display()
            ));
        }
        Ok(())
    }

    fn record_policy_in_state(
        &self,
        store: &dyn Store,
        trusted: &ResolvedPolicy,
        origin: PolicyOrigin,
        actor: Principal,
    ) -> Result<(), Failure> {
        let files = open_project_files(&self.root)?;
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
        .with_judging_policy(trusted.judged_by);
        record_policy(&ctx, &trusted.in_force, origin).map(drop)
    }

    /// Puts the policy of `config.toml` in force. The caller must have checked that a person
    /// decides.
    pub(crate) fn accept_declared_policy(&self, store: &dyn Store) -> Result<(), Failure> {
        let id = store.begin_read()?.store_id()?;
        let in_force = self.declared_policy();
        let accepted = ResolvedPolicy {
            policy: self.settings.policy.clone(),
            judged_by: in_force.approval,
            in_force,
            waiting: Vec::new(),
            authority: PolicySource::Pin,
        };
        // The pin first: until the looser policy is recorded, the recorded one still tightens it,
        // so an interrupted acceptance has no effect.
        self.pins
            .save_pin(&id, &accepted.in_force)
            .map_err(|error| {
                let folder = self.pins.folder().display();
                Failure::unavailable(format!("cannot write in `{folder}`: {error}"))
            })?;
        self.record_policy_in_state(store, &accepted, PolicyOrigin::Accepted, acting_principal())
    }

    /// Returns why the caller does not count as a person; `None` if it does.
    pub(crate) fn reason_against_person(&self) -> Option<String> {
        match find_calling_host(self) {
            Some(host) => Some(format!("{host} runs this command")),
            None if settings::is_at_terminal() => None,
            None => Some("this is not a terminal".to_owned()),
        }
    }

    /// Refuses a person's decision to agents and scripts, if only people may approve.
    pub(crate) fn refuse_non_persons(&self, what: &str, steps: &[&str]) -> Result<(), Failure> {
        match self.is_for_people() {
            true => refuse_for(self.reason_against_person(), what, steps),
            false => Ok(()),
        }
    }

    /// Whether only people may approve here: by the file, by a pin, or by what the state records. The
    /// file alone would not do, because an agent that edits it could then do what the policy forbids.
    fn is_for_people(&self) -> bool {
        let pinned = self.clone().tighten_by_pins();
        pinned.settings.policy.approval.requires_person() || self.is_recorded_for_people()
    }

    /// Whether the state records that only people may approve; `false` if it cannot be opened.
    fn is_recorded_for_people(&self) -> bool {
        let recorded = || {
            let store = self
                .open_store_quietly(&self.store_engine_settings(), None)
                .ok()?;
            RecordedPolicy::read_from(&*store.begin_read_cached().ok()?)
                .ok()?
                .policy
        };
        recorded().is_some_and(|policy| policy.approval.requires_person())
    }
}

/// As [`Project::refuse_non_persons`], for a project whose settings cannot be loaded: the policies pinned
/// for its directory decide.
pub(crate) fn refuse_non_persons_at(
    root: &Path,
    what: &str,
    steps: &[&str],
) -> Result<(), Failure> {
    let user = settings::user_state_directory()?;
    let pins = PolicyPins::in_state_directory(&user);
    let is_for_people = KnownStores::in_state_directory(&user)
        .stores_at_root(root)
        .iter()
        // One that cannot be read counts as the strictest.
        .any(|store| match pins.load_pin(store) {
            Ok(pin) => pin.is_some_and(|pin| pin.approval.requires_person()),
            Err(_) => true,
        });
    if !is_for_people {
        return Ok(());
    }
    let why = match acting_principal() {
        Principal::Human(_) => None,
        Principal::Agent { host, .. } if host != "shell" => {
            Some(format!("{host} runs this command"))
        }
        _ => Some("this is not a terminal".to_owned()),
    };
    refuse_for(why, what, steps)
}

/// Builds the refusal of what only a person may do, for the reason why the caller is none.
fn refuse_for(why: Option<String>, what: &str, steps: &[&str]) -> Result<(), Failure> {
    let Some(why) = why else { return Ok(()) };
    let failure = Failure::refused(format!(
        "{what} needs a person where only people may approve (policy.approval is `human`), and {why}"
    ));
    Err(steps
        .iter()
        .fold(failure, |failure, step| failure.with_step(*step)))
}
