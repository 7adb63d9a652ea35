//! Patterns of aliases and plan files: `scene-{parent.n:2}{n:2}` and `scenes/{alias}-blueprint.md`.
//!
//! An alias pattern is parsed and formatted; a file pattern is matched against directory entries.
//! Both come from a profile, so every mistake is reported with what is allowed. Not regular
//! expressions: a pattern must also be able to write the name of a new node.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

/// Pattern of a level's aliases.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AliasPattern {
    prefix: String,
    /// Width of the parent's number, if the alias contains it.
    parent_width: Option<usize>,
    own: OwnPart,
    suffix: String,
    /// Names that stand for a number: `prologue`.
    names: AliasNames,
}

/// Names that a numbered level accepts besides numbers, by where their nodes are among the siblings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AliasNames {
    /// Before every number: `prologue`.
    pub first: Vec<String>,
    /// After the number that follows the name: `interlude-04` comes after number 4.
    pub between: Vec<String>,
    /// After every number: `epilogue`.
    pub last: Vec<String>,
}

impl AliasNames {
    /// Returns the names as they are typed, in the order of the book.
    fn list_examples(&self) -> Vec<String> {
        let between = self.between.iter().map(|name| format!("{name}-4"));
        let (first, last) = (self.first.iter().cloned(), self.last.iter().cloned());
        first.chain(between).chain(last).collect()
    }
}

/// Sort key of a node that comes before every number.
const ORDER_FIRST: i64 = -1;
/// Sort key of a node that comes after every number.
const ORDER_LAST: i64 = u32::MAX as i64 + 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum OwnPart {
    /// A number, zero-padded to `width` digits (0: not padded).
    Number { width: usize },
    /// Letters and digits, as in `017a`.
    Id,
    /// Any text without slashes and whitespace.
    Name,
}

/// A parsed alias with the numbers in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadAlias {
    pub alias: String,
    pub number: Option<u32>,
    /// The parent's number, if the alias contains it (`scene-0204` is in chapter 2).
    pub parent_number: Option<u32>,
    /// The parent's alias, if that is a name and the alias contains it (`scene-prologue-04`).
    pub parent_name: Option<String>,
    /// Sort key among the siblings.
    pub order: i64,
}

impl ReadAlias {
    /// Whether the parent the alias speaks of, if it does, is this one; `number` is the parent's.
    #[must_use]
    pub fn belongs_to(&self, parent: &str, number: Option<u32>) -> bool {
        match (&self.parent_name, self.parent_number) {
            (Some(name), _) => name == parent,
            (None, Some(of)) => Some(of) == number,
            (None, None) => true,
        }
    }
}

/// The text is not an alias of the level.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAnAlias {
    #[error("`{text}` is not a valid {level}: expected {expected}")]
    Shape {
        level: String,
        text: String,
        expected: String,
        /// Names that the level accepts besides numbers.
        names: Vec<String>,
    },
    #[error("`{text}` is not a valid {level}: the number must be {}–{}", range.start(), range.end())]
    OutOfRange {
        level: String,
        text: String,
        range: RangeInclusive<u32>,
    },
}

const ALIAS_PLACEHOLDERS: &str = "`{n}`, `{n:2}` (padded to two digits), `{parent.n:2}`, `{id}` (letters and digits) or `{name}`";

/// Splits a placeholder into its name and its width, as in `n:2`.
fn split_width(placeholder: &str) -> Result<(&str, Option<usize>), String> {
    let Some((name, width)) = placeholder.split_once(':') else {
        return Ok((placeholder, None));
    };
    // Nine digits always fit a `u32`.
    let digits = width.parse().ok().filter(|digits| (1..=9).contains(digits));
    match digits {
        Some(digits) => Ok((name, Some(digits))),
        None => Err(format!("`{width}` is not a width: expected 1 to 9 digits")),
    }
}

