//! The reading of a committed text: what a judge and what the rules read in it, and how it follows edits.

use serde::{Deserialize, Serialize};

use super::record::Generation;
use super::rule_reader::RuleReading;
use super::verdict::SceneVerdict;
use crate::ids::{NodeId, VersionHash};
use crate::record::Recorded;

/// Name of the reader that needs no model.
pub const RULES_READER: &str = "rules";

/// Maximum number of earlier texts whose readings are kept, for texts that come back.
const MAX_EARLIER_READINGS: usize = 4;

/// What was read in a committed text. A record, keyed by node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SceneReading {
    pub node: NodeId,
    /// Memory id of the scene.
    pub scene: String,
    /// The text that was read.
    pub version: VersionHash,
    /// Characters, facts and loops that a judge read, each with its quotation.
    pub claims: SceneVerdict,
    /// What the rules read in the same text.
    #[serde(default)]
    pub found: RuleReading,
    /// The judge's model, or `rules`.
    #[serde(default)]
    pub reader: String,
    /// The text that the judge read; another one than `version` if it was edited since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged: Option<VersionHash>,
    /// A person accepted what contradicts earlier facts.
    #[serde(default)]
    pub is_accepted: bool,
    /// The text is gone: nothing of it is in the memory.
    #[serde(default)]
    pub is_gone: bool,
    /// Judged readings of earlier texts, the newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<EarlierReading>,
}

/// A judge's reading of an earlier text. It was paid for, and an earlier text may be restored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierReading {
    pub version: VersionHash,
    pub claims: SceneVerdict,
    pub reader: String,
    #[serde(default)]
    pub is_accepted: bool,
}

impl Recorded for SceneReading {
    const KIND: &'static str = "scene-reading";
}

impl SceneReading {
    /// Returns the record key of a node's reading.
    #[must_use]
    pub fn record_key(node: NodeId) -> String {
        Generation::record_key(node)
    }

    /// Whether a judge read this very text.
    #[must_use]
    pub fn is_judged(&self) -> bool {
        self.judged == Some(self.version)
    }

    /// Returns the reading of a text by rules, without an earlier one.
    #[must_use]
    pub fn read_by_rules(
        node: NodeId,
        scene: String,
        version: VersionHash,
        found: RuleReading,
    ) -> Self {
        Self {
            node,
            scene,
            version,
            claims: SceneVerdict::default(),
            found,
            reader: RULES_READER.to_owned(),
            judged: None,
            is_accepted: false,
            is_gone: false,
            earlier: Vec::new(),
        }
    }

    /// Returns the reading after a judge read a text.
    #[must_use]
    pub fn with_verdict(self, claims: SceneVerdict, reader: String, is_accepted: bool) -> Self {
        let earlier = self.kept_readings();
        Self {
            // Findings are the review's; only claims are projected.
            claims: SceneVerdict {
                findings: Vec::new(),
                ..claims
            },
            reader,
            judged: Some(self.version),
            is_accepted,
            earlier,
            ..self
        }
    }

    /// Returns the reading of another text of the same scene. A text that a judge read before has that
    /// reading again; of any other one only those claims stay whose quotation is still there.
    #[must_use]
    pub fn follow_edit(&self, version: VersionHash, text: &str, found: RuleReading) -> Self {
        let earlier = self.kept_readings();
        let restored = earlier.iter().find(|it| it.version == version).cloned();
        let base = Self {
            version,
            found,
            // The current text is not an earlier one.
            earlier: earlier
                .into_iter()
                .filter(|it| it.version != version)
                .collect(),
            is_gone: false,
            ..self.clone()
        };
        match restored {
            Some(known) => Self {
                claims: known.claims,
                reader: known.reader,
                judged: Some(version),
                is_accepted: known.is_accepted,
                ..base
            },
            None => Self {
                // A claim stands on its quotation; without it nothing in the text supports it.
                claims: self.claims.clone().retain_quoted(text),
                // A person accepted the contradiction in the text before, not in this one.
                is_accepted: false,
                ..base
            },
        }
    }

    /// Returns the reading of a scene whose text is gone.
    #[must_use]
    pub fn without_text(&self) -> Self {
        Self {
            is_gone: true,
            earlier: self.kept_readings(),
            ..self.clone()
        }
    }

    /// Returns the earlier readings, with this one if a judge made it.
    fn kept_readings(&self) -> Vec<EarlierReading> {
        let mut kept = self.earlier.clone();
        // A reading by rules costs nothing and is made again; a judge's was paid for.
        if self.is_judged() {
            kept.retain(|it| it.version != self.version);
            kept.push(EarlierReading {
                version: self.version,
                claims: self.claims.clone(),
                reader: self.reader.clone(),
                is_accepted: self.is_accepted,
            });
        }
        let surplus = kept.len().saturating_sub(MAX_EARLIER_READINGS);
        // The oldest go: every later change of the record repeats it, before and after.
        kept.drain(..surplus);
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generation::verdict::NewFact;

    fn fact(object: &str) -> NewFact {
        NewFact {
            subject: "Elena".to_owned(),
            predicate: "eyes".to_owned(),
            object: object.to_owned(),
            quote: format!("Elena had {object} eyes"),
        }
    }

    #[test]
    fn an_edit_keeps_the_claims_that_are_still_quoted_and_a_restored_text_its_whole_reading() {
        let first = "Elena had green eyes. The drawer was empty.";
        let version = VersionHash::of_bytes(first.as_bytes());
        let claims = SceneVerdict {
            summary: vec!["s".to_owned()],
            facts: vec![
                fact("green"),
                NewFact {
                    quote: "The drawer was empty".to_owned(),
                    ..fact("x")
                },
            ],
            ..SceneVerdict::default()
        };
        let judged = SceneReading::read_by_rules(
            NodeId(1),
            "S001".to_owned(),
            version,
            RuleReading::default(),
        )
        .with_verdict(claims.clone(), "model".to_owned(), false);
        let second = "Elena had grey eyes. The drawer was empty.";
        let edited = judged.follow_edit(
            VersionHash::of_bytes(second.as_bytes()),
            second,
            RuleReading::default(),
        );
        assert!(!edited.is_judged());
        assert_eq!(edited.claims.facts.len(), 1, "{:?}", edited.claims.facts);
        let restored = edited.follow_edit(version, first, RuleReading::default());
        assert!(restored.is_judged());
        assert_eq!(restored.claims, claims);
    }
}
