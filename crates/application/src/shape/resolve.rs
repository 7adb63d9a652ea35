//! From the words of a shape change to the nodes and places they mean.

use domain::duplicate_ids::id_of_alias;
use domain::ids::NodeId;
use domain::node::Node;
use domain::node_reference::{NodeReference, Unresolved};
use domain::ports::Snapshot;
use domain::profile::{Level, Profile};
use domain::shape::{Layout, Place, Position, ShapeRefused, ShapeRequest};
use domain::shell_line::quote_word;
use domain::suggest::nearest_hint;
use domain::tree::Tree;

use super::{MoveTarget, ShapeChange};
use crate::context::Context;
use crate::failure::Failure;
use crate::locate::{find_node, reject_extra_words};
use crate::ticket_ids::{choose_root_id, list_taken_ids, next_child_id};

/// A shape change with its nodes.
pub(super) struct ResolvedChange<'p> {
    pub(super) profile: &'p Profile,
    pub(super) request: ShapeRequest,
    pub(super) title: Option<String>,
    /// Where the text of a split plan is cut.
    pub(super) split_at: Option<String>,
    /// The node that is changed.
    pub(super) subject: Option<NodeId>,
    /// Ids that may not be given, because another branch or working tree has them.
    pub(super) taken: Vec<String>,
    verb: &'static str,
}

impl ResolvedChange<'_> {
    /// Returns one line for the log.
    pub(super) fn summarise(&self, tree: &Tree, after: &Tree, layout: &Layout) -> String {
        let path_in = |tree: &Tree, id: Option<NodeId>| {
            let node = id.and_then(|id| tree.get(id));
            node.map_or_else(String::new, |node| tree.alias_path(node))
        };
        let was = path_in(tree, self.subject);
        let now = path_in(after, self.subject);
        match (&self.request, &layout.added) {
            (ShapeRequest::Split { .. }, Some(added)) => {
                format!("split {was}: {} is new", path_in(after, Some(added.id)))
            }
            (_, Some(added)) => format!("{} {}", self.verb, path_in(after, Some(added.id))),
            (ShapeRequest::Merge { into, .. }, _) => {
                format!("merge {was} into {}", path_in(after, Some(*into)))
            }
            (ShapeRequest::Remove { .. }, _) => format!("remove {was}"),
            (ShapeRequest::CloseGaps { parent: None }, _) => {
                "renumber the plans at the top".to_owned()
            }
            (ShapeRequest::CloseGaps { .. }, _) => format!("renumber the children of {was}"),
            _ => format!("{} {was} to {now}", self.verb),
        }
    }

    /// Refuses ids that are in use on another branch.
    pub(super) fn refuse_taken(&self, layout: &Layout) -> Result<(), Failure> {
        let given = layout.changes.iter().map(|change| &change.after.alias);
        // A node may keep its own id, and siblings may exchange theirs.
        let olds: Vec<&str> = layout
            .changes
            .iter()
            .map(|change| id_of_alias(&change.before.alias))
            .collect();
        for id in given {
            if self.taken.contains(id) && !olds.contains(&id.as_str()) {
                let what = format!("the id `{id}` is in use, here or on another branch");
                let name = self.subject.map_or_else(String::new, |_| "NODE".to_owned());
                return Err(Failure::conflict(what).with_step(format!(
                    "tl renumber {name}   # without an id: the next free one"
                )));
            }
        }
        Ok(())
    }
}

