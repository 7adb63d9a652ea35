//! New ids for plans: which descendants change with a plan, and how references in texts follow.
//!
//! Pure text editing: only ids in known places change (front matter keys that name plans, links to a
//! plan's folder, `[[id]]`, the number in a plan's own heading). Ids in prose stay: `002` may be
//! anything there.

use crate::front_matter;

/// Front matter keys whose values name plans.
const REFERENCE_KEYS: &[&str] = &["parent", "children", "needs"];

/// One plan with another id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdChange {
    pub old: String,
    pub new: String,
    /// The name of its folder, or of its file, before and after.
    pub old_entry: String,
    pub new_entry: String,
}

/// Returns the id of a descendant after a change of its ancestor's: ids that continue the ancestor's
/// follow it, others stay.
#[must_use]
pub fn follow_ancestor_id(id: &str, old: &str, new: &str) -> Option<String> {
    let rest = id.strip_prefix(old).filter(|rest| !rest.is_empty())?;
    // `0171` is not below `017`: digits and letters alternate from level to level.
    let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    (is_digit(old.chars().next_back()) != is_digit(rest.chars().next()))
        .then(|| format!("{new}{rest}"))
}

/// Rewrites the references to plans whose id changes.
#[must_use]
pub fn rewrite_references(text: &str, changes: &[IdChange]) -> String {
    let keys = front_matter::edit_values(text, REFERENCE_KEYS, |value| {
        replace_words(value, is_id_char, |word| {
            let change = changes.iter().find(|change| change.old == word);
            change.map(|change| change.new.clone())
        })
    });
    let mut links = replace_words(&keys, is_entry_char, |word| {
        let change = changes.iter().find(|change| change.old_entry == word);
        change.map(|change| change.new_entry.clone())
    });
    for change in changes {
        let wiki_link = format!("[[{}]]", change.old);
        if links.contains(&wiki_link) {
            links = links.replace(&wiki_link, &format!("[[{}]]", change.new));
        }
    }
    links
}

/// Rewrites a plan's own id: `id` in the front matter, and the number its first heading starts with.
#[must_use]
pub fn rewrite_own_id(text: &str, old: &str, new: &str) -> String {
    let change = |word: &str| (word == old).then(|| new.to_owned());
    let text = front_matter::edit_values(text, &["id"], |value| {
        replace_words(value, is_id_char, change)
    });
    let (_, body) = front_matter::split_front_matter(&text);
    let mut result = text.strip_suffix(body).unwrap_or_default().to_owned();
    let mut is_done = false;
    for line in body.split_inclusive('\n') {
        let renamed = match !is_done && line.starts_with('#') {
            true => rewrite_heading(line, old, new),
            false => None,
        };
        is_done |= line.starts_with('#');
        result.push_str(renamed.as_deref().unwrap_or(line));
    }
    result
}

/// Rewrites a heading that starts with an id; `None` if it does not.
fn rewrite_heading(line: &str, old: &str, new: &str) -> Option<String> {
    let title = line.trim_start_matches('#').trim_start();
    let rest = title.strip_prefix(old)?;
    let hashes = line.strip_suffix(title)?;
    (!rest.starts_with(is_id_char)).then(|| format!("{hashes}{new}{rest}"))
}

fn is_id_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '~')
}

/// Characters of a folder's name: a longer name that contains it is another folder.
fn is_entry_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '~' | '.')
}

/// Replaces whole words; everything else stays as it is, byte by byte.
fn replace_words(
    text: &str,
    is_word_char: fn(char) -> bool,
    replace: impl Fn(&str) -> Option<String>,
) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_word_char) {
        let (before, from) = rest.split_at(start);
        let end = from.find(|c| !is_word_char(c)).unwrap_or(from.len());
        let (word, after) = from.split_at(end);
        result.push_str(before);
        // A full stop ends a sentence more often than a name.
        let bare = word.trim_end_matches('.');
        match replace(bare) {
            Some(new) => {
                result.push_str(&new);
                result.push_str(word.strip_prefix(bare).unwrap_or_default());
            }
            None => result.push_str(word),
        }
        rest = after;
    }
    result.push_str(rest);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change() -> IdChange {
        IdChange {
            old: "017".to_owned(),
            new: "018".to_owned(),
            old_entry: "017-count".to_owned(),
            new_entry: "018-count".to_owned(),
        }
    }

    #[test]
    fn descendants_that_continue_the_id_follow_it() {
        let follow = |id| follow_ancestor_id(id, "017", "018");
        assert_eq!(follow("017a").as_deref(), Some("018a"));
        assert_eq!(follow("017a1").as_deref(), Some("018a1"));
        assert_eq!(follow("017"), None);
        assert_eq!(follow("0171"), None);
        assert_eq!(follow("016"), None);
    }

    #[test]
    fn references_change_and_prose_stays() {
        let text = "---\r\nid: '020'\r\nparent: '017'\r\nneeds: [017, 017a, \"016\"]\r\nphase: 017\r\n---\r\n\r\n# 017 things\r\nSee [it](../017-count/ticket.md), [[017]], 017-count. 017-counter, 017.\r\n";
        let expected = "---\r\nid: '020'\r\nparent: '018'\r\nneeds: [018, 017a, \"016\"]\r\nphase: 017\r\n---\r\n\r\n# 017 things\r\nSee [it](../018-count/ticket.md), [[018]], 018-count. 017-counter, 017.\r\n";
        assert_eq!(rewrite_references(text, &[change()]), expected);
    }

    #[test]
    fn lists_over_several_lines_and_paths_are_followed() {
        let text = "---\nneeds:\n  - 017   # first\n  - 017/017a\nother: 017\n---\n";
        let changes = [
            change(),
            IdChange {
                old: "017a".to_owned(),
                new: "018a".to_owned(),
                old_entry: "017a-x".to_owned(),
                new_entry: "018a-x".to_owned(),
            },
        ];
        let expected = "---\nneeds:\n  - 018   # first\n  - 018/018a\nother: 017\n---\n";
        assert_eq!(rewrite_references(text, &changes), expected);
    }

    #[test]
    fn the_own_id_changes_in_front_matter_and_heading() {
        let own = |text| rewrite_own_id(text, "017", "018");
        assert_eq!(
            own("---\nid: '017'\nparent: '017'\n---\n\n# 017: Count\n\n## 017\n"),
            "---\nid: '018'\nparent: '017'\n---\n\n# 018: Count\n\n## 017\n"
        );
        assert_eq!(own("# Count 017 lines\n"), "# Count 017 lines\n");
        assert_eq!(own("# 0170\n"), "# 0170\n");
        assert_eq!(own(""), "");
    }
}
