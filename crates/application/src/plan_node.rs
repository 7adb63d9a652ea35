//! Plan a node: compose the planning prompt with the parent's plan, or refuse with the reason.
//!
//! No plan is written here. The agent writes the file, and the next scan records it.

use domain::approval::approval_next_step;
use domain::gates::render_objections;
use domain::ids::{NodeId, VersionHash};
use domain::node::{Node, Status};
use domain::node_reference::{NodeReference, Unresolved};
use domain::operation::Channel;
use domain::planning_prompt::{
    Ancestor, ParentExtent, PlanningPrompt, ReplacedPlan, compose_planning_prompt,
};
use domain::ports::Snapshot;
use domain::profile::{Level, PlanPlace, Profile, ReadAlias, parent_folder};
use domain::suggest::nearest_hint;
use domain::tree::Tree;
use domain::typed_command::PlanCommand;
use serde::Serialize;

use crate::approval_need::{decision_next_step, find_undecided_above};
use crate::brief::compose_for_host;
use crate::context::Context;
use crate::failure::Failure;
use crate::handle_host_event::{PlannedNode, evaluate_planning};
use crate::locate::{LookupError, load_ancestors, resolve_node};
use crate::observe::observe_tree;
use crate::views::describe_cause;

/// Request of [`plan_node`].
#[derive(Clone, Debug)]
pub struct PlanRequest {
    /// The level: `chapter`.
    pub kind: String,
    /// The node: `2`, `chapter-02`, `act-1/chapter-02`.
    pub id: String,
    /// The parent, if the id does not determine it.
    pub under: Option<String>,
}

impl From<&PlanCommand> for PlanRequest {
    fn from(command: &PlanCommand) -> Self {
        Self {
            kind: command.level.clone(),
            id: command.id.clone(),
            under: command.under.clone(),
        }
    }
}

/// The planning prompt.
#[derive(Clone, Debug, Serialize)]
pub struct PlanOutcome {
    pub entity_id: String,
    pub entity_type: String,
    pub path: String,
    pub file_path: Option<String>,
    pub parent_id: Option<String>,
    /// Whether the node has a plan already.
    pub exists: bool,
    pub prompt: String,
    /// The parent whose plan is in the prompt, and its version.
    #[serde(skip)]
    pub parent: Option<(NodeId, VersionHash)>,
    /// What a gate that only warns says; the prompt begins with it.
    #[serde(skip)]
    pub warning: Option<String>,
}

/// Returns the planning prompt of a node.
///
/// # Errors
/// When the id is invalid, or the parent is missing, ambiguous or not approved.
pub fn plan_node(ctx: &Context<'_>, request: &PlanRequest) -> Result<PlanOutcome, Failure> {
    let (state, tree) = observe_tree(ctx)?;
    let PlanTarget {
        profile,
        level,
        alias,
        path,
        file,
        items_file,
        existing,
        parent,
        warning,
    } = locate_target(ctx, &*state, &tree, request)?;
    let mut prompt = compose_prompt(
        ctx,
        &*state,
        &tree,
        profile,
        level,
        &path,
        file.as_deref().or(items_file.as_deref()),
        existing,
        parent.as_ref(),
    )?;
    if let Some(warning) = &warning {
        prompt = format!("{warning}\n\n{prompt}");
    }
    Ok(PlanOutcome {
        entity_id: alias,
        entity_type: level.name.clone(),
        path,
        file_path: file,
        parent: parent
            .as_ref()
            .and_then(|parent| Some((parent.id, parent.content.version_hash()?))),
        parent_id: parent.map(|parent| parent.alias),
        exists: existing.is_some_and(|node| node.content.version_hash().is_some()),
        prompt,
        warning,
    })
}

