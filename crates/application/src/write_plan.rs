//! Write the text of a plan, for callers that have no access to the project's files.
//!
//! The gates are evaluated as for an agent's edit of the file, and the text is recorded with its
//! cascade in one operation. Reading the plan is proved by the version the caller expects.

use domain::expected_version::ExpectedVersions;
use domain::gates::render_objections;
use domain::host_event::FileEffect;
use domain::ids::OperationId;
use domain::node::Node;
use domain::operation::Verb;
use domain::plan_document::split_document_path;
use domain::ports::{FileReadResult, Transaction};
use domain::profile::{Level, locate_plan};
use domain::section::replace_section;
use domain::tree::Tree;
use schemars::JsonSchema;
use serde::Serialize;

use crate::context::Context;
use crate::failure::Failure;
use crate::handle_host_event::{PlannedWrite, evaluate_write, find_recorded, use_up_overrides};
use crate::observe::{record_planned, with_observed_files};
use crate::plan_node::{PlanRequest, locate_target};
use crate::scan::ScanScope;
use crate::views::{NodeView, load_node_view};

/// Request of [`write_plan`].
#[derive(Clone, Debug)]
pub struct WriteRequest {
    /// The plan: an alias or a path; it may be new.
    pub node: String,
    /// The level of a new plan, if its alias does not tell.
    pub level: Option<String>,
    /// The whole text, or that of `section`.
    pub text: String,
    /// Heading of the only section to replace.
    pub section: Option<String>,
    /// The text the caller has read; required where there is one.
    pub expected: Option<ExpectedVersions>,
}

/// Outcome of [`write_plan`].
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WriteOutcome {
    pub success: bool,
    /// Whether the plan is new.
    pub created: bool,
    #[serde(flatten)]
    pub node: NodeView,
    /// `None` if the text is the same.
    pub operation: Option<OperationId>,
    /// What the gates object to without blocking.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gate_warnings: Vec<String>,
    pub next_steps: Vec<String>,
}

/// Writes a plan.
///
/// # Errors
/// When a gate blocks it, the expected version is missing or not the present one, the place is not
/// that of a plan, or a file cannot be written.
pub fn write_plan(ctx: &Context<'_>, request: &WriteRequest) -> Result<WriteOutcome, Failure> {
    with_observed_files(ctx, ScanScope::Everything, None, |planned, tx| {
        let file = find_file(ctx, tx, request)?;
        let place = locate_plan(ctx.profiles, &file)
            .ok_or_else(|| Failure::refused(format!("`{file}` is not the file of a plan")))?;
        let before = find_recorded(&*tx, &place)?.node;
        let old = read_text(ctx, &file)?;
        check_expected(before.as_ref(), old.as_deref(), request)?;
        let text = match &request.section {
            Some(heading) => {
                replace_section(old.as_deref().unwrap_or_default(), heading, &request.text)
            }
            None => request.text.clone(),
        };
        let effect = FileEffect::Write {
            text: Some(text.clone()),
        };
        let verdict = evaluate_write(
            ctx,
            &*tx,
            &PlannedWrite {
                file: &file,
                place: &place,
                effect: &effect,
            },
        )?;
        if !verdict.blocks.is_empty() {
            let steps = verdict.blocks.iter();
            let steps = steps.flat_map(|fired| fired.objection.next_steps.clone());
            let failure = Failure::refused(render_objections(&verdict.blocks));
            return Err(steps.fold(failure, Failure::with_step));
        }
        use_up_overrides(ctx, tx, &verdict.overridden)?;
        planned.put_file(&file, Some(&text))?;
        let name = place.aliases.join("/");
        let summary = match &request.section {
            Some(heading) => format!("write {name}, section {heading}"),
            None => format!("write {name}"),
        };
        let operation = match old.as_deref() == Some(text.as_str()) {
            true => None,
            false => record_planned(ctx, tx, planned, Verb::Observe, summary, Vec::new())?,
        };
        let node = find_recorded(&*tx, &place)?.node.ok_or_else(|| {
            Failure::invalid(format!("the text of `{file}` is not that of a plan"))
                .with_step(format!("tl plan {} {}", place.level.name, name))
        })?;
        let warnings = verdict.warnings.iter();
        Ok(WriteOutcome {
            success: true,
            created: before.is_none_or(|node| node.content.version_hash().is_none()),
            next_steps: next_steps(ctx, &node, &name),
            node: load_node_view(&*tx, node.id)?,
            operation,
            gate_warnings: warnings.map(|fired| fired.objection.why.clone()).collect(),
        })
    })
}

