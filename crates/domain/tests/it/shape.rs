//! Shape changes: laws for any tree and any request, and examples of what is rewritten.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::LazyLock;

use domain::approval::Approval;
use domain::cascade::{CascadeContext, reevaluate_subtree};
use domain::fact::Fact;
use domain::front_matter::parse_front_matter;
use domain::ids::{NodeId, OperationId, Principal};
use domain::needs::resolve_need;
use domain::node::{Content, Description, Node, NodeStatus, Progress, Status};
use domain::observation::ObservedContent;
use domain::policy::ApprovalPolicy;
use domain::profile::{
    Level, Profile, built_in_profile, locate_output, locate_plan, parent_folder,
};
use domain::shape::{
    FileMoves, Layout, Place, Position, ReferenceRewriter, ShapeContext, ShapeRefused,
    ShapeRequest, ShapeTexts, apply_layout, compose_new_text, decide_shape_facts,
    list_split_points, merge_texts, plan_layout, split_text,
};
use domain::status::{StatusRules, any_change_counts};
use domain::tree::Tree;
use domain::version::compute_hashes;
use proptest::prelude::*;
use testkit::timestamp;

/// A project in memory: files by path, and the tree that was read from them.
#[derive(Clone, Debug)]
struct Book {
    tree: Tree,
    files: BTreeMap<String, String>,
    /// What each plan says besides its heading.
    lines: BTreeMap<NodeId, Vec<Line>>,
}

/// A line of a plan; references are rendered for the tree the text belongs to.
#[derive(Clone, Debug)]
enum Line {
    Words(&'static str),
    Path(NodeId),
    Label(NodeId),
    /// The target, and one of [`LINK_FORMS`].
    Link(NodeId, usize),
    Needs(NodeId),
    /// The alias alone, where that is enough.
    ShortNeeds(NodeId),
}

/// What is before and after the target of a link, on a line of its own.
const LINK_FORMS: &[(&str, &str)] = &[
    ("[link](<", ">)"),
    ("[link](", ")"),
    ("[ref]: ", ""),
    ("<a href=\"", "\">link</a>"),
    ("<", ">"),
];

const WORDS: &[&str] = &[
    "Шторм сносит мачту. В главном зале 4 человека.",
    "The chapterhouse 4 is closed; 017 people wait, chapter-99 does not exist.",
    "- item\n  - nested  \n\n\n| a | b |\n|---|---|\n| 4 | x |",
    "\ttabs and trailing blanks   \r\nand a CRLF",
];

static STORY: LazyLock<Vec<Profile>> = LazyLock::new(|| vec![built_in_profile("story").unwrap()]);

fn story() -> &'static [Profile] {
    &STORY
}

fn level_of<'p>(profiles: &'p [Profile], node: &Node) -> &'p Level {
    profiles[0].find_level(&node.level).unwrap()
}

