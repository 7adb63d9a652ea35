//! References in plan texts, rewritten after a shape change.
//!
//! A reference is resolved in the tree before the change, from the plan it is in, and spelled again for
//! the tree after it: ids in front matter, aliases and paths (`chapter-04`, `act-1/chapter-04`), wiki
//! links, links to files, and a level's label with a number (`Chapter 4`, `Глава 4`). What cannot be
//! resolved to one plan stays as it is, and so does everything else, byte for byte.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use super::links::{find_link_target, make_relative, resolve_relative};
use super::numbers::respell_number;
use super::plan_texts::capitalise;
use super::{FileMoves, Layout};
use crate::front_matter;
use crate::ids::NodeId;
use crate::needs::resolve_need;
use crate::node::Node;
use crate::profile::{Level, Profile, parent_folder};
use crate::tree::Tree;

/// Front matter keys whose values name plans.
const REFERENCE_KEYS: &[&str] = &["parent", "children"];

/// Names the parent of a removed plan without one in `needs`, so that no other plan is meant.
const REMOVED_PARENT: &str = "removed";

/// Rewrites the references in texts from one tree to another.
pub struct ReferenceRewriter<'a> {
    pub(super) before: NamedTree<'a>,
    pub(super) after: NamedTree<'a>,
    moves: &'a FileMoves,
    /// Nodes whose path of aliases changed, or that another one replaced.
    changed: HashSet<NodeId>,
    replaced: Option<(NodeId, NodeId)>,
    /// The files of these two.
    replaced_file: Option<(String, String)>,
    /// The files of all plans before the change.
    plan_files: HashSet<&'a str>,
    /// Names of folders and files that contain more than the alias (`017-count`), with the new ones.
    entries: HashMap<String, String>,
    pub(super) labels: HashMap<String, Vec<&'a Level>>,
}

/// A tree with its nodes by alias.
pub(super) struct NamedTree<'a> {
    pub(super) tree: &'a Tree,
    pub(super) profiles: &'a [Profile],
    by_alias: HashMap<&'a str, Vec<&'a Node>>,
    /// The nodes of a level by their numbers, for the levels that were asked for: reading every
    /// alias for every reference took three quarters of a change of shape.
    by_number: RefCell<HashMap<*const Level, NumberedNodes<'a>>>,
}

/// The nodes of a level by their numbers.
type NumberedNodes<'a> = HashMap<u32, Vec<&'a Node>>;

impl<'a> NamedTree<'a> {
    fn new(tree: &'a Tree, profiles: &'a [Profile]) -> Self {
        let mut by_alias: HashMap<&str, Vec<&Node>> = HashMap::new();
        for node in tree.nodes() {
            by_alias.entry(node.alias.as_str()).or_default().push(node);
        }
        Self {
            tree,
            profiles,
            by_alias,
            by_number: RefCell::default(),
        }
    }

