//! Parses and resolves node references: `chapter-02`, `act-2/chapter-02`, `chapter 2`, `scene
//! 0204`.
//!
//! It does not query the store; the caller passes the paths of the candidates.

use crate::profile::{NotAnAlias, Profile};
use crate::suggest::nearest_words;

/// A parsed reference: one alias or a path of aliases, with short forms expanded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeReference {
    segments: Vec<String>,
}

/// Why a reference could not be resolved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unresolved {
    #[error("expected a node, as in `chapter-02`, `act-1/chapter-02` or `chapter 2`")]
    Nothing,
    #[error(transparent)]
    NotAnAlias(NotAnAlias),
    #[error("no node `{name}`")]
    NotFound { name: String, near: Vec<String> },
    #[error("`{name}` could be any of {}", candidates.join(", "))]
    Ambiguous {
        name: String,
        candidates: Vec<String>,
    },
}

/// Returns the path of the node above; that of a root is its own.
#[must_use]
pub fn parent_path(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(above, _)| above)
}

impl NodeReference {
    /// Parses the first one or two of `words` and returns the remaining ones.
    ///
    /// # Errors
    /// [`Unresolved::Nothing`] when there are no words, [`Unresolved::NotAnAlias`] when a level is
    /// followed by something that is not one of its aliases.
    pub fn parse_words<'w>(
        words: &'w [String],
        profiles: &[Profile],
    ) -> Result<(Self, &'w [String]), Unresolved> {
        let (first, rest) = words.split_first().ok_or(Unresolved::Nothing)?;
        let level = profiles
            .iter()
            .flat_map(|profile| &profile.levels)
            .find(|level| level.name.to_lowercase() == first.to_lowercase());
        // `chapter 2`: only with a second word, so that a node may have the name of a level.
        if let (Some(level), Some((second, rest))) = (level, rest.split_first()) {
            return match level.read_alias(second) {
                Ok(read) => Ok((
                    Self {
                        segments: vec![read.alias],
                    },
                    rest,
                )),
                Err(error) => Err(Unresolved::NotAnAlias(error)),
            };
        }
        let segments: Vec<String> = first
            .split('/')
            .map(str::trim)
            .filter(|segment| !segment.is_empty())
            .map(|segment| expand_short_alias(segment, profiles))
            .collect();
        if segments.is_empty() {
            return Err(Unresolved::Nothing);
        }
        Ok((Self { segments }, rest))
    }

    /// Parses a reference of one word.
    ///
    /// # Errors
    /// [`Unresolved::Nothing`] when the word is empty.
    pub fn parse_single_word(word: &str, profiles: &[Profile]) -> Result<Self, Unresolved> {
        Self::parse_words(&[word.to_owned()], profiles).map(|(reference, _)| reference)
    }

    /// Returns the aliases from the top down.
    #[must_use]
    pub fn segments(&self) -> &[String] {
        &self.segments
    }

    /// Returns the node's own alias.
    #[must_use]
    pub fn alias(&self) -> &str {
        self.segments.last().map_or("", String::as_str)
    }

    /// Returns the reference as text, for messages.
    #[must_use]
    pub fn joined_name(&self) -> String {
        self.segments.join("/")
    }

    /// Picks the one of `paths` that matches; they are the paths of all nodes with that alias.
    ///
    /// # Errors
    /// [`Unresolved`] when none or several match. `known` (all paths) is called only then, for
    /// suggestions.
    pub fn pick_matching_path(
        &self,
        paths: &[String],
        known: impl FnOnce() -> Vec<String>,
    ) -> Result<usize, Unresolved> {
        let wanted = self.joined_name();
        // An exact match wins over a suffix: otherwise a root could not be named when a deeper node
        // has the same alias.
        if let Some(exact) = paths.iter().position(|path| *path == wanted) {
            return Ok(exact);
        }
        let ending = format!("/{wanted}");
        let fitting: Vec<usize> = (0..paths.len())
            .filter(|index| paths[*index].ends_with(&ending))
            .collect();
        match fitting.as_slice() {
            [one] => Ok(*one),
            [] => Err(self.not_found_error(&known())),
            several => Err(Unresolved::Ambiguous {
                name: wanted,
                candidates: several.iter().map(|index| paths[*index].clone()).collect(),
            }),
        }
    }

    fn not_found_error(&self, known: &[String]) -> Unresolved {
        let own = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        let aliases: Vec<String> = known.iter().map(|path| own(path)).collect();
        // Compare like with like: a single alias is never similar to a whole path.
        let words = if self.segments.len() > 1 {
            known
        } else {
            &aliases
        };
        let near = nearest_words(&self.joined_name(), words.iter().map(String::as_str), 3);
        Unresolved::NotFound {
            name: self.joined_name(),
            near: near.into_iter().map(str::to_owned).collect(),
        }
    }
}

/// Expands `chapter-2` to `chapter-02`; a word that matches no level is returned unchanged.
fn expand_short_alias(segment: &str, profiles: &[Profile]) -> String {
    let levels = || profiles.iter().flat_map(|profile| &profile.levels);
    // A bare number matches every numbered level; only one with the level's prefix is unambiguous.
    let is_bare = segment.chars().all(|c| c.is_ascii_digit());
    if is_bare {
        return segment.to_owned();
    }
    levels()
        .filter(|level| level.alias.is_numbered() && level.alias.has_affixes(segment))
        .find_map(|level| level.read_alias(segment).ok())
        .map_or_else(|| segment.to_owned(), |read| read.alias)
}
