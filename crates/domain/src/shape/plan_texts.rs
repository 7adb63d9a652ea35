//! Texts of plans that a shape change creates: a new plan, the parts of a split one, a merged one.

use super::ShapeRefused;
use super::references::find_first_heading;
use crate::front_matter;
use crate::profile::Level;

/// Composes the text of a new plan: a heading like its sibling's, and the outline of its level.
#[must_use]
pub fn compose_new_text(
    level: &Level,
    alias: &str,
    title: Option<&str>,
    sibling: Option<(&str, &str)>,
) -> String {
    let heading = compose_heading(level, alias, title, sibling);
    let sections = level.outline.iter().map(|name| format!("\n## {name}\n"));
    format!("{heading}\n{}", sections.collect::<String>())
}

/// Returns the heading of a new plan. `sibling` is the alias and the text of another plan of the
/// level, whose heading is imitated in whatever language it is.
fn compose_heading(
    level: &Level,
    alias: &str,
    title: Option<&str>,
    sibling: Option<(&str, &str)>,
) -> String {
    let title = title.map(str::trim).filter(|title| !title.is_empty());
    let imitated =
        sibling.and_then(|(name, text)| imitate_heading(level, alias, title, name, text));
    imitated.unwrap_or_else(|| {
        let number = level.number_of(alias).map(|_| bare_number(level, alias));
        let name = capitalise(number.as_ref().map_or(alias, |_| level.name.as_str()));
        let name = match number {
            Some(number) => format!("{name} {number}"),
            None => name,
        };
        match title {
            // A prologue with the title "Prologue" is not called so twice.
            Some(title) if title.to_lowercase() != name.to_lowercase() => {
                format!("# {name}: {title}")
            }
            _ => format!("# {name}"),
        }
    })
}

/// Returns the number in an alias as people write it: `4`, and `0204` for a scene.
fn bare_number(level: &Level, alias: &str) -> String {
    let bare = alias
        .strip_prefix(level.alias.literal_prefix())
        .unwrap_or(alias);
    match level.number_of(alias) {
        Some(number) if !level.alias.contains_parent() => number.to_string(),
        _ => bare.to_owned(),
    }
}

/// Returns a sibling's heading with another number and title.
fn imitate_heading(
    level: &Level,
    alias: &str,
    title: Option<&str>,
    sibling: &str,
    text: &str,
) -> Option<String> {
    // Only between numbers: the heading of a prologue is no model for a chapter's.
    let (new, old) = (level.number_of(alias)?, level.number_of(sibling)?);
    let (_, body) = front_matter::split_front_matter(text);
    let line = body.get(find_first_heading(body)?..)?.lines().next()?;
    // With the parent's digits first, as headings of scenes mostly have it (`0204`).
    let spelled = [
        (bare_number(level, sibling), bare_number(level, alias)),
        (old.to_string(), new.to_string()),
        (format!("{old:02}"), format!("{new:02}")),
    ];
    let (at, was, now) = spelled.into_iter().find_map(|(was, now)| {
        let at = line.find(&was)?;
        let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        let before = line.get(..at)?.chars().next_back();
        let after = line.get(at + was.len()..)?.chars().next();
        // `4` in `2024` or `14` is another number.
        (!is_digit(before) && !is_digit(after)).then_some((at, was, now))
    })?;
    let (head, tail) = (line.get(..at)?, line.get(at + was.len()..)?);
    let separator_end = tail.find(char::is_alphanumeric).unwrap_or(tail.len());
    let separator = match tail.get(..separator_end)? {
        "" => ": ",
        separator => separator,
    };
    Some(match title {
        Some(title) => format!("{head}{now}{separator}{title}"),
        None => format!("{head}{now}"),
    })
}

pub(super) fn capitalise(word: &str) -> String {
    let mut chars = word.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}

/// Returns a text with another title in its first heading; what comes before the title stays.
#[must_use]
pub fn rewrite_heading_title(text: &str, old_title: &str, title: &str) -> Option<String> {
    let (_, body) = front_matter::split_front_matter(text);
    let front = text.strip_suffix(body).unwrap_or_default();
    let start = find_first_heading(body)?;
    let line = body.get(start..)?.lines().next()?;
    // Only at the end of the line: what comes before the title is the number, in any language.
    let renamed = line.strip_suffix(old_title)?;
    let (head, tail) = (body.get(..start)?, body.get(start + line.len()..)?);
    Some(format!("{front}{head}{renamed}{title}{tail}"))
}

