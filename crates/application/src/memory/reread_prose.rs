//! Reads written texts into the memory on request: by rules, or with a model's verdict.

use std::collections::{BTreeMap, BTreeSet};

use domain::generation::FindingSeverity;
use domain::generation::continuity::{SceneContext, check_continuity};
use domain::generation::contradiction::are_exclusive;
use domain::generation::prompts::JUDGE_SYSTEM_PROMPT;
use domain::generation::reading::SceneReading;
use domain::generation::verdict::SceneVerdict;
use domain::ids::{NodeId, VersionHash};
use domain::memory::knowledge::state_fact;
use domain::memory::{Scene, StoryMemory, Truth};
use domain::node::Node;
use domain::operation::Verb;
use domain::ports::Snapshot;
use domain::record;
use domain::text::count_with_noun;
use domain::tick::ModelSpending;
use domain::tree::Tree;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::memory_files::{self, load_memory};
use super::prose_files::note_read_texts;
use super::scene_readings::{JudgedText, SceneChange, apply_changes, load_readings};
use crate::context::Context;
use crate::failure::Failure;
use crate::file_writes::begin_transaction;
use crate::generation::material::{SceneMaterial, find_scene, find_scene_or_parent};
use crate::submit::observe_submitted_plans;
use crate::tick::spending::spending_facts;
use crate::tick::story_state::{prose_path, read_prose};

/// Token limit of a reading.
const MAX_READING_TOKENS: u32 = 4_000;

/// The outcome of reading texts.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RereadOutcome {
    /// The scenes that were read, in the order of the plan.
    pub read: Vec<ReadSceneView>,
    /// Nodes below the named one that have no text.
    pub without_text: usize,
    /// Contradictions in the memory now.
    pub disputed: Vec<DisputedFact>,
    /// What the texts that were read say against facts of earlier scenes, without stating a fact themselves.
    pub contradictions: Vec<SceneContradiction>,
}

/// What a text says against a fact of an earlier scene.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SceneContradiction {
    /// Path of the scene.
    pub scene: String,
    pub problem: String,
    pub quote: String,
    /// The scene and the quotation of the fact.
    pub against: String,
}

/// A scene that was read.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ReadSceneView {
    pub scene: String,
    /// Memory id of the scene.
    pub id: String,
    /// A model, or `rules`.
    pub reader: String,
    pub words: u64,
    /// Names of those who are present.
    pub characters: Vec<String>,
    pub location: Option<String>,
    /// Number of facts of this scene.
    pub facts: usize,
}

/// A fact that contradicts an earlier one.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DisputedFact {
    pub fact: String,
    pub statement: String,
    /// Path of the scene that says it.
    pub scene: String,
    pub quote: String,
    /// The earlier statement.
    pub against: String,
}

/// A request to a model to read a text.
#[derive(Clone, Debug, Serialize)]
pub struct ReadingAsk {
    pub scene: String,
    /// Version of the text; an answer about another one is stale.
    pub nonce: String,
    pub system: String,
    pub prompt: String,
    pub schema: Value,
    pub max_output_tokens: u32,
}

/// A model's answer.
#[derive(Clone, Debug, Default)]
pub struct ReadingAnswer {
    pub nonce: String,
    pub verdict: Value,
    pub reader: String,
    pub spent: Vec<ModelSpending>,
}

