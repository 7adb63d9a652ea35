//! Laws of shape changes with everything composed: random changes of random trees, with real files in a
//! git repository, a real store, decision files and undo.
//!
//! `crates/domain/tests/it/shape.rs` has the laws of the planner alone, with every form of reference.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::Path;

use application::approve::{ApproveRequest, approve_node};
use application::check_state::check_state;
use application::project_status::load_project_status;
use application::set_progress::{ProgressRequest, set_progress};
use application::shape::{ChangeShapeRequest, MoveTarget, ShapeChange, ShapeOutcome, change_shape};
use application::undo::{UndoTarget, undo_operations};
use application::{Context, Failure};
use domain::approval::Force;
use domain::ids::{NodeId, Principal, StoreId, VersionHash};
use domain::node::{Node, Progress, Status};
use domain::operation::Channel;
use domain::policy::Policy;
use domain::ports::{Clock, Store};
use domain::profile::{Profile, built_in_profile, parent_folder};
use domain::settings::{Settings, Storage};
use domain::tree::Tree;
use proptest::prelude::*;
use store::{
    DiskDecisions, DiskFiles, DiskGit, EngineSettings, KnownStores, Layout, MemoryStore,
    SystemClock,
};

/// A project in a folder of its own.
struct Project {
    folder: tempfile::TempDir,
    store: Box<dyn Store>,
    profiles: Vec<Profile>,
    policy: Policy,
}

impl Project {
    fn create() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in [".git/objects", ".git/refs/heads"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        fs::write(folder.path().join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        let layout = Layout::new(folder.path(), &Settings::default());
        let known = KnownStores::in_state_directory(&folder.path().join(".git/user"));
        store::create_store(&layout, Storage::Sqlite, &known).unwrap();
        let engine = EngineSettings::default();
        let now = SystemClock.now();
        let (store, _) =
            store::open_store(&layout, Storage::Sqlite, &engine, &known, None, now).unwrap();
        Self {
            folder,
            store,
            profiles: vec![built_in_profile("story").unwrap()],
            policy: Policy::default(),
        }
    }

    /// Runs a use case on the files and a store, as a command does.
    fn run_on<T>(&self, store: &dyn Store, act: impl FnOnce(&Context<'_>) -> T) -> T {
        let files = DiskFiles::open(self.folder.path()).unwrap();
        let git = DiskGit::open(self.folder.path());
        let decisions = DiskDecisions::open(&git).unwrap();
        let ctx = Context::new(
            store,
            &files,
            &SystemClock,
            &self.profiles,
            &self.policy,
            Principal::Human("Ада".to_owned()),
            Channel::Cli,
        )
        .with_git_and_session(&git, String::new())
        .with_decisions(Some(&decisions));
        act(&ctx)
    }

    fn run<T>(&self, act: impl FnOnce(&Context<'_>) -> T) -> T {
        self.run_on(&*self.store, act)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.folder.path().join(path)).unwrap()
    }

    /// Returns every file of the work, by its path.
    fn list_files(&self) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        collect_files(self.folder.path(), "", &mut found);
        found
    }

    fn load_tree(&self) -> Tree {
        load_tree(&*self.store)
    }
}

fn collect_files(root: &Path, folder: &str, found: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(root.join(folder)).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let path = match folder {
            "" => name.clone(),
            folder => format!("{folder}/{name}"),
        };
        // Copies of earlier texts are kept also by what is taken back.
        if name.starts_with('.') || name == "backups" {
            continue;
        }
        match entry.file_type().unwrap().is_dir() {
            true => collect_files(root, &path, found),
            false => {
                found.insert(path.clone(), fs::read_to_string(root.join(&path)).unwrap());
            }
        }
    }
}

fn load_tree(store: &dyn Store) -> Tree {
    Tree::new(store.begin_read().unwrap().all_nodes().unwrap())
}

/// What is compared of a plan, by its path.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    file: Option<String>,
    version: Option<VersionHash>,
    status: Status,
    progress: Progress,
}