/// A node that may be planned: its place in the tree, whether it exists or not.
pub(crate) struct PlanTarget<'a, 't> {
    profile: &'a Profile,
    level: &'a Level,
    pub(crate) alias: String,
    pub(crate) path: String,
    pub(crate) file: Option<String>,
    /// The file that it is an item of, where its level has such a file.
    pub(crate) items_file: Option<String>,
    pub(crate) existing: Option<&'t Node>,
    pub(crate) parent: Option<Node>,
    /// What a gate that only warns says.
    warning: Option<String>,
}

/// Finds the place of a node in the tree, whether it exists or not.
///
/// # Errors
/// As [`plan_node`].
pub(crate) fn locate_target<'a, 't>(
    ctx: &Context<'a>,
    state: &dyn Snapshot,
    tree: &'t Tree,
    request: &PlanRequest,
) -> Result<PlanTarget<'a, 't>, Failure> {
    let (profile, level) = find_level(ctx, &request.kind)?;
    // A path in the id wins over `--under`: it is the more specific of the two.
    let (under, id) = match request.id.rsplit_once('/') {
        Some((parent, id)) => (Some(parent.to_owned()), id),
        None => (request.under.clone(), request.id.as_str()),
    };
    let wanted = level
        .read_alias(id)
        .map_err(|error| Failure::invalid(error.to_string()))?;
    let under = match under {
        None => None,
        Some(name) => Some(resolve_parent_argument(ctx, state, profile, level, &name)?),
    };
    let parent = find_parent(ctx, tree, profile, level, &wanted, under.as_ref())?.cloned();
    let path = match &parent {
        Some(parent) => format!("{}/{}", tree.alias_path(parent), wanted.alias),
        None => wanted.alias.clone(),
    };
    let existing = tree.nodes().find(|node| {
        node.alias == wanted.alias && node.parent == parent.as_ref().map(|parent| parent.id)
    });
    // A known node keeps its recorded file, even where the profile's pattern would name another one
    // today.
    let file = match (existing.and_then(|node| node.path.clone()), &level.file) {
        (Some(path), _) => Some(path),
        (None, Some(pattern)) => {
            // The files of a flat level share one folder; the front matter names the parent.
            let folder = parent
                .as_ref()
                .filter(|_| !level.is_flat())
                .and_then(|parent| parent.path.as_deref())
                .map_or("", parent_folder);
            Some(pattern.file_for(folder, &wanted.alias))
        }
        (None, None) => None,
    };
    let above = parent.as_ref().and_then(|parent| parent.path.as_deref());
    let items_file =
        level
            .items
            .as_ref()
            .zip(above)
            .map(|(items, above)| match parent_folder(above) {
                "" => items.clone(),
                folder => format!("{folder}/{items}"),
            });
    let planning = PlannedNode {
        place: &PlanPlace {
            profile,
            level,
            aliases: path.split('/').map(str::to_owned).collect(),
        },
        file: file.as_deref().unwrap_or_default(),
        node: existing,
        parent: parent.as_ref(),
    };
    // As for a write of the plan: what everything below an unapproved parent would be worth is the
    // gate's to say, with its mode and the overrides of people.
    let verdict = evaluate_planning(ctx, state, &planning)?;
    if let Some(fired) = verdict.blocks.first() {
        return Err(match (&parent, fired.gate) {
            (Some(parent), "hierarchy") => {
                unapproved_parent_failure(ctx, state, tree, &wanted, request, parent)?
            }
            _ => fired
                .objection
                .next_steps
                .iter()
                .fold(Failure::refused(&fired.objection.why), |failure, step| {
                    failure.with_step(step)
                }),
        });
    }
    Ok(PlanTarget {
        warning: (!verdict.warnings.is_empty()).then(|| render_objections(&verdict.warnings)),
        profile,
        level,
        alias: wanted.alias,
        path,
        file,
        items_file,
        existing,
        parent,
    })
}

/// Returns the names by which a plan may mention a node below it that may not exist yet.
pub(crate) fn child_names(level: &Level, path: &str) -> Vec<String> {
    let alias = path.rsplit('/').next().unwrap_or(path);
    let digits: String = alias.chars().filter(char::is_ascii_digit).collect();
    let number = digits.trim_start_matches('0');
    vec![
        alias.to_owned(),
        format!("{} {digits}", level.name),
        format!("{} {number}", level.name),
    ]
}