/// Reads the texts of a scene, of everything below a node, or of the whole story, by rules. What a model
/// read in the same text stays.
///
/// # Errors
/// When there is no such node or no text, or the state cannot be written.
pub fn reread_by_rules(ctx: &Context<'_>, words: &[String]) -> Result<RereadOutcome, Failure> {
    let (_, tree) = observe_submitted_plans(ctx)?;
    let mut tx = begin_transaction(ctx)?;
    let scenes = find_scenes(ctx, &*tx, &tree, words)?;
    let (mut changes, mut texts) = (Vec::new(), Vec::new());
    for node in &scenes {
        if let Some(text) = read_prose(ctx, &tree, &tree.alias_path(node)) {
            texts.push((node.id, VersionHash::of_bytes(text.as_bytes())));
            changes.push(SceneChange {
                node: node.id,
                text: Some(text),
                judged: None,
            });
        }
    }
    let nodes: Vec<NodeId> = changes.iter().map(|change| change.node).collect();
    let read: Vec<(NodeId, String)> = changes
        .iter()
        .filter_map(|change| Some((change.node, change.text.clone()?)))
        .collect();
    changes.extend(find_gone_texts(
        &*tx,
        &tree,
        &scenes,
        &nodes,
        words.is_empty(),
    )?);
    if changes.is_empty() {
        return Err(Failure::not_found("there is no text to read")
            .with_step("tl story compile   # which scenes are missing"));
    }
    let without_text = scenes.len() - nodes.len();
    let summary = format!(
        "memory: {} read by rules",
        count_with_noun(nodes.len(), "scene", "scenes")
    );
    // Edits by hand come first: the new reading is projected over them, and the files written at
    // the end would replace an edit that was not imported.
    let mut files = memory_files::import_edits_within(ctx, &mut *tx)?;
    let mut memory = load_memory(&*tx)?;
    let readings = apply_changes(ctx, &*tx, &tree, &mut memory, changes)?;
    let mut operation = ctx.new_operation(Verb::Remember, summary);
    operation.facts = memory.change_facts();
    operation.facts.extend(readings);
    // The same texts give the same memory: then nothing is recorded.
    if !operation.facts.is_empty() {
        tx.record_operation(operation)?;
        files.register_changes(ctx, &mut *tx, &memory)?;
        note_read_texts(ctx, &mut *tx, &tree, &texts)?;
    }
    let outcome = describe_outcome(&*tx, &tree, &memory, &read, without_text)?;
    tx.commit()?;
    files.write_files(ctx);
    Ok(outcome)
}

/// Returns the scenes that were read and have no text any more; with `all` also those without a plan.
fn find_gone_texts(
    state: &dyn Snapshot,
    tree: &Tree,
    scenes: &[&Node],
    with_text: &[NodeId],
    all: bool,
) -> Result<Vec<SceneChange>, Failure> {
    let is_wanted = |node: NodeId| match tree.get(node) {
        Some(_) => scenes.iter().any(|scene| scene.id == node),
        None => all,
    };
    let readings = load_readings(state, tree)?.into_iter();
    let gone =
        readings.filter(|it| !it.is_gone && is_wanted(it.node) && !with_text.contains(&it.node));
    Ok(gone
        .map(|reading| SceneChange {
            node: reading.node,
            text: None,
            judged: None,
        })
        .collect())
}

/// Returns the paths of the scenes with a text that no model has read, in the order of the plan; with
/// `again` of all that have a text.
///
/// # Errors
/// When there is no such node, or the state cannot be read.
pub fn list_unread_scenes(
    ctx: &Context<'_>,
    words: &[String],
    again: bool,
) -> Result<Vec<String>, Failure> {
    let (state, tree) = observe_submitted_plans(ctx)?;
    let mut unread = Vec::new();
    for node in find_scenes(ctx, &*state, &tree, words)? {
        let path = tree.alias_path(node);
        let Some(text) = read_prose(ctx, &tree, &path) else {
            continue;
        };
        let known =
            record::read_record::<SceneReading>(&*state, &SceneReading::record_key(node.id))?;
        let version = VersionHash::of_bytes(text.as_bytes());
        // A reading by rules does not count: it is what a model's reading improves on.
        let is_read = known.is_some_and(|it| it.is_judged() && it.version == version);
        if again || !is_read {
            unread.push(path);
        }
    }
    Ok(unread)
}

/// Returns the request to a model to read the text of a scene.
///
/// # Errors
/// When there is no such scene or no text, or the state cannot be read.
pub fn begin_reading(
    ctx: &Context<'_>,
    words: &[String],
    context_tokens: Option<usize>,
) -> Result<ReadingAsk, Failure> {
    let (state, tree) = observe_submitted_plans(ctx)?;
    let node = find_scene(ctx, &*state, &tree, words)?;
    let (path, text) = text_of_scene(ctx, &tree, node)?;
    let gathered = SceneMaterial::gather(ctx, &*state, &tree, node)?;
    let prompt = gathered
        .prompt_material(ctx, 0, context_tokens)
        .render_reading_prompt(&text);
    Ok(ReadingAsk {
        scene: path,
        nonce: VersionHash::of_bytes(text.as_bytes()).to_string(),
        system: JUDGE_SYSTEM_PROMPT.to_owned(),
        prompt: prompt.text,
        // With the ids of the memory as allowed values, so that claims refer to entries that exist.
        schema: prompt.schema.unwrap_or_default(),
        max_output_tokens: MAX_READING_TOKENS,
    })
}

