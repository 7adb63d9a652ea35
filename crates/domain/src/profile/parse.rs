//! Parses a profile from TOML; errors name file, line, key and the allowed values.
//!
//! Stops at the first problem: a profile is written by hand, and one problem often causes the next.

use std::ops::RangeInclusive;

use serde::Deserialize;
use toml::Spanned;

use super::{
    AliasPattern, ApprovalNeed, EvidenceNeed, Facet, FacetKind, FilePattern, Level, Phase, Profile,
    WorkPhase,
};
use crate::suggest::with_suggestion;

/// A problem in a profile and its location.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct ProfileProblem {
    pub file: String,
    pub line: usize,
    pub message: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawProfile {
    name: Spanned<String>,
    title: Option<String>,
    #[serde(rename = "level")]
    levels: Vec<RawLevel>,
    #[serde(default, rename = "phase")]
    phases: Vec<RawPhase>,
    #[serde(default, rename = "facet")]
    facets: Vec<RawFacet>,
    approval: Option<Spanned<String>>,
    gates: Option<Vec<Spanned<String>>>,
    #[serde(default, rename = "work_phase")]
    work_phases: Vec<RawWorkPhase>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawWorkPhase {
    name: String,
    guide: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLevel {
    name: Spanned<String>,
    #[serde(default)]
    root: bool,
    #[serde(default)]
    under: Vec<Spanned<String>>,
    alias: Spanned<String>,
    numbers: Option<Spanned<String>>,
    file: Option<Spanned<String>>,
    output: Option<Spanned<String>>,
    #[serde(default)]
    purpose: String,
    #[serde(default)]
    outline: Vec<String>,
    #[serde(default)]
    state_keys: Vec<String>,
    items: Option<Spanned<String>>,
    evidence: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPhase {
    title: String,
    text: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFacet {
    name: String,
    #[serde(default)]
    kind: RawFacetKind,
    words: Vec<String>,
    #[serde(default)]
    levels: Vec<Spanned<String>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RawFacetKind {
    #[default]
    Names,
    Timeline,
}

/// Parses a profile; `file` is only used in messages.
///
/// # Errors
/// The first problem, with its line.
pub fn parse_profile(file: &str, text: &str) -> Result<Profile, ProfileProblem> {
    let reader = ProfileReader { file, text };
    let raw: RawProfile = toml::from_str(text).map_err(|error| ProfileProblem {
        file: file.to_owned(),
        line: error
            .span()
            .map_or(1, |span| reader.line_number(span.start)),
        message: with_suggestion(error.message()),
    })?;

    // Names are typed in commands and are parts of file names, hence neither blanks nor separators.
    let is_word = |name: &str| {
        !name.is_empty()
            && name
                .chars()
                .all(|c| c.is_alphanumeric() || c == '-' || c == '_')
            && name.len() <= 40
    };
    if !is_word(raw.name.get_ref()) {
        return Err(reader.problem_at(
            &raw.name,
            "name",
            "expected one word of letters, digits, `-` or `_`",
        ));
    }
    if raw.levels.is_empty() {
        return Err(reader.problem_at(&raw.name, "level", "expected at least one `[[level]]`"));
    }
    let names: Vec<&str> = raw
        .levels
        .iter()
        .map(|level| level.name.get_ref().as_str())
        .collect();
    let known = || {
        names
            .iter()
            .map(|name| format!("`{name}`"))
            .collect::<Vec<_>>()
            .join(", ")
    };

    let mut levels: Vec<Level> = Vec::new();
    for level in &raw.levels {
        let name = level.name.get_ref().clone();
        if !is_word(&name) {
            return Err(reader.problem_at(
                &level.name,
                "level.name",
                "expected one word of letters, digits, `-` or `_`",
            ));
        }
        if levels.iter().any(|other| other.name == name) {
            return Err(reader.problem_at(
                &level.name,
                "level.name",
                &format!("duplicate level `{name}`"),
            ));
        }
        for above in &level.under {
            if !names.contains(&above.get_ref().as_str()) {
                let message = format!(
                    "no level `{}`: expected one of {}",
                    above.get_ref(),
                    known()
                );
                return Err(reader.problem_at(above, "level.under", &message));
            }
        }
        // No command could ever create a node of such a level.
        if !level.root && level.under.is_empty() {
            return Err(reader.problem_at(
                &level.name,
                "level.under",
                &format!("`{name}` is neither `root = true` nor `under` another level"),
            ));
        }
        let alias = AliasPattern::parse(level.alias.get_ref())
            .map_err(|why| reader.problem_at(&level.alias, "level.alias", &why))?;
        let pattern = |key: &str, value: &Option<Spanned<String>>| match value {
            None => Ok(None),
            Some(value) => FilePattern::parse(value.get_ref())
                .map(Some)
                .map_err(|why| reader.problem_at(value, key, &why)),
        };
        levels.push(Level {
            root: level.root,
            under: level
                .under
                .iter()
                .map(|above| above.get_ref().clone())
                .collect(),
            alias,
            numbers: match &level.numbers {
                None => 1..=999_999,
                Some(range) => parse_range(range.get_ref()).ok_or_else(|| {
                    reader.problem_at(range, "level.numbers", "expected a range such as \"1-99\"")
                })?,
            },
            file: pattern("level.file", &level.file)?,
            output: pattern("level.output", &level.output)?,
            purpose: level.purpose.trim().to_owned(),
            outline: level.outline.clone(),
            state_keys: level.state_keys.clone(),
            items: match &level.items {
                // A path could leave the project; the file is looked for only beside the parent's.
                Some(items) if items.get_ref().contains(['/', '\\']) => {
                    return Err(reader.problem_at(
                        items,
                        "level.items",
                        "expected the name of a file beside the parent's",
                    ));
                }
                items => items.as_ref().map(|items| items.get_ref().clone()),
            },
            evidence: match level
                .evidence
                .as_ref()
                .map(|word| (word, word.get_ref().as_str()))
            {
                None | Some((_, "declared")) => EvidenceNeed::Declared,
                Some((_, "required")) => EvidenceNeed::Required,
                Some((word, _)) => {
                    return Err(reader.problem_at(
                        word,
                        "level.evidence",
                        "expected `declared` or `required`",
                    ));
                }
            },
            name,
        });
    }
    if !levels.iter().any(|level| level.root) {
        return Err(reader.problem_at(
            &raw.name,
            "level.root",
            "no level has `root = true`, so no node could be created",
        ));
    }
    for facet in &raw.facets {
        for level in &facet.levels {
            if !names.contains(&level.get_ref().as_str()) {
                let message = format!(
                    "no level `{}`: expected one of {}",
                    level.get_ref(),
                    known()
                );
                return Err(reader.problem_at(level, "facet.levels", &message));
            }
        }
    }
    let approval = match raw
        .approval
        .as_ref()
        .map(|word| (word, word.get_ref().as_str()))
    {
        None | Some((_, "required")) => ApprovalNeed::Required,
        Some((_, "optional")) => ApprovalNeed::Optional,
        Some((word, _)) => {
            return Err(reader.problem_at(word, "approval", "expected `required` or `optional`"));
        }
    };
    for gate in raw.gates.iter().flatten() {
        // Refused, not ignored: a misspelt gate would silently be switched off.
        if crate::gates::find_gate_by_name(gate.get_ref()).is_none() {
            let known: Vec<String> = crate::gates::GATES
                .iter()
                .map(|gate| format!("`{}`", gate.name))
                .collect();
            let why = format!(
                "no gate `{}`: expected some of {}",
                gate.get_ref(),
                known.join(", ")
            );
            return Err(reader.problem_at(gate, "gates", &why));
        }
    }
    for phase in &raw.work_phases {
        // The guide's text goes to an agent, so it must not name a file outside its folder.
        if phase.guide.get_ref().contains(['/', '\\']) {
            let why = "expected the name of a file in `.throughline/phases`";
            return Err(reader.problem_at(&phase.guide, "work_phase.guide", why));
        }
    }
    Ok(Profile {
        approval,
        gates: raw
            .gates
            .map(|gates| gates.into_iter().map(Spanned::into_inner).collect()),
        work_phases: raw
            .work_phases
            .into_iter()
            .map(|phase| WorkPhase {
                name: phase.name,
                guide: phase.guide.into_inner(),
            })
            .collect(),
        title: raw.title.unwrap_or_else(|| raw.name.get_ref().clone()),
        name: raw.name.into_inner(),
        levels,
        phases: raw
            .phases
            .into_iter()
            .map(|phase| Phase {
                title: phase.title,
                text: phase.text.trim().to_owned(),
            })
            .collect(),
        facets: raw
            .facets
            .into_iter()
            .map(|facet| Facet {
                name: facet.name,
                kind: match facet.kind {
                    RawFacetKind::Names => FacetKind::Names,
                    RawFacetKind::Timeline => FacetKind::Timeline,
                },
                words: facet
                    .words
                    .iter()
                    // A list of quoted words in a dozen languages would be unreadable, so one
                    // string may hold
                    // several.
                    .flat_map(|words| words.split(','))
                    .map(|word| word.trim().to_owned())
                    .collect(),
                levels: facet.levels.into_iter().map(Spanned::into_inner).collect(),
            })
            .collect(),
    })
}

fn parse_range(text: &str) -> Option<RangeInclusive<u32>> {
    let (low, high) = text.split_once('-')?;
    let (low, high) = (low.trim().parse().ok()?, high.trim().parse().ok()?);
    (low <= high).then_some(low..=high)
}

struct ProfileReader<'a> {
    file: &'a str,
    text: &'a str,
}

impl ProfileReader<'_> {
    fn line_number(&self, offset: usize) -> usize {
        1 + self
            .text
            .bytes()
            .take(offset)
            .filter(|byte| *byte == b'\n')
            .count()
    }

    fn problem_at(&self, at: &Spanned<String>, key: &str, why: &str) -> ProfileProblem {
        ProfileProblem {
            file: self.file.to_owned(),
            line: self.line_number(at.span().start),
            message: format!("`{key}`: {why}"),
        }
    }
}
