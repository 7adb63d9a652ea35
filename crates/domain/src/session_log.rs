//! Session file: merges rendered Markdown into a file that people also edit.
//!
//! Generated are the values of known keys in the front matter, the text under `## Hierarchy`, and
//! the entries under `## Log`, which are append-only. Everything else belongs to the user and is
//! kept byte for byte, also lines between our entries; a hierarchy that was edited by hand is moved
//! to the notes before it is rendered again. A new file is made the same way, from the template.

use crate::ids::Digest32;
use crate::session::{LogEntry, Session};
use crate::text::clean_line;

/// Default template, if the project has none.
pub const TEMPLATE_TEXT: &str = "---
session_id: \"\"
stamp: \"\"
mode: \"\"
governance_status: \"LOCKED\"
created: 0
last_updated: 0
---

# Session: {stamp}

## Hierarchy
<!-- Rendered from the store: what is written here is moved to the notes. -->

## Log
<!-- Append-only, oldest first. -->

## Notes
<!-- Yours: anything goes. -->
";

const HIERARCHY_HEADING: &str = "## Hierarchy";
const LOG_HEADING: &str = "## Log";
const NOTES_HEADING: &str = "## Notes";
const MOVED_HIERARCHY_HEADING: &str = "### The hierarchy as it was changed by hand";

/// Inputs of a session file.
#[derive(Clone, Debug)]
pub struct SessionText<'a> {
    pub session: &'a Session,
    /// The rendered hierarchy.
    pub hierarchy: &'a str,
    pub log: &'a [LogEntry],
    /// Digest of the hierarchy as last written to the file, if known.
    pub hierarchy_was: Option<Digest32>,
}

/// Formats a log entry as one line.
#[must_use]
pub fn format_log_entry(entry: &LogEntry) -> String {
    let about = entry
        .about
        .map(|stamp| format!(" ({stamp})"))
        .unwrap_or_default();
    format!(
        "- {} {}: {}{about}",
        entry.at.format_local_minute(),
        entry.kind.as_str(),
        clean_line(&entry.text)
    )
}

/// Returns the digest of a rendered hierarchy, by which manual edits are detected.
#[must_use]
pub fn hierarchy_digest(hierarchy: &str) -> Digest32 {
    // Trimmed: editors add or remove a final line break, which is not an edit worth keeping.
    Digest32::of_bytes(hierarchy.trim().as_bytes())
}

/// Returns `file` with its generated parts updated.
#[must_use]
pub fn merge_session_file(ours: &SessionText<'_>, file: &str) -> String {
    let stamp = ours.session.stamp.to_string();
    let mut parts = SessionFileParts::split_file(file);
    parts.set_head_values(ours.session);
    // The template's placeholder; a file made from it has none left.
    for part in &mut parts.sections {
        if part.heading.starts_with("# ") {
            part.heading = part.heading.replace("{stamp}", &stamp);
        }
    }
    let theirs = parts.replace_hierarchy(ours);
    parts.append_log_entries(ours.log);
    if let Some(theirs) = theirs {
        parts.append_to_notes(&theirs);
    }
    parts.into_text()
}

/// A heading with the lines below it, up to the next heading of level 1 or 2.
struct Section {
    /// Empty for the text before the first heading.
    heading: String,
    lines: Vec<String>,
}

/// A session file, split into front matter and sections.
struct SessionFileParts {
    /// The lines between the two `---`, if there are any.
    head: Option<Vec<String>>,
    sections: Vec<Section>,
}

impl SessionFileParts {
    fn split_file(file: &str) -> Self {
        let mut lines: Vec<String> = file.lines().map(str::to_owned).collect();
        let mut head = None;
        if lines.first().is_some_and(|line| line.trim_end() == "---")
            && let Some(end) = lines
                .iter()
                .skip(1)
                .position(|line| line.trim_end() == "---")
        {
            let rest = lines.split_off(end + 2);
            lines.pop();
            head = Some(lines.split_off(1));
            lines = rest;
        }
        let mut sections = vec![Section {
            heading: String::new(),
            lines: Vec::new(),
        }];
        for line in lines {
            // Also inside a code block: the pieces are joined unchanged, so a wrong split does no
            // harm, while an unclosed fence would hide every section after it.
            if line.starts_with("# ") || line.starts_with("## ") {
                sections.push(Section {
                    heading: line,
                    lines: Vec::new(),
                });
            } else if let Some(section) = sections.last_mut() {
                section.lines.push(line);
            }
        }
        Self { head, sections }
    }

    /// Sets the values of the generated keys; missing ones are appended.
    fn set_head_values(&mut self, session: &Session) {
        let quoted = |text: &str| format!("\"{text}\"");
        let stamp = quoted(&session.stamp.to_string());
        let open = if session.is_active() {
            "OPEN"
        } else {
            "CLOSED"
        };
        let values = [
            ("session_id", stamp.clone()),
            ("stamp", stamp),
            ("mode", quoted(session.mode.as_str())),
            ("governance_status", quoted(open)),
            ("created", session.created.as_millis().to_string()),
            ("last_updated", session.updated.as_millis().to_string()),
        ];
        // Line by line and not through a YAML parser, which would lose comments and the order.
        let head = self.head.get_or_insert_default();
        for (key, value) in values {
            let wanted = format!("{key}: {value}");
            let known = head.iter_mut().find(|line| {
                line.split_once(':')
                    .is_some_and(|(name, _)| name.trim_end() == key)
            });
            match known {
                Some(line) => *line = wanted,
                None => head.push(wanted),
            }
        }
    }