/// Splits a text before a heading, or before a line given by its number. Returns both parts, which are
/// together the whole text.
///
/// # Errors
/// [`ShapeRefused::NoSplitPoint`] if there is no such heading or line, or nothing before it.
pub fn split_text<'t>(text: &'t str, at: &str) -> Result<(&'t str, &'t str), ShapeRefused> {
    let refused = || ShapeRefused::NoSplitPoint { at: at.to_owned() };
    let (_, body) = front_matter::split_front_matter(text);
    let body_start = text.len() - body.len();
    let wanted = at.trim().trim_start_matches('#').trim().to_lowercase();
    let line_number: Option<usize> = at.trim().parse().ok();
    let mut offset = 0;
    let mut found = None;
    let mut is_code = false;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        // A `#` in a code block is a comment of a script.
        is_code ^= line.trim_start().starts_with("```");
        let is_heading = !is_code
            && line.starts_with('#')
            && line.trim().trim_start_matches('#').trim().to_lowercase() == wanted;
        // Lines count from the top of the file, as editors show them, but front matter is never
        // split.
        if offset >= body_start && (line_number == Some(index + 1) || is_heading) {
            found = Some(offset);
            break;
        }
        offset += line.len();
    }
    // The first part has to keep some text, or the plan would only be renamed.
    let at = found.filter(|at| {
        let before = text.get(body_start..*at).unwrap_or_default();
        !before.trim().is_empty()
    });
    Ok(text.split_at(at.ok_or_else(refused)?))
}

/// Returns the headings at which [`split_text`] splits a text.
#[must_use]
pub fn list_split_points(text: &str) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    for line in text.lines().filter(|line| line.starts_with('#')) {
        let heading = line.trim_start_matches('#').trim();
        // Of several equal headings the first is where the text is split; a number would be a line.
        let is_new = !found
            .iter()
            .any(|known| known.eq_ignore_ascii_case(heading));
        if is_new && heading.parse::<usize>().is_err() && split_text(text, line).is_ok() {
            found.push(heading);
        }
    }
    found
}

/// Returns a text with another one at its end.
///
/// What either needs, the merged plan needs, except for itself: `is_itself` says which entries mean it.
/// Other front matter of the second stays visible, as a code block: dropping it would lose text.
#[must_use]
pub fn merge_texts(text: &str, other: &str, is_itself: impl Fn(&str) -> bool) -> String {
    let text = merge_needs(text, other, is_itself);
    let other = front_matter::remove_keys(other, &["needs".to_owned()]);
    let (front, body) = front_matter::split_front_matter(&other);
    let front = front.map(str::trim).filter(|front| !front.is_empty());
    let block = front.map(|front| format!("```yaml\n{front}\n```\n\n"));
    format!(
        "{}\n\n{}{}",
        text.trim_end(),
        block.unwrap_or_default(),
        body.trim_start_matches(['\r', '\n'])
    )
}

/// Returns a text that needs what either needs, except for what `is_itself` names.
fn merge_needs(text: &str, other: &str, is_itself: impl Fn(&str) -> bool) -> String {
    let read = |text: &str| front_matter::parse_front_matter(text).get_list("needs");
    let own = read(text);
    let mut needs: Vec<String> = Vec::new();
    for name in own.iter().cloned().chain(read(other)) {
        if !is_itself(&name) && !needs.contains(&name) {
            needs.push(name);
        }
    }
    if needs == own {
        return text.to_owned();
    }
    if needs.is_empty() {
        return front_matter::remove_keys(text, &["needs".to_owned()]);
    }
    let quoted: Vec<String> = needs.iter().map(|name| quote_need(name)).collect();
    front_matter::set_key(text, "needs", &format!("[{}]", quoted.join(", ")))
}

/// Returns an entry of a YAML list; quoted where it would be something else than text.
fn quote_need(name: &str) -> String {
    let is_plain = name.starts_with(char::is_alphabetic)
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || "-_/. ~".contains(c));
    match is_plain {
        true => name.to_owned(),
        false => format!("'{}'", name.replace('\'', "''")),
    }
}

#[cfg(test)]
mod tests {
    use super::merge_texts;

    #[test]
    fn a_merged_plan_needs_what_both_needed_except_itself() {
        let merged = |text, other| merge_texts(text, other, |name| name == "chapter-02");
        let one = "---\nneeds: [chapter-02]\n---\n# One\n";
        assert_eq!(merged(one, "# Two\n"), "---\n---\n# One\n\n# Two\n");
        let two = "---\nneeds:\n  - chapter-02\n  - 007\ntarget: 5\n---\n# Two\n";
        assert_eq!(
            merged("# One\n", two),
            "---\nneeds: ['007']\n---\n\n# One\n\n```yaml\ntarget: 5\n```\n\n# Two\n"
        );
        let three = "---\nneeds: [chapter-03, chapter-01]\n---\n# Three\n";
        assert_eq!(
            merged("---\nneeds: [chapter-01]\nx: 1\n---\n# One\n", three),
            "---\nneeds: [chapter-01, chapter-03]\nx: 1\n---\n# One\n\n# Three\n"
        );
    }
}
