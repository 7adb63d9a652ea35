//! How people and agents name a node: `chapter-02`, `act-2/chapter-02`, `chapter 2`, `scene 0204`.

use crate::profile::{NotAnAlias, Profile};
use crate::suggest::nearest;

/// A node, as it was named: one alias, or a path of them. Short forms are written out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeReference {
    segments: Vec<String>,
}

/// A node could not be found by its name.
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

impl NodeReference {
    /// Reads the first one or two of `words` and returns the words that were not used.
    ///
    /// # Errors
    /// [`Unresolved::Nothing`] when there is nothing to read, [`Unresolved::NotAnAlias`] when a level is
    /// followed by something that is none of its aliases.
    pub fn read<'w>(
        words: &'w [String],
        profiles: &[Profile],
    ) -> Result<(Self, &'w [String]), Unresolved> {
        let (first, rest) = words.split_first().ok_or(Unresolved::Nothing)?;
        let level = profiles
            .iter()
            .flat_map(|profile| &profile.levels)
            .find(|level| level.name.to_lowercase() == first.to_lowercase());
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
            .map(|segment| written_out(segment, profiles))
            .collect();
        if segments.is_empty() {
            return Err(Unresolved::Nothing);
        }
        Ok((Self { segments }, rest))
    }

    /// Reads one word.
    ///
    /// # Errors
    /// [`Unresolved::Nothing`] when there is nothing to read.
    pub fn one(word: &str, profiles: &[Profile]) -> Result<Self, Unresolved> {
        Self::read(&[word.to_owned()], profiles).map(|(reference, _)| reference)
    }

    /// Returns the aliases that were given, from the top down.
    #[must_use]
    pub fn segments(&self) -> &[String] {
        &self.segments
    }

    /// Returns the node's own alias.
    #[must_use]
    pub fn alias(&self) -> &str {
        self.segments.last().map_or("", String::as_str)
    }

    /// Returns the name as it will be shown.
    #[must_use]
    pub fn name(&self) -> String {
        self.segments.join("/")
    }

    /// Picks the one node whose path alias fits. `paths` are those of all nodes with that alias.
    ///
    /// # Errors
    /// None fits, or several do; `known` (all path aliases) is asked for suggestions only then.
    pub fn pick(
        &self,
        paths: &[String],
        known: impl FnOnce() -> Vec<String>,
    ) -> Result<usize, Unresolved> {
        let wanted = self.name();
        if let Some(exact) = paths.iter().position(|path| *path == wanted) {
            return Ok(exact);
        }
        let ending = format!("/{wanted}");
        let fitting: Vec<usize> = (0..paths.len())
            .filter(|index| paths[*index].ends_with(&ending))
            .collect();
        match fitting.as_slice() {
            [one] => Ok(*one),
            [] => Err(self.not_found(&known())),
            several => Err(Unresolved::Ambiguous {
                name: wanted,
                candidates: several.iter().map(|index| paths[*index].clone()).collect(),
            }),
        }
    }

    fn not_found(&self, known: &[String]) -> Unresolved {
        let own = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        let aliases: Vec<String> = known.iter().map(|path| own(path)).collect();
        let words = if self.segments.len() > 1 {
            known
        } else {
            &aliases
        };
        let near = nearest(&self.name(), words.iter().map(String::as_str), 3);
        Unresolved::NotFound {
            name: self.name(),
            near: near.into_iter().map(str::to_owned).collect(),
        }
    }
}

/// `chapter-2` means `chapter-02`; a word that fits no level stays as it is.
fn written_out(segment: &str, profiles: &[Profile]) -> String {
    let levels = || profiles.iter().flat_map(|profile| &profile.levels);
    // A bare number fits every numbered level; only a word with the level's own prefix is unambiguous.
    let is_bare = segment.chars().all(|c| c.is_ascii_digit());
    if is_bare {
        return segment.to_owned();
    }
    levels()
        .filter(|level| level.alias.is_numbered() && level.alias.could_be(segment))
        .find_map(|level| level.read_alias(segment).ok())
        .map_or_else(|| segment.to_owned(), |read| read.alias)
}
