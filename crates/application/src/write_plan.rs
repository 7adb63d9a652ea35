//! Write the text of a plan, for callers that have no access to the project's files.
//!
//! The gates are evaluated as for an agent's edit of the file, and the text is recorded with its
//! cascade in one operation. Reading the plan is proved by the version the caller expects.

use domain::approval::approval_next_step;
use domain::expected_version::ExpectedVersions;
use domain::gates::render_objections;
use domain::host_event::FileEffect;
use domain::ids::{NodeId, OperationId};
use domain::node::Node;
use domain::operation::Verb;
use domain::plan_document::split_document_path;
use domain::ports::{FileReadResult, Transaction};
use domain::profile::{Level, locate_plan};
use domain::secrets::fill_in_edited;
use domain::section::replace_section;
use domain::tree::Tree;
use domain::work::scenarios::put_scenario;
use schemars::JsonSchema;
use serde::Serialize;

use crate::context::Context;
use crate::failure::Failure;
use crate::file_writes::PlannedFiles;
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
    // No idempotency key: the expected version makes a repetition a conflict instead of a second
    // write.
    with_observed_files(ctx, ScanScope::Everything, None, |planned, tx| {
        let file = match find_target(ctx, tx, request)? {
            WriteTarget::Plan { file } => file,
            WriteTarget::Item(item) => return write_item(ctx, tx, planned, request, &item),
        };
        let place = locate_plan(ctx.profiles, &file)
            .ok_or_else(|| Failure::refused(format!("`{file}` is not the file of a plan")))?;
        let before = find_recorded(&*tx, &place)?.node;
        // From the file and not from the store, whose text may be masked: no mask may be written
        // into a plan with the replaced section.
        let old = read_text(ctx, &file)?;
        // Before the gates: a caller that read another text should read again, whatever the gates
        // say.
        check_expected(before.as_ref(), old.as_deref(), request)?;
        let text = match &request.section {
            Some(heading) => {
                replace_section(old.as_deref().unwrap_or_default(), heading, &request.text)
            }
            None => request.text.clone(),
        };
        let text = fill_in_masks(&request.node, text, old.as_deref())?;
        let effect = FileEffect::Write {
            text: Some(text.clone()),
        };
        let write = PlannedWrite {
            file: &file,
            place: &place,
            effect: &effect,
        };
        let gate_warnings = pass_gates(ctx, tx, &write)?;
        planned.put_file(&file, Some(&text))?;
        let name = place.aliases.join("/");
        let summary = match &request.section {
            Some(heading) => format!("write {name}, section {heading}"),
            None => format!("write {name}"),
        };
        // The same text records nothing, as an unchanged file would.
        let operation = match old.as_deref() == Some(text.as_str()) {
            true => None,
            false => record_planned(ctx, tx, planned, Verb::Observe, summary, Vec::new())?,
        };
        let node = find_recorded(&*tx, &place)?.node.ok_or_else(|| {
            Failure::invalid(format!("the text of `{file}` is not that of a plan"))
                .with_step(format!("tl plan {} {}", place.level.name, name))
        })?;
        Ok(WriteOutcome {
            success: true,
            created: before.is_none_or(|node| node.content.version_hash().is_none()),
            next_steps: next_steps(ctx, &node, &name),
            node: load_node_view(&*tx, node.id)?,
            operation,
            gate_warnings,
        })
    })
}

/// Refuses a write that a gate blocks; returns what the others object to.
fn pass_gates(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    write: &PlannedWrite<'_>,
) -> Result<Vec<String>, Failure> {
    let verdict = evaluate_write(ctx, &*tx, write)?;
    if !verdict.blocks.is_empty() {
        let steps = verdict.blocks.iter();
        let steps = steps.flat_map(|fired| fired.objection.next_steps.clone());
        let failure = Failure::refused(render_objections(&verdict.blocks));
        return Err(steps.fold(failure, Failure::with_step));
    }
    use_up_overrides(ctx, tx, &verdict.overridden)?;
    let warnings = verdict.warnings.iter();
    Ok(warnings.map(|fired| fired.objection.why.clone()).collect())
}

/// Writes a node that is an item of the file beside its parent's, such as a scenario. The gates judge
/// it as a change of the parent.
fn write_item(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    planned: &PlannedFiles<'_>,
    request: &WriteRequest,
    item: &ItemTarget,
) -> Result<WriteOutcome, Failure> {
    if request.section.is_some() {
        return Err(Failure::invalid(format!(
            "`{}` has no sections: write it whole",
            item.path
        )));
    }
    let place = locate_plan(ctx.profiles, &item.parent_file).ok_or_else(|| {
        Failure::refused(format!("`{}` is not the file of a plan", item.parent_file))
    })?;
    let old = read_text(ctx, &item.file)?.unwrap_or_default();
    check_expected(item.existing.as_ref(), None, request)?;
    let text = put_scenario(&old, &item.alias, &request.text)
        .map_err(|named| refuse_scenario_text(item, &named))?;
    let effect = FileEffect::Write { text: None };
    let write = PlannedWrite {
        file: &item.parent_file,
        place: &place,
        effect: &effect,
    };
    let gate_warnings = pass_gates(ctx, tx, &write)?;
    planned.put_file(&item.file, Some(&text))?;
    let operation = match old == text {
        true => None,
        false => {
            let summary = format!("write {}", item.path);
            record_planned(ctx, tx, planned, Verb::Observe, summary, Vec::new())?
        }
    };
    let written = tx
        .load_children(item.parent)?
        .into_iter()
        .find(|node| node.alias == item.alias)
        .ok_or_else(|| Failure::internal(format!("`{}` was not recorded", item.path)))?;
    let is_new = |node: &Node| node.content.version_hash().is_none();
    Ok(WriteOutcome {
        success: true,
        created: item.existing.as_ref().is_none_or(is_new),
        next_steps: Vec::new(),
        node: load_node_view(&*tx, written.id)?,
        operation,
        gate_warnings,
    })
}