    /// Returns the nodes of a level with a number.
    fn numbered_nodes(&self, level: &Level, number: u32) -> Vec<&'a Node> {
        let mut known = self.by_number.borrow_mut();
        let nodes = known.entry(std::ptr::from_ref(level)).or_insert_with(|| {
            let mut nodes = NumberedNodes::new();
            for node in self.tree.nodes().filter(|node| node.level == level.name) {
                if let Some(number) = level.number_of(&node.alias) {
                    nodes.entry(number).or_default().push(node);
                }
            }
            nodes
        });
        nodes.get(&number).cloned().unwrap_or_default()
    }

    /// Resolves a path of aliases as it is meant in the plan of `from`: of several, the nearest.
    fn resolve_path(&self, path: &str, from: NodeId) -> Option<&'a Node> {
        let (above, alias) = match path.rsplit_once('/') {
            Some((above, alias)) => (Some(above), alias),
            None => (None, path),
        };
        // A path may leave out its upper part, as people write it: `chapter-04/scene-0402` without
        // the act.
        let candidates = self.by_alias.get(alias)?.iter().copied().filter(|node| {
            above.is_none_or(|above| {
                let own = self.tree.alias_path(node);
                let of_parent = own.rsplit_once('/').map_or("", |(parent, _)| parent);
                of_parent == above || of_parent.ends_with(&format!("/{above}"))
            })
        });
        self.pick_nearest(candidates.collect(), from)
    }

    /// Resolves an entry of `needs` in the plan of `from`.
    fn resolve_need(&self, name: &str, from: NodeId) -> Option<&'a Node> {
        let node = self.tree.get(from)?;
        resolve_need(self.tree, self.profiles, &self.by_alias, node, name).ok()
    }

    /// Resolves a label with digits: `Chapter 4`, `Scene 0204`, and `Scene 4` in its chapter.
    pub(super) fn resolve_number(
        &self,
        level: &Level,
        digits: &str,
        from: NodeId,
    ) -> Option<&'a Node> {
        let is_of_level = |node: &&'a Node| node.level == level.name;
        if let Ok(read) = level.read_alias(digits) {
            // `scene-0204` repeats its chapter's number, so it means one scene of the whole act;
            // other aliases are unique below their parent only.
            let scope = if level.alias.contains_parent() { 2 } else { 1 };
            let candidates = self.by_alias.get(read.alias.as_str())?;
            let candidates = candidates.iter().copied().filter(is_of_level);
            let near = candidates.filter(|node| self.is_in_scope(node, scope, from));
            return self.pick_nearest(near.collect(), from);
        }
        if !level.alias.contains_parent() {
            return None;
        }
        // A number alone, in the plan of the parent or in one below it.
        let number: u32 = digits.parse().ok()?;
        let mut candidates = self.numbered_nodes(level, number);
        candidates.retain(|node| self.is_in_scope(node, 1, from));
        self.pick_nearest(candidates, from)
    }

    /// Whether `from` is the ancestor `steps` above the node, or below it.
    fn is_in_scope(&self, node: &Node, steps: usize, from: NodeId) -> bool {
        let ancestors = self.tree.ancestors(node);
        let Some(top) = steps.checked_sub(1).and_then(|at| ancestors.get(at)) else {
            return true;
        };
        self.lineage(from).contains(&top.id)
    }

    /// Returns a node with its ancestors.
    fn lineage(&self, id: NodeId) -> Vec<NodeId> {
        let Some(node) = self.tree.get(id) else {
            return Vec::new();
        };
        let above = self.tree.ancestors(node).into_iter().map(|it| it.id);
        std::iter::once(id).chain(above).collect()
    }

    /// Picks the candidate with the nearest common ancestor; `None` if several are equally near.
    fn pick_nearest(&self, candidates: Vec<&'a Node>, from: NodeId) -> Option<&'a Node> {
        // The usual case, without walking any ancestors.
        if let [one] = candidates.as_slice() {
            return Some(one);
        }
        let lineage: HashSet<NodeId> = self.lineage(from).into_iter().collect();
        let shared = |node: &Node| {
            let own = self.lineage(node.id);
            own.iter().filter(|id| lineage.contains(id)).count()
        };
        let nearest = candidates.iter().map(|node| shared(node)).max()?;
        let mut found = candidates
            .into_iter()
            .filter(|node| shared(node) == nearest);
        let one = found.next()?;
        // A guess would make a sentence about one plan a sentence about another; it stays as it is.
        found.next().is_none().then_some(one)
    }

    fn level_of(&self, node: &Node) -> Option<&'a Level> {
        let mut profiles = self.profiles.iter();
        let profile = profiles.find(|profile| profile.name == node.profile)?;
        profile.find_level(&node.level)
    }
}

