//! Ids of new tickets: which are in use, and which comes next.
//!
//! In use are those of this tree, of all local and remote-tracking branches and of all working trees,
//! because a merge would bring two tickets with one id together.

use std::collections::HashSet;
use std::hash::{BuildHasher, Hasher, RandomState};

use domain::duplicate_ids::id_of_alias;
use domain::policy::IdScheme;
use domain::ports::Snapshot;
use domain::profile::{FilePattern, Level};

use crate::context::Context;
use crate::failure::Failure;

/// Symbols of random ids: no vowels, so that they spell no word, and none that look alike (0 and o,
/// 1, i and l). 27 of them are what is left of base 32.
const RANDOM_SYMBOLS: &[u8] = b"bcdfghjkmnpqrstvwxz23456789";
/// The letters among them.
const RANDOM_LETTERS: &[u8] = RANDOM_SYMBOLS.split_at(19).0;
/// Ten million ids: among a thousand tickets created in parallel, two with one id are as likely as
/// one in twenty; a merge reports them.
const RANDOM_ID_LENGTH: usize = 5;

/// Folder beside the tickets to which finished ones are moved.
pub(crate) const ARCHIVE_FOLDER: &str = "archive";

/// Returns the ids in use: of recorded tickets, and those of [`list_folder_ids`].
pub(crate) fn list_taken_ids(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    level: &Level,
) -> Result<Vec<String>, Failure> {
    // The trail has no tickets and can have thousands of nodes.
    let nodes = state.nodes_outside(&[domain::trail::PROFILE])?;
    let mut taken: Vec<String> = nodes
        .into_iter()
        .filter(|node| node.level == level.name)
        .map(|node| id_of_alias(&node.alias).to_owned())
        .collect();
    let known: HashSet<String> = taken.iter().cloned().collect();
    let listed = list_folder_ids(ctx, level, WantedIds::All);
    taken.extend(listed.into_iter().filter(|id| !known.contains(id)));
    Ok(taken)
}

/// Which of the ids in use a caller has to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WantedIds<'w> {
    /// The one with the highest number, among others.
    Highest,
    /// Those that begin with the id of a parent.
    Below(&'w str),
    Exactly(&'w str),
    All,
}

impl WantedIds<'_> {
    /// Returns those that a proposal by [`choose_root_id`] depends on.
    pub(crate) fn of_scheme(scheme: IdScheme) -> Self {
        match scheme {
            IdScheme::Number => Self::Highest,
            IdScheme::Random => Self::All,
        }
    }
}

/// Returns the wanted ids of the folders of tickets: here, in the archive, on other branches and in
/// other working trees. A folder without its file counts too: a ticket with its id would be written
/// into it.
pub(crate) fn list_folder_ids(
    ctx: &Context<'_>,
    level: &Level,
    wanted: WantedIds<'_>,
) -> Vec<String> {
    let Some(pattern) = &level.file else {
        return Vec::new();
    };
    let folder = pattern.listing_folder("");
    let mut ids = CollectedIds::new(level, pattern, wanted);
    visit_names_everywhere(ctx, &folder, &mut |name| ids.add_entry(name));
    // Listing it in all branches costs as much again, and most projects have none.
    if ids.has_archive {
        let archive = format!("{folder}/{ARCHIVE_FOLDER}");
        visit_names_everywhere(ctx, &archive, &mut |name| ids.add_entry(name));
    }
    // Some are there twice, which harms nobody who asks for the highest or for one of them.
    ids.found
}

/// The wanted ids among the names of folders.
struct CollectedIds<'c> {
    level: &'c Level,
    pattern: &'c FilePattern,
    wanted: WantedIds<'c>,
    /// Whether names begin with the id, so that the number of a name is that of its id.
    has_leading_id: bool,
    highest: Option<u32>,
    has_archive: bool,
    found: Vec<String>,
}

impl<'c> CollectedIds<'c> {
    fn new(level: &'c Level, pattern: &'c FilePattern, wanted: WantedIds<'c>) -> Self {
        Self {
            level,
            pattern,
            wanted,
            has_leading_id: pattern.alias_in("7-x") == Some("7"),
            highest: None,
            has_archive: false,
            found: Vec::new(),
        }
    }