/// Renders a plan for a tree. `was` is the spelling of a label that is out of scope in this tree.
fn render(
    tree: &Tree,
    id: NodeId,
    lines: &[Line],
    old: &Book,
    replaced: &HashMap<NodeId, NodeId>,
) -> String {
    let profiles = story();
    let node = tree.get(id).unwrap();
    let number = |node: &Node| level_of(profiles, node).number_of(&node.alias);
    let current = |id: &NodeId| tree.get(*replaced.get(id).unwrap_or(id));
    let mut needs = Vec::new();
    // A name has no number to be rewritten, and a number no name.
    let before = old.tree.get(id).and_then(&number);
    let mut body = match before.map(|before| number(node).unwrap_or(before)) {
        Some(number) => {
            let label = match node.level.as_str() {
                "act" => "Act",
                "chapter" => "Глава",
                _ => "Scene",
            };
            format!("# {label} {number}: the plan {}\n", id.0)
        }
        None => format!("# The plan {}\n", id.0),
    };
    for line in lines {
        match line {
            Line::Words(words) => body.push_str(&format!("{words}\n")),
            Line::Path(target) => {
                let path = match current(target) {
                    Some(node) => tree.alias_path(node),
                    None => old.tree.alias_path(old.tree.get(*target).unwrap()),
                };
                body.push_str(&format!("See `{path}`.\n"));
            }
            Line::Needs(target) => needs.push(match current(target) {
                Some(node) => tree.alias_path(node),
                None => old.tree.alias_path(old.tree.get(*target).unwrap()),
            }),
            Line::ShortNeeds(target) => {
                let was = old.tree.get(*target).unwrap();
                let resolve = |tree: &Tree, name: &str| {
                    let mut by_alias: HashMap<&str, Vec<&Node>> = HashMap::new();
                    for node in tree.nodes() {
                        by_alias.entry(&node.alias).or_default().push(node);
                    }
                    let node = tree.get(id).unwrap();
                    let found = resolve_need(tree, profiles, &by_alias, node, name);
                    found.ok().map(|found| found.id)
                };
                let is_any = |tree: &Tree, name: &str| resolve(tree, name).is_some();
                let is_enough =
                    |tree: &Tree, name: &str, target: NodeId| resolve(tree, name) == Some(target);
                let was_short = is_enough(&old.tree, &was.alias, was.id);
                needs.push(match current(target) {
                    Some(now) if was_short && is_enough(tree, &now.alias, now.id) => {
                        now.alias.clone()
                    }
                    Some(now) => tree.alias_path(now),
                    // Never of another plan, which the alias alone may mean now.
                    None if was_short && !is_any(tree, &was.alias) => was.alias.clone(),
                    None => old.tree.alias_path(was),
                });
            }
            Line::Link(target, form) => {
                let file = match current(target) {
                    Some(node) => node.path.clone().unwrap(),
                    None => old.tree.get(*target).unwrap().path.clone().unwrap(),
                };
                let from = parent_folder(node.path.as_deref().unwrap()).to_owned();
                let (head, tail) = LINK_FORMS[*form];
                body.push_str(&format!("{head}{}{tail}\n", relative(&from, &file)));
            }
            Line::Label(target) => {
                let was = old.tree.get(*target).unwrap();
                let now = current(target).filter(|now| {
                    let scope = now.parent.is_none_or(|parent| {
                        let mut lineage = tree.ancestors(node);
                        lineage.push(node);
                        lineage.iter().any(|above| above.id == parent)
                    });
                    scope && number(now).is_some()
                });
                let number = number(now.unwrap_or(was)).unwrap_or_default();
                body.push_str(&format!("as in Chapter {number:02}, and\n"));
            }
        }
    }
    match needs.is_empty() {
        true => body,
        false => format!("---\nneeds: [{}]\n---\n{body}", needs.join(", ")),
    }
}

fn relative(folder: &str, file: &str) -> String {
    let (from, to): (Vec<&str>, Vec<&str>) =
        (folder.split('/').collect(), file.split('/').collect());
    let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let shared = shared.min(to.len() - 1);
    let mut parts = vec![".."; from.len() - shared];
    parts.extend(&to[shared..]);
    parts.join("/")
}

fn observed(level: &Level, text: &str) -> ObservedContent {
    let (canonical, description) = level.read_text(text);
    let (version, _) = compute_hashes(text);
    ObservedContent::Text {
        version,
        canonical,
        description,
    }
}

/// Random decisions, taken from a list of bytes.
struct Dice<'d>(std::iter::Cycle<std::slice::Iter<'d, u8>>);

impl Dice<'_> {
    fn roll(&mut self, sides: usize) -> usize {
        let high = usize::from(*self.0.next().unwrap());
        let low = usize::from(*self.0.next().unwrap());
        (high * 256 + low) % sides.max(1)
    }
}

fn new_node(id: u32, parent: Option<&Node>, level: &Level, alias: &str) -> Node {
    let read = level
        .alias
        .parse_exact_alias(alias, &level.numbers)
        .unwrap();
    let folder = parent
        .and_then(|parent| parent.path.as_deref())
        .map_or("", parent_folder);
    // The second layout of scenes, for some.
    let patterns: Vec<_> = level.file_patterns().collect();
    let pattern = patterns[usize::from(id.is_multiple_of(5)) % patterns.len()];
    Node {
        id: NodeId(id),
        parent: parent.map(|parent| parent.id),
        profile: "story".to_owned(),
        level: level.name.clone(),
        alias: read.alias,
        order: read.order,
        path: Some(pattern.file_for(folder, alias)),
        description: Description::default(),
        content: Content::Missing,
        approval: None,
        condemnation: None,
        progress: Progress::Pending,
        standing: NodeStatus::without_cause(Status::Draft),
        created_at: timestamp(0),
        updated_at: timestamp(0),
    }
}