/// Resolves the words of a change.
pub(super) fn resolve_change<'p>(
    ctx: &Context<'p>,
    state: &dyn Snapshot,
    tree: &Tree,
    change: &ShapeChange,
) -> Result<ResolvedChange<'p>, Failure> {
    let find = |words: &[String]| find_named(ctx, state, tree, words);
    let simple = |node: &Node, request: ShapeRequest, verb: &'static str| {
        Ok(ResolvedChange {
            profile: profile_of(ctx, node)?,
            request,
            title: None,
            split_at: None,
            subject: Some(node.id),
            taken: Vec::new(),
            verb,
        })
    };
    match change {
        ShapeChange::Add {
            level,
            under,
            name,
            title,
        } => {
            let (profile, level) = find_level(ctx, level)?;
            let parent = resolve_parent(ctx, state, tree, level, under.as_deref())?;
            let place = Place {
                parent,
                position: Position::Last,
            };
            let name = match level.is_flat() {
                true => {
                    let taken = list_taken_ids(ctx, state, level)?;
                    let parent = parent.and_then(|parent| tree.get(parent));
                    Some(choose_new_id(ctx, parent, &taken, name.as_deref())?)
                }
                false => name.clone(),
            };
            Ok(new_plan(profile, level, place, name, title.clone(), "add"))
        }
        ShapeChange::Insert {
            place,
            under,
            after,
            title,
        } => resolve_insert(
            ctx,
            state,
            tree,
            place,
            under.as_deref(),
            *after,
            title.clone(),
        ),
        ShapeChange::Move { node, target } => {
            let node = find(node)?;
            let place = resolve_target(ctx, state, tree, target)?;
            let request = ShapeRequest::Move {
                node: node.id,
                place,
            };
            simple(node, request, "move")
        }
        ShapeChange::Renumber { node, id } => {
            let node = find(node)?;
            resolve_renumber(ctx, state, tree, node, id.as_deref())
        }
        ShapeChange::CloseGaps { node } if node.is_empty() => {
            let top = find_numbered_root(ctx, tree)?;
            let request = ShapeRequest::CloseGaps { parent: None };
            Ok(ResolvedChange {
                subject: None,
                ..simple(top, request, "renumber")?
            })
        }
        ShapeChange::CloseGaps { node } => {
            let node = find(node)?;
            let parent = Some(node.id);
            simple(node, ShapeRequest::CloseGaps { parent }, "renumber")
        }
        ShapeChange::Split {
            node,
            at,
            title,
            children_from,
        } => {
            let node = find(node)?;
            refuse_without_position(ctx, node, title.as_deref())?;
            // A child of this plan: its alias alone may be that of another parent's child as well.
            let from = children_from.as_ref().map(|name| {
                let own = tree.children(node.id).find(|child| child.alias == *name);
                own.map_or_else(|| find(std::slice::from_ref(name)), Ok)
            });
            let request = ShapeRequest::Split {
                node: node.id,
                children_from: from.transpose()?.map(|child| child.id),
            };
            Ok(ResolvedChange {
                title: title.clone(),
                split_at: Some(at.clone()),
                ..simple(node, request, "split")?
            })
        }
        ShapeChange::SplitInto { .. } => Err(Failure::internal(
            "the parts of a ticket are made by its own use case",
        )),
        ShapeChange::Merge { node, into } => {
            let (node, into) = (find(node)?, find(into)?);
            let request = ShapeRequest::Merge {
                node: node.id,
                into: into.id,
            };
            simple(node, request, "merge")
        }
        ShapeChange::Remove { node } => {
            let node = find(node)?;
            simple(node, ShapeRequest::Remove { node: node.id }, "remove")
        }
    }
}

/// Resolves where a plan is moved.
fn resolve_target(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    tree: &Tree,
    target: &MoveTarget,
) -> Result<Place, Failure> {
    let find = |name: &String| find_named(ctx, state, tree, std::slice::from_ref(name));
    Ok(match target {
        MoveTarget::Before(name) => {
            let other = find(name)?;
            place_beside(other, Position::Before(other.id))
        }
        MoveTarget::After(name) => {
            let other = find(name)?;
            place_beside(other, Position::After(other.id))
        }
        MoveTarget::Under(name) => Place {
            parent: name.as_ref().map(find).transpose()?.map(|node| node.id),
            position: Position::Last,
        },
    })
}

fn place_beside(node: &Node, position: Position) -> Place {
    Place {
        parent: node.parent,
        position,
    }
}