    fn add_entry(&mut self, name: &str) {
        // Most names of a large folder end here.
        if self.wanted == WantedIds::Highest
            && self.has_leading_id
            && leading_number(name).is_some_and(|number| Some(number) <= self.highest)
        {
            return;
        }
        self.has_archive |= name == ARCHIVE_FOLDER;
        let Some(alias) = self.pattern.alias_in(name) else {
            return;
        };
        // Before the id is parsed, which takes a microsecond: there may be ten thousand.
        let number = leading_number(alias);
        let is_wanted = match self.wanted {
            WantedIds::Highest => number > self.highest,
            WantedIds::Below(parent) => alias.starts_with(parent),
            WantedIds::Exactly(id) => alias == id,
            WantedIds::All => true,
        };
        let level = self.level;
        if is_wanted && let Some(read) = level.alias.parse_exact_alias(alias, &level.numbers) {
            self.highest = self.highest.max(number);
            self.found.push(read.alias);
        }
    }
}

/// Returns the number that an id begins with.
fn leading_number(id: &str) -> Option<u32> {
    // By hand: there may be ten thousand ids, and parsing takes twice as long.
    let mut number: Option<u32> = None;
    for digit in id.bytes().take_while(u8::is_ascii_digit) {
        let before = number.unwrap_or(0).checked_mul(10)?;
        number = Some(before.checked_add(u32::from(digit - b'0'))?);
    }
    number
}

fn visit_names_everywhere(ctx: &Context<'_>, folder: &str, each: &mut dyn FnMut(&str)) {
    ctx.files.visit_names(folder, each);
    // Without git, or if it fails, the id is free here; a later merge reports what it is not.
    let _ = ctx.git.visit_names_elsewhere(folder, each);
}

/// Whether a recorded node of the level has this id. Its file may be gone.
pub(crate) fn is_id_recorded(
    state: &dyn Snapshot,
    level: &Level,
    id: &str,
) -> Result<bool, Failure> {
    let nodes = state.nodes_by_alias(id)?;
    Ok(nodes.iter().any(|node| node.level == level.name))
}

/// Proposes the id of a new root ticket.
pub(crate) fn choose_root_id(scheme: IdScheme, taken: &[String]) -> String {
    match scheme {
        IdScheme::Number => next_root_id(taken),
        IdScheme::Random => random_id(taken, || RandomState::new().build_hasher().finish()),
    }
}

/// Returns a random id that is not taken. `draw` returns random bits.
fn random_id(taken: &[String], mut draw: impl FnMut() -> u64) -> String {
    loop {
        let mut bits = draw();
        let mut take = |letters: &[u8]| {
            let count = letters.len() as u64;
            let letter = letters[usize::try_from(bits % count).unwrap_or_default()];
            bits /= count;
            char::from(letter)
        };
        // The first is a letter: the number that an id starts with counts for the next number.
        let mut id = String::from(take(RANDOM_LETTERS));
        id.extend((1..RANDOM_ID_LENGTH).map(|_| take(RANDOM_SYMBOLS)));
        if !taken.contains(&id) {
            return id;
        }
    }
}

/// Returns the next number: `018` after `017b`.
fn next_root_id(taken: &[String]) -> String {
    let numbers = taken.iter().filter_map(|id| leading_number(id));
    let next = numbers.max().unwrap_or(0) + 1;
    format!("{next:03}")
}

/// Returns the id of the next child: `017a`, `017b` … `017z`, `017aa`; below `017a` it is `017a1`.
pub(crate) fn next_child_id(parent: &str, taken: &[String]) -> String {
    // Letters and digits alternate per level, so that an id can be split into its ancestors without
    // a separator.
    let letters = parent.ends_with(|c: char| c.is_ascii_digit());
    let name = |index: usize| match letters {
        true => format!("{parent}{}", letter_suffix(index)),
        false => format!("{parent}{}", index + 1),
    };
    (0..)
        .map(name)
        .find(|name| !taken.contains(name))
        .unwrap_or_default()
}