impl Book {
    fn random(dice: &mut Dice<'_>) -> Self {
        let profiles = story();
        let level = |name: &str| profiles[0].find_level(name).unwrap();
        let (act, chapter, scene) = (level("act"), level("chapter"), level("scene"));
        let mut nodes: Vec<Node> = Vec::new();
        let mut next = 1;
        let mut push =
            |nodes: &mut Vec<Node>, parent: Option<&Node>, level: &Level, alias: &str| {
                nodes.push(new_node(next, parent, level, alias));
                next += 1;
                nodes.last().unwrap().clone()
            };
        for number in 1..=1 + dice.roll(3) {
            let above = push(&mut nodes, None, act, &format!("act-{number}"));
            let mut aliases: Vec<String> = (1..=u32::try_from(dice.roll(6)).unwrap())
                .filter(|_| dice.roll(5) > 0)
                .map(|number| format!("chapter-{number:02}"))
                .collect();
            if dice.roll(3) == 0 {
                aliases.push("prologue".to_owned());
            }
            if dice.roll(4) == 0 {
                aliases.push("interlude-02".to_owned());
            }
            for alias in aliases {
                let below = push(&mut nodes, Some(&above), chapter, &alias);
                for number in 1..=u32::try_from(dice.roll(4)).unwrap() {
                    let alias = scene
                        .alias
                        .format_below(number, &alias, chapter.number_of(&alias))
                        .unwrap();
                    push(&mut nodes, Some(&below), scene, &alias);
                }
            }
        }
        let tree = Tree::new(nodes);
        let ids: Vec<NodeId> = tree.nodes().map(|node| node.id).collect();
        let mut lines: BTreeMap<NodeId, Vec<Line>> = BTreeMap::new();
        for id in &ids {
            let count = dice.roll(5);
            let own = (0..count).map(|_| random_line(&tree, *id, &ids, dice));
            lines.insert(*id, own.collect());
        }
        Self::from_tree(tree, lines, dice)
    }

    fn from_tree(tree: Tree, lines: BTreeMap<NodeId, Vec<Line>>, dice: &mut Dice<'_>) -> Self {
        let profiles = story();
        let empty = Self {
            tree: tree.clone(),
            files: BTreeMap::new(),
            lines: lines.clone(),
        };
        let mut files = BTreeMap::new();
        let mut nodes: Vec<Node> = Vec::new();
        for node in tree.all_preorder() {
            let text = render(&tree, node.id, &lines[&node.id], &empty, &HashMap::new());
            let path = node.path.clone().unwrap();
            let level = level_of(profiles, node);
            let mut node = node.clone();
            let (canonical, description) = level.read_text(&text);
            let (version, _) = compute_hashes(&text);
            node.content = Content::Text {
                version,
                canonical,
                basis: None,
            };
            node.description = description;
            if let Some(output) = &level.output {
                let above = tree.parent_of(&node).unwrap().path.clone().unwrap();
                let file = output.file_for(parent_folder(&above), &node.alias);
                files.insert(file, format!("prose of {}\n", node.id.0));
            } else {
                let folder = parent_folder(&path);
                files.insert(
                    format!("{folder}/notes.txt"),
                    format!("notes on {}", node.id.0),
                );
            }
            files.insert(path, text);
            nodes.push(node);
        }
        // Parents first, so that an approval is against the parent's text.
        let texts: HashMap<NodeId, Content> = nodes
            .iter()
            .map(|node| (node.id, node.content.clone()))
            .collect();
        for node in &mut nodes {
            if dice.roll(4) > 0 {
                node.approval = Some(Approval::from_record(
                    node.content.version_hash().unwrap(),
                    node.content.canonical_hash().unwrap(),
                    node.parent
                        .and_then(|parent| texts[&parent].as_parent_version()),
                    Principal::Human("ann".to_owned()),
                    timestamp(1),
                    Vec::new(),
                ));
            }
        }
        let mut tree = Tree::new(nodes);
        cascade(&mut tree);
        Self { tree, files, lines }
    }
}

