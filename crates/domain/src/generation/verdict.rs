//! A judge's verdict on a scene. Only claims with a verbatim quote of the text count; this filters
//! hallucinated findings and facts.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::record::SceneFinding;
use crate::json_object::json_object;
use crate::memory::{EntryKind, StoryMemory};
use crate::tick::tools::contains_quote;

/// The answer of a judge.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SceneVerdict {
    pub findings: Vec<SceneFinding>,
    /// What happens, the most important first.
    pub summary: Vec<String>,
    /// Ids of the characters that are present.
    pub characters: Vec<String>,
    pub facts: Vec<NewFact>,
    pub loops: Vec<AdvancedLoop>,
    pub new_loops: Vec<NewLoop>,
}

/// A fact the scene establishes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NewFact {
    pub subject: String,
    pub predicate: String,
    pub object: String,
    pub quote: String,
}

/// An open loop that the scene advances or resolves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AdvancedLoop {
    pub loop_id: String,
    /// `resolved` or `advanced`.
    pub outcome: String,
    pub reason: String,
    pub quote: String,
}

/// An open loop that the scene starts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NewLoop {
    pub description: String,
    pub importance: String,
    pub quote: String,
}

/// Returns the JSON schema of a verdict, with the known ids as enumerations of at most `max_ids`, those of
/// `cast` first.
#[must_use]
pub(crate) fn verdict_schema(memory: &StoryMemory, cast: &[&str], max_ids: usize) -> Value {
    // Limits on every text and list: a model that repeats itself would otherwise fill its whole
    // output with one field.
    let text = |max: usize| json!({ "type": "string", "maxLength": max });
    let list = |max: usize, properties: Value, required: &[&str]| {
        let items = json_object([
            ("type", json!("object")),
            ("properties", properties),
            ("required", json!(required)),
        ]);
        json_object([
            ("type", json!("array")),
            ("maxItems", json!(max)),
            ("items", items),
        ])
    };
    let ids = |kind: EntryKind| -> Value {
        let known = memory.list_nameable_ids(kind, cast, max_ids);
        // An empty `enum` matches nothing, and some providers reject the schema.
        if known.is_empty() {
            text(12)
        } else {
            json_object([("type", json!("string")), ("enum", known.into())])
        }
    };
    json!({
        "type": "object",
        "required": ["findings", "summary"],
        "properties": {
            "findings": list(12, json!({
                "check": { "type": "string", "enum": ["continuity", "pov", "coverage", "style"] },
                "severity": { "type": "string", "enum": ["must", "should", "could"] },
                "problem": text(400), "quote": text(300), "against": text(300),
            }), &["check", "severity", "problem", "quote"]),
            "summary": { "type": "array", "minItems": 1, "maxItems": 6, "items": text(300) },
            "characters": { "type": "array", "maxItems": 20, "items": ids(EntryKind::Character) },
            "facts": list(12, json!({ "subject": text(80), "predicate": text(80), "object": text(160), "quote": text(300) }),
                          &["subject", "predicate", "object", "quote"]),
            "loops": list(8, json!({ "loop_id": ids(EntryKind::Loop), "outcome": { "type": "string", "enum": ["resolved", "advanced"] },
                                     "reason": text(300), "quote": text(300) }), &["loop_id", "outcome", "reason", "quote"]),
            "new_loops": list(3, json!({ "description": text(300), "quote": text(300),
                                         "importance": { "type": "string", "enum": ["low", "medium", "high", "critical"] } }),
                              &["description", "importance", "quote"]),
        },
    })
}

impl SceneVerdict {
    /// Parses a verdict and drops the claims without a verbatim quote. What is missing from a text
    /// cannot be quoted from it, so for `coverage` a quote of the blueprint is enough.
    ///
    /// # Errors
    /// When the value is not a verdict.
    pub fn parse_proven(value: &Value, text: &str, blueprint: &str) -> Result<Self, String> {
        let mut verdict: Self =
            serde_json::from_value(value.clone()).map_err(|error| error.to_string())?;
        verdict.findings.retain(|finding| {
            let proved = finding
                .quote
                .as_deref()
                .is_some_and(|quote| contains_quote(text, quote));
            let missing = finding.check == "coverage"
                && finding
                    .against
                    .as_deref()
                    .or(finding.quote.as_deref())
                    .is_some_and(|words| contains_quote(blueprint, words));
            proved || missing
        });
        verdict.retain_proven_claims(text);
        Ok(verdict)
    }

    fn retain_proven_claims(&mut self, text: &str) {
        self.facts
            .retain(|fact| !fact.subject.trim().is_empty() && contains_quote(text, &fact.quote));
        self.loops
            .retain(|moved| contains_quote(text, &moved.quote));
        self.new_loops
            .retain(|new| !new.description.trim().is_empty() && contains_quote(text, &new.quote));
    }

    /// Returns the claims that another text still has the quotations of. A summary and a cast have none:
    /// they stay as long as anything of the text does.
    #[must_use]
    pub fn retain_quoted(mut self, text: &str) -> Self {
        self.retain_proven_claims(text);
        // Without any claim left, nothing shows that this is still the scene the judge summarised.
        let is_quoted =
            !self.facts.is_empty() || !self.loops.is_empty() || !self.new_loops.is_empty();
        if is_quoted { self } else { Self::default() }
    }

    /// Returns the number of facts and loops.
    pub(super) fn count_claims(&self) -> usize {
        self.facts.len() + self.loops.len() + self.new_loops.len()
    }

    /// Adds the claims of another reading of the same text that this one does not have.
    #[must_use]
    pub(super) fn add_claims(mut self, other: Self) -> Self {
        if self.count_claims() == 0 {
            return other;
        }
        // Compared with these facts alone: one reader may take two facts from one sentence.
        let is_new = |fact: &NewFact| !self.facts.iter().any(|it| it.has_same_sentence(fact));
        let new: Vec<NewFact> = other.facts.into_iter().filter(is_new).collect();
        self.facts.extend(new);
        for moved in other.loops {
            if self.loops.iter().all(|it| it.loop_id != moved.loop_id) {
                self.loops.push(moved);
            }
        }
        for new in other.new_loops {
            let is_known =
                |it: &NewLoop| it.description == new.description || overlap(&it.quote, &new.quote);
            if !self.new_loops.iter().any(is_known) {
                self.new_loops.push(new);
            }
        }
        self
    }
}

impl NewFact {
    /// Whether two readers took two facts from the same words: they would be one fact in different words.
    pub(super) fn has_same_sentence(&self, other: &Self) -> bool {
        overlap(&self.quote, &other.quote)
    }
}

/// Whether one quotation contains the other.
fn overlap(one: &str, other: &str) -> bool {
    // Readers differ in the marks around a sentence.
    let bare = |quote: &'_ str| {
        quote
            .trim_matches(|c: char| !c.is_alphanumeric())
            .to_owned()
    };
    let (one, other) = (bare(one), bare(other));
    one.contains(&other) || other.contains(&one)
}