/// Gathers the inputs of the prompt and composes it.
#[expect(
    clippy::too_many_arguments,
    reason = "gathers what the prompt is made of, once"
)]
fn compose_prompt(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    tree: &Tree,
    profile: &Profile,
    level: &Level,
    path: &str,
    file: Option<&str>,
    existing: Option<&Node>,
    parent: Option<&Node>,
) -> Result<String, Failure> {
    let mut above: Vec<Node> = Vec::new();
    if let Some(parent) = parent {
        above.push(parent.clone());
        above.extend(load_ancestors(state, parent)?);
    }
    let paths = above
        .iter()
        .map(|node| tree.alias_path(node))
        .collect::<Vec<_>>();
    let approved_by: Vec<Option<String>> = above
        .iter()
        .map(|node| {
            node.approval
                .as_ref()
                .map(|approval| format!("{} on {}", approval.by, approval.at.format_local_minute()))
        })
        .collect();
    // As stored, so with secrets masked: the prompt goes to a model (P17).
    let parent_text = match parent.and_then(|parent| parent.content.version_hash()) {
        Some(version) => state.load_text(version)?,
        None => None,
    };
    let mut prompt = PlanningPrompt {
        profile,
        level,
        path,
        file,
        is_written_by_tool: ctx.channel == Channel::Mcp,
        replaces: existing
            .filter(|node| node.content.version_hash().is_some())
            .map(|node| ReplacedPlan {
                descendants: tree.subtree_preorder(node.id).len() - 1,
            }),
        ancestors: above
            .iter()
            .enumerate()
            .map(|(index, node)| Ancestor {
                level: &node.level,
                path: &paths[index],
                file: node.path.as_deref(),
                approved_by: approved_by[index].as_deref(),
                // Only the parent's text is included. Further ancestors are named with their files:
                // their texts would multiply the size of the prompt, and the parent's plan already
                // follows from them.
                text: if index == 0 {
                    parent_text.as_deref()
                } else {
                    None
                },
            })
            .collect(),
        siblings: list_siblings(tree, parent.map(|parent| parent.id), path),
        extent: ParentExtent {
            budget: None,
            child_names: child_names(level, path),
        },
    };
    Ok(compose_for_host(ctx, |budget| {
        prompt.extent.budget = budget;
        compose_planning_prompt(&prompt)
    }))
}

/// Returns the paths and titles of the other nodes below the same parent.
fn list_siblings(tree: &Tree, parent: Option<NodeId>, path: &str) -> Vec<(String, Option<String>)> {
    let nodes: Vec<&Node> = match parent {
        Some(parent) => tree.children(parent).collect(),
        None => tree.root_nodes().collect(),
    };
    nodes
        .into_iter()
        .map(|node| (tree.alias_path(node), node.description.title.clone()))
        .filter(|(sibling, _)| sibling != path)
        .collect()
}

/// Finds a level by name in any profile.
fn find_level<'a>(ctx: &Context<'a>, kind: &str) -> Result<(&'a Profile, &'a Level), Failure> {
    let levels = || {
        ctx.profiles
            .iter()
            .flat_map(|profile| profile.levels.iter().map(move |level| (profile, level)))
    };
    levels()
        // People type `Act` as well as `act`.
        .find(|(_, level)| level.name.to_lowercase() == kind.to_lowercase())
        .ok_or_else(|| {
            let names: Vec<&str> = levels().map(|(_, level)| level.name.as_str()).collect();
            let hint = nearest_hint(kind, names.iter().copied());
            Failure::invalid(format!(
                "no level `{kind}`: expected one of {}{hint}",
                names.join(", ")
            ))
            .with_step("tl plan   # shows what can be planned")
        })
}