impl<'a> ReferenceRewriter<'a> {
    /// Prepares the rewriting of references to the nodes of a layout.
    #[must_use]
    pub fn new(
        before: &'a Tree,
        after: &'a Tree,
        profiles: &'a [Profile],
        layout: &Layout,
        moves: &'a FileMoves,
    ) -> Self {
        let changed = layout.changes.iter().map(|change| change.node);
        let mut labels: HashMap<String, Vec<&Level>> = HashMap::new();
        for level in profiles.iter().flat_map(|profile| &profile.levels) {
            let own = std::iter::once(&level.name).chain(&level.labels);
            for label in own.filter(|_| level.alias.is_numbered()) {
                // The full stop of an abbreviation (`Ch. 4`) is part of the gap before the number.
                let word = label.trim_end_matches('.').to_lowercase();
                let known = labels.entry(word).or_default();
                // A level's name is usually among its labels too.
                if !known.iter().any(|other| std::ptr::eq(*other, level)) {
                    known.push(level);
                }
            }
        }
        let entry_of = |path: &Option<String>, alias: &str| {
            let parts = path.as_deref().unwrap_or_default().split('/');
            // Equal parts need no entry: they are the alias, which `rewrite_reference` resolves.
            let mut named = parts.filter(|part| part.starts_with(alias) && *part != alias);
            named
                .next()
                .map(|part| part.trim_end_matches(".md").to_owned())
        };
        let id_of = |alias: &str| crate::duplicate_ids::id_of_alias(alias).to_owned();
        let entries = layout.changes.iter().filter_map(|change| {
            let old = entry_of(&change.before.path, &id_of(&change.before.alias))?;
            let new = entry_of(&change.after.path, &id_of(&change.after.alias))?;
            (old != new).then_some((old, new))
        });
        Self {
            entries: entries.collect(),
            before: NamedTree::new(before, profiles),
            after: NamedTree::new(after, profiles),
            moves,
            changed: changed.chain(layout.replaced.map(|(old, _)| old)).collect(),
            replaced: layout.replaced,
            replaced_file: layout.replaced.and_then(|(old, new)| {
                let path = |tree: &Tree, id| tree.get(id)?.path.clone();
                Some((path(before, old)?, path(after, new)?))
            }),
            plan_files: before
                .nodes()
                .filter_map(|node| node.path.as_deref())
                .collect(),
            labels,
        }
    }

    /// Rewrites the text of a node's plan. `path` and `new_path` are its file before and after.
    #[must_use]
    pub fn rewrite_text(&self, node: NodeId, text: &str, path: &str, new_path: &str) -> String {
        let scope = TextScope {
            node,
            node_after: match self.replaced {
                Some((old, new)) if old == node => new,
                _ => node,
            },
            folder: parent_folder(path),
            new_folder: parent_folder(new_path),
        };
        // Front matter is edited value by value: parsing and writing YAML would lose comments and
        // quoting, and with them the text's version.
        let keys = front_matter::edit_values(text, REFERENCE_KEYS, |value| {
            rewrite_words(value, is_path_char, |word, _| {
                self.rewrite_reference(word, &scope)
            })
        });
        let needs = front_matter::edit_values(&keys, &["needs"], |value| {
            rewrite_words(value, is_need_char, |entry, before| {
                self.rewrite_need(entry, before, &scope)
            })
        });
        let own = self.rewrite_own_id(node, &needs);
        let (_, body) = front_matter::split_front_matter(&own);
        let front = own.strip_suffix(body).unwrap_or_default();
        let body = self.rewrite_own_heading(node, body);
        format!("{front}{}", self.rewrite_body(&body, &scope))
    }

    /// Rewrites `id` in the front matter of a plan whose own alias changed.
    fn rewrite_own_id(&self, node: NodeId, text: &str) -> String {
        let Some((old, new)) = self.own_aliases(node) else {
            return text.to_owned();
        };
        front_matter::edit_values(text, &["id"], |value| {
            rewrite_words(value, is_path_char, |word, _| {
                (word == old).then(|| new.clone())
            })
        })
    }

    fn own_aliases(&self, node: NodeId) -> Option<(String, String)> {
        let old = self.before.tree.get(node)?;
        let new = self.after.tree.get(node)?;
        let id = |node: &Node| crate::duplicate_ids::id_of_alias(&node.alias).to_owned();
        (old.alias != new.alias).then(|| (id(old), id(new)))
    }