/// Takes over what a model read in the text of a scene. Claims without a quotation of it do not count.
///
/// # Errors
/// When the text has changed, the answer is not a verdict, or the state cannot be written.
pub fn submit_reading(
    ctx: &Context<'_>,
    words: &[String],
    answer: &ReadingAnswer,
) -> Result<RereadOutcome, Failure> {
    let (_, tree) = observe_submitted_plans(ctx)?;
    let mut tx = begin_transaction(ctx)?;
    let node = find_scene(ctx, &*tx, &tree, words)?;
    let (path, text) = text_of_scene(ctx, &tree, node)?;
    let version = VersionHash::of_bytes(text.as_bytes());
    if version.to_string() != answer.nonce {
        let what = format!("stale answer: the text of `{path}` was edited meanwhile");
        return Err(Failure::conflict(what).with_step(format!("tl story memory reread {path}")));
    }
    let gathered = SceneMaterial::gather(ctx, &*tx, &tree, node)?;
    // Against the text and blueprint read in this transaction, not those of the prompt: the nonce
    // proves only that the text is the same.
    let claims = SceneVerdict::parse_proven(&answer.verdict, &text, &gathered.blueprint)
        .map_err(|why| Failure::invalid(format!("the answer is not a reading: {why}")))?;
    let read = [(node.id, text.clone())];
    let change = SceneChange {
        node: node.id,
        text: Some(text),
        judged: Some(JudgedText {
            claims,
            reader: answer.reader.clone(),
            is_accepted: false,
        }),
    };
    let mut files = memory_files::import_edits_within(ctx, &mut *tx)?;
    let mut memory = load_memory(&*tx)?;
    let readings = apply_changes(ctx, &*tx, &tree, &mut memory, vec![change])?;
    let mut operation = ctx.new_operation(Verb::Remember, format!("memory: {path} read"));
    // The cost is recorded also when the reading changes nothing: the budget was spent.
    operation.facts = spending_facts(&*tx, &answer.spent)?;
    operation.facts.extend(memory.change_facts());
    operation.facts.extend(readings);
    if !operation.facts.is_empty() {
        tx.record_operation(operation)?;
        files.register_changes(ctx, &mut *tx, &memory)?;
        note_read_texts(ctx, &mut *tx, &tree, &[(node.id, version)])?;
    }
    let outcome = describe_outcome(&*tx, &tree, &memory, &read, 0)?;
    tx.commit()?;
    files.write_files(ctx);
    Ok(outcome)
}

/// Returns the scenes at or below a node; all of them without a name.
fn find_scenes<'t>(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    tree: &'t Tree,
    words: &[String],
) -> Result<Vec<&'t Node>, Failure> {
    let nodes = if words.is_empty() {
        tree.all_preorder()
    } else {
        tree.subtree_preorder(find_scene_or_parent(ctx, state, tree, words)?.id)
    };
    let is_scene = |node: &&Node| prose_path(ctx, tree, node).is_some();
    Ok(nodes.into_iter().filter(is_scene).collect())
}

fn text_of_scene(ctx: &Context<'_>, tree: &Tree, node: &Node) -> Result<(String, String), Failure> {
    let path = tree.alias_path(node);
    match read_prose(ctx, tree, &path) {
        Some(text) => Ok((path, text)),
        None => {
            let file = prose_path(ctx, tree, node).unwrap_or_default();
            Err(
                Failure::not_found(format!("`{path}` has no text: `{file}` is missing"))
                    .with_step(format!("tl story write {path}")),
            )
        }
    }
}