fn next_steps(ctx: &Context<'_>, node: &Node, path: &str) -> Vec<String> {
    let asks = ctx
        .find_profile(&node.profile)
        .is_some_and(|profile| profile.approval == domain::profile::ApprovalNeed::Required);
    match asks {
        true => vec![format!("tl approve {path}")],
        false => Vec::new(),
    }
}

/// Refuses to replace a text the caller has not read.
fn check_expected(
    node: Option<&Node>,
    old: Option<&str>,
    request: &WriteRequest,
) -> Result<(), Failure> {
    let known = node.filter(|node| node.content.version_hash().is_some());
    match (known, &request.expected) {
        (Some(node), Some(expected)) => Ok(expected.check_current(node, None)?),
        (Some(node), None) => {
            let version = node.content.version_hash().map(|hash| hash.short_hex());
            let version = version.unwrap_or_default();
            let what = format!(
                "`{}` has a text (version {version}): name the version you read, so that nothing you have not seen is replaced",
                request.node
            );
            Err(Failure::conflict(what).with_step(format!("tl show {}", request.node)))
        }
        (None, Some(_)) => {
            let what = format!(
                "`{}` has no text yet, but a version was expected",
                request.node
            );
            Err(Failure::conflict(what).with_step("write it without an expected version"))
        }
        (None, None) if old.is_some() => Err(Failure::conflict(format!(
            "the file of `{}` was just written by another session",
            request.node
        ))
        .with_step(format!("tl show {}", request.node))),
        (None, None) => Ok(()),
    }
}

fn read_text(ctx: &Context<'_>, file: &str) -> Result<Option<String>, Failure> {
    match ctx.files.read_file(file, ctx.policy.max_plan_bytes) {
        FileReadResult::Text { text, .. } => Ok(Some(text)),
        FileReadResult::Missing => Ok(None),
        FileReadResult::Unreadable { why, .. } => Err(Failure::unavailable(format!(
            "`{file}` cannot be read: {why}"
        ))),
    }
}

/// Returns the file of the plan, whether it exists or not.
fn find_file(
    ctx: &Context<'_>,
    tx: &dyn Transaction,
    request: &WriteRequest,
) -> Result<String, Failure> {
    let tree = Tree::new(tx.all_nodes()?);
    // A known node has its level, whatever its name looks like.
    let known = tree
        .nodes()
        .find(|node| tree.alias_path(node) == request.node);
    let level = request.level.as_deref();
    let level = level.or(known.map(|node| node.level.as_str()));
    let (kind, id) = find_level(ctx, &request.node, level)?;
    let target = locate_target(
        ctx,
        tx,
        &tree,
        &PlanRequest {
            kind,
            id,
            under: None,
        },
    )?;
    let file = target
        .file
        .ok_or_else(|| Failure::refused(format!("`{}` has no file of its own", target.path)))?;
    match split_document_path(&file) {
        Some((document, _)) => Err(Failure::refused(format!(
            "`{}` is a part of the plan document `{document}`, which is changed by its own commands",
            target.path
        ))
        .with_step(format!("tl doc show --doc {document}"))),
        None => Ok(file),
    }
}

/// Returns the level and the id of a plan that may be new: as named, as `chapter 2`, or as its alias
/// tells.
///
/// # Errors
/// When the alias does not tell the level.
pub fn find_level(
    ctx: &Context<'_>,
    node: &str,
    level: Option<&str>,
) -> Result<(String, String), Failure> {
    let words: Vec<&str> = node.split_whitespace().collect();
    match (level, words.as_slice()) {
        (Some(level), _) => return Ok((level.to_owned(), node.to_owned())),
        (None, [level, id]) => return Ok(((*level).to_owned(), (*id).to_owned())),
        _ => {}
    }
    let levels = || {
        let levels = ctx.profiles.iter().flat_map(|profile| &profile.levels);
        levels.filter(|level| level.file.is_some())
    };
    let alias = node.rsplit('/').next().unwrap_or(node);
    let fits = |level: &&Level| {
        level
            .alias
            .parse_exact_alias(alias, &level.numbers)
            .is_some()
    };
    if let Some(level) = levels().find(fits) {
        return Ok((level.name.clone(), node.to_owned()));
    }
    let names: Vec<&str> = levels().map(|level| level.name.as_str()).collect();
    Err(Failure::invalid(format!(
        "the level of `{node}` is unknown: expected one of {} as `level`",
        names.join(", ")
    ))
    .with_step("tl plan   # shows what can be planned"))
}