    /// Returns the section with this heading, appending it if it is missing.
    fn section_or_insert(&mut self, heading: &str) -> &mut Section {
        let at = match self
            .sections
            .iter()
            .position(|section| section.heading.trim_end() == heading)
        {
            Some(at) => at,
            None => {
                // Separated by an empty line from the text before it.
                if let Some(last) = self.sections.last_mut()
                    && last.lines.last().is_some_and(|line| !line.is_empty())
                {
                    last.lines.push(String::new());
                }
                self.sections.push(Section {
                    heading: heading.to_owned(),
                    lines: Vec::new(),
                });
                self.sections.len() - 1
            }
        };
        &mut self.sections[at]
    }

    /// Replaces the hierarchy; returns the previous one if it was edited by hand.
    fn replace_hierarchy(&mut self, ours: &SessionText<'_>) -> Option<Vec<String>> {
        let section = self.section_or_insert(HIERARCHY_HEADING);
        let (comments, found) = split_leading_comments(std::mem::take(&mut section.lines));
        let found = strip_code_fence(&found);
        let digest = hierarchy_digest(&found.join("\n"));
        // Three ways to recognise our own text: nothing there yet, the digest of the last write, or
        // (when that note was lost) exactly what would be written now.
        let known = found.is_empty()
            || ours.hierarchy_was == Some(digest)
            || digest == hierarchy_digest(ours.hierarchy);
        section.lines = comments;
        section.lines.push("```text".to_owned());
        section
            .lines
            .extend(ours.hierarchy.lines().map(str::to_owned));
        section.lines.extend(["```".to_owned(), String::new()]);
        (!known).then_some(found)
    }

    /// Appends the entries that are missing. Other lines keep their place.
    fn append_log_entries(&mut self, log: &[LogEntry]) {
        let section = self.section_or_insert(LOG_HEADING);
        let mut lines = std::mem::take(&mut section.lines);
        while lines.last().is_some_and(|line| line.trim().is_empty()) {
            lines.pop();
        }
        // Each line matches one entry only, because two entries may have the same text. The search
        // continues from the last match, so that a log in order is compared in linear time.
        let mut taken = vec![false; lines.len()];
        let mut from = 0;
        for entry in log {
            let wanted = format_log_entry(entry);
            let found = (from..lines.len())
                .chain(0..from)
                .find(|at| !taken[*at] && lines[*at] == wanted);
            match found {
                Some(at) => {
                    taken[at] = true;
                    from = at + 1;
                }
                None => {
                    lines.push(wanted);
                    taken.push(true);
                }
            }
        }
        lines.push(String::new());
        section.lines = lines;
    }

    /// Saves a hierarchy that was edited by hand under the notes.
    fn append_to_notes(&mut self, theirs: &[String]) {
        let section = self.section_or_insert(NOTES_HEADING);
        let mut block = vec![
            String::new(),
            MOVED_HIERARCHY_HEADING.to_owned(),
            String::new(),
        ];
        block.extend(theirs.iter().cloned());
        // Once: a crash after the write but before the digest was saved would repeat the block. By whole lines, because
        // a short one is a part of many.
        let mut there = section.lines.windows(theirs.len().max(1));
        if !there.any(|lines| lines == theirs) {
            section.lines.append(&mut block);
        }
    }

    fn into_text(self) -> String {
        let mut out = String::new();
        if let Some(head) = self.head {
            out.push_str("---\n");
            head.iter().for_each(|line| push_line(&mut out, line));
            out.push_str("---\n");
        }
        for section in self.sections {
            if !section.heading.is_empty() {
                push_line(&mut out, &section.heading);
            }
            section
                .lines
                .iter()
                .for_each(|line| push_line(&mut out, line));
        }
        // Exactly one final line break: otherwise the file would grow with every merge.
        let mut text = out.trim_end_matches('\n').to_owned();
        text.push('\n');
        text
    }
}

fn push_line(out: &mut String, line: &str) {
    out.push_str(line);
    out.push('\n');
}

/// Splits the leading comments from the rest; blank lines among them are dropped.
fn split_leading_comments(lines: Vec<String>) -> (Vec<String>, Vec<String>) {
    let is_comment =
        |line: &String| line.trim_start().starts_with("<!--") && line.trim_end().ends_with("-->");
    let at = lines
        .iter()
        .position(|line| !is_comment(line) && !line.trim().is_empty())
        .unwrap_or(lines.len());
    let mut comments = lines;
    let rest = comments.split_off(at);
    comments.retain(|line| !line.trim().is_empty());
    (comments, rest)
}

/// Removes the code fence around a hierarchy, and blank lines at its end.
fn strip_code_fence(lines: &[String]) -> Vec<String> {
    let mut lines: Vec<String> = lines.to_vec();
    while lines.last().is_some_and(|line| line.trim().is_empty()) {
        lines.pop();
    }
    let fenced = lines.first().is_some_and(|line| line.starts_with("```"))
        && lines.len() > 1
        && lines.last().is_some_and(|line| line.trim() == "```");
    if fenced {
        lines.pop();
        lines.remove(0);
    }
    lines
}