/// Resolves `--under`: a node, or only the number of a node one level above.
fn resolve_parent_argument(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    profile: &Profile,
    level: &Level,
    name: &str,
) -> Result<Node, Failure> {
    let words: Vec<String> = name.split_whitespace().map(str::to_owned).collect();
    let is_number = name.chars().all(|c| c.is_ascii_digit());
    let words = match level.under.first() {
        Some(above) if is_number => vec![above.clone(), name.to_owned()],
        _ => words,
    };
    let (reference, _) = NodeReference::parse_words(&words, ctx.profiles)?;
    match resolve_node(state, &reference) {
        Ok(node) => Ok(node),
        Err(LookupError::Fault(fault)) => Err(fault.into()),
        Err(LookupError::Unresolved(unresolved)) => {
            // A missing parent has to be planned first; that is the more useful next step than the
            // list of the tree. One that is named too vaguely is there already.
            let is_missing = matches!(unresolved, Unresolved::NotFound { .. });
            let names_one_of = |above: &&String| {
                let above = profile.find_level(above);
                above.is_some_and(|above| above.read_alias(reference.alias()).is_ok())
            };
            let mut failure = Failure::from(unresolved);
            if let Some(above) = level.under.iter().find(names_one_of).filter(|_| is_missing) {
                // With the path that was given: an alias alone may be one below several.
                let step = format!("tl plan {above} {}", reference.joined_name());
                failure.next_steps.insert(0, step);
            }
            Err(failure)
        }
    }
}

/// Finds the parent in the tree; it is never assumed.
///
/// `under` is the parent itself or a further ancestor, which narrows the choice.
fn find_parent<'t>(
    ctx: &Context<'_>,
    tree: &'t Tree,
    profile: &Profile,
    level: &Level,
    wanted: &ReadAlias,
    under: Option<&Node>,
) -> Result<Option<&'t Node>, Failure> {
    let number_of = |node: &Node| {
        let level = profile.find_level(&node.level)?;
        level.number_of(&node.alias)
    };
    let number_fits = |node: &Node| wanted.belongs_to(&node.alias, number_of(node));
    if let Some(parent) = under.filter(|node| level.under.contains(&node.level)) {
        // In profiles where an alias contains the parent's number, a contradiction is more likely a
        // typing error than an intention.
        if !number_fits(parent) {
            return Err(Failure::invalid(format!(
                "`{}` does not belong to `{}`: its number says otherwise",
                wanted.alias, parent.alias
            )));
        }
        return Ok(tree.get(parent.id));
    }
    // A level that may also be a root becomes one, unless a node of that name already exists below
    // another.
    let is_below = tree
        .nodes()
        .any(|node| node.alias == wanted.alias && node.parent.is_some());
    // Of a level that can do without a parent, the plans that are there decide: a book without acts
    // has chapters at the top. Where nothing is there yet, the parent is asked for.
    let is_top = |level: &Level| match level.under.iter().all(|above| is_optional(profile, above)) {
        true => !tree.nodes().any(|node| level.under.contains(&node.level)),
        false => tree.root_nodes().any(|node| node.level == level.name),
    };
    let is_root = level.root && !is_below && (level.is_flat() || is_top(level));
    if under.is_none() && (level.under.is_empty() || is_root) {
        return Ok(None);
    }
    let within = |node: &Node| {
        under.is_none_or(|top| tree.ancestors(node).iter().any(|above| above.id == top.id))
    };
    // An existing node determines its parent: planning it again must not offer the other
    // candidates.
    let existing: Vec<&Node> = tree
        .nodes()
        .filter(|node| {
            node.profile == profile.name && node.level == level.name && node.alias == wanted.alias
        })
        .filter_map(|node| tree.parent_of(node))
        .filter(|parent| within(parent))
        .collect();
    let candidates: Vec<&Node> = if existing.is_empty() {
        tree.all_preorder()
            .into_iter()
            .filter(|node| node.profile == profile.name && level.under.contains(&node.level))
            .filter(|node| within(node) && number_fits(node))
            .collect()
    } else {
        existing
    };
    // Several candidates are an error with one command each. Guessing would create a plan in the
    // wrong place, which is expensive to notice.
    match candidates.as_slice() {
        [one] => Ok(Some(*one)),
        [] => {
            let top = under.map(|top| (top.level.as_str(), tree.alias_path(top)));
            Err(missing_parent_failure(ctx, profile, level, wanted, top))
        }
        several => {
            let names: Vec<String> = several.iter().map(|node| tree.alias_path(node)).collect();
            Err(ambiguous_parent_failure(level, wanted, &names))
        }
    }
}