/// Says what the text of a scenario has to be.
fn refuse_scenario_text(item: &ItemTarget, named: &[String]) -> Failure {
    let above = item.path.rsplit_once('/').map_or("", |(above, _)| above);
    match named {
        [] => Failure::invalid(format!(
            "the text of `{}` has to begin with `Scenario: TITLE`",
            item.path
        )),
        [other] => Failure::invalid(format!(
            "the title of the text makes it `{above}/{other}`, not `{}`",
            item.path
        ))
        .with_step(format!(
            "write it as `{above}/{other}`, or change its title"
        )),
        several => Failure::invalid(format!(
            "the text has {} scenarios: write one at a time",
            several.len()
        )),
    }
}

fn next_steps(ctx: &Context<'_>, node: &Node, path: &str) -> Vec<String> {
    let asks = ctx
        .find_profile(&node.profile)
        .is_some_and(|profile| profile.approval == domain::profile::ApprovalNeed::Required);
    match asks {
        true => vec![approval_next_step(path, ctx.policy.approval, &ctx.actor)],
        false => Vec::new(),
    }
}

/// Puts secrets back in place of the masks the caller has read: a mask is never written into a file.
fn fill_in_masks(node: &str, text: String, old: Option<&str>) -> Result<String, Failure> {
    let Some(old) = old else {
        return Ok(text);
    };
    fill_in_edited(&text, old).ok_or_else(|| {
        let what = format!(
            "the text of `{node}` has a mask, and it is not certain which secret of the file it stands for"
        );
        Failure::refused(what).with_step("edit the file itself, where the secrets are")
    })
}

/// Refuses to replace a text the caller has not read.
fn check_expected(
    node: Option<&Node>,
    old: Option<&str>,
    request: &WriteRequest,
) -> Result<(), Failure> {
    let known = node.filter(|node| node.content.version_hash().is_some());
    match (known, &request.expected) {
        (Some(node), Some(expected)) => Ok(expected.check_current(&request.node, node, None)?),
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
        // The scan found no plan with a text, but the file has one: written since, or unreadable
        // until now.
        (None, None) if old.is_some() => Err(Failure::conflict(format!(
            "the file of `{}` was just written by another session",
            request.node
        ))
        .with_step(format!("tl show {}", request.node))),
        (None, None) => Ok(()),
    }
}

pub(crate) fn read_text(ctx: &Context<'_>, file: &str) -> Result<Option<String>, Failure> {
    match ctx.files.read_file(file, ctx.policy.max_plan_bytes) {
        FileReadResult::Text { text, .. } => Ok(Some(text)),
        FileReadResult::Missing => Ok(None),
        FileReadResult::Unreadable { why, .. } => Err(Failure::unavailable(format!(
            "`{file}` cannot be read: {why}"
        ))),
    }
}

/// Where a text belongs.
enum WriteTarget {
    /// A file of its own.
    Plan { file: String },
    /// A part of the file beside its parent's.
    Item(Box<ItemTarget>),
}

/// A node that is an item of a file.
struct ItemTarget {
    alias: String,
    path: String,
    file: String,
    parent: NodeId,
    parent_file: String,
    existing: Option<Node>,
}

/// Returns where the text belongs, whether there is one already or not.
fn find_target(
    ctx: &Context<'_>,
    tx: &dyn Transaction,
    request: &WriteRequest,
) -> Result<WriteTarget, Failure> {
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
    if let (Some(file), Some(parent)) = (target.items_file, &target.parent)
        && let Some(parent_file) = parent.path.clone()
    {
        return Ok(WriteTarget::Item(Box::new(ItemTarget {
            alias: target.alias,
            path: target.path,
            file,
            parent: parent.id,
            parent_file,
            existing: target.existing.cloned(),
        })));
    }
    let file = target
        .file
        .ok_or_else(|| Failure::refused(format!("`{}` has no file of its own", target.path)))?;
    match split_document_path(&file) {
        Some((document, _)) => Err(Failure::refused(format!(
            "`{}` is a part of the plan document `{document}`, which is changed by its own commands",
            target.path
        ))
        .with_step(format!("tl doc show --doc {document}"))),
        None => Ok(WriteTarget::Plan { file }),
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
        levels.filter(|level| level.file.is_some() || level.items.is_some())
    };
    let alias = node.rsplit('/').next().unwrap_or(node);
    let fits = |level: &&Level| {
        level
            .alias
            .parse_exact_alias(alias, &level.numbers)
            .is_some()
    };
    // The name of an item can be any word, so it is one only below something. The id of a part
    // continues that of its whole: `001/001a` is a ticket, `001/three` is not.
    let above = node.rsplit('/').nth(1);
    let continues =
        |level: &Level| !level.is_flat() || above.is_none_or(|above| alias.starts_with(above));
    let is_below = |level: &Level, above: &str| {
        levels().any(|whole| level.under.contains(&whole.name) && whole.read_alias(above).is_ok())
    };
    let item =
        |level: &&Level| level.items.is_some() && above.is_some_and(|above| is_below(level, above));
    let of_file = |level: &&Level| level.file.is_some() && fits(level) && continues(level);
    if let Some(level) = levels().find(of_file).or_else(|| levels().find(item)) {
        return Ok((level.name.clone(), node.to_owned()));
    }
    let names: Vec<&str> = levels().map(|level| level.name.as_str()).collect();
    Err(Failure::invalid(format!(
        "the level of `{node}` is unknown: expected one of {} as `level`",
        names.join(", ")
    ))
    .with_step("tl plan   # shows what can be planned"))
}