fn random_line(tree: &Tree, id: NodeId, ids: &[NodeId], dice: &mut Dice<'_>) -> Line {
    let target = ids[dice.roll(ids.len())];
    match dice.roll(6) {
        0 => Line::Path(target),
        4 => Line::ShortNeeds(target),
        1 => Line::Link(target, dice.roll(LINK_FORMS.len())),
        2 => Line::Needs(target),
        3 => {
            // Of a chapter, from its act or from anything below that.
            let node = tree.get(id).unwrap();
            let top = tree.ancestors(node).last().map_or(id, |top| top.id);
            let chapters: Vec<NodeId> = tree
                .children(top)
                .filter(|child| child.alias.starts_with("chapter-"))
                .map(|child| child.id)
                .collect();
            match chapters.as_slice() {
                [] => Line::Words(WORDS[0]),
                some => Line::Label(some[dice.roll(some.len())]),
            }
        }
        _ => Line::Words(WORDS[dice.roll(WORDS.len())]),
    }
}

/// Derives every status of a tree.
fn cascade(tree: &mut Tree) {
    let roots: Vec<NodeId> = tree.root_nodes().map(|node| node.id).collect();
    for root in roots {
        let rules = StatusRules {
            approval: ApprovalPolicy::Human,
            moved: &any_change_counts,
        };
        let occasion = CascadeContext {
            operation: OperationId(1),
            now: timestamp(2),
            note: None,
        };
        let inputs = tree.subtree_status_inputs(root);
        let groups = reevaluate_subtree(&inputs, &HashMap::new(), occasion, 10, rules).unwrap();
        let fact = Fact::StandingsChanged { groups };
        tree.apply_facts([&fact], timestamp(2)).unwrap();
    }
}

fn random_request(tree: &Tree, dice: &mut Dice<'_>) -> ShapeRequest {
    let nodes: Vec<&Node> = tree.all_preorder();
    let node = nodes[dice.roll(nodes.len())];
    let siblings: Vec<NodeId> = tree
        .nodes()
        .filter(|other| other.level == node.level)
        .map(|other| other.id)
        .collect();
    let other = tree.get(siblings[dice.roll(siblings.len())]).unwrap();
    let position = match dice.roll(4) {
        0 => Position::Last,
        1 => Position::Before(other.id),
        2 => Position::After(other.id),
        _ => Position::Number(1 + u32::try_from(dice.roll(6)).unwrap()),
    };
    let place = Place {
        parent: other.parent,
        position,
    };
    match dice.roll(8) {
        0 | 1 => ShapeRequest::Insert {
            level: node.level.clone(),
            place,
            name: (dice.roll(5) == 0 && node.level == "chapter").then(|| "epilogue".to_owned()),
        },
        2 | 3 => ShapeRequest::Move {
            node: node.id,
            place,
        },
        4 => ShapeRequest::Rename {
            node: node.id,
            alias: (1 + dice.roll(9)).to_string(),
        },
        5 => ShapeRequest::CloseGaps {
            parent: node.parent,
        },
        6 => match dice.roll(2) {
            0 => ShapeRequest::Merge {
                node: node.id,
                into: other.id,
            },
            _ => ShapeRequest::Split {
                node: node.id,
                children_from: tree.children(node.id).last().map(|child| child.id),
            },
        },
        _ => ShapeRequest::Remove { node: node.id },
    }
}

/// A book after a request, with what happened.
struct Changed {
    layout: Layout,
    facts: Vec<Fact>,
    book: Book,
    reworded: BTreeSet<NodeId>,
}

const NEW: NodeId = NodeId(900);

