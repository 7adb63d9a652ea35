//! Layout of a shape change: which nodes get another parent, number, alias and file.
//!
//! As few nodes as possible change: an insertion shifts siblings only up to the next free number, and
//! a move among siblings permutes the numbers that are in use.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::relocation::{follow_ancestor_id, relocate_file};
use super::{AddedNode, Layout, NodeChange, Place, Position, ShapeRefused, ShapeRequest};
use crate::ids::NodeId;
use crate::node::{Node, NodeName};
use crate::profile::{Level, Profile, ReadAlias, parent_folder};
use crate::tree::Tree;

/// What a layout is planned on.
#[derive(Clone, Copy)]
pub struct ShapeContext<'a> {
    pub tree: &'a Tree,
    pub profile: &'a Profile,
    /// The id of a new node.
    pub next_id: NodeId,
}

/// Plans which nodes a request changes.
///
/// # Errors
/// [`ShapeRefused`] when the profile or the tree does not allow it.
pub fn plan_layout(ctx: ShapeContext<'_>, request: &ShapeRequest) -> Result<Layout, ShapeRefused> {
    let mut plan = Arrangement {
        ctx,
        placed: BTreeMap::new(),
        added: None,
        removed: Vec::new(),
    };
    // Only a merge has a successor to which references are rewritten; those to a plan that was
    // removed for good stay as its author wrote them.
    let mut replaced = None;
    match request {
        ShapeRequest::Insert { level, place, name } => {
            let level = plan.find_level(level)?;
            let slot = plan.open_slot(level, *place, name.as_deref(), None)?;
            plan.add_node(level, place.parent, slot)?;
        }
        ShapeRequest::Move { node, place } => plan.move_node(*node, *place)?,
        ShapeRequest::Rename { node, alias } => plan.rename_node(*node, alias)?,
        ShapeRequest::CloseGaps { parent } => plan.close_gaps(*parent)?,
        ShapeRequest::Split {
            node,
            children_from,
        } => plan.split_node(*node, *children_from)?,
        ShapeRequest::Merge { node, into } => {
            plan.merge_nodes(*node, *into)?;
            replaced = Some((*node, *into));
        }
        ShapeRequest::Remove { node } => plan.remove_subtree(*node)?,
    }
    let mut layout = plan.into_layout()?;
    layout.replaced = replaced;
    Ok(layout)
}

/// Returns the tree as a layout leaves it, without the new texts.
#[must_use]
pub fn apply_layout(tree: &Tree, layout: &Layout, added: Option<Node>) -> Tree {
    let changes: HashMap<NodeId, &NodeChange> = layout
        .changes
        .iter()
        .map(|change| (change.node, change))
        .collect();
    let kept = tree
        .nodes()
        .filter(|node| !layout.removed.contains(&node.id))
        .map(|node| {
            let mut node = node.clone();
            if let Some(change) = changes.get(&node.id) {
                node.parent = change.parent_after;
                node.set_name(change.after.clone());
            }
            node
        });
    Tree::new(kept.chain(added))
}

/// A number or name for a node below its new parent.
#[derive(Clone, Debug)]
struct Slot {
    alias: String,
    order: i64,
}

/// The place of a node whose place was chosen; its file follows from it.
#[derive(Clone, Debug)]
struct Placed {
    parent: Option<NodeId>,
    alias: String,
    order: i64,
}

/// The changes found so far, from the top down.
#[derive(Default)]
struct Followed {
    changes: Vec<NodeChange>,
    index: HashMap<NodeId, usize>,
    /// Folders of the files of changed and new nodes.
    folders: HashMap<NodeId, String>,
}

impl Followed {
    fn push(&mut self, change: NodeChange) {
        self.index.insert(change.node, self.changes.len());
        self.changes.push(change);
    }

    fn change_of(&self, node: NodeId) -> Option<&NodeChange> {
        self.changes.get(*self.index.get(&node)?)
    }
}

