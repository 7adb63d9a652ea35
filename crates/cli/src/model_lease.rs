//! Holds a model lease for as long as a command asks the model about one tick or scene.

use application::Failure;
use application::model_lease::{TakenLease, end_lease, lease_scene, lease_tick, renew_lease};

use crate::model::Planner;
use crate::wiring::App;

/// A lease that ends when it goes out of scope. Empty without a model: rules cost nothing, and the store
/// settles what two processes do at once.
pub(crate) struct LeaseGuard<'a> {
    app: &'a App,
    taken: Option<TakenLease>,
}

impl<'a> LeaseGuard<'a> {
    /// Takes the lease on a tick: the given one, or the next.
    pub(crate) fn for_tick(
        app: &'a App,
        mind: &Planner,
        again: Option<u64>,
    ) -> Result<Self, Failure> {
        Self::take_with_model(app, mind, || app.run(|ctx| lease_tick(ctx, again)))
    }

    /// Takes the lease on a scene.
    pub(crate) fn for_scene(
        app: &'a App,
        mind: &Planner,
        scene: &[String],
    ) -> Result<Self, Failure> {
        Self::take_with_model(app, mind, || app.run(|ctx| lease_scene(ctx, scene)))
    }

    fn take_with_model(
        app: &'a App,
        mind: &Planner,
        take: impl FnOnce() -> Result<TakenLease, Failure>,
    ) -> Result<Self, Failure> {
        let taken = match mind {
            Planner::Offline => None,
            Planner::Model { .. } => Some(take()?),
        };
        Ok(Self { app, taken })
    }

    /// Whether it is about this tick, or empty.
    pub(crate) fn covers_tick(&self, tick: u64) -> bool {
        self.taken
            .as_ref()
            .is_none_or(|taken| taken.tick() == Some(tick))
    }

    /// Renews it before a call; fails if another process has taken it meanwhile.
    pub(crate) fn renew(&mut self) -> Result<(), Failure> {
        if let Some(taken) = &mut self.taken {
            *taken = self.app.run(|ctx| renew_lease(ctx, taken))?;
        }
        Ok(())
    }
}

impl Drop for LeaseGuard<'_> {
    fn drop(&mut self) {
        if let Some(taken) = &self.taken {
            // What cannot be ended now ends with this process.
            let _ = self.app.run(|ctx| end_lease(ctx, taken));
        }
    }
}
