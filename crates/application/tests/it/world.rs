//! A project in memory: store, files and clock, and short ways to use them.

use application::approve::{ApproveRequest, approve_node};
use application::{Context, Failure};
use domain::approval::Force;
use domain::ids::{Principal, StoreId};
use domain::node::Status;
use domain::operation::Channel;
use domain::policy::Policy;
use domain::ports::Store;
use domain::profile::{Profile, built_in_profile};
use store::MemoryStore;
use testkit::{FakeClock, FakeFiles};

pub(crate) const ACT: &str = "acts/act-1/strategic-plan.md";
pub(crate) const CHAPTER: &str = "acts/act-1/chapters/chapter-01/plan.md";
pub(crate) const SCENE: &str = "acts/act-1/chapters/chapter-01/scenes/scene-0101-blueprint.md";

/// A project and everything around it.
pub(crate) struct World {
    pub(crate) store: Box<dyn Store>,
    pub(crate) files: FakeFiles,
    pub(crate) clock: FakeClock,
    pub(crate) profiles: Vec<Profile>,
    pub(crate) policy: Policy,
}

pub(crate) fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

impl World {
    pub(crate) fn new() -> Self {
        Self::on(Box::new(MemoryStore::new(StoreId("test".to_owned()))))
    }

    pub(crate) fn on(store: Box<dyn Store>) -> Self {
        Self {
            store,
            files: FakeFiles::default(),
            clock: FakeClock::default(),
            profiles: vec![built_in_profile("story").unwrap()],
            policy: Policy::default(),
        }
    }

    /// The same world, for tickets.
    pub(crate) fn with_tickets_of(world: Self) -> Self {
        Self {
            profiles: vec![built_in_profile("tickets").unwrap()],
            ..world
        }
    }

    /// A world with tickets: `017` and below it `017a`.
    pub(crate) fn with_tickets() -> Self {
        let world = Self::with_tickets_of(Self::new());
        world.files.edit(
            "tickets/017-quality/ticket.md",
            "---\nid: '017'\nphase: implement\n---\n# Quality\n",
        );
        world.files.edit(
            "tickets/017a-loc/ticket.md",
            "---\nid: 017a\nparent: '017'\nphase: intake\n---\n# Lines\n",
        );
        world
    }

    /// A world with an approved act, chapter and scene.
    pub(crate) fn with_story() -> Self {
        let world = Self::new();
        for (file, name) in [
            (ACT, "act-1"),
            (CHAPTER, "chapter-01"),
            (SCENE, "scene-0101"),
        ] {
            world.files.edit(file, &format!("# {name}\n"));
            world.approve(name).unwrap();
        }
        world
    }

    pub(crate) fn ctx(&self) -> Context<'_> {
        let actor = Principal::Human("Ада".to_owned());
        Context::new(
            &*self.store,
            &self.files,
            &self.clock,
            &self.profiles,
            &self.policy,
            actor,
            Channel::Cli,
        )
    }

    pub(crate) fn approve(&self, node: &str) -> Result<(), Failure> {
        let request = ApproveRequest {
            node: words(node),
            force: Force::No,
            shown: None,
        };
        approve_node(&self.ctx(), &request).map(|_| ())
    }

    pub(crate) fn status(&self, node: &str) -> Status {
        application::show_node::show_node(&self.ctx(), &words(node))
            .unwrap()
            .status
    }

    /// The statuses of act, chapter and scene, by their first letters.
    pub(crate) fn statuses(&self) -> String {
        ["act-1", "chapter-01", "scene-0101"]
            .iter()
            .map(|node| &self.status(node).as_str()[..1])
            .collect()
    }

    /// The whole tree as text, from the recorded state.
    pub(crate) fn tree(&self) -> String {
        let nodes = self.store.begin_read().unwrap().all_nodes().unwrap();
        testkit::render_tree(&domain::tree::Tree::new(nodes))
    }
}