fn see_plans(tree: &Tree) -> BTreeMap<String, Seen> {
    let plans = tree.nodes().map(|node| {
        let seen = Seen {
            file: node.path.clone(),
            version: node.content.version_hash(),
            status: node.status(),
            progress: node.progress,
        };
        (tree.alias_path(node), seen)
    });
    plans.collect()
}

/// Random decisions, taken from a list of bytes.
struct Dice<'d>(std::iter::Cycle<std::slice::Iter<'d, u8>>);

impl Dice<'_> {
    fn roll(&mut self, sides: usize) -> usize {
        usize::from(*self.0.next().unwrap()) % sides.max(1)
    }
}

const WORDS: &[&str] = &[
    "Шторм сносит мачту: 4 человека в зале 3.",
    "The chapterhouse is closed; nothing here names a plan.  ",
    "- item\n  - nested\n\n\n| a | b |\n|---|---|\n| x | 4 |",
    "\ttabs, and a CRLF\r\nand words after it",
];

/// Writes a random book, approves most of it and sets some progress.
fn write_book(project: &Project, dice: &mut Dice<'_>) {
    let mut plans: Vec<(String, String)> = Vec::new();
    for act in 1..=1 + dice.roll(2) {
        let folder = format!("acts/act-{act}");
        plans.push((format!("act-{act}"), format!("{folder}/strategic-plan.md")));
        for chapter in 1..=dice.roll(4) {
            // Some numbers are free.
            let chapter = chapter + dice.roll(2) * 3;
            let (above, folder) = (
                format!("act-{act}/chapter-{chapter:02}"),
                format!("{folder}/chapters/chapter-{chapter:02}"),
            );
            if plans.iter().any(|(path, _)| *path == above) {
                continue;
            }
            plans.push((above.clone(), format!("{folder}/plan.md")));
            project.write(&format!("{folder}/notes.txt"), &format!("notes on {above}"));
            for scene in 1..=dice.roll(3) {
                let alias = format!("scene-{chapter:02}{scene:02}");
                let file = format!("{folder}/scenes/{alias}-blueprint.md");
                plans.push((format!("{above}/{alias}"), file));
                project.write(
                    &format!("{folder}/content/{alias}.md"),
                    &format!("prose of {above}/{alias}\n"),
                );
            }
        }
    }
    let paths: Vec<String> = plans.iter().map(|(path, _)| path.clone()).collect();
    for (number, (_, file)) in plans.iter().enumerate() {
        let mut text = format!(
            "# Plan {}\n\n",
            char::from(b'A' + u8::try_from(number).unwrap())
        );
        for _ in 0..1 + dice.roll(3) {
            match dice.roll(3) {
                0 => text.push_str(&format!("See `{}`.\n", paths[dice.roll(paths.len())])),
                _ => text.push_str(&format!("{}\n", WORDS[dice.roll(WORDS.len())])),
            }
        }
        text.push_str("\n## Second part\n\nThe rest.\n");
        project.write(file, &text);
    }
    for path in &paths {
        let node = vec![path.clone()];
        if dice.roll(5) > 0 {
            let request = ApproveRequest {
                node: node.clone(),
                force: Force::No,
                shown: None,
            };
            // Refused below a draft.
            let _ = project.run(|ctx| approve_node(ctx, &request));
        }
        if dice.roll(6) == 0 {
            let progress = Progress::Active;
            project
                .run(|ctx| set_progress(ctx, &ProgressRequest { node, progress }))
                .unwrap();
        }
    }
}