    /// Rewrites the number or id that a plan's first heading starts with.
    fn rewrite_own_heading(&self, node: NodeId, body: &str) -> String {
        let Some((old, new)) = self.own_aliases(node) else {
            return body.to_owned();
        };
        // Only the first heading: a number further down may be about anything.
        let Some(start) = find_first_heading(body) else {
            return body.to_owned();
        };
        let line = body.get(start..).unwrap_or_default();
        let title = line.trim_start_matches('#').trim_start_matches([' ', '\t']);
        let at = start + line.len() - title.len();
        let word: String = title.chars().take_while(|c| is_word_char(*c)).collect();
        let level = self
            .before
            .tree
            .get(node)
            .and_then(|it| self.before.level_of(it));
        // `Interlude-02`: an alias with a capital, which a number alone would not rewrite.
        let named: String = title
            .chars()
            .take_while(|c| is_word_char(*c) || *c == '-')
            .collect();
        let is_named = named.contains('-') && named.to_lowercase() == old.to_lowercase();
        let (word, spelled) = if is_named {
            let is_capital = named.starts_with(char::is_uppercase);
            let new = if is_capital { capitalise(&new) } else { new };
            (named, Some(new))
        } else if word == old {
            (word, Some(new))
        } else {
            let spelled = level.and_then(|level| respell_number(level, &word, &old, &new));
            (word, spelled)
        };
        match spelled {
            Some(spelled) => {
                let (head, tail) = body.split_at(at);
                let rest = tail.get(word.len()..).unwrap_or_default();
                format!("{head}{spelled}{rest}")
            }
            None => body.to_owned(),
        }
    }

    /// Rewrites aliases, paths, links and labels with numbers in the body of a text.
    fn rewrite_body(&self, body: &str, scope: &TextScope<'_>) -> String {
        let mut result = String::with_capacity(body.len());
        let mut at = 0;
        // The targets of links are taken out first: a rewritten one may be the old name of another.
        while let Some(target) = find_link_target(body, at) {
            let prose = body.get(at..target.start).unwrap_or_default();
            result.push_str(&self.rewrite_prose(prose, scope));
            at = target.end;
            let link = body.get(target).unwrap_or_default();
            let rewritten = self.rewrite_link(link, scope);
            result.push_str(rewritten.as_deref().unwrap_or(link));
        }
        let rest = body.get(at..).unwrap_or_default();
        result.push_str(&self.rewrite_prose(rest, scope));
        result
    }

    fn rewrite_prose(&self, text: &str, scope: &TextScope<'_>) -> String {
        let words = rewrite_words(text, is_path_char, |word, before| {
            let is_wiki = before.ends_with("[[");
            self.rewrite_word(word, scope, is_wiki)
        });
        self.rewrite_labels(&words, scope)
    }

    /// Rewrites one word of a body: an alias with a literal prefix, a path, or a wiki link.
    fn rewrite_word(&self, word: &str, scope: &TextScope<'_>, is_wiki: bool) -> Option<String> {
        // Before anything is resolved: `017-count` is a folder name, no alias.
        if let Some(entry) = self.entries.get(word) {
            return Some(entry.clone());
        }
        if word.contains('/') && word.contains('.') {
            return self.rewrite_file_name(word);
        }
        let alias = word.rsplit('/').next().unwrap_or(word);
        let is_clear = is_wiki || word.contains('/') || {
            // An id without a prefix (`017`) may be anything in prose.
            let nodes = self.before.by_alias.get(alias)?;
            let level = nodes.first().and_then(|node| self.before.level_of(node))?;
            !level.alias.literal_prefix().is_empty() && alias.contains('-')
        };
        is_clear
            .then(|| self.rewrite_reference(word, scope))
            .flatten()
    }

    /// Rewrites a file of the project, named from its root, or a path through a renamed folder.
    fn rewrite_file_name(&self, word: &str) -> Option<String> {
        if let Some(target) = self.moves.target_of(word) {
            return Some(target);
        }
        let parts: Vec<&str> = word.split('/').collect();
        let known = |part: &&str| self.entries.contains_key(*part);
        parts.iter().any(known).then(|| {
            let renamed = parts
                .iter()
                .map(|part| self.entries.get(*part).map_or(*part, String::as_str));
            renamed.collect::<Vec<_>>().join("/")
        })
    }