impl AliasPattern {
    /// Parses a pattern.
    ///
    /// # Errors
    /// A message with what is wrong and what is allowed.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut pattern = Self {
            prefix: String::new(),
            parent_width: None,
            own: OwnPart::Name,
            suffix: String::new(),
            names: AliasNames::default(),
        };
        let mut own_seen = false;
        for piece in split_placeholders(text)? {
            match piece {
                PatternPiece::Literal(literal) => {
                    if literal.contains('/') || literal.contains(char::is_whitespace) {
                        return Err("an alias cannot contain a slash or whitespace".to_owned());
                    }
                    if own_seen {
                        pattern.suffix.push_str(&literal);
                    } else if pattern.parent_width.is_some() {
                        // Text between the two numbers would be ambiguous in the short form, which
                        // is digits only.
                        return Err("`{parent.n:2}` must come right before `{n:2}`".to_owned());
                    } else {
                        pattern.prefix.push_str(&literal);
                    }
                }
                PatternPiece::Placeholder(name) => {
                    let (name, width) = split_width(&name)?;
                    match name {
                        "parent.n" if !own_seen && pattern.parent_width.is_none() => {
                            pattern.parent_width = Some(
                                // Without widths `scene-112` could be scene 12 of chapter 1 or
                                // scene 2 of chapter 11.
                                width.ok_or("`{parent.n}` needs a width, as in `{parent.n:2}`")?,
                            );
                        }
                        "n" | "id" | "name" if !own_seen => {
                            own_seen = true;
                            pattern.own = match name {
                                "n" => OwnPart::Number {
                                    width: width.unwrap_or(0),
                                },
                                "id" => OwnPart::Id,
                                _ => OwnPart::Name,
                            };
                        }
                        "n" | "id" | "name" | "parent.n" => {
                            return Err(format!("`{{{name}}}` may appear only once"));
                        }
                        other => {
                            return Err(format!(
                                "unknown placeholder `{{{other}}}`: expected {ALIAS_PLACEHOLDERS}"
                            ));
                        }
                    }
                }
            }
        }
        if !own_seen {
            return Err(format!(
                "no placeholder for the node's own name: expected {ALIAS_PLACEHOLDERS}"
            ));
        }
        if pattern.parent_width.is_some() && !matches!(pattern.own, OwnPart::Number { width: 1.. })
        {
            return Err(
                "after `{parent.n:2}` the own number needs a width, as in `{n:2}`".to_owned(),
            );
        }
        Ok(pattern)
    }

    /// Returns the pattern with names besides numbers.
    #[must_use]
    pub fn with_names(mut self, names: AliasNames) -> Self {
        self.names = names;
        self
    }

    /// Returns the literal text before the number or name.
    #[must_use]
    pub fn literal_prefix(&self) -> &str {
        &self.prefix
    }

    /// Whether an alias contains its parent's number or name.
    #[must_use]
    pub fn contains_parent(&self) -> bool {
        self.parent_width.is_some()
    }

    /// Formats the alias of number `own` below a parent: with its number, or with its alias if that
    /// is a name.
    #[must_use]
    pub fn format_below(&self, own: u32, parent: &str, number: Option<u32>) -> Option<String> {
        match (self.own, self.parent_width, number) {
            (OwnPart::Number { width }, Some(_), None) => Some(format!(
                "{}{parent}-{own:0width$}{}",
                self.prefix, self.suffix
            )),
            _ => self.format_alias(own, number),
        }
    }

    /// Parses a name that stands for a number: `prologue`, `interlude-04`.
    fn parse_special_name(&self, text: &str) -> Option<ReadAlias> {
        let OwnPart::Number { width } = self.own else {
            return None;
        };
        let lower = text.to_lowercase();
        let read = |alias: String, order: i64| ReadAlias {
            alias,
            number: None,
            parent_number: None,
            parent_name: None,
            order,
        };
        let named = |names: &[String]| names.iter().find(|name| **name == lower).cloned();
        if let Some(alias) = named(&self.names.first) {
            return Some(read(alias, ORDER_FIRST));
        }
        if let Some(alias) = named(&self.names.last) {
            return Some(read(alias, ORDER_LAST));
        }
        let (name, digits) = lower.rsplit_once('-')?;
        let name = self.names.between.iter().find(|known| *known == name)?;
        let number: u32 = parse_digits(digits)?;
        // Siblings with equal keys are sorted by alias, and a name after its pattern's prefix.
        Some(read(format!("{name}-{number:0width$}"), i64::from(number)))
    }

    /// Whether aliases of this pattern contain a number.
    #[must_use]
    pub fn is_numbered(&self) -> bool {
        matches!(self.own, OwnPart::Number { .. })
    }

    /// Formats the alias of number `own` below a parent of number `parent`.
    #[must_use]
    pub fn format_alias(&self, own: u32, parent: Option<u32>) -> Option<String> {
        let OwnPart::Number { width } = self.own else {
            return None;
        };
        let parent = match self.parent_width {
            Some(width) => format!("{:0width$}", parent?),
            None => String::new(),
        };
        Some(format!(
            "{}{parent}{own:0width$}{}",
            self.prefix, self.suffix
        ))
    }

    /// Parses an alias or its short form: `chapter-02`, `chapter-2`, `2`; `scene-0204`, `0204`,
    /// `204`.
    ///
    /// # Errors
    /// The text is not an alias of this pattern; the error says what was expected.
    pub fn parse_alias(
        &self,
        level: &str,
        text: &str,
        range: &RangeInclusive<u32>,
    ) -> Result<ReadAlias, NotAnAlias> {
        if let Some(read) = self.parse_special_name(text) {
            return Ok(read);
        }
        let bare = strip_ignoring_case(text, &self.prefix, &self.suffix).unwrap_or(text);
        let read = match self.own {
            OwnPart::Number { width } => self.parse_numbered(bare, width),
            OwnPart::Id | OwnPart::Name => self.parse_named(bare),
        };
        let read = read.ok_or_else(|| NotAnAlias::Shape {
            level: level.to_owned(),
            text: text.to_owned(),
            expected: self.example_alias(),
            names: self.names.list_examples(),
        })?;
        match read.number.filter(|_| self.is_numbered()) {
            Some(own) if !range.contains(&own) => Err(NotAnAlias::OutOfRange {
                level: level.to_owned(),
                text: text.to_owned(),
                range: range.clone(),
            }),
            _ => Ok(read),
        }
    }

    /// Parses the digits of an alias: the parent's, where the pattern has them, and its own.
    fn parse_numbered(&self, bare: &str, width: usize) -> Option<ReadAlias> {
        if let Some((parent, digits)) = bare.rsplit_once('-').filter(|_| self.contains_parent()) {
            return self.parse_below_name(parent, digits, width);
        }
        if bare.is_empty() || !bare.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let (parent_digits, own_digits) = match self.parent_width {
            // Too few digits leave none for the parent. A surplus one is a parent with more digits
            // than usual; after a zero it is a typing error that would name another parent.
            Some(_) if bare.len() <= width => return None,
            Some(parent_width) if bare.len() > parent_width + width && bare.starts_with('0') => {
                return None;
            }
            Some(_) => {
                let (parent, own) = bare.split_at(bare.len() - width);
                (Some(parent), own)
            }
            None => (None, bare),
        };
        let own = own_digits.parse().ok()?;
        let parent_number = match parent_digits {
            Some(digits) => Some(digits.parse().ok()?),
            None => None,
        };
        Some(ReadAlias {
            // Formatted again, so that every short form gives the same alias.
            alias: self.format_alias(own, parent_number)?,
            number: Some(own),
            parent_number,
            parent_name: None,
            order: i64::from(own),
        })
    }

    /// Parses an alias below a parent whose alias is a name: `prologue-04`.
    fn parse_below_name(&self, parent: &str, digits: &str, width: usize) -> Option<ReadAlias> {
        let own = parse_digits(digits)?;
        let is_name = parent.chars().any(|c| !c.is_ascii_digit())
            && !parent.contains('/')
            && !parent.contains(char::is_whitespace);
        is_name.then(|| ReadAlias {
            alias: format!("{}{parent}-{own:0width$}{}", self.prefix, self.suffix),
            number: Some(own),
            parent_number: None,
            parent_name: Some(parent.to_owned()),
            order: i64::from(own),
        })
    }

    /// Parses the name of an alias.
    fn parse_named(&self, bare: &str) -> Option<ReadAlias> {
        let fits = |c: char| match self.own {
            OwnPart::Id => c.is_alphanumeric() || c == '_',
            OwnPart::Number { .. } | OwnPart::Name => {
                c != '/' && !c.is_whitespace() && !c.is_control()
            }
        };
        let is_name = !bare.is_empty()
            // The alias becomes a file name; 96 bytes leave room for prefix, suffix and backup
            // names below the 255 that file systems allow.
            && bare.len() <= 96
            && bare != "."
            && bare != ".."
            && bare.chars().all(fits);
        is_name.then(|| ReadAlias {
            alias: format!("{}{bare}{}", self.prefix, self.suffix),
            // Only for sorting: `9a` comes before `10b`.
            number: leading_number(bare),
            parent_number: None,
            parent_name: None,
            order: leading_number(bare).map_or(0, i64::from),
        })
    }

    /// Whether a text has this pattern's prefix and suffix: a cheap pre-check without an error
    /// message.
    #[must_use]
    pub fn has_affixes(&self, text: &str) -> bool {
        strip_ignoring_case(text, &self.prefix, &self.suffix).is_some()
    }

    /// Parses an alias only if it is spelt exactly as this pattern formats it.
    #[must_use]
    pub fn parse_exact_alias(&self, text: &str, range: &RangeInclusive<u32>) -> Option<ReadAlias> {
        self.parse_alias("", text, range)
            .ok()
            .filter(|read| read.alias == text)
    }

    /// Returns an example of an alias, for messages.
    #[must_use]
    pub fn example_alias(&self) -> String {
        match self.own {
            OwnPart::Number { .. } => {
                let alias = self.format_alias(4, Some(2)).unwrap_or_default();
                let bare =
                    strip_ignoring_case(&alias, &self.prefix, &self.suffix).unwrap_or(&alias);
                if bare == alias {
                    format!("`{alias}`")
                } else {
                    format!("`{alias}` or `{bare}`")
                }
            }
            OwnPart::Id => format!(
                "letters and digits, as in `{}017a{}`",
                self.prefix, self.suffix
            ),
            OwnPart::Name => "a name without whitespace and slashes".to_owned(),
        }
    }
}

