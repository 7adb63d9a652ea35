//! A project in memory: store, files and clock, and short ways to use them.

use application::approve::{ApproveRequest, approve_node};
use application::plan_documents::edit::{DocumentEdit, edit_document};
use application::plan_documents::freeze_plan::freeze_plan;
use application::show_node::show_node;
use application::{Context, Failure, FailureKind};
use domain::approval::Force;
use domain::expected_version::ExpectedVersions;
use domain::ids::{OperationId, Principal, StoreId};
use domain::node::Status;
use domain::operation::Channel;
use domain::policy::{ApprovalPolicy, Policy};
use domain::ports::Store;
use domain::profile::{Profile, built_in_profile};
use store::MemoryStore;
use testkit::{FakeClock, FakeFiles};

pub(crate) const ACT: &str = "acts/act-1/strategic-plan.md";
pub(crate) const CHAPTER: &str = "acts/act-1/chapters/chapter-01/plan.md";
pub(crate) const SCENE: &str = "acts/act-1/chapters/chapter-01/scenes/scene-0101-blueprint.md";

/// Changes after which a new plan document is complete.
const COMPLETE_PLAN: &str = r#"{"do":"set","id":"overview","version":1,"fields":{"problem":"Nothing can be found.","approach":"An index."}}
{"do":"add-decision","decision":"BM25","reasoning":"needs no model","as":"rank"}
{"do":"add-milestone","name":"Index","files":["src/index.rs"],"acceptance_criteria":["cargo test"],"tests":{"files":["tests/index.rs"]},"as":"index"}
{"do":"add-intent","milestone":"@index","file":"src/index.rs","behavior":"Maps words to places.","decision_refs":["@rank"],"as":"build"}
{"do":"add-change","intent_ref":"@build","diff":"@@ -0,0 +1 @@\n+fn build() {}\n"}
"#;

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

/// Asserts that a use case refused, with this kind and with these words in its message.
#[track_caller]
pub(crate) fn assert_refused<T: std::fmt::Debug>(
    outcome: Result<T, Failure>,
    kind: FailureKind,
    part: &str,
) {
    let failure = outcome.expect_err("expected a refusal");
    assert!(
        failure.kind == kind && failure.message.contains(part),
        "expected {kind:?} with `{part}`, found {failure:?}"
    );
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

    /// The same project, seen by an agent in a session of Claude Code.
    pub(crate) fn agent(&self, session: &str) -> Context<'_> {
        let actor = Principal::Agent {
            host: "claude-code".to_owned(),
            session: session.to_owned(),
        };
        Context::new(
            &*self.store,
            &self.files,
            &self.clock,
            &self.profiles,
            &self.policy,
            actor,
            Channel::Hook,
        )
    }

    /// The version of a node that is in its file now, as a page would show it.
    pub(crate) fn shown(&self, node: &str) -> ExpectedVersions {
        let view = show_node(&self.ctx(), &words(node)).unwrap();
        view.version_hash.unwrap().into()
    }

    /// The hash of that version.
    pub(crate) fn shown_hash(&self, node: &str) -> Option<domain::ids::VersionHash> {
        show_node(&self.ctx(), &words(node)).unwrap().version_hash
    }

    /// The number of the last operation.
    pub(crate) fn head(&self) -> OperationId {
        let state = self.store.begin_read().unwrap();
        state.last_operation_id().unwrap()
    }

    /// Fills the current plan document with what a frozen one needs.
    pub(crate) fn fill_document(&self) {
        let batch = DocumentEdit::Batch(COMPLETE_PLAN.to_owned());
        edit_document(&self.ctx(), None, &batch).unwrap();
    }

    /// Fills and freezes the plan document.
    pub(crate) fn freeze(&self, document: &str) {
        self.fill_document();
        freeze_plan(&self.ctx(), Some(document)).unwrap();
    }

    pub(crate) fn approve(&self, node: &str) -> Result<(), Failure> {
        let request = ApproveRequest {
            node: words(node),
            force: Force::No,
            // Where only people approve, they name what they were shown.
            shown: (self.policy.approval == ApprovalPolicy::Human).then(|| self.shown(node)),
        };
        approve_node(&self.ctx(), &request).map(|_| ())
    }

    pub(crate) fn status(&self, node: &str) -> Status {
        show_node(&self.ctx(), &words(node)).unwrap().status
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
