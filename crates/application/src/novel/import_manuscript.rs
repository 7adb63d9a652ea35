//! Imports a manuscript of another tool: plans, prose and the book's details, in one operation.
//!
//! Nothing that exists is changed: a file in the way refuses the import before anything is written. What
//! is written counts as complete, and nothing as approved.

use std::collections::BTreeSet;

use domain::book_details::{BOOK_DETAILS_PATH, compose_book_details};
use domain::documentation::guide_address;
use domain::fact::Fact;
use domain::ids::OperationId;
use domain::manuscript::{ImportLayout, LayoutRefused, Manuscript, ManuscriptFormat, lay_out};
use domain::node::Progress;
use domain::operation::Verb;
use domain::ports::{FileStatResult, Snapshot, Transaction};
use domain::profile::Profile;
use domain::record::{self, ChangeRecords};
use domain::tick::TickState;
use domain::tree::Tree;
use serde::Serialize;

use crate::context::Context;
use crate::decisions::record_with_decisions;
use crate::failure::Failure;
use crate::file_writes::{PlannedFiles, hash_request};
use crate::locate::find_node;
use crate::novel::prose_basis::push_prose_basis;
use crate::observe::{build_planned_operation, load_plan_tree, with_observed_files};
use crate::scan::ScanScope;

/// Maximum number of files in the way that are named.
const MAX_NAMED_FILES: usize = 5;

/// Request of [`import_manuscript`].
#[derive(Clone, Debug)]
pub struct ImportRequest {
    pub manuscript: Manuscript,
    pub format: ManuscriptFormat,
    /// Name of the file or folder, for the log.
    pub source: String,
    /// Whether to add it after plans that exist.
    pub append: bool,
    /// The plan that the chapters go below.
    pub under: Option<String>,
    /// Whether only to list what would be written.
    pub dry_run: bool,
}

/// Outcome of [`import_manuscript`].
#[derive(Clone, Debug, Serialize)]
pub struct ImportOutcome {
    pub success: bool,
    pub dry_run: bool,
    pub format: &'static str,
    pub title: Option<String>,
    pub author: Option<String>,
    /// Number of plans per level, the outermost first.
    pub levels: Vec<LevelCount>,
    pub words: usize,
    pub plans: Vec<ImportedPlanView>,
    /// The file with title and author, if it is new.
    pub details_file: Option<String>,
    /// What is in the source and not imported, a sentence each.
    pub left_out: Vec<String>,
    pub operation: Option<OperationId>,
}

/// Number of plans of a level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LevelCount {
    pub level: String,
    pub plans: usize,
}

/// An imported plan.
#[derive(Clone, Debug, Serialize)]
pub struct ImportedPlanView {
    pub path: String,
    pub level: String,
    pub title: Option<String>,
    pub file: String,
    pub prose_file: Option<String>,
    pub words: usize,
}

/// Imports a manuscript.
///
/// # Errors
/// When there are plans already and `append` is not asked for, a file is in the way, or the profile has
/// no place for it.
pub fn import_manuscript(
    ctx: &Context<'_>,
    request: &ImportRequest,
) -> Result<ImportOutcome, Failure> {
    let asked = (!request.dry_run).then(|| hash_request(&("import", request)));
    with_observed_files(ctx, ScanScope::Everything, asked, |planned, tx| {
        let tree = load_plan_tree(&*tx)?;
        let profile = find_prose_profile(ctx)?;
        refuse_existing_plans(&tree, profile, request)?;
        let under = match &request.under {
            Some(name) => {
                let words = [name.clone()];
                let (id, _) = find_node(ctx, &*tx, &words)?;
                tree.get(id)
            }
            None => None,
        };
        let layout = lay_out(&request.manuscript, profile, &tree, under)
            .map_err(|refused| layout_failure(&refused))?;
        // All files are checked before the first is planned, also those that are no plans of the
        // tree: nothing of the author's may be replaced.
        refuse_files_in_the_way(ctx, &layout)?;
        let details = compose_details_file(ctx, &request.manuscript);
        let mut outcome = to_outcome(request, layout.clone(), details.is_some());
        if request.dry_run {
            return Ok(outcome);
        }
        for plan in &layout.plans {
            planned.put_file(&plan.file, Some(&plan.text))?;
            if let Some(prose) = &plan.prose {
                planned.put_file(&prose.file, Some(&prose.text))?;
            }
        }
        if let Some(details) = &details {
            planned.put_file(BOOK_DETAILS_PATH, Some(details))?;
        }
        outcome.operation = Some(record_import(ctx, tx, planned, request, &layout)?);
        Ok(outcome)
    })
}

/// Records the planned files as one operation, with the progress of what is written.
fn record_import(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    planned: &PlannedFiles<'_>,
    request: &ImportRequest,
    layout: &ImportLayout,
) -> Result<OperationId, Failure> {
    // Recorded as the scan would see the files: statuses, front matter and texts come from one
    // place.
    let operation = build_planned_operation(ctx, tx, planned, Verb::Reshape, |_| Ok(()))?;
    let mut operation = operation
        .ok_or_else(|| Failure::internal("the imported files are not plans of this project"))?;
    operation.summary = format!("import {} ({})", request.source, request.format.as_str());
    let with_prose = layout.plans.iter().filter(|plan| plan.prose.is_some());
    let written: BTreeSet<&str> = with_prose.map(|plan| plan.file.as_str()).collect();
    let mut bases: Vec<Fact> = Vec::new();
    for fact in &mut operation.facts {
        let Fact::NodeAdded { node } = fact else {
            continue;
        };
        if node
            .path
            .as_deref()
            .is_some_and(|path| written.contains(path))
        {
            // In the fact that adds the node and not as a change of progress: the scene was
            // finished elsewhere, and has no evidence here.
            node.progress = Progress::Complete;
            // Without a basis a later change of the plan would go unnoticed: the prose would never
            // count as stale.
            push_prose_basis(&*tx, node, &mut bases)?;
        }
    }
    operation.facts.extend(bases);
    name_story(&*tx, &request.manuscript, &mut operation.facts)?;
    record_with_decisions(ctx, planned, tx, operation)
}