/// Parses ASCII digits; `char::is_numeric` would accept full-width ones.
fn parse_digits(text: &str) -> Option<u32> {
    let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_digits.then(|| text.parse().ok()).flatten()
}

/// Returns the number a text starts with: `017a` sorts as 17.
fn leading_number(text: &str) -> Option<u32> {
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

fn strip_ignoring_case<'a>(text: &'a str, prefix: &str, suffix: &str) -> Option<&'a str> {
    // `get` instead of slicing: the text is user input, and the length may fall inside a character.
    let head = text.get(..prefix.len())?;
    let rest = text.get(prefix.len()..)?;
    let cut = rest.len().checked_sub(suffix.len())?;
    let (middle, tail) = (rest.get(..cut)?, rest.get(cut..)?);
    // The plain comparison first: lower-casing allocates, and nearly every alias is spelt right.
    let same = |a: &str, b: &str| a == b || a.to_lowercase() == b.to_lowercase();
    (same(head, prefix) && same(tail, suffix)).then_some(middle)
}

/// Pattern of a level's files, relative to the folder of the parent's file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilePattern {
    /// Folders before the entry that contains the alias.
    before: Vec<String>,
    entry: EntryPattern,
    /// Folders and file after that entry; may contain the alias again.
    after: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct EntryPattern {
    prefix: String,
    /// Separator between the alias and a free part (`{slug}`), if the entry has one.
    slug_after: Option<String>,
    suffix: String,
}