fn new_plan<'p>(
    profile: &'p Profile,
    level: &Level,
    place: Place,
    name: Option<String>,
    title: Option<String>,
    verb: &'static str,
) -> ResolvedChange<'p> {
    ResolvedChange {
        profile,
        request: ShapeRequest::Insert {
            level: level.name.clone(),
            place,
            name,
        },
        title,
        split_at: None,
        subject: None,
        taken: Vec::new(),
        verb,
    }
}

fn find_named<'t>(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    tree: &'t Tree,
    words: &[String],
) -> Result<&'t Node, Failure> {
    // No name contains a space: one argument may hold both words of `chapter 2`.
    let words: Vec<String> = words
        .iter()
        .flat_map(|word| word.split_whitespace())
        .map(str::to_owned)
        .collect();
    let (id, rest) = find_node(ctx, state, &words)?;
    reject_extra_words(rest)?;
    tree.get(id)
        .ok_or_else(|| Failure::invalid("plans of the trail have no shape to change".to_owned()))
}

/// Returns the first plan at the top whose level is numbered.
fn find_numbered_root<'t>(ctx: &Context<'_>, tree: &'t Tree) -> Result<&'t Node, Failure> {
    let is_numbered = |node: &&Node| {
        let profile = ctx.find_profile(&node.profile);
        let level = profile.and_then(|profile| profile.find_level(&node.level));
        level.is_some_and(|level| level.alias.is_numbered() && !level.is_flat())
    };
    let found = tree.root_nodes().find(is_numbered);
    found.ok_or_else(|| Failure::refused("there are no numbered plans at the top"))
}

fn profile_of<'p>(ctx: &Context<'p>, node: &Node) -> Result<&'p Profile, Failure> {
    ctx.find_profile(&node.profile)
        .ok_or_else(|| Failure::invalid(format!("the profile `{}` is off", node.profile)))
}

/// Finds a level with files, or with items of a file, by its name.
pub(super) fn find_level<'p>(
    ctx: &Context<'p>,
    name: &str,
) -> Result<(&'p Profile, &'p Level), Failure> {
    let levels = || {
        ctx.profiles.iter().flat_map(|profile| {
            let levels = profile.levels.iter();
            let levels = levels.filter(|level| level.file.is_some() || level.items.is_some());
            levels.map(move |level| (profile, level))
        })
    };
    levels()
        .find(|(_, level)| level.name.to_lowercase() == name.to_lowercase())
        .ok_or_else(|| {
            let names: Vec<&str> = levels().map(|(_, level)| level.name.as_str()).collect();
            if names.is_empty() {
                let what = "no profile that is on has plans with files of their own";
                return Failure::invalid(what).with_step("tl doc new TITLE");
            }
            let hint = nearest_hint(name, names.iter().copied());
            let names = names.join(", ");
            Failure::invalid(format!("no level `{name}`: expected one of {names}{hint}"))
        })
}

/// Resolves the parent of a new plan: the named one, the only possible one, or none at the top.
pub(super) fn resolve_parent(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    tree: &Tree,
    level: &Level,
    under: Option<&str>,
) -> Result<Option<NodeId>, Failure> {
    if let Some(under) = under {
        let words: Vec<String> = under.split_whitespace().map(str::to_owned).collect();
        return Ok(Some(find_named(ctx, state, tree, &words)?.id));
    }
    let parents: Vec<&Node> = tree
        .all_preorder()
        .into_iter()
        .filter(|node| level.under.contains(&node.level))
        .collect();
    match parents.as_slice() {
        [] if level.root => Ok(None),
        // Where plans of this level are at the top already, another one goes there too.
        _ if level.root && tree.root_nodes().any(|node| node.level == level.name) => Ok(None),
        [one] => Ok(Some(one.id)),
        [] => {
            let above = level.under.first().map_or("", String::as_str);
            Err(
                Failure::refused(format!("there is no {above} for a {}", level.name))
                    .with_step(format!("tl add {above}")),
            )
        }
        several => {
            let failure = Failure::invalid(format!("which parent should the {} have?", level.name));
            Err(several.iter().take(8).fold(failure, |failure, node| {
                let path = tree.alias_path(node);
                failure.with_step(format!("tl add {} --under {path}", level.name))
            }))
        }
    }
}

