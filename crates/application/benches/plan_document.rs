//! A large plan in one process: load, validate, one change, save; with SQLite on disk and the journal synced.

use std::cell::Cell;

use application::Context;
use application::plan_documents::create::create_document;
use application::plan_documents::edit::{DocumentEdit, edit_document};
use divan::Bencher;
use domain::ids::Principal;
use domain::operation::Channel;
use domain::plan_document::{PlanChange, check_plan, read_plan, write_plan};
use domain::policy::Policy;
use domain::ports::{Clock, FileReadResult, PlanFiles, Store};
use domain::settings::{Settings, Storage};
use serde_json::json;
use store::{DiskFiles, EngineSettings, KnownStores, Layout, SystemClock};
use tempfile::TempDir;

fn main() {
    divan::main();
}

const MILESTONES: usize = 200;
const INTENTS: usize = 2_000;

/// The whole use case: one field of one milestone is another one, and that is durable.
#[divan::bench]
fn one_change_of_a_large_plan(bencher: Bencher<'_, '_>) {
    let project = Project::new();
    let policy = Policy::default();
    let ctx = project.ctx(&policy);
    project.plant(&ctx);
    let version = Cell::new(1);
    bencher.bench_local(|| {
        let fields = json!({ "name": format!("milestone {}", version.get()) })
            .as_object()
            .cloned()
            .unwrap_or_default();
        let change = PlanChange::Set {
            id: "M-100".to_owned(),
            version: Some(version.get()),
            fields,
        };
        edit_document(&ctx, None, &DocumentEdit::One(Box::new(change))).expect("changed");
        version.set(version.get() + 1);
    });
}

/// The same without the store: read, check, write.
#[divan::bench]
fn read_check_and_write_alone(bencher: Bencher<'_, '_>) {
    let project = Project::new();
    let policy = Policy::default();
    let ctx = project.ctx(&policy);
    project.plant(&ctx);
    let FileReadResult::Text { text, .. } = project
        .files
        .read_file(".throughline/plans/large/plan.json", u64::MAX / 2)
    else {
        panic!("no plan");
    };
    bencher.bench_local(|| {
        let plan = read_plan(&text).expect("a plan");
        assert!(!check_plan(&plan).is_empty());
        write_plan(&plan)
    });
}

struct Project {
    _directory: TempDir,
    files: DiskFiles,
    store: Box<dyn Store>,
    clock: SystemClock,
}

impl Project {
    fn new() -> Self {
        // Beside the build: a temporary directory may be in memory, where nothing has to be synced.
        let directory =
            TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a temporary directory");
        let files = DiskFiles::open(directory.path()).expect("the directory can be opened");
        let layout = Layout::new(directory.path(), &Settings::default());
        let known = KnownStores::in_state_directory(&directory.path().join("user"));
        store::create_store(&layout, Storage::Sqlite, &known).expect("a store");
        let settings = EngineSettings::default();
        let opened = store::open_store(
            &layout,
            Storage::Sqlite,
            &settings,
            &known,
            None,
            SystemClock.now(),
        );
        let store = opened.expect("the store opens").0;
        Self {
            _directory: directory,
            files,
            store,
            clock: SystemClock,
        }
    }

    fn ctx<'p>(&'p self, policy: &'p Policy) -> Context<'p> {
        let actor = Principal::Human("bench".to_owned());
        Context::new(
            &*self.store,
            &self.files,
            &self.clock,
            &[],
            policy,
            actor,
            Channel::Cli,
        )
    }

    /// Makes a plan of 200 milestones with 2,000 intents and as many changes.
    fn plant(&self, ctx: &Context<'_>) {
        create_document(ctx, "Large").expect("a document");
        let mut lines = String::new();
        for milestone in 0..MILESTONES {
            let needs: Vec<String> = (milestone > 10)
                .then(|| format!("M-{:03}", milestone - 9))
                .into_iter()
                .collect();
            let line = json!({
                "do": "add-milestone", "name": format!("milestone {milestone}"), "files": [format!("src/m{milestone}.rs")],
                "acceptance_criteria": ["cargo test passes"], "depends_on": needs,
            });
            lines.push_str(&format!("{line}\n"));
        }
        for intent in 0..INTENTS {
            let milestone = format!("M-{:03}", intent % MILESTONES + 1);
            let behavior = format!(
                "Behaviour {intent}: reads what is there, decides, and writes what follows."
            );
            let line = json!({ "do": "add-intent", "milestone": milestone, "file": "src/a.rs", "behavior": behavior, "as": format!("i{intent}") });
            let diff = format!(
                "@@ -{intent},3 +{intent},3 @@\n let before = {intent};\n-old(before);\n+new(before);\n let after = 1;\n"
            );
            let change =
                json!({ "do": "add-change", "intent_ref": format!("@i{intent}"), "diff": diff });
            lines.push_str(&format!("{line}\n{change}\n"));
        }
        edit_document(ctx, None, &DocumentEdit::Batch(lines)).expect("a large plan");
        self.store.sync_mirror().expect("the mirror can be written");
    }
}