fn is_optional(profile: &Profile, level: &str) -> bool {
    profile
        .find_level(level)
        .is_some_and(|level| level.optional)
}

/// Builds the refusal for several possible parents.
fn ambiguous_parent_failure(level: &Level, wanted: &ReadAlias, names: &[String]) -> Failure {
    let what = format!(
        "cannot tell the parent of `{}`: it could be any of {}",
        wanted.alias,
        names.join(", ")
    );
    let failure = Failure::invalid(what);
    names.iter().fold(failure, |failure, name| {
        failure.with_step(format!(
            "tl plan {} {} --under {name}",
            level.name, wanted.alias
        ))
    })
}

/// Builds the refusal for a missing parent. `top` is the level and the path of the ancestor that was
/// named.
fn missing_parent_failure(
    ctx: &Context<'_>,
    profile: &Profile,
    level: &Level,
    wanted: &ReadAlias,
    top: Option<(&str, String)>,
) -> Failure {
    let above = level.under.first().map_or("", String::as_str);
    let above_level = profile.find_level(above);
    let alias = wanted
        .parent_number
        .and_then(|number| above_level?.alias.format_alias(number, None));
    // Below the ancestor that was named: the alias alone may be one below several.
    let place = top.filter(|(level, _)| {
        above_level.is_some_and(|above| above.under.iter().any(|name| name == level))
    });
    let parent = alias
        .clone()
        .map(|alias| format!("`{alias}`"))
        .unwrap_or_else(|| format!("there is no {above} yet, and it"));
    let failure = Failure::refused(format!(
        "cannot plan `{}`: its parent is missing ({parent} must be planned and approved first)",
        wanted.alias
    ));
    let id = alias.unwrap_or_else(|| "1".to_owned());
    let (id, named) = match place {
        Some((_, place)) => {
            let path = format!("{place}/{id}");
            (path.clone(), path)
        }
        None => (id.clone(), format!("{above} {id}")),
    };
    let approve = approval_next_step(&named, ctx.policy.approval, &ctx.actor);
    failure
        .with_step(format!("tl plan {above} {id}"))
        .with_step(approve)
}

/// Builds the refusal for a parent that is not approved.
fn unapproved_parent_failure(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    tree: &Tree,
    wanted: &ReadAlias,
    request: &PlanRequest,
    parent: &Node,
) -> Result<Failure, Failure> {
    let path = tree.alias_path(parent);
    let why = describe_cause(state, parent)?
        .map(|why| format!(" ({why})"))
        .unwrap_or_default();
    let mut failure = Failure::refused(format!(
        "cannot plan `{}`: parent `{path}` is `{}`, expected `approved`{why}",
        wanted.alias,
        parent.status()
    ));
    if let Some(file) = &parent.path {
        failure = failure.with_step(format!("review {file}"));
    }
    if let Some(first) = find_undecided_above(ctx, tree.ancestors(parent)) {
        let above = tree.alias_path(first);
        failure = failure.with_step(decision_next_step(ctx, &above, first.status()));
    }
    failure = failure.with_step(match parent.status() {
        Status::RequiresRevalidation => decision_next_step(ctx, &path, parent.status()),
        _ => approval_next_step(&path, ctx.policy.approval, &ctx.actor),
    });
    let under = request
        .under
        .as_deref()
        .map(|under| format!(" --under {under:?}"))
        .unwrap_or_default();
    // The original command comes last, so that the steps can be run from top to bottom.
    Ok(failure.with_step(format!("tl plan {} {}{under}", request.kind, request.id)))
}