/// Describes what was read, and what contradicts in the memory now.
fn describe_outcome(
    state: &dyn Snapshot,
    tree: &Tree,
    memory: &StoryMemory,
    texts: &[(NodeId, String)],
    without_text: usize,
) -> Result<RereadOutcome, Failure> {
    let wanted: BTreeMap<NodeId, &str> = texts.iter().map(|(id, it)| (*id, it.as_str())).collect();
    let readings = load_readings(state, tree)?;
    let name = |id: &String| memory.display_name(id);
    let (mut read, mut contradictions) = (Vec::new(), Vec::new());
    // In the order of the plan: a scene contradicts only what is before it.
    let mut earlier = BTreeSet::new();
    for reading in readings.iter().filter(|it| !it.is_gone) {
        let Some(domain::memory::Entry::Scene(scene)) = memory.get(&reading.scene) else {
            continue;
        };
        let Some(text) = wanted.get(&reading.node) else {
            earlier.insert(reading.scene.clone());
            continue;
        };
        contradictions.extend(find_contradictions(memory, scene, text, &earlier));
        earlier.insert(reading.scene.clone());
        let is_here =
            |fact: &&domain::memory::StoryFact| fact.valid_from.as_ref() == Some(&scene.id);
        read.push(ReadSceneView {
            scene: scene.node.clone().unwrap_or_default(),
            id: scene.id.clone(),
            reader: reading.reader.clone(),
            words: scene.words,
            characters: scene.characters.iter().map(name).collect(),
            location: scene.location.as_ref().map(name),
            facts: memory.facts().filter(is_here).count(),
        });
    }
    Ok(RereadOutcome {
        read,
        without_text,
        disputed: list_disputed(memory),
        contradictions,
    })
}

/// Returns what a text says against facts of the scenes before, besides what the memory has in dispute.
fn find_contradictions(
    memory: &StoryMemory,
    scene: &Scene,
    text: &str,
    earlier: &BTreeSet<String>,
) -> Vec<SceneContradiction> {
    let moment = SceneContext {
        memory,
        // Who may know what is a question for a scene that is being written.
        pov: None,
        earlier,
    };
    // What the scene states as a fact is in dispute already, or was settled by a person.
    let stated: Vec<&str> = memory
        .facts()
        .filter(|it| it.valid_from.as_ref() == Some(&scene.id) && it.truth != Truth::Canon)
        .filter_map(|it| it.quote.as_deref())
        .collect();
    let findings = check_continuity(text, &moment).into_iter();
    let certain = findings.filter(|it| it.severity == FindingSeverity::Must);
    let told = certain.map(|it| SceneContradiction {
        scene: scene.node.clone().unwrap_or_default(),
        problem: it.problem,
        quote: it.quote.unwrap_or_default(),
        against: it.against.unwrap_or_default(),
    });
    let is_stated = |quote: &str| {
        let is_part = |it: &&str| it.contains(quote) || quote.contains(*it);
        stated.iter().any(is_part)
    };
    told.filter(|it| !is_stated(&it.quote)).collect()
}

/// Returns the disputed facts, each with the canon it contradicts.
fn list_disputed(memory: &StoryMemory) -> Vec<DisputedFact> {
    let path = |scene: &Option<String>| {
        let entry = scene.as_deref().and_then(|id| memory.get(id));
        match entry {
            Some(domain::memory::Entry::Scene(scene)) => scene.node.clone().unwrap_or_default(),
            _ => String::new(),
        }
    };
    let disputed = memory.facts().filter(|fact| fact.truth == Truth::Disputed);
    disputed
        .map(|fact| {
            // Predicates are compared without case, because they come from texts and models.
            let subject = memory.identify_subject(&fact.subject);
            let canon = memory.facts().find(|it| {
                it.truth == Truth::Canon
                    && memory.identify_subject(&it.subject) == subject
                    && it.predicate.to_lowercase() == fact.predicate.to_lowercase()
                    && are_exclusive(&it.predicate, &it.object, &fact.object)
            });
            DisputedFact {
                fact: fact.id.clone(),
                statement: state_fact(memory, fact),
                scene: path(&fact.valid_from),
                quote: fact.quote.clone().unwrap_or_default(),
                against: canon.map_or_else(String::new, |canon| {
                    format!(
                        "{} ({})",
                        state_fact(memory, canon),
                        path(&canon.valid_from)
                    )
                }),
            }
        })
        .collect()
}
