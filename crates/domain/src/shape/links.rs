//! Targets of links in Markdown: inline links, reference definitions, autolinks and HTML attributes.
//!
//! No Markdown parser: a text keeps every byte outside of the targets found here.

use std::ops::Range;

/// HTML attributes whose values are links.
const LINK_ATTRIBUTES: &[&str] = &["href=", "src="];

/// Returns the range of the next link target at or after `from`, without its `#fragment` and title.
pub(super) fn find_link_target(text: &str, from: usize) -> Option<Range<usize>> {
    let openers = text.get(from..)?.char_indices();
    openers
        .filter(|(_, c)| matches!(c, '(' | ':' | '<' | '"' | '\''))
        .find_map(|(at, opener)| read_target(text, from + at, opener))
}

/// Reads the link target after an opening character, if one begins there.
fn read_target(text: &str, at: usize, opener: char) -> Option<Range<usize>> {
    let (before, rest) = (text.get(..at)?, text.get(at + 1..)?);
    let start = at + 1;
    match opener {
        '(' if before.ends_with(']') => Some(read_destination(text, start, &[')', ' ', '\n', '#'])),
        ':' if ends_with_definition_label(before) => {
            let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
            let ends = [' ', '\t', '\r', '\n', '#'];
            let target = read_destination(text, start + blanks, &ends);
            // `[note]: see chapter-04` is a sentence.
            let link = text.get(target.clone())?;
            (link.contains('/') || link.ends_with(".md")).then_some(target)
        }
        '<' => {
            let inner = rest.get(..rest.find('>')?)?;
            let path = inner.split('#').next().unwrap_or_default();
            // Anything else between angle brackets is HTML or a comparison.
            let is_file = path.ends_with(".md") && !inner.contains(char::is_whitespace);
            is_file.then(|| start..start + path.len())
        }
        '"' | '\'' => {
            let is_attribute = |name: &&str| {
                let head = before.len().checked_sub(name.len());
                head.and_then(|head| before.get(head..))
                    .is_some_and(|found| found.eq_ignore_ascii_case(name))
            };
            let is_link = LINK_ATTRIBUTES.iter().any(is_attribute);
            is_link.then(|| start..find_end(text, start, &[opener, '\n', '#']))
        }
        _ => None,
    }
}

/// Reads a destination, in angle brackets or without.
fn read_destination(text: &str, start: usize, ends: &[char]) -> Range<usize> {
    let is_bracketed = text.get(start..).is_some_and(|rest| rest.starts_with('<'));
    match is_bracketed {
        true => start + 1..find_end(text, start + 1, &['>', '\n', '#']),
        false => start..find_end(text, start, ends),
    }
}

fn find_end(text: &str, start: usize, ends: &[char]) -> usize {
    let rest = text.get(start..).unwrap_or_default();
    rest.find(ends).map_or(text.len(), |length| start + length)
}

/// Whether a text ends with the label of a reference definition: `[name]` alone on its line.
fn ends_with_definition_label(before: &str) -> bool {
    let line = before.rsplit('\n').next().unwrap_or_default();
    let label = line.trim_start_matches(' ').strip_prefix('[');
    let label = label.and_then(|label| label.strip_suffix(']'));
    // `[^1]:` is a footnote, and `[[chapter-04]]:` a wiki link.
    label.is_some_and(|label| !label.starts_with('^') && !label.contains(['[', ']']))
}

/// Resolves a relative path from a folder; `None` if it leaves the project.
pub(super) fn resolve_relative(folder: &str, link: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                // Above the root is another project's file, which no move of ours concerns.
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// Returns the path of a file relative to a folder.
pub(super) fn make_relative(folder: &str, file: &str) -> String {
    let from: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    let to: Vec<&str> = file.split('/').collect();
    let shared = from
        .iter()
        .zip(&to)
        .take_while(|(a, b)| a == b)
        .count()
        // The file's own name is never shared with a folder, or nothing would be left to link to.
        .min(to.len().saturating_sub(1));
    let up = std::iter::repeat_n("..", from.len() - shared);
    let down = to.get(shared..).unwrap_or_default().iter().copied();
    up.chain(down).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::find_link_target;

    #[test]
    fn targets_of_every_kind_of_link_are_found() {
        let text = "[a](x/1.md#part) [b](<x/2 b.md> \"title\") <x/3.md> a < b > c <br/>\n\
            <a href=\"x/4.md\">d</a> <img src='x/5.png'> \"x/no.md\"\n\
            [ref]: x/6.md 'title'\n  [other]: <x/7.md>\n\
            [^1]: x/no.md\n[note]: see x/no.md\n[[wiki]]: x/no.md\ntext [in]: x/no.md\n";
        let mut found = Vec::new();
        let mut at = 0;
        while let Some(range) = find_link_target(text, at) {
            at = range.end;
            found.push(text.get(range).expect("a range of the text"));
        }
        let expected = [
            "x/1.md", "x/2 b.md", "x/3.md", "x/4.md", "x/5.png", "x/6.md", "x/7.md",
        ];
        assert_eq!(found, expected);
    }
}