/// Resolves the place of an insertion: an existing plan, or a number that is free.
fn resolve_insert<'p>(
    ctx: &Context<'p>,
    state: &dyn Snapshot,
    tree: &Tree,
    words: &[String],
    under: Option<&str>,
    after: bool,
    title: Option<String>,
) -> Result<ResolvedChange<'p>, Failure> {
    let (reference, rest) = NodeReference::parse_words(words, ctx.profiles)?;
    reject_extra_words(rest)?;
    let under = match under {
        Some(under) => Some(tree.alias_path(find_named(ctx, state, tree, &[under.to_owned()])?)),
        None => None,
    };
    let under = under.as_deref();
    let path = match under {
        Some(under) => format!("{under}/{}", reference.joined_name()),
        None => reference.joined_name(),
    };
    let found = find_named(ctx, state, tree, std::slice::from_ref(&path));
    let missing = match found {
        Ok(node) => {
            refuse_without_position(ctx, node, title.as_deref())?;
            let profile = profile_of(ctx, node)?;
            let level = profile.find_level(&node.level).ok_or(Unresolved::Nothing)?;
            let position = match after {
                true => Position::After(node.id),
                false => Position::Before(node.id),
            };
            let place = place_beside(node, position);
            return Ok(new_plan(profile, level, place, None, title, "insert"));
        }
        Err(failure) => failure,
    };
    // Nothing is there yet: a free number, or a name.
    let alias = reference.alias();
    let fitting = ctx.profiles.iter().find_map(|profile| {
        let mut levels = profile.levels.iter().filter(|level| level.file.is_some());
        let level = levels.find(|level| {
            let read = level.alias.parse_exact_alias(alias, &level.numbers);
            read.is_some() && !level.is_flat()
        })?;
        Some((profile, level))
    });
    // Only "not found" may mean a free number. An ambiguous name has candidates, and inserting at a
    // guess would renumber the wrong siblings.
    let (true, Some((profile, level))) = (missing.kind == crate::FailureKind::NotFound, fitting)
    else {
        return Err(missing);
    };
    let segments = reference.segments();
    let above = segments.get(..segments.len() - 1).unwrap_or_default();
    let above = match (under, above) {
        (Some(under), _) => Some(under.to_owned()),
        (None, []) => None,
        (None, above) => Some(above.join("/")),
    };
    let parent = resolve_parent(ctx, state, tree, level, above.as_deref())?;
    refuse_name_of_other_parent(profile, level, parent.and_then(|id| tree.get(id)), alias)?;
    let number = level.number_of(alias);
    let place = Place {
        parent,
        position: number.map_or(Position::Last, Position::Number),
    };
    let name = number.is_none().then(|| alias.to_owned());
    Ok(new_plan(profile, level, place, name, title, "insert"))
}

/// Refuses an alias that names another parent than the one it is given below: its own number alone
/// would mean another place.
fn refuse_name_of_other_parent(
    profile: &Profile,
    level: &Level,
    parent: Option<&Node>,
    alias: &str,
) -> Result<(), ShapeRefused> {
    let read = level.alias.parse_exact_alias(alias, &level.numbers);
    let (Some(parent), Some(read)) = (parent, read) else {
        return Ok(());
    };
    let above = profile.find_level(&parent.level);
    let number = above.and_then(|level| level.number_of(&parent.alias));
    if read.belongs_to(&parent.alias, number) {
        return Ok(());
    }
    Err(ShapeRefused::NameOfOtherParent {
        alias: read.alias,
        parent: parent.alias.clone(),
    })
}