impl FilePattern {
    /// Parses a pattern.
    ///
    /// # Errors
    /// A message with what is wrong and what is allowed.
    pub fn parse(text: &str) -> Result<Self, String> {
        // Paths in profiles and in the store use `/` on every platform.
        if text.starts_with('/') || text.ends_with('/') || text.contains('\\') {
            return Err(
                "expected a relative path of a file, with `/` between its parts".to_owned(),
            );
        }
        let segments: Vec<&str> = text.split('/').collect();
        if segments
            .iter()
            .any(|segment| matches!(*segment, "" | "." | ".."))
        {
            return Err(
                "a file must be below its folder: no empty part, no `.` and no `..`".to_owned(),
            );
        }
        let Some(position) = segments
            .iter()
            .position(|segment| segment.contains("{alias}"))
        else {
            return Err(
                "no `{alias}`: expected it in the part that differs from node to node".to_owned(),
            );
        };
        for segment in &segments {
            for piece in split_placeholders(segment)? {
                if let PatternPiece::Placeholder(name) = piece
                    && name != "alias"
                    && name != "slug"
                {
                    return Err(format!(
                        "unknown placeholder `{{{name}}}`: expected `{{alias}}` or `{{slug}}`"
                    ));
                }
            }
        }
        if segments
            .iter()
            .enumerate()
            .any(|(index, segment)| index != position && segment.contains("{slug}"))
        {
            return Err("`{slug}` may appear only beside the first `{alias}`".to_owned());
        }
        let owned = |parts: &[&str]| parts.iter().map(|part| (*part).to_owned()).collect();
        Ok(Self {
            before: owned(&segments[..position]),
            entry: EntryPattern::parse(segments[position])?,
            after: owned(&segments[position + 1..]),
        })
    }

