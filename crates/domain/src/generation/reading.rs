//! The reading of a committed text: what a judge and what the rules read in it, and how it follows edits.

use std::cmp::Reverse;

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
    /// People of the text whom the memory did not know when the judge read it: the judge could not name them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unlisted: Vec<String>,
}

/// A judge's reading of an earlier text. It was paid for, and an earlier text may be restored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierReading {
    pub version: VersionHash,
    pub claims: SceneVerdict,
    pub reader: String,
    #[serde(default)]
    pub is_accepted: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unlisted: Vec<String>,
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
            unlisted: Vec::new(),
        }
    }

    /// Returns the reading after a judge read a text. `is_known` tells whom the judge could name.
    #[must_use]
    pub fn with_verdict(
        self,
        claims: SceneVerdict,
        reader: String,
        is_accepted: bool,
        is_known: impl Fn(&str) -> bool,
    ) -> Self {
        let mut earlier = self.kept_readings();
        // The current text is not an earlier one.
        earlier.retain(|it| it.version != self.version);
        let people = self.found.people.iter().map(|it| &it.name);
        let unlisted = people.filter(|name| !is_known(name)).cloned().collect();
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
            unlisted,
            ..self
        }
    }

    /// Returns the reading of another text of the same scene. A text that a judge read before has that
    /// reading again; of any other one those claims stay, of all judged texts, whose quotation it has.
    #[must_use]
    pub fn follow_edit(&self, version: VersionHash, text: &str, found: RuleReading) -> Self {
        let earlier = self.kept_readings();
        let restored = earlier.iter().find(|it| it.version == version).cloned();
        // The same text has the same claims whatever was there between: so not only those of the text before.
        let claims = quoted_claims(&earlier, self.claims.clone(), text);
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
                unlisted: known.unlisted,
                ..base
            },
            None => Self {
                claims,
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
                unlisted: self.unlisted.clone(),
            });
        }
        let surplus = kept.len().saturating_sub(MAX_EARLIER_READINGS);
        // The oldest go: every later change of the record repeats it, before and after.
        kept.drain(..surplus);
        kept
    }
}

/// Returns the claims of judged texts that a text still has the quotations of. The reading with most of them
/// gives summary and cast, and the others add what it does not say.
fn quoted_claims(judged: &[EarlierReading], current: SceneVerdict, text: &str) -> SceneVerdict {
    let quoted = judged.iter().map(|it| {
        (
            it.version.to_string(),
            it.claims.clone().retain_quoted(text),
        )
    });
    let mut ranked: Vec<(String, SceneVerdict)> = quoted.collect();
    // By version where the numbers are equal: the order of the edits must not matter.
    ranked.sort_by_cached_key(|(version, it)| (Reverse(it.count_claims()), version.clone()));
    // Last, claims that were taken over from a reading which is not kept any more.
    let mut all = ranked
        .into_iter()
        .map(|(_, claims)| claims)
        .chain([current.retain_quoted(text)]);
    let first = all.next().unwrap_or_default();
    all.fold(first, SceneVerdict::add_claims)
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
        .with_verdict(claims.clone(), "model".to_owned(), false, |_| true);
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

    /// Defect: A judged, B = A and a sentence, C, B again: all claims of B but one were gone.
    #[test]
    fn a_text_has_the_same_claims_whatever_was_there_between() {
        let first = "Elena had green eyes. The drawer was empty.";
        let second = "Elena had green eyes. The drawer was empty. It rained.";
        let third = "Nobody came.";
        let claims = SceneVerdict {
            summary: vec!["s".to_owned()],
            facts: vec![fact("green")],
            ..SceneVerdict::default()
        };
        let version = |text: &str| VersionHash::of_bytes(text.as_bytes());
        let follow = |reading: &SceneReading, text: &str| {
            reading.follow_edit(version(text), text, RuleReading::default())
        };
        let new = SceneReading::read_by_rules(
            NodeId(1),
            "S001".to_owned(),
            version(first),
            RuleReading::default(),
        );
        let judged = new.with_verdict(claims, "model".to_owned(), false, |_| true);
        let direct = follow(&judged, second);
        assert_eq!(direct.claims.facts.len(), 1);
        let gone = follow(&direct, third);
        assert_eq!(gone.claims, SceneVerdict::default());
        assert_eq!(follow(&gone, second), direct);
        // A second judged text adds what it says, and the first one's claim is not there twice.
        let other = SceneVerdict {
            facts: vec![
                fact("green"),
                NewFact {
                    quote: "It rained".to_owned(),
                    ..fact("wet")
                },
            ],
            ..SceneVerdict::default()
        };
        let judged = direct.with_verdict(other, "model".to_owned(), false, |_| true);
        let fourth = "It rained. Elena had green eyes.";
        let edited = follow(&judged, fourth);
        assert_eq!(edited.claims.facts.len(), 2, "{:?}", edited.claims.facts);
        assert_eq!(
            follow(&follow(&judged, first), fourth).claims,
            edited.claims
        );
    }
}
