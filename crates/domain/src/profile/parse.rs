//! Parses a profile from TOML: levels, facets, phases and gates, with references between them
//! checked.

use std::ops::RangeInclusive;

use serde::Deserialize;
use toml::Spanned;

use super::{
    AliasNames, AliasPattern, ApprovalNeed, EvidenceNeed, Facet, FacetKind, FilePattern, Level,
    Phase, Profile, RollUp, WorkPhase,
};
use crate::toml_reader::{TomlProblem, TomlReader, unspan_words};
use crate::work::work_level::WorkLevel;

/// Maximum length of a name in bytes.
const MAX_NAME_BYTES: usize = 40;

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
    work_level: Option<Spanned<String>>,
    #[serde(default)]
    approval: bool,
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
    #[serde(default)]
    names: RawNames,
    #[serde(default)]
    labels: Vec<String>,
    #[serde(default)]
    optional: bool,
    file: Option<Spanned<String>>,
    #[serde(default)]
    other_files: Vec<Spanned<String>>,
    output: Option<Spanned<String>>,
    #[serde(default)]
    purpose: String,
    #[serde(default)]
    outline: Vec<String>,
    #[serde(default)]
    state_keys: Vec<String>,
    items: Option<Spanned<String>>,
    evidence: Option<Spanned<String>>,
    completes: Option<Spanned<String>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawNames {
    first: Vec<Spanned<String>>,
    between: Vec<Spanned<String>>,
    last: Vec<Spanned<String>>,
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
pub fn parse_profile(file: &str, text: &str) -> Result<Profile, TomlProblem> {
    let reader = TomlReader {
        file,
        text,
        max_word_bytes: MAX_NAME_BYTES,
    };
    let raw: RawProfile = reader.parse()?;
    let name = reader.parse_word(&raw.name, "name")?;
    let levels = parse_levels(reader, &raw)?;
    let level_names: Vec<&str> = levels.iter().map(|level| level.name.as_str()).collect();
    let approvals = [
        ("required", ApprovalNeed::Required),
        ("optional", ApprovalNeed::Optional),
    ];
    Ok(Profile {
        approval: reader.parse_choice(raw.approval.as_ref(), "approval", &approvals)?,
        gates: parse_gates(reader, raw.gates.as_deref())?,
        work_phases: raw
            .work_phases
            .iter()
            .map(|phase| parse_work_phase(reader, phase))
            .collect::<Result<_, _>>()?,
        phases: raw
            .phases
            .iter()
            .map(|phase| Phase {
                title: phase.title.clone(),
                text: phase.text.trim().to_owned(),
            })
            .collect(),
        facets: raw
            .facets
            .iter()
            .map(|facet| parse_facet(reader, facet, &level_names))
            .collect::<Result<_, _>>()?,
        title: raw.title.unwrap_or_else(|| name.clone()),
        name,
        levels,
    })
}

/// Parses the levels; at least one of them is a root.
fn parse_levels(reader: TomlReader<'_>, raw: &RawProfile) -> Result<Vec<Level>, TomlProblem> {
    let problem = |key: &str, why: &str| Err(reader.problem_at(&raw.name, key, why));
    if raw.levels.is_empty() {
        return problem("level", "expected at least one `[[level]]`");
    }
    // All names first: a level may be under one that is defined after it.
    let names: Vec<&str> = raw
        .levels
        .iter()
        .map(|level| level.name.get_ref().as_str())
        .collect();
    let mut levels: Vec<Level> = Vec::new();
    for raw_level in &raw.levels {
        let level = parse_level(reader, raw_level, &names)?;
        if levels.iter().any(|other| other.name == level.name) {
            let why = format!("duplicate level `{}`", level.name);
            return Err(reader.problem_at(&raw_level.name, "level.name", &why));
        }
        levels.push(level);
    }
    if !levels.iter().any(|level| level.root) {
        let why = "no level has `root = true`, so no node could be created";
        return problem("level.root", why);
    }
    Ok(levels)
}

/// Parses a level; `names` are those of all levels.
fn parse_level(
    reader: TomlReader<'_>,
    raw: &RawLevel,
    names: &[&str],
) -> Result<Level, TomlProblem> {
    let name = reader.parse_word(&raw.name, "level.name")?;
    for above in &raw.under {
        reader.check_known(above, "level.under", "level", names)?;
    }
    // No command could ever create a node of such a level.
    if !raw.root && raw.under.is_empty() {
        let why = format!("`{name}` is neither `root = true` nor `under` another level");
        return Err(reader.problem_at(&raw.name, "level.under", &why));
    }
    let pattern = |key: &str, value: &Option<Spanned<String>>| match value {
        None => Ok(None),
        Some(value) => FilePattern::parse(value.get_ref())
            .map(Some)
            .map_err(|why| reader.problem_at(value, key, &why)),
    };
    let evidence = [
        ("declared", EvidenceNeed::Declared),
        ("required", EvidenceNeed::Required),
    ];
    let roll_ups = [
        ("by-itself", RollUp::None),
        ("with-parent", RollUp::WithParent),
        ("with-children", RollUp::WithChildren),
    ];
    let alias = AliasPattern::parse(raw.alias.get_ref())
        .map_err(|why| reader.problem_at(&raw.alias, "level.alias", &why))?;
    Ok(Level {
        root: raw.root,
        under: unspan_words(&raw.under),
        alias: alias.with_names(parse_names(reader, &raw.names)?),
        labels: split_words(&raw.labels),
        optional: raw.optional,
        numbers: match &raw.numbers {
            None => 1..=999_999,
            Some(range) => parse_range(range.get_ref()).ok_or_else(|| {
                reader.problem_at(range, "level.numbers", "expected a range such as \"1-99\"")
            })?,
        },
        file: pattern("level.file", &raw.file)?,
        other_files: raw
            .other_files
            .iter()
            .map(|value| {
                FilePattern::parse(value.get_ref())
                    .map_err(|why| reader.problem_at(value, "level.other_files", &why))
            })
            .collect::<Result<_, _>>()?,
        output: pattern("level.output", &raw.output)?,
        purpose: raw.purpose.trim().to_owned(),
        outline: raw.outline.clone(),
        state_keys: raw.state_keys.clone(),
        items: raw
            .items
            .as_ref()
            .map(|items| {
                parse_file_name(reader, items, "level.items", "a file beside the parent's")
            })
            .transpose()?,
        evidence: reader.parse_choice(raw.evidence.as_ref(), "level.evidence", &evidence)?,
        roll_up: reader.parse_choice(raw.completes.as_ref(), "level.completes", &roll_ups)?,
        name,
    })
}

/// Parses a facet; it may name some of the levels.
fn parse_facet(
    reader: TomlReader<'_>,
    raw: &RawFacet,
    levels: &[&str],
) -> Result<Facet, TomlProblem> {
    for level in &raw.levels {
        reader.check_known(level, "facet.levels", "level", levels)?;
    }
    Ok(Facet {
        name: raw.name.clone(),
        kind: match raw.kind {
            RawFacetKind::Names => FacetKind::Names,
            RawFacetKind::Timeline => FacetKind::Timeline,
        },
        words: split_words(&raw.words),
        levels: unspan_words(&raw.levels),
    })
}

/// Splits lists of words. A list of quoted words in a dozen languages would be unreadable, so one
/// string may hold several.
fn split_words(lists: &[String]) -> Vec<String> {
    let words = lists.iter().flat_map(|words| words.split(','));
    words.map(|word| word.trim().to_owned()).collect()
}

/// Parses the names that a numbered level accepts besides numbers. They become file names.
fn parse_names(reader: TomlReader<'_>, raw: &RawNames) -> Result<AliasNames, TomlProblem> {
    let read = |names: &[Spanned<String>], key: &str| {
        let names = names.iter().map(|name| {
            let lower = name.get_ref().to_lowercase();
            // No digits: a name must not be mistaken for a number of its level.
            let fits = |c: char| c.is_alphabetic() || c == '-' || c == '_';
            match !lower.is_empty() && lower.len() <= MAX_NAME_BYTES && lower.chars().all(fits) {
                true => Ok(lower),
                false => Err(reader.problem_at(name, key, "expected a word of letters")),
            }
        });
        names.collect::<Result<Vec<_>, _>>()
    };
    Ok(AliasNames {
        first: read(&raw.first, "level.names.first")?,
        between: read(&raw.between, "level.names.between")?,
        last: read(&raw.last, "level.names.last")?,
    })
}

/// Parses the list of gates. An unknown one is refused, not ignored: a misspelt gate would silently
/// be switched off.
fn parse_gates(
    reader: TomlReader<'_>,
    raw: Option<&[Spanned<String>]>,
) -> Result<Option<Vec<String>>, TomlProblem> {
    let known: Vec<&str> = crate::gates::GATES.iter().map(|gate| gate.name).collect();
    for gate in raw.unwrap_or_default() {
        reader.check_known(gate, "gates", "gate", &known)?;
    }
    Ok(raw.map(unspan_words))
}

/// Parses a phase of the work.
fn parse_work_phase(reader: TomlReader<'_>, raw: &RawWorkPhase) -> Result<WorkPhase, TomlProblem> {
    let (key, place) = ("work_phase.guide", "a file in `.throughline/phases`");
    let levels = [
        ("patch", WorkLevel::Patch),
        ("task", WorkLevel::Task),
        ("feature", WorkLevel::Feature),
    ];
    Ok(WorkPhase {
        name: raw.name.clone(),
        guide: parse_file_name(reader, &raw.guide, key, place)?,
        from_level: reader.parse_choice(
            raw.work_level.as_ref(),
            "work_phase.work_level",
            &levels,
        )?,
        needs_approval: raw.approval,
    })
}

/// Parses the name of a file in a known folder. A path could leave the folder, and the text of such
/// files goes to agents.
fn parse_file_name(
    reader: TomlReader<'_>,
    at: &Spanned<String>,
    key: &str,
    place: &str,
) -> Result<String, TomlProblem> {
    if at.get_ref().contains(['/', '\\']) {
        let why = format!("expected the name of {place}");
        return Err(reader.problem_at(at, key, &why));
    }
    Ok(at.get_ref().clone())
}

fn parse_range(text: &str) -> Option<RangeInclusive<u32>> {
    let (low, high) = text.split_once('-')?;
    let (low, high) = (low.trim().parse().ok()?, high.trim().parse().ok()?);
    (low <= high).then_some(low..=high)
}