fn random_change(tree: &Tree, dice: &mut Dice<'_>) -> ShapeChange {
    let nodes = tree.all_preorder();
    let node = nodes[dice.roll(nodes.len())];
    let is_alike = |other: &&&Node| other.level == node.level && other.id != node.id;
    let alike: Vec<_> = nodes.iter().filter(is_alike).collect();
    let other = alike
        .get(dice.roll(alike.len()))
        .map_or(node, |other| **other);
    let words = |id: NodeId| vec![tree.alias_path(tree.get(id).unwrap())];
    let name = |id: NodeId| words(id).remove(0);
    match dice.roll(9) {
        0 | 1 => ShapeChange::Insert {
            place: words(node.id),
            under: None,
            after: dice.roll(2) == 0,
            title: Some("New".to_owned()),
        },
        2 => ShapeChange::Move {
            node: words(node.id),
            target: MoveTarget::Before(name(other.id)),
        },
        3 => ShapeChange::Move {
            node: words(node.id),
            target: MoveTarget::Under(other.parent.map(name)),
        },
        4 => ShapeChange::Renumber {
            node: words(node.id),
            id: Some((1 + dice.roll(9)).to_string()),
        },
        5 => ShapeChange::CloseGaps {
            node: node.parent.map_or_else(Vec::new, words),
        },
        6 => ShapeChange::Merge {
            node: words(node.id),
            into: words(other.id),
        },
        7 => ShapeChange::Split {
            node: words(node.id),
            at: "Second part".to_owned(),
            title: None,
            children_from: tree
                .children(node.id)
                .last()
                .map(|child| child.alias.clone()),
        },
        _ => ShapeChange::Remove {
            node: words(node.id),
        },
    }
}

/// A line of a plan.
enum Line {
    Text(String),
    Reference(NodeId),
}

/// Reads the lines of a text; a name of no plan is text.
fn read_lines(tree: &Tree, text: &str) -> Vec<Line> {
    let by_path: HashMap<String, NodeId> = tree
        .nodes()
        .map(|node| (tree.alias_path(node), node.id))
        .collect();
    let read = |line: &str| {
        let name = line
            .strip_prefix("See `")
            .and_then(|rest| rest.strip_suffix("`.\n"));
        match name.and_then(|name| by_path.get(name)) {
            Some(id) => Line::Reference(*id),
            None => Line::Text(line.to_owned()),
        }
    };
    text.split_inclusive('\n').map(read).collect()
}

/// Renders a text with the names that plans have after a change.
fn render_lines(
    lines: &[Line],
    before: &Tree,
    after: &Tree,
    merged: Option<(NodeId, NodeId)>,
) -> String {
    let render = |line: &Line| match line {
        Line::Text(text) => text.clone(),
        Line::Reference(id) => {
            let meant = match merged {
                Some((old, new)) if old == *id => new,
                _ => *id,
            };
            let path = match after.get(meant) {
                Some(node) => after.alias_path(node),
                // A removed plan keeps the name under which it can be found again.
                None => before.alias_path(before.get(*id).unwrap()),
            };
            format!("See `{path}`.\n")
        }
    };
    lines.iter().map(render).collect()
}

/// Hides the number in the headings that new plans have: it follows the plan.
fn without_numbers(text: &str) -> String {
    let hide = |line: &str| {
        let label = ["# Act ", "# Chapter ", "# Scene "]
            .into_iter()
            .find(|label| line.starts_with(label));
        match label.and_then(|label| line.strip_prefix(label)) {
            Some(rest) => {
                let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
                format!("{}N{rest}", label.unwrap_or_default())
            }
            None => line.to_owned(),
        }
    };
    text.split_inclusive('\n').map(hide).collect()
}

/// A change that was made, between two states of the project.
struct Step {
    change: ShapeChange,
    before: Tree,
    after: Tree,
    files_before: BTreeMap<String, String>,
    /// Plans whose own words are others now: split or merged.
    reworded: BTreeSet<NodeId>,
    merged: Option<(NodeId, NodeId)>,
}

impl Step {
    fn find(&self, words: &[String]) -> NodeId {
        let mut nodes = self.before.nodes();
        nodes
            .find(|node| self.before.alias_path(node) == words.join(" "))
            .unwrap()
            .id
    }

    fn expected_text(&self, id: NodeId) -> String {
        let path = self.before.get(id).unwrap().path.clone().unwrap();
        let lines = read_lines(&self.before, &self.files_before[&path]);
        without_numbers(&render_lines(
            &lines,
            &self.before,
            &self.after,
            self.merged,
        ))
    }