    /// Rewrites an alias or a path of aliases.
    fn rewrite_reference(&self, word: &str, scope: &TextScope<'_>) -> Option<String> {
        let was = self.before.resolve_path(word, scope.node)?;
        let target = self.successor_of(was.id);
        let now = self.after.tree.get(target)?;
        let depth = word.split('/').count();
        let full = self.after.tree.alias_path(now);
        let parts: Vec<&str> = full.split('/').collect();
        // Resolved once more in the new tree: a short name can become ambiguous, or mean another
        // plan, only there.
        let is_same = |spelled: &str| {
            let found = self.after.resolve_path(spelled, scope.node_after);
            found.is_some_and(|found| found.id == target)
        };
        // Also what did not change itself: a plan that is added elsewhere may have this name.
        if !self.is_changed(was, scope) && is_same(word) {
            return None;
        }
        // As short as it was, if that still means the same plan.
        let short = parts.get(parts.len().saturating_sub(depth)..)?.join("/");
        let is_clear = is_same(&short) && !self.has_left(was, now, depth, scope);
        let spelled = if is_clear { short } else { full };
        (spelled != word).then_some(spelled)
    }

    /// Whether a plan left the surroundings of the text, in which its short name was clear: from
    /// elsewhere it would mean the next plan of that name that is added nearby.
    fn has_left(&self, was: &Node, now: &Node, depth: usize, scope: &TextScope<'_>) -> bool {
        if self.after.level_of(now).is_some_and(Level::is_flat) {
            return false;
        }
        let is_near = |tree: &NamedTree<'_>, node: &Node, from: NodeId| {
            let above = tree.tree.ancestors(node);
            let omitted = depth.checked_sub(1).and_then(|at| above.get(at));
            omitted.is_none_or(|omitted| tree.lineage(from).contains(&omitted.id))
        };
        is_near(&self.before, was, scope.node) && !is_near(&self.after, now, scope.node_after)
    }

    /// Rewrites an entry of `needs` that would be ambiguous or mean another plan.
    ///
    /// A need is resolved by a stricter rule than other references, and a plan that is added
    /// elsewhere can make one ambiguous whose own plans did not change.
    fn rewrite_need(&self, entry: &str, before: &str, scope: &TextScope<'_>) -> Option<String> {
        // The rest of a line after `#` is a YAML comment.
        if before
            .lines()
            .next_back()
            .is_some_and(|line| line.contains('#'))
        {
            return None;
        }
        let name = entry.trim_start_matches([' ', '-']).trim_end();
        let at = entry.find(name)?;
        // A need that the strict rule does not resolve is still followed if its plan changed, as
        // other references are.
        let was = self.before.resolve_need(name, scope.node).or_else(|| {
            let near = self.before.resolve_path(name, scope.node)?;
            self.find_target(near, scope).map(|_| near)
        })?;
        let target = self.successor_of(was.id);
        let is_same = |spelled: &str| {
            let found = self.after.resolve_need(spelled, scope.node_after);
            found.is_some_and(|found| found.id == target)
        };
        if is_same(name) {
            return None;
        }
        let spelled = match self.after.tree.get(target) {
            Some(now) => {
                let full = self.after.tree.alias_path(now);
                let parts: Vec<&str> = full.split('/').collect();
                let depth = name.split('/').count();
                let short = parts.get(parts.len().saturating_sub(depth)..)?.join("/");
                if is_same(&short) { short } else { full }
            }
            None => self.spell_removed_need(name, was, scope)?,
        };
        Some(entry.get(..at)?.to_owned() + &spelled + entry.get(at + name.len()..)?)
    }

    /// Spells a need whose plan is removed so that it means no other plan; `None` if it does not.
    fn spell_removed_need(&self, name: &str, was: &Node, scope: &TextScope<'_>) -> Option<String> {
        let is_taken = |spelled: &str| self.after.resolve_need(spelled, scope.node_after).is_some();
        if !is_taken(name) {
            return None;
        }
        let full = self.before.tree.alias_path(was);
        // A plan at the top has no longer path of its own.
        let spelled = if is_taken(&full) {
            format!("{REMOVED_PARENT}/{full}")
        } else {
            full
        };
        (!is_taken(&spelled)).then_some(spelled)
    }

    /// Returns the plan that references to a plan mean after the change.
    pub(super) fn successor_of(&self, node: NodeId) -> NodeId {
        match self.replaced {
            Some((old, new)) if old == node => new,
            _ => node,
        }
    }

    /// Whether a plan, one above it or the one that names it has another path.
    fn is_changed(&self, was: &Node, scope: &TextScope<'_>) -> bool {
        let mut lineage = self.before.lineage(was.id).into_iter();
        // From another place, the same name may mean another plan.
        self.changed.contains(&scope.node) || lineage.any(|id| self.changed.contains(&id))
    }

    /// Returns the plan that a resolved reference means after the change, if anything changed.
    pub(super) fn find_target(
        &self,
        was: &Node,
        scope: &TextScope<'_>,
    ) -> Option<(NodeId, &'a Node)> {
        let target = self.successor_of(was.id);
        let now = self.after.tree.get(target)?;
        self.is_changed(was, scope).then_some((target, now))
    }

    /// Whether an entry of `needs` means the plan itself after the change.
    #[must_use]
    pub fn is_need_of_itself(&self, node: NodeId, name: &str) -> bool {
        let found = self.after.resolve_need(name, node);
        found.is_some_and(|found| found.id == node)
    }

    /// Rewrites the target of a link: `../chapter-04/plan.md`.
    fn rewrite_link(&self, link: &str, scope: &TextScope<'_>) -> Option<String> {
        // URLs, anchors and absolute paths are not relative paths of the project.
        if link.is_empty() || link.contains(':') || link.starts_with('/') {
            return None;
        }
        let target = resolve_relative(scope.folder, link)?;
        // A plan named from the root of the project does not depend on the folder of the text.
        if self.plan_files.contains(link) && !self.plan_files.contains(target.as_str()) {
            return self.moves.target_of(link);
        }
        let moved = match &self.replaced_file {
            Some((old, new)) if *old == target => new.clone(),
            _ => self.moves.target_of(&target).unwrap_or(target),
        };
        // A link that still leads there keeps its spelling, even one with needless `./`.
        if resolve_relative(scope.new_folder, link).as_deref() == Some(moved.as_str()) {
            return None;
        }
        Some(make_relative(scope.new_folder, &moved))
    }
}