fn change(book: &Book, request: &ShapeRequest) -> Result<Changed, ShapeRefused> {
    let profiles = story();
    let profile = &profiles[0];
    let ctx = ShapeContext {
        tree: &book.tree,
        profile,
        next_id: NEW,
    };
    let layout = plan_layout(ctx, request)?;
    let moves = FileMoves::from_layout(&book.tree, profile, &layout);
    let added = layout.added.as_ref().map(|added| {
        let mut node = new_node(
            0,
            None,
            profile.find_level(&added.level).unwrap(),
            &added.name.alias,
        );
        (node.id, node.parent) = (added.id, added.parent);
        node.set_name(added.name.clone());
        node
    });
    let after = apply_layout(&book.tree, &layout, added);
    let rewriter = ReferenceRewriter::new(&book.tree, &after, profiles, &layout, &moves);
    let mut texts = ShapeTexts {
        carries_rewritten: true,
        ..ShapeTexts::default()
    };
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    let removed: BTreeSet<&str> = moves.removed_files().collect();
    for (path, text) in &book.files {
        let target = moves.target_of(path).unwrap_or_else(|| path.clone());
        if !removed.contains(path.as_str()) {
            assert_eq!(
                files.insert(target, text.clone()),
                None,
                "two files at one place"
            );
        }
    }
    let mut rewritten: HashMap<NodeId, String> = HashMap::new();
    for node in book.tree.nodes() {
        let path = node.path.as_deref().unwrap();
        let target = moves.target_of(path).unwrap_or_else(|| path.to_owned());
        let text = rewriter.rewrite_text(node.id, &book.files[path], path, &target);
        if text != book.files[path] && !layout.removed.contains(&node.id) {
            files.insert(target, text.clone());
            let found = observed(level_of(profiles, node), &text);
            texts.rewritten.insert(node.id, found);
        }
        rewritten.insert(node.id, text);
    }
    let mut reworded = BTreeSet::new();
    if let Some(added) = &layout.added {
        let level = profile.find_level(&added.level).unwrap();
        let mut text = compose_new_text(level, &added.name.alias, Some("new"), None);
        if let ShapeRequest::Split { node, .. } = request {
            let whole = rewritten[node].clone();
            let end = whole.trim_end().lines().count();
            if let Ok((first, second)) = split_text(&whole, &end.to_string()) {
                assert_eq!(format!("{first}{second}"), whole);
                let node = book.tree.get(*node).unwrap();
                text = second.to_owned();
                files.insert(
                    after.get(node.id).unwrap().path.clone().unwrap(),
                    first.to_owned(),
                );
                texts.rewritten.remove(&node.id);
                texts
                    .reworded
                    .insert(node.id, observed(level_of(profiles, node), first));
                reworded.insert(node.id);
            }
        }
        texts.added = Some(observed(level, &text));
        files.insert(added.name.path.clone().unwrap(), text);
    }
    if let Some((old, new)) = layout.replaced {
        let node = book.tree.get(new).unwrap();
        let text = merge_texts(&rewritten[&new], &rewritten[&old], |name| {
            rewriter.is_need_of_itself(new, name)
        });
        let needs = parse_front_matter(&text).get_list("needs");
        assert!(
            !needs
                .iter()
                .any(|name| rewriter.is_need_of_itself(new, name))
        );
        let path = after.get(new).unwrap().path.clone().unwrap();
        texts.rewritten.remove(&new);
        texts
            .reworded
            .insert(new, observed(level_of(profiles, node), &text));
        files.insert(path, text);
        reworded.insert(new);
    }
    let facts = decide_shape_facts(&book.tree, &layout, &texts, timestamp(3));
    let mut tree = book.tree.clone();
    tree.apply_facts(facts.iter(), timestamp(3)).unwrap();
    Ok(Changed {
        layout,
        facts,
        book: Book {
            tree,
            files,
            lines: book.lines.clone(),
        },
        reworded,
    })
}

fn without_times(tree: &Tree) -> BTreeMap<NodeId, Node> {
    let nodes = tree.nodes().cloned().map(|mut node| {
        node.updated_at = timestamp(0);
        node.standing = NodeStatus::without_cause(Status::Draft);
        (node.id, node)
    });
    nodes.collect()
}

/// The texts are the same except for the references, which mean the same plans as before.
fn check_texts(before: &Book, changed: &Changed) {
    let replaced: HashMap<NodeId, NodeId> = changed.layout.replaced.into_iter().collect();
    for node in changed.book.tree.nodes() {
        if node.id == NEW || changed.reworded.contains(&node.id) {
            continue;
        }
        let expected = render(
            &changed.book.tree,
            node.id,
            &before.lines[&node.id],
            before,
            &replaced,
        );
        let path = node.path.as_deref().unwrap();
        let found = changed.book.files.get(path).unwrap();
        assert_eq!(
            with_resolved_links(path, found),
            with_resolved_links(path, &expected),
            "{path}"
        );
    }
}