    /// Every text is the same byte for byte, except that its references mean the same plans as before.
    fn check_texts(&self, project: &Project, done: &ShapeOutcome) {
        for node in self.after.nodes() {
            if self.before.get(node.id).is_none() || self.reworded.contains(&node.id) {
                continue;
            }
            let found = without_numbers(&project.text(node.path.as_deref().unwrap()));
            assert_eq!(found, self.expected_text(node.id), "{:?}", self.change);
        }
        let text_of = |id: NodeId| {
            let path = self.after.get(id).unwrap().path.as_deref().unwrap();
            without_numbers(&project.text(path))
        };
        match &self.change {
            ShapeChange::Split { node, .. } => {
                let whole = self.expected_text(self.find(node));
                let first = text_of(self.find(node));
                let second = without_numbers(&project.text(done.file.as_deref().unwrap()));
                let rest = whole.strip_prefix(&first).expect("the first part");
                assert!(second.ends_with(rest), "{second:?} {rest:?}");
            }
            ShapeChange::Merge { node, into } => {
                let text = text_of(self.find(into));
                let (kept, added) = (
                    self.expected_text(self.find(into)),
                    self.expected_text(self.find(node)),
                );
                assert_eq!(text, format!("{}\n\n{added}", kept.trim_end()));
            }
            _ => {}
        }
    }

    /// Prose goes with its plan, and no other file is lost.
    fn check_other_files(&self, files: &BTreeMap<String, String>) {
        let texts = |files: &BTreeMap<String, String>, start: &str| -> BTreeSet<String> {
            let texts = files.values().filter(|text| text.starts_with(start));
            texts.cloned().collect()
        };
        let notes = texts(&self.files_before, "notes on");
        assert_eq!(texts(files, "notes on"), notes, "{:?}", self.change);
        // Merged prose is in one file with the other.
        let prose_of = |tree: &Tree, files: &BTreeMap<String, String>, id: NodeId| {
            let node = tree.get(id)?;
            let above = tree.parent_of(node)?.path.clone()?;
            let file = format!("{}/content/{}.md", parent_folder(&above), node.alias);
            files.get(&file).cloned()
        };
        for node in self.after.nodes().filter(|node| node.level == "scene") {
            if self.reworded.contains(&node.id) || self.before.get(node.id).is_none() {
                continue;
            }
            assert_eq!(
                prose_of(&self.after, files, node.id),
                prose_of(&self.before, &self.files_before, node.id),
                "{:?}",
                self.change
            );
        }
    }

    /// A plan is approved exactly where it was, says the same, and has the same approved parent that
    /// says the same.
    fn check_approvals(&self) {
        let approved = |tree: &Tree, id: NodeId| tree.get(id).unwrap().status() == Status::Approved;
        for node in self.after.nodes() {
            let Some(was) = self.before.get(node.id) else {
                assert!(!approved(&self.after, node.id), "a new plan is a draft");
                continue;
            };
            let parent_says_same = node.parent == was.parent
                && node.parent.is_none_or(|parent| {
                    approved(&self.after, parent) && !self.reworded.contains(&parent)
                });
            let expected = approved(&self.before, node.id)
                && !self.reworded.contains(&node.id)
                && parent_says_same;
            assert_eq!(
                approved(&self.after, node.id),
                expected,
                "{}: {:?}",
                node.alias,
                self.change
            );
        }
    }
}

fn make_change(project: &Project, change: &ShapeChange) -> Result<ShapeOutcome, Failure> {
    let request = ChangeShapeRequest {
        change: change.clone(),
        dry_run: false,
    };
    project.run(|ctx| change_shape(ctx, &request))
}