/// The plan a text belongs to, and its folders before and after.
pub(super) struct TextScope<'s> {
    pub(super) node: NodeId,
    /// The plan it belongs to after the change: another one if it is merged.
    pub(super) node_after: NodeId,
    pub(super) folder: &'s str,
    pub(super) new_folder: &'s str,
}

/// Returns the byte offset of the first heading line.
pub(super) fn find_first_heading(body: &str) -> Option<usize> {
    let mut at = 0;
    for line in body.split_inclusive('\n') {
        if line.starts_with('#') {
            return Some(at);
        }
        at += line.len();
    }
    None
}

fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '~')
}

/// Characters of an alias, a path of aliases, or a file.
fn is_path_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '~' | '.' | '/')
}

/// Characters of an entry of `needs`, which may also be two words: `chapter 4`.
fn is_need_char(c: char) -> bool {
    is_path_char(c) || c == ' '
}

/// Replaces whole words; everything else stays as it is, byte by byte. `replace` gets a word and the
/// text before it.
fn rewrite_words(
    text: &str,
    is_char: fn(char) -> bool,
    replace: impl Fn(&str, &str) -> Option<String>,
) -> String {
    let mut result = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(found) = text.get(at..).and_then(|rest| rest.find(is_char)) {
        let start = at + found;
        let from = text.get(start..).unwrap_or_default();
        let length = from.find(|c| !is_char(c)).unwrap_or(from.len());
        let word = from.get(..length).unwrap_or_default();
        // A full stop ends a sentence more often than a name.
        let bare = word.trim_end_matches(['.', '/', '-']);
        result.push_str(text.get(at..start).unwrap_or_default());
        match replace(bare, text.get(..start).unwrap_or_default()) {
            Some(new) => {
                result.push_str(&new);
                result.push_str(word.strip_prefix(bare).unwrap_or_default());
            }
            None => result.push_str(word),
        }
        at = start + length;
    }
    result.push_str(text.get(at..).unwrap_or_default());
    result
}