/// The plannable nodes, for `tl plan` without arguments.
#[derive(Clone, Debug, Serialize)]
pub struct PlanMenu {
    pub entries: Vec<MenuEntry>,
}

/// A plannable node.
#[derive(Clone, Debug, Serialize)]
pub struct MenuEntry {
    pub level: String,
    pub purpose: String,
    pub command: String,
    /// Why it cannot be planned now, if so.
    pub blocked: Option<String>,
}

/// Returns the plannable nodes: for each level, the next free number below each parent.
///
/// # Errors
/// When the state cannot be read.
pub fn build_plan_menu(ctx: &Context<'_>) -> Result<PlanMenu, Failure> {
    let (_, tree) = observe_tree(ctx)?;
    let mut entries = Vec::new();
    for profile in ctx.profiles {
        for level in profile.levels.iter().filter(|level| level.file.is_some()) {
            if level.optional && !tree.nodes().any(|node| node.level == level.name) {
                continue;
            }
            let above: Vec<Option<&Node>> = tree
                .all_preorder()
                .into_iter()
                .filter(|node| node.profile == profile.name && level.under.contains(&node.level))
                .map(Some)
                .collect();
            let is_root = level.root
                && (level.is_flat()
                    || level.under.iter().all(|it| is_optional(profile, it))
                    || tree.root_nodes().any(|node| node.level == level.name));
            let parents = match level.under.is_empty() || (is_root && above.is_empty()) {
                true => vec![None],
                false if level.is_flat() => vec![None],
                false => above,
            };
            // Listed although it cannot be planned: a level missing from the menu looks like a
            // missing feature.
            if parents.is_empty() {
                let above = level.under.join(" or ");
                entries.push(MenuEntry {
                    level: level.name.clone(),
                    purpose: level.purpose.clone(),
                    command: format!("tl plan {} …", level.name),
                    blocked: Some(format!("there is no {above} yet")),
                });
            }
            entries.extend(
                parents
                    .into_iter()
                    .filter_map(|parent| build_menu_entry(&tree, profile, level, parent)),
            );
        }
    }
    Ok(PlanMenu { entries })
}

/// Returns the next node of a level below a parent; `None` if its numbers are used up.
fn build_menu_entry(
    tree: &Tree,
    profile: &Profile,
    level: &Level,
    parent: Option<&Node>,
) -> Option<MenuEntry> {
    let siblings: Vec<&Node> = match parent {
        Some(parent) => tree.children(parent.id).collect(),
        None => tree.root_nodes().collect(),
    };
    // After the highest number, not in the first gap: a gap is usually a plan that was removed, and
    // its number is in the history.
    let last = siblings
        .iter()
        .filter(|node| node.level == level.name)
        .filter_map(|node| level.number_of(&node.alias))
        .max()
        .unwrap_or(0);
    let next = Some(last + 1).filter(|number| level.numbers.contains(number));
    let id = if level.alias.is_numbered() {
        let (name, number) = match parent {
            Some(parent) => {
                let above = profile.find_level(&parent.level);
                let number = above.and_then(|above| above.number_of(&parent.alias));
                (parent.alias.as_str(), number)
            }
            None => ("", None),
        };
        level.alias.format_below(next?, name, number)?
    } else {
        "NAME".to_owned()
    };
    let below = parent
        .map(|parent| format!(" --under {}", tree.alias_path(parent)))
        .unwrap_or_default();
    Some(MenuEntry {
        level: level.name.clone(),
        purpose: level.purpose.clone(),
        command: format!("tl plan {} {id}{below}", level.name),
        blocked: parent
            .filter(|parent| parent.status() != Status::Approved)
            .map(|parent| format!("`{}` is {}", tree.alias_path(parent), parent.status())),
    })
}