    /// Returns the same pattern in another folder.
    #[must_use]
    pub fn in_folder(mut self, folder: &str) -> Self {
        self.before = folder
            .split('/')
            .filter(|part| !part.is_empty())
            .map(str::to_owned)
            .collect();
        self
    }

    /// Returns the folder to list: the one whose entries may be nodes of the level.
    #[must_use]
    pub fn listing_folder(&self, parent_folder: &str) -> String {
        join_path(parent_folder, &self.before)
    }

    /// Whether the entry that contains the alias is the plan file itself, not a folder.
    #[must_use]
    pub fn entry_is_file(&self) -> bool {
        self.after.is_empty()
    }

    /// Whether the entry has a slug beside the alias, so that several entries can have one alias.
    #[must_use]
    pub fn has_slug(&self) -> bool {
        self.entry.slug_after.is_some()
    }

    /// Extracts the alias from the name of a directory entry.
    #[must_use]
    pub fn alias_in<'a>(&self, entry: &'a str) -> Option<&'a str> {
        self.entry.alias_in(entry)
    }

    /// Returns the name of a directory entry with another alias; its slug stays.
    #[must_use]
    pub fn rename_entry(&self, entry: &str, alias: &str) -> Option<String> {
        let prefix = self.entry.prefix.as_str();
        let rest = entry.strip_prefix(prefix)?;
        let rest = rest.strip_prefix(self.alias_in(entry)?)?;
        Some(format!("{prefix}{alias}{rest}"))
    }

    /// Extracts the alias from the start of a path below the parent's folder.
    ///
    /// Returns it with the plan file it belongs to; the path itself may be longer or another file.
    #[must_use]
    pub fn alias_at<'a>(&self, path: &'a str) -> Option<(&'a str, String)> {
        let mut parts = path.split('/');
        if !self
            .before
            .iter()
            .all(|folder| parts.next() == Some(folder))
        {
            return None;
        }
        let entry = parts.next()?;
        let alias = self.alias_in(entry)?;
        Some((alias, self.file_at("", entry, alias)))
    }

    /// Returns the plan file of a directory entry.
    #[must_use]
    pub fn file_at(&self, parent_folder: &str, entry: &str, alias: &str) -> String {
        let mut path = join_path(parent_folder, &self.before);
        push_part(&mut path, entry);
        for part in &self.after {
            push_part(&mut path, &part.replace("{alias}", alias));
        }
        path
    }

    /// Returns the path of a new node's plan file.
    #[must_use]
    pub fn file_for(&self, parent_folder: &str, alias: &str) -> String {
        self.file_at(parent_folder, &self.entry.entry_name(alias), alias)
    }

    /// Returns the directory entry of a file below the parent's folder: the part of its path that
    /// contains the alias. `None` if the file does not fit the pattern.
    #[must_use]
    pub fn entry_of<'a>(&self, parent_folder: &str, file: &'a str) -> Option<&'a str> {
        let below = match parent_folder {
            "" => file,
            folder => file.strip_prefix(folder)?.strip_prefix('/')?,
        };
        let (alias, plan) = self.alias_at(below)?;
        let entry = below.split('/').nth(self.before.len())?;
        (plan == below && !alias.is_empty()).then_some(entry)
    }

    /// Returns the file name in a folder of the entry, or the suffix of the entry itself: what a
    /// misspelt file is compared with.
    #[must_use]
    pub fn file_name(&self, alias: &str) -> String {
        let path = self.file_for("", alias);
        path.rsplit('/').next().unwrap_or_default().to_owned()
    }
}