struct Arrangement<'a> {
    ctx: ShapeContext<'a>,
    placed: BTreeMap<NodeId, Placed>,
    added: Option<AddedNode>,
    removed: Vec<NodeId>,
}

impl<'a> Arrangement<'a> {
    fn find_level(&self, name: &str) -> Result<&'a Level, ShapeRefused> {
        self.ctx
            .profile
            .find_level(name)
            // A level without a file is a list in its parent's file: there is nothing to move or
            // rename.
            .filter(|level| level.file.is_some())
            .ok_or_else(|| ShapeRefused::NoFile {
                node: name.to_owned(),
            })
    }

    fn get(&self, id: NodeId) -> Result<&'a Node, ShapeRefused> {
        let found = self.ctx.tree.get(id).filter(|node| node.path.is_some());
        found.ok_or_else(|| ShapeRefused::NoFile {
            node: self
                .ctx
                .tree
                .get(id)
                .map_or_else(|| id.to_string(), |node| node.alias.clone()),
        })
    }

    fn level_of(&self, node: &Node) -> Result<&'a Level, ShapeRefused> {
        self.find_level(&node.level)
    }

    /// Returns the alias of a node as it is arranged now, and its number.
    fn name_of(&self, id: NodeId) -> Option<(String, Option<u32>)> {
        // What is placed wins over the tree: aliases below a renumbered parent contain its new
        // number.
        let (alias, level) = match (self.placed.get(&id), &self.added, self.ctx.tree.get(id)) {
            (Some(placed), _, Some(node)) => (placed.alias.clone(), &node.level),
            (None, _, Some(node)) => (node.alias.clone(), &node.level),
            (_, Some(added), None) if added.id == id => (added.name.alias.clone(), &added.level),
            _ => return None,
        };
        let level = self.ctx.profile.find_level(level)?;
        let number = level.number_of(&alias);
        Some((alias, number))
    }

    /// Formats the alias of a number below a parent.
    fn format_alias(
        &self,
        level: &Level,
        number: u32,
        parent: Option<NodeId>,
    ) -> Result<String, ShapeRefused> {
        // Every alias made of a number passes here, so a shift of siblings cannot run past the last
        // number either.
        if !level.numbers.contains(&number) {
            return Err(ShapeRefused::OutOfNumbers {
                level: level.name.clone(),
                number,
                first: *level.numbers.start(),
                last: *level.numbers.end(),
            });
        }
        let (alias, above) = match parent.and_then(|parent| self.name_of(parent)) {
            Some((alias, number)) => (alias, number),
            None => (String::new(), None),
        };
        let formatted = level.alias.format_below(number, &alias, above);
        formatted.ok_or_else(|| ShapeRefused::NotNumbered {
            level: level.name.clone(),
        })
    }

    fn check_parent(&self, level: &Level, parent: Option<NodeId>) -> Result<(), ShapeRefused> {
        let level_of = |id| self.ctx.tree.get(id).map_or("", |node| node.level.as_str());
        let above = parent.map(level_of);
        let fits = match above {
            Some(above) => level.under.iter().any(|name| name == above),
            None => level.root,
        };
        match fits {
            true => Ok(()),
            false => Err(ShapeRefused::WrongParent {
                level: level.name.clone(),
                parent: above.map(str::to_owned),
            }),
        }
    }

    /// Returns the siblings of a level below a parent, as arranged now, in order, with what their
    /// aliases say.
    fn siblings(&self, level: &Level, parent: Option<NodeId>) -> Vec<(NodeId, ReadAlias)> {
        let tree = self.ctx.tree;
        let is_here = |node: &&Node| {
            let placed = self.placed.get(&node.id).map(|placed| placed.parent);
            node.profile == self.ctx.profile.name
                && node.level == level.name
                && placed.unwrap_or(node.parent) == parent
                && !self.removed.contains(&node.id)
        };
        let mut found: Vec<(NodeId, ReadAlias)> = tree
            .nodes()
            .filter(is_here)
            .filter_map(|node| {
                let alias = self
                    .placed
                    .get(&node.id)
                    .map_or(&node.alias, |placed| &placed.alias);
                let read = level.alias.parse_exact_alias(alias, &level.numbers)?;
                Some((node.id, read))
            })
            .collect();
        found.sort_by(|(_, a), (_, b)| (a.order, &a.alias).cmp(&(b.order, &b.alias)));
        found
    }

    /// Finds the number or name of a place, and makes room for it. `without` is a node that leaves.
    fn open_slot(
        &mut self,
        level: &'a Level,
        place: Place,
        name: Option<&str>,
        without: Option<NodeId>,
    ) -> Result<Slot, ShapeRefused> {
        self.check_parent(level, place.parent)?;
        let mut siblings = self.siblings(level, place.parent);
        siblings.retain(|(id, _)| Some(*id) != without);
        // A name is taken as it is or refused: siblings are shifted for a position only, not for a
        // word that a person chose.
        if let Some(name) = name {
            let read = level.read_alias(name)?;
            return self.check_free(&siblings, read, place.parent);
        }
        if !level.alias.is_numbered() {
            return Err(ShapeRefused::NotNumbered {
                level: level.name.clone(),
            });
        }
        let number = self.number_at(level, &siblings, place.position)?;
        self.make_room(level, place.parent, &siblings, number)?;
        Ok(Slot {
            alias: self.format_alias(level, number, place.parent)?,
            order: i64::from(number),
        })
    }

    fn check_free(
        &self,
        siblings: &[(NodeId, ReadAlias)],
        read: ReadAlias,
        parent: Option<NodeId>,
    ) -> Result<Slot, ShapeRefused> {
        // `scene-0204` fits below chapter 2 alone; anywhere else the next scan would not take it
        // for that parent's child.
        if let Some((parent, number)) = parent.and_then(|parent| self.name_of(parent))
            && !read.belongs_to(&parent, number)
        {
            let alias = read.alias;
            return Err(ShapeRefused::NameOfOtherParent { alias, parent });
        }
        if siblings.iter().any(|(_, other)| other.alias == read.alias) {
            return Err(ShapeRefused::Taken { alias: read.alias });
        }
        Ok(Slot {
            alias: read.alias,
            order: read.order,
        })
    }

    /// Returns the number of a position among siblings.
    fn number_at(
        &self,
        level: &Level,
        siblings: &[(NodeId, ReadAlias)],
        position: Position,
    ) -> Result<u32, ShapeRefused> {
        // A range may begin with 0 (`story`: chapter 0), but nobody gets that number without
        // asking.
        let first = (*level.numbers.start()).max(1);
        let last = siblings.iter().filter_map(|(_, read)| read.number).max();
        let index_of = |id: NodeId| {
            siblings
                .iter()
                .position(|(other, _)| *other == id)
                .ok_or_else(|| ShapeRefused::WrongParent {
                    level: level.name.clone(),
                    parent: None,
                })
        };
        // A name has no number of its own: what comes next to it goes by the numbers around it.
        let after_index = |index: usize| {
            let before = siblings.get(..index).unwrap_or_default();
            let number = before.iter().filter_map(|(_, read)| read.number).max();
            number.map_or(first, |number| number + 1)
        };
        Ok(match position {
            Position::Number(number) => number,
            Position::Last => last.map_or(first, |last| last + 1),
            Position::Before(id) => {
                let index = index_of(id)?;
                siblings[index]
                    .1
                    .number
                    .unwrap_or_else(|| after_index(index))
            }
            Position::After(id) => after_index(index_of(id)? + 1),
        })
    }

    /// Shifts the siblings from `number` on by one, up to the next free number.
    fn make_room(
        &mut self,
        level: &'a Level,
        parent: Option<NodeId>,
        siblings: &[(NodeId, ReadAlias)],
        number: u32,
    ) -> Result<(), ShapeRefused> {
        let at = |wanted: u32| {
            let mut found = siblings.iter();
            found.find(|(_, read)| read.number == Some(wanted))
        };
        // The first gap absorbs the shift: siblings behind it keep their numbers and files.
        let mut end = number;
        while at(end).is_some() {
            end += 1;
        }
        for (id, read) in siblings {
            let shifted = match read.number {
                Some(own) if (number..end).contains(&own) => Some(own + 1),
                _ => None,
            };
            if let Some(own) = shifted {
                let alias = self.format_alias(level, own, parent)?;
                self.place(*id, parent, alias, i64::from(own));
                continue;
            }
            // What follows a number by its name (`interlude-04`) follows the plan that had it.
            let follows = u32::try_from(read.order)
                .ok()
                .filter(|own| read.number.is_none() && (number..end).contains(own));
            if let (Some(own), Some((name, _))) = (follows, read.alias.rsplit_once('-'))
                && let Ok(moved) = level.read_alias(&format!("{name}-{}", own + 1))
            {
                self.place(*id, parent, moved.alias, moved.order);
            }
        }
        Ok(())
    }

    fn place(&mut self, id: NodeId, parent: Option<NodeId>, alias: String, order: i64) {
        let placed = Placed {
            parent,
            alias,
            order,
        };
        self.placed.insert(id, placed);
    }

    fn add_node(
        &mut self,
        level: &'a Level,
        parent: Option<NodeId>,
        slot: Slot,
    ) -> Result<(), ShapeRefused> {
        let pattern = level.file.as_ref().ok_or_else(|| ShapeRefused::NoFile {
            node: slot.alias.clone(),
        })?;
        // The file follows in `into_layout`, when the folder of the parent is known.
        let path = pattern.file_for("", &slot.alias);
        self.added = Some(AddedNode {
            id: self.ctx.next_id,
            parent,
            profile: self.ctx.profile.name.clone(),
            level: level.name.clone(),
            name: NodeName {
                alias: slot.alias,
                order: slot.order,
                path: Some(path),
            },
        });
        Ok(())
    }

    fn move_node(&mut self, id: NodeId, place: Place) -> Result<(), ShapeRefused> {
        let node = self.get(id)?;
        let level = self.level_of(node)?;
        // Below its own subtree the node would be part of a cycle that no walk from a root reaches.
        let mut above = place.parent;
        while let Some(parent) = above {
            if parent == id {
                return Err(ShapeRefused::BelowItself {
                    node: node.alias.clone(),
                });
            }
            above = self.ctx.tree.get(parent).and_then(|node| node.parent);
        }
        let is_named = level.number_of(&node.alias).is_none();
        // Ids and names are kept; only the parent changes.
        if level.is_flat() || is_named {
            self.check_parent(level, place.parent)?;
            if node.parent == place.parent {
                return Err(ShapeRefused::Unchanged {
                    node: node.alias.clone(),
                });
            }
            if !level.is_flat() {
                let read = level.read_alias(&node.alias)?;
                let siblings = self.siblings(level, place.parent);
                self.check_free(&siblings, read, place.parent)?;
            }
            self.place(id, place.parent, node.alias.clone(), node.order);
            return Ok(());
        }
        // Among siblings the numbers in use are only permuted. A number that was asked for is
        // honoured, even where it leaves a gap.
        if node.parent == place.parent && !matches!(place.position, Position::Number(_)) {
            return self.reorder_siblings(level, node, place);
        }
        let slot = self.open_slot(level, place, None, Some(id))?;
        self.place(id, place.parent, slot.alias, slot.order);
        Ok(())
    }

    /// Moves a node among its siblings: they share out the numbers they have.
    fn reorder_siblings(
        &mut self,
        level: &'a Level,
        node: &Node,
        place: Place,
    ) -> Result<(), ShapeRefused> {
        let mut siblings = self.siblings(level, place.parent);
        // Named siblings (`prologue`) have no number to give away.
        siblings.retain(|(_, read)| read.number.is_some());
        let numbers: Vec<u32> = siblings
            .iter()
            .filter_map(|(_, read)| read.number)
            .collect();
        let mut order: Vec<NodeId> = siblings.iter().map(|(id, _)| *id).collect();
        order.retain(|id| *id != node.id);
        let index_of = |id: NodeId| order.iter().position(|other| *other == id);
        let wrong = || ShapeRefused::WrongParent {
            level: level.name.clone(),
            parent: None,
        };
        let index = match place.position {
            Position::Last | Position::Number(_) => order.len(),
            Position::Before(id) if id == node.id => return Err(self.unchanged(node)),
            Position::After(id) if id == node.id => return Err(self.unchanged(node)),
            Position::Before(id) => index_of(id).ok_or_else(wrong)?,
            Position::After(id) => index_of(id).ok_or_else(wrong)? + 1,
        };
        order.insert(index, node.id);
        for (id, number) in order.into_iter().zip(numbers) {
            let alias = self.format_alias(level, number, place.parent)?;
            self.place(id, place.parent, alias, i64::from(number));
        }
        Ok(())
    }

    fn unchanged(&self, node: &Node) -> ShapeRefused {
        ShapeRefused::Unchanged {
            node: node.alias.clone(),
        }
    }

    fn rename_node(&mut self, id: NodeId, alias: &str) -> Result<(), ShapeRefused> {
        let node = self.get(id)?;
        let level = self.level_of(node)?;
        // `4` below chapter 2 means `scene-0204`.
        let own = alias
            .parse::<u32>()
            .ok()
            .filter(|_| level.alias.is_numbered());
        let read = match own.filter(|own| level.alias.contains_parent() && *own < 100) {
            Some(own) => level.read_alias(&self.format_alias(level, own, node.parent)?)?,
            None => level.read_alias(alias)?,
        };
        if read.alias == node.alias {
            return Err(self.unchanged(node));
        }
        let siblings = self.siblings(level, node.parent);
        let slot = self.check_free(&siblings, read, node.parent)?;
        self.place(id, node.parent, slot.alias, slot.order);
        Ok(())
    }

    fn close_gaps(&mut self, parent: Option<NodeId>) -> Result<(), ShapeRefused> {
        let levels: Vec<&Level> = match parent {
            Some(parent) => {
                let node = self.ctx.tree.get(parent);
                let above = node.map_or("", |node| node.level.as_str());
                self.ctx.profile.levels_under(above).collect()
            }
            None => self
                .ctx
                .profile
                .levels
                .iter()
                .filter(|it| it.root)
                .collect(),
        };
        for level in levels {
            // In a flat level the number is an id that commits and links mention; its gaps mean
            // nothing.
            if !level.alias.is_numbered() || level.file.is_none() || level.is_flat() {
                continue;
            }
            let siblings = self.siblings(level, parent);
            // A sequence that begins with 0 keeps doing so; any other begins with 1.
            let mut next = siblings
                .iter()
                .find_map(|(_, read)| read.number)
                .unwrap_or(0)
                .min(1);
            let mut previous: Option<(u32, u32)> = None;
            for (id, read) in &siblings {
                match read.number {
                    Some(own) => {
                        let alias = self.format_alias(level, next, parent)?;
                        self.place(*id, parent, alias, i64::from(next));
                        previous = Some((own, next));
                        next += 1;
                    }
                    None => {
                        // `interlude-04` stays behind the plan that was number 4, whatever that one
                        // is called now.
                        let follows = previous.filter(|(own, _)| i64::from(*own) == read.order);
                        if let (Some((_, new)), Some((name, _))) =
                            (follows, read.alias.rsplit_once('-'))
                            && let Ok(moved) = level.read_alias(&format!("{name}-{new}"))
                        {
                            self.place(*id, parent, moved.alias, moved.order);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn split_node(
        &mut self,
        id: NodeId,
        children_from: Option<NodeId>,
    ) -> Result<(), ShapeRefused> {
        let node = self.get(id)?;
        let level = self.level_of(node)?;
        let place = Place {
            parent: node.parent,
            position: Position::After(id),
        };
        let slot = self.open_slot(level, place, None, None)?;
        self.add_node(level, node.parent, slot)?;
        let Some(from) = children_from else {
            return Ok(());
        };
        let children: Vec<&Node> = self.ctx.tree.children(id).collect();
        let Some(start) = children.iter().position(|child| child.id == from) else {
            let child = self.ctx.tree.get(from);
            return Err(ShapeRefused::NotAChild {
                child: child.map_or_else(String::new, |child| child.alias.clone()),
                node: node.alias.clone(),
            });
        };
        self.adopt_children(children.get(start..).unwrap_or_default(), self.ctx.next_id)
    }

    /// Moves children to the end of another parent.
    fn adopt_children(&mut self, children: &[&Node], parent: NodeId) -> Result<(), ShapeRefused> {
        for child in children {
            // Items follow their file, which has to be moved by hand.
            let Ok(level) = self.level_of(child) else {
                continue;
            };
            let siblings = self.siblings(level, Some(parent));
            let slot = match level.number_of(&child.alias) {
                Some(_) => {
                    let number = self.number_at(level, &siblings, Position::Last)?;
                    Slot {
                        alias: self.format_alias(level, number, Some(parent))?,
                        order: i64::from(number),
                    }
                }
                None => Slot {
                    alias: child.alias.clone(),
                    order: child.order,
                },
            };
            if siblings.iter().any(|(_, other)| other.alias == slot.alias) {
                return Err(ShapeRefused::Taken { alias: slot.alias });
            }
            self.place(child.id, Some(parent), slot.alias, slot.order);
        }
        Ok(())
    }

    fn merge_nodes(&mut self, id: NodeId, into: NodeId) -> Result<(), ShapeRefused> {
        let (node, other) = (self.get(id)?, self.get(into)?);
        if (&node.profile, &node.level) != (&other.profile, &other.level) {
            return Err(ShapeRefused::OtherLevel {
                node: node.alias.clone(),
                level: node.level.clone(),
                other: other.alias.clone(),
                other_level: other.level.clone(),
            });
        }
        let tree = self.ctx.tree;
        if id == into || tree.ancestors(other).iter().any(|above| above.id == id) {
            return Err(ShapeRefused::MergedWithItself {
                node: node.alias.clone(),
            });
        }
        let children: Vec<&Node> = tree.children(id).filter(|it| it.id != into).collect();
        self.adopt_children(&children, into)?;
        self.removed.push(id);
        // Items of its file go with it.
        let items = children.iter().filter(|child| child.path.is_none());
        let items: Vec<NodeId> = items.map(|child| child.id).collect();
        // In front: a child has to be removed before its parent, as in `remove_subtree`.
        self.removed.splice(0..0, items);
        Ok(())
    }

    fn remove_subtree(&mut self, id: NodeId) -> Result<(), ShapeRefused> {
        self.get(id)?;
        let subtree = self.ctx.tree.subtree_preorder(id);
        // Reversed preorder, so that no fact leaves a child without its parent, and undoing them
        // adds parents first.
        self.removed = subtree.into_iter().rev().map(|node| node.id).collect();
        Ok(())
    }

    /// Derives names and files of everything below the placed nodes.
    fn into_layout(mut self) -> Result<Layout, ShapeRefused> {
        let mut followed = Followed::default();
        if let Some(added) = &mut self.added {
            let folder = match added.parent {
                // The parent of a new node keeps its file.
                Some(parent) => {
                    let node = self.ctx.tree.get(parent);
                    let path = node.and_then(|node| node.path.as_deref());
                    parent_folder(path.unwrap_or_default()).to_owned()
                }
                None => String::new(),
            };
            let level = self.ctx.profile.find_level(&added.level);
            let file = level.and_then(|level| {
                let folder = if level.is_flat() { "" } else { &folder };
                Some(level.file.as_ref()?.file_for(folder, &added.name.alias))
            });
            let path = file.unwrap_or_default();
            followed
                .folders
                .insert(added.id, parent_folder(&path).to_owned());
            added.name.path = Some(path);
        }
        // Only subtrees with a placed node change; parents come first.
        let removed: HashSet<NodeId> = self.removed.iter().copied().collect();
        for node in self.ctx.tree.all_preorder() {
            if node.profile == self.ctx.profile.name && !removed.contains(&node.id) {
                self.follow_change(node, &mut followed)?;
            }
        }
        Ok(Layout {
            changes: followed.changes,
            added: self.added,
            removed: self.removed,
            replaced: None,
        })
    }

    /// Adds the change of a node that is placed itself, or that follows an ancestor.
    fn follow_change(&mut self, node: &Node, followed: &mut Followed) -> Result<(), ShapeRefused> {
        let placed = self.placed.get(&node.id).cloned();
        let parent = placed.as_ref().map_or(node.parent, |placed| placed.parent);
        let above = parent.and_then(|parent| followed.change_of(parent));
        let is_below_new = parent == Some(self.ctx.next_id) && self.added.is_some();
        // The walk is in preorder, so a change of any ancestor has been found by now.
        if placed.is_none() && above.is_none() && !is_below_new {
            return Ok(());
        }
        let Some(level) = self.ctx.profile.find_level(&node.level) else {
            return Ok(());
        };
        let (alias, order) = match placed {
            Some(placed) => (placed.alias, placed.order),
            None => (self.follow_alias(level, node, above)?, node.order),
        };
        let path = match &node.path {
            Some(path) => {
                let folders = &followed.folders;
                Some(relocate_file(
                    self.ctx.tree,
                    level,
                    node,
                    path,
                    parent,
                    &alias,
                    folders,
                )?)
            }
            None => None,
        };
        if let Some(path) = &path {
            let folder = parent_folder(path).to_owned();
            followed.folders.insert(node.id, folder);
        }
        let change = NodeChange {
            node: node.id,
            parent_before: node.parent,
            parent_after: parent,
            before: node.name(),
            after: NodeName { alias, order, path },
        };
        // Reordering and closing gaps place every sibling, also those that keep their number.
        let is_same = change.before == change.after && change.parent_before == change.parent_after;
        if !is_same {
            // The level below is named by `name_of`, which looks at placed nodes first.
            self.place(
                node.id,
                parent,
                change.after.alias.clone(),
                change.after.order,
            );
            followed.push(change);
        }
        Ok(())
    }

    /// Returns the alias of a node whose ancestor has another one.
    fn follow_alias(
        &self,
        level: &Level,
        node: &Node,
        above: Option<&NodeChange>,
    ) -> Result<String, ShapeRefused> {
        let Some(above) = above else {
            return Ok(node.alias.clone());
        };
        if level.is_flat() {
            let old = crate::duplicate_ids::id_of_alias(&above.before.alias);
            let followed = follow_ancestor_id(&node.alias, old, &above.after.alias);
            return Ok(followed.unwrap_or_else(|| node.alias.clone()));
        }
        let read = level.alias.parse_exact_alias(&node.alias, &level.numbers);
        match read.and_then(|read| read.number) {
            Some(number) if level.alias.contains_parent() => {
                self.format_alias(level, number, Some(above.node))
            }
            _ => Ok(node.alias.clone()),
        }
    }
}