/// Replaces the targets of links by the files they mean: a link that still leads to its file is left
/// as it is, however long.
fn with_resolved_links(path: &str, text: &str) -> String {
    let resolve = |line: &str| {
        let (head, link, tail) = LINK_FORMS.iter().find_map(|(head, tail)| {
            let link = line
                .strip_prefix(head)?
                .strip_suffix(&format!("{tail}\n"))?;
            Some((head, link, tail))
        })?;
        let mut folders: Vec<&str> = parent_folder(path).split('/').collect();
        for step in link.split('/') {
            match step {
                ".." => drop(folders.pop()),
                name => folders.push(name),
            }
        }
        Some(format!("{head}/{}{tail}\n", folders.join("/")))
    };
    let lines = text.split_inclusive('\n');
    lines
        .map(|line| resolve(line).unwrap_or_else(|| line.to_owned()))
        .collect()
}

/// The files alone say the same tree.
fn check_rebuilt(before: &Book, changed: &Changed) {
    let profiles = story();
    let tree = &changed.book.tree;
    let expected: BTreeMap<String, String> = tree
        .nodes()
        .map(|node| (node.path.clone().unwrap(), tree.alias_path(node)))
        .collect();
    let plans = changed.book.files.keys().filter_map(|path| {
        let place = locate_plan(profiles, path)?;
        Some((path.clone(), place.path_alias()))
    });
    assert_eq!(plans.collect::<BTreeMap<_, _>>(), expected);
    for (path, text) in &changed.book.files {
        let Some(id) = text.strip_prefix("prose of ") else {
            continue;
        };
        let place = locate_output(profiles, path).unwrap().path_alias();
        let node = tree.get(NodeId(id.trim().parse().unwrap())).unwrap();
        assert_eq!(place, tree.alias_path(node), "prose goes with its plan");
    }
    let notes = |book: &Book| {
        let notes = book
            .files
            .values()
            .filter(|text| text.starts_with("notes on"));
        notes.cloned().collect::<BTreeSet<_>>()
    };
    assert_eq!(notes(before), notes(&changed.book), "no other file is lost");
}

/// A plan is approved exactly where it was, its text and its parent's say the same, and the parent is
/// the same and approved.
fn check_approvals(before: &Book, changed: &Changed) {
    let mut tree = changed.book.tree.clone();
    cascade(&mut tree);
    let approved = |tree: &Tree, id: NodeId| tree.get(id).unwrap().status() == Status::Approved;
    for node in tree.nodes().filter(|node| node.id != NEW) {
        let was = before.tree.get(node.id).unwrap();
        let parent_says_same = node.parent == was.parent
            && node.parent.is_none_or(|parent| {
                approved(&tree, parent) && !changed.reworded.contains(&parent)
            });
        let expected = approved(&before.tree, node.id)
            && !changed.reworded.contains(&node.id)
            && parent_says_same;
        assert_eq!(approved(&tree, node.id), expected, "{}", node.alias);
    }
}

fn check_undo(before: &Book, changed: &Changed) {
    let mut tree = changed.book.tree.clone();
    let inverse: Vec<Fact> = changed
        .facts
        .iter()
        .rev()
        .filter_map(Fact::inverse_fact)
        .collect();
    tree.apply_facts(inverse.iter(), timestamp(4)).unwrap();
    assert_eq!(without_times(&tree), without_times(&before.tree));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_shape_change_keeps_texts_approvals_and_files(dice in prop::collection::vec(any::<u8>(), 40..400)) {
        let mut dice = Dice(dice.iter().cycle());
        let book = Book::random(&mut dice);
        for _ in 0..3 {
            let request = random_request(&book.tree, &mut dice);
            let Ok(changed) = change(&book, &request) else { continue };
            check_texts(&book, &changed);
            check_rebuilt(&book, &changed);
            check_approvals(&book, &changed);
            check_undo(&book, &changed);
        }
    }
}

proptest! {
    /// A text is split at every heading that is offered, and loses nothing.
    #[test]
    fn a_text_is_split_at_every_offered_heading(
        lines in prop::collection::vec(prop::sample::select(vec!["# One", "## One", "## Two ##", "### 12", "text", "", "---", "```", "##", "# **"]), 0..14),
    ) {
        let text = lines.join("\n");
        for heading in list_split_points(&text) {
            let (first, second) = split_text(&text, heading).unwrap();
            prop_assert_eq!(format!("{}{}", first, second), text.clone());
            prop_assert!(second.starts_with('#') && !first.trim().is_empty());
        }
    }
}