impl EntryPattern {
    fn parse(segment: &str) -> Result<Self, String> {
        let (prefix, rest) = segment.split_once("{alias}").ok_or("no `{alias}`")?;
        let (slug_after, suffix) = match rest.split_once("{slug}") {
            // Without a separator the end of the alias cannot be found again.
            Some(("", _)) => {
                return Err(
                    "a separator is needed between `{alias}` and `{slug}`, as in `{alias}-{slug}`"
                        .to_owned(),
                );
            }
            Some((between, suffix)) => (Some(between.to_owned()), suffix),
            None => (None, rest),
        };
        if suffix.contains('{') || prefix.contains('{') {
            return Err("`{alias}` and `{slug}` may appear only once each in one part".to_owned());
        }
        Ok(Self {
            prefix: prefix.to_owned(),
            slug_after,
            suffix: suffix.to_owned(),
        })
    }

    fn alias_in<'a>(&self, entry: &'a str) -> Option<&'a str> {
        let middle = entry
            .strip_prefix(self.prefix.as_str())?
            .strip_suffix(self.suffix.as_str())?;
        // The first separator ends the alias, so a slug may contain it, and an entry without a slug
        // is
        // valid: new nodes get none.
        match &self.slug_after {
            None => Some(middle),
            Some(between) => Some(
                middle
                    .split_once(between.as_str())
                    .map_or(middle, |(alias, _)| alias),
            ),
        }
    }

    fn entry_name(&self, alias: &str) -> String {
        format!("{}{alias}{}", self.prefix, self.suffix)
    }
}

fn join_path(folder: &str, parts: &[String]) -> String {
    // The survey builds one path per entry; 64 more bytes fit nearly every one without growing.
    let mut path = String::with_capacity(folder.len() + 64);
    path.push_str(folder);
    parts.iter().for_each(|part| push_part(&mut path, part));
    path
}

fn push_part(path: &mut String, part: &str) {
    if !path.is_empty() {
        path.push('/');
    }
    path.push_str(part);
}

enum PatternPiece {
    Literal(String),
    Placeholder(String),
}

fn split_placeholders(text: &str) -> Result<Vec<PatternPiece>, String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((literal, after)) = rest.split_once('{') {
        if !literal.is_empty() {
            found.push(PatternPiece::Literal(literal.to_owned()));
        }
        let (name, tail) = after.split_once('}').ok_or("unclosed `{`")?;
        found.push(PatternPiece::Placeholder(name.to_owned()));
        rest = tail;
    }
    if rest.contains('}') {
        return Err("unmatched `}`".to_owned());
    }
    if !rest.is_empty() {
        found.push(PatternPiece::Literal(rest.to_owned()));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_width_that_cannot_be_used_is_refused() {
        for width in ["0", "10", "99999999999999999999", "two"] {
            let refused = AliasPattern::parse(&format!("scene-{{n:{width}}}")).unwrap_err();
            assert_eq!(
                refused,
                format!("`{width}` is not a width: expected 1 to 9 digits")
            );
        }
        AliasPattern::parse("scene-{n:9}").unwrap();
    }
}