/// Names the story after the manuscript, unless it has a name.
fn name_story(
    state: &dyn Snapshot,
    manuscript: &Manuscript,
    facts: &mut Vec<Fact>,
) -> Result<(), Failure> {
    let before = record::read_record::<TickState>(state, TickState::KEY)?;
    let is_named = before.as_ref().is_some_and(|state| state.novel.is_some());
    if let Some(title) = manuscript.title.as_ref().filter(|_| !is_named) {
        let after = TickState {
            novel: Some(title.clone()),
            ..before.clone().unwrap_or_default()
        };
        facts.change_record(TickState::KEY, before.as_ref(), Some(&after));
    }
    Ok(())
}

/// Returns the profile whose plans are written as prose.
fn find_prose_profile<'c>(ctx: &Context<'c>) -> Result<&'c Profile, Failure> {
    let has_prose = |profile: &&Profile| profile.levels.iter().any(|level| level.output.is_some());
    ctx.profiles.iter().find(has_prose).ok_or_else(|| {
        Failure::refused("this project has no profile whose plans are written as prose")
            .with_step("tl init --profile story")
    })
}

/// Refuses a second import by accident, which would double the book.
fn refuse_existing_plans(
    tree: &Tree,
    profile: &Profile,
    request: &ImportRequest,
) -> Result<(), Failure> {
    let plans = tree
        .nodes()
        .filter(|node| node.profile == profile.name)
        .count();
    if plans == 0 || request.append || request.under.is_some() {
        return Ok(());
    }
    let plans = domain::text::count_with_noun(plans, "plan", "plans");
    let what = format!("this project has {plans} already; nothing was imported");
    Err(Failure::refused(what)
        .with_step("tl import FILE --append   # after the last chapter")
        .with_step("tl story new NAME   # a project of its own"))
}

fn layout_failure(refused: &LayoutRefused) -> Failure {
    let failure = Failure::refused(refused.to_string());
    match refused {
        LayoutRefused::NoProse { .. } => failure.with_step("tl init --profile story"),
        LayoutRefused::TooMany { .. } => failure
            .with_step("tl import FILE --dry-run   # shows how it is split")
            .with_step(format!(
                "raise `numbers` in a profile of your own: {}",
                guide_address("custom-profiles")
            )),
        LayoutRefused::PartsBelow { .. } | LayoutRefused::NotAParent { .. } => {
            failure.with_step("tl import FILE --append")
        }
    }
}

fn refuse_files_in_the_way(ctx: &Context<'_>, layout: &ImportLayout) -> Result<(), Failure> {
    let files = layout.plans.iter().flat_map(|plan| {
        let prose = plan.prose.as_ref().map(|prose| prose.file.as_str());
        std::iter::once(plan.file.as_str()).chain(prose)
    });
    let taken: Vec<&str> = files
        .filter(|file| ctx.files.stat_file(file) != FileStatResult::Missing)
        .collect();
    if taken.is_empty() {
        return Ok(());
    }
    let named: Vec<String> = taken
        .iter()
        .take(MAX_NAMED_FILES)
        .map(|file| format!("`{file}`"))
        .collect();
    let more = match taken.len().saturating_sub(MAX_NAMED_FILES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let what = format!(
        "nothing was imported: {}{more} exist already",
        named.join(", ")
    );
    Err(Failure::conflict(what).with_step("move them away, then import again"))
}

/// Returns the text of the file with the book's details, unless there is one or nothing to say.
fn compose_details_file(ctx: &Context<'_>, manuscript: &Manuscript) -> Option<String> {
    let Manuscript {
        title,
        author,
        preamble,
        ..
    } = manuscript;
    let is_new = ctx.files.stat_file(BOOK_DETAILS_PATH) == FileStatResult::Missing;
    let has_details = title.is_some() || author.is_some() || !preamble.is_empty();
    (is_new && has_details)
        .then(|| compose_book_details(title.as_deref(), author.as_deref(), preamble))
}

fn to_outcome(request: &ImportRequest, layout: ImportLayout, has_details: bool) -> ImportOutcome {
    let mut levels: Vec<LevelCount> = Vec::new();
    for plan in &layout.plans {
        match levels.iter_mut().find(|known| known.level == plan.level) {
            Some(known) => known.plans += 1,
            None => levels.push(LevelCount {
                level: plan.level.clone(),
                plans: 1,
            }),
        }
    }
    let plans: Vec<ImportedPlanView> = layout
        .plans
        .into_iter()
        .map(|plan| ImportedPlanView {
            path: plan.path,
            level: plan.level,
            title: plan.title,
            file: plan.file,
            words: plan.prose.as_ref().map_or(0, |prose| prose.words),
            prose_file: plan.prose.map(|prose| prose.file),
        })
        .collect();
    let mut left_out = request.manuscript.left_out.clone();
    left_out.extend(layout.left_out);
    ImportOutcome {
        success: true,
        dry_run: request.dry_run,
        format: request.format.as_str(),
        title: request.manuscript.title.clone(),
        author: request.manuscript.author.clone(),
        levels,
        words: plans.iter().map(|plan| plan.words).sum(),
        plans,
        details_file: has_details.then(|| BOOK_DETAILS_PATH.to_owned()),
        left_out,
        operation: None,
    }
}