/// Makes a change and checks its laws; whether it was possible.
fn try_step(project: &Project, change: ShapeChange) -> bool {
    let (before, files_before) = (project.load_tree(), project.list_files());
    let Ok(done) = make_change(project, &change) else {
        assert_eq!(project.list_files(), files_before, "refused: {change:?}");
        assert_eq!(see_plans(&project.load_tree()), see_plans(&before));
        return false;
    };
    let mut step = Step {
        change,
        before,
        after: project.load_tree(),
        files_before,
        reworded: BTreeSet::new(),
        merged: None,
    };
    match step.change.clone() {
        ShapeChange::Split { node, .. } => {
            step.reworded.insert(step.find(&node));
        }
        ShapeChange::Merge { node, into } => {
            let (node, into) = (step.find(&node), step.find(&into));
            step.reworded.insert(into);
            step.merged = Some((node, into));
        }
        _ => {}
    }
    let files = project.list_files();
    step.check_texts(project, &done);
    step.check_other_files(&files);
    step.check_approvals();
    if done.operation.is_some() {
        let undone = project
            .run(|ctx| undo_operations(ctx, UndoTarget::Newest))
            .unwrap();
        assert_eq!(undone.kept_files, Vec::<String>::new());
        assert_eq!(
            project.list_files(),
            step.files_before,
            "undo: {:?}",
            step.change
        );
        assert_eq!(see_plans(&project.load_tree()), see_plans(&step.before));
        make_change(project, &step.change).unwrap();
        assert_eq!(project.list_files(), files);
        assert_eq!(see_plans(&project.load_tree()), see_plans(&step.after));
    }
    true
}

/// A state that is built from the files and the decisions has the same plans.
fn check_rebuilt(project: &Project) {
    let checked = project.run(check_state).unwrap();
    assert!(checked.findings.is_empty(), "{:?}", checked.findings);
    let built = MemoryStore::new(StoreId("built".to_owned()));
    project.run_on(&built, load_project_status).unwrap();
    assert_eq!(
        see_plans(&load_tree(&built)),
        see_plans(&project.load_tree())
    );
}

/// Progress names its plan by path alone, and the merged act had that path before.
#[test]
fn an_act_at_the_place_of_a_merged_one_keeps_its_own_progress() {
    let project = Project::create();
    for act in ["act-1", "act-2"] {
        project.write(&format!("acts/{act}/strategic-plan.md"), "# Act\n");
    }
    project.run(load_project_status).unwrap();
    let words = |name: &str| vec![name.to_owned()];
    let request = ProgressRequest {
        node: words("act-2"),
        progress: Progress::Active,
    };
    project.run(|ctx| set_progress(ctx, &request)).unwrap();
    let merge = ShapeChange::Merge {
        node: words("act-2"),
        into: words("act-1"),
    };
    assert!(try_step(&project, merge));
    let renumber = ShapeChange::Renumber {
        node: words("act-1"),
        id: Some("2".to_owned()),
    };
    assert!(try_step(&project, renumber));
    check_rebuilt(&project);
    // The decisions of the merged act have other keys by now.
    for undone in ["renumber", "merge"] {
        let done = project.run(|ctx| undo_operations(ctx, UndoTarget::Newest));
        let summary = &done.unwrap().undone[0].summary;
        assert!(summary.starts_with(undone), "{summary}");
    }
    assert_eq!(
        see_plans(&project.load_tree())["act-2"].progress,
        Progress::Active
    );
    check_rebuilt(&project);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 12,
        max_shrink_iters: 40,
        ..ProptestConfig::default()
    })]

    #[test]
    fn random_changes_keep_files_approvals_and_history(
        dice in prop::collection::vec(any::<u8>(), 60..200),
    ) {
        let mut dice = Dice(dice.iter().cycle());
        let project = Project::create();
        write_book(&project, &mut dice);
        project.run(load_project_status).unwrap();
        let mut made = 0;
        for _ in 0..8 {
            let tree = project.load_tree();
            if tree.nodes().next().is_none() || made == 3 {
                break;
            }
            made += usize::from(try_step(&project, random_change(&tree, &mut dice)));
        }
        check_rebuilt(&project);
    }
}