/// Counts in letters: a, b … z, aa, ab …
fn letter_suffix(mut index: usize) -> String {
    let mut letters = Vec::new();
    loop {
        letters.push(char::from(
            b'a' + u8::try_from(index % 26).unwrap_or_default(),
        ));
        index /= 26;
        if index == 0 {
            break;
        }
        // Bijective base 26: there is no zero digit, so `aa` follows `z`.
        index -= 1;
    }
    letters.into_iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{CollectedIds, WantedIds, next_child_id, next_root_id, random_id};

    /// What an id depends on is found without parsing every name.
    #[test]
    fn the_wanted_ids_lead_to_the_same_proposals_as_all() {
        let profile = domain::profile::built_in_profile("tickets").unwrap();
        let level = &profile.levels[0];
        let collect = |names: &[String], wanted: WantedIds<'_>| {
            let mut ids = CollectedIds::new(level, level.file.as_ref().unwrap(), wanted);
            names.iter().for_each(|name| ids.add_entry(name));
            ids.found
        };
        let mut seed = 5u64;
        let mut draw = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % below
        };
        for round in 0..200 {
            let names: Vec<String> = (0..draw(40))
                .map(|_| match draw(8) {
                    0 => format!("notes-{}", draw(9)),
                    1 => format!("{}", draw(2_000)),
                    2 => format!("{:03}A-wrong", draw(40)),
                    3 => format!(
                        "{:03}{}-child",
                        draw(9),
                        ["a", "b", "a1", "aa"][draw(4) as usize]
                    ),
                    _ => format!("{:03}-slug-{}", draw(60), draw(9)),
                })
                .collect();
            let all = collect(&names, WantedIds::All);
            assert_eq!(
                next_root_id(&collect(&names, WantedIds::Highest)),
                next_root_id(&all),
                "round {round}: {names:?}"
            );
            for parent in ["001", "003", "003a", "005b"] {
                assert_eq!(
                    next_child_id(parent, &collect(&names, WantedIds::Below(parent))),
                    next_child_id(parent, &all),
                    "round {round}: {names:?}"
                );
                assert_eq!(
                    collect(&names, WantedIds::Exactly(parent)).is_empty(),
                    !all.contains(&parent.to_owned()),
                    "round {round}: {names:?}"
                );
            }
        }
    }

    #[test]
    fn random_ids_are_short_unlike_numbers_and_not_taken() {
        let mut seed = 7u64;
        let mut draw = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            seed >> 8
        };
        let mut taken = Vec::new();
        for _ in 0..500 {
            let id = random_id(&taken, &mut draw);
            assert_eq!(id.len(), 5, "{id}");
            assert!(id.starts_with(|c: char| c.is_ascii_lowercase()), "{id}");
            assert!(
                !id.contains(['a', 'e', 'i', 'o', 'u', 'y', 'l', '0', '1']),
                "{id}"
            );
            taken.push(id);
        }
        assert_eq!(taken.iter().collect::<HashSet<_>>().len(), 500);
        assert_eq!(next_root_id(&taken), "001");
        let mut again = vec![5, 5, 6].into_iter();
        let first = random_id(&[], || 5);
        let other = random_id(std::slice::from_ref(&first), || again.next().unwrap());
        assert_ne!(first, other);
    }

    #[test]
    fn ids_go_on_where_they_were() {
        let taken = |list: &[&str]| list.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
        assert_eq!(next_root_id(&[]), "001");
        assert_eq!(next_root_id(&taken(&["017", "017a", "x"])), "018");
        assert_eq!(next_child_id("017", &taken(&["017"])), "017a");
        assert_eq!(next_child_id("017", &taken(&["017a", "017b"])), "017c");
        assert_eq!(next_child_id("017a", &taken(&["017a1"])), "017a2");
        let all: Vec<String> = ('a'..='z').map(|letter| format!("017{letter}")).collect();
        assert_eq!(next_child_id("017", &all), "017aa");
    }
}