/// Chooses the id of a new plan: the wanted one, if nothing has it, or the next free one.
fn choose_new_id(
    ctx: &Context<'_>,
    parent: Option<&Node>,
    taken: &[String],
    wanted: Option<&str>,
) -> Result<String, Failure> {
    match (wanted, parent) {
        (Some(wanted), _) if taken.iter().any(|id| id == wanted) => {
            let what = format!("the id `{wanted}` is in use, here or on another branch");
            Err(Failure::conflict(what).with_step("leave `--name` out: the next free id"))
        }
        (Some(wanted), _) => Ok(wanted.to_owned()),
        (None, Some(parent)) => Ok(next_child_id(id_of_alias(&parent.alias), taken)),
        (None, None) => Ok(choose_root_id(ctx.policy.ids, taken)),
    }
}

/// Refuses a place before or after a plan with an id, which has no position among its siblings.
fn refuse_without_position(
    ctx: &Context<'_>,
    node: &Node,
    title: Option<&str>,
) -> Result<(), Failure> {
    let level = profile_of(ctx, node)?.find_level(&node.level);
    if !level.is_some_and(Level::is_flat) {
        return Ok(());
    }
    let what = format!(
        "`{}` has an id and no number, so nothing comes right before or after it",
        node.alias
    );
    let title = quote_word(title.unwrap_or("TITLE"));
    Err(Failure::refused(what)
        .with_step(format!(
            "tl add {} --under {} --title {title}",
            node.level, node.alias
        ))
        .with_step(format!(
            "tl ticket split {} TITLE   # the parts below it",
            node.alias
        )))
}

/// Chooses the new number, id or name of a plan.
fn resolve_renumber<'p>(
    ctx: &Context<'p>,
    state: &dyn Snapshot,
    tree: &Tree,
    node: &Node,
    wanted: Option<&str>,
) -> Result<ResolvedChange<'p>, Failure> {
    let profile = profile_of(ctx, node)?;
    let level = profile.find_level(&node.level).ok_or(Unresolved::Nothing)?;
    // The ids of flat levels are unique in the repository, so other branches and worktrees are
    // asked (law 6). A nested number only has to be free below its parent.
    let mut taken = Vec::new();
    if level.is_flat() {
        taken = list_taken_ids(ctx, state, level)?;
    }
    let alias = match (wanted, level.is_flat()) {
        (Some(wanted), true) => {
            let read = level.alias.parse_exact_alias(wanted, &level.numbers);
            read.map(|read| read.alias).ok_or_else(|| {
                let example = level.alias.example_alias();
                Failure::invalid(format!(
                    "`{wanted}` is not an id of a {}: expected {example}",
                    level.name
                ))
            })?
        }
        (Some(wanted), false) => wanted.to_owned(),
        (None, true) => match tree.parent_of(node) {
            Some(parent) => next_child_id(id_of_alias(&parent.alias), &taken),
            None => choose_root_id(ctx.policy.ids, &taken),
        },
        (None, false) => {
            let path = tree.alias_path(node);
            let siblings = tree.nodes().filter(|it| it.parent == node.parent);
            let taken = siblings.filter(|it| it.level == node.level);
            let last = taken.filter_map(|it| level.number_of(&it.alias)).max();
            let free = last.unwrap_or_default() + 1;
            return Err(
                Failure::invalid(format!("which number should `{path}` get?"))
                    .with_step(format!("tl renumber {path} {free}   # a free number"))
                    .with_step(format!(
                        "tl renumber {path} --children   # close the gaps below it"
                    )),
            );
        }
    };
    let own = id_of_alias(&node.alias);
    if taken.contains(&alias) && alias != own {
        let what = format!("the id `{alias}` is in use, here or on another branch");
        let path = tree.alias_path(node);
        return Err(
            Failure::conflict(what).with_step(format!("tl renumber {path}   # the next free id"))
        );
    }
    Ok(ResolvedChange {
        profile,
        request: ShapeRequest::Rename {
            node: node.id,
            alias,
        },
        title: None,
        split_at: None,
        subject: Some(node.id),
        taken,
        verb: "renumber",
    })
}
