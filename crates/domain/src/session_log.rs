//! A session's file: Markdown rendered from the store, into whatever people have made of it.
//!
//! Ours are the values of known keys in the head, what stands under `## Hierarchy`, and the entries under `## Log`,
//! which are only ever appended to. Everything else is theirs and stays byte for byte, also lines they put between
//! our entries; a drawing they changed moves to the notes before it is drawn anew. A new file is made the same way,
//! from the template.

use crate::ids::Digest32;
use crate::session::{LogEntry, Session};
use crate::text::clean_line;

/// The template where a project has none of its own.
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

const HIERARCHY: &str = "## Hierarchy";
const LOG: &str = "## Log";
const NOTES: &str = "## Notes";
const MOVED: &str = "### The hierarchy as it was changed by hand";

/// What a file is rendered from.
#[derive(Clone, Debug)]
pub struct SessionText<'a> {
    pub session: &'a Session,
    /// The drawing.
    pub hierarchy: &'a str,
    pub log: &'a [LogEntry],
    /// The drawing as it was last put into the file, where that is known.
    pub hierarchy_was: Option<Digest32>,
}

/// Returns the line of a log entry.
#[must_use]
pub fn line(entry: &LogEntry) -> String {
    let about = entry
        .about
        .map(|stamp| format!(" ({stamp})"))
        .unwrap_or_default();
    format!(
        "- {} {}: {}{about}",
        entry.at.for_people(),
        entry.kind.word(),
        clean_line(&entry.text)
    )
}

/// Returns the digest under which a drawing is remembered.
#[must_use]
pub fn drawing_digest(hierarchy: &str) -> Digest32 {
    Digest32::of(hierarchy.trim().as_bytes())
}

/// Returns the file's text: `file` with what is ours brought up to date.
#[must_use]
pub fn merge(ours: &SessionText<'_>, file: &str) -> String {
    let stamp = ours.session.stamp.to_string();
    let mut parts = Parts::of(file);
    parts.head(ours.session);
    // A template's placeholder; in a file that was made from one there is none left.
    for part in &mut parts.sections {
        if part.heading.starts_with("# ") {
            part.heading = part.heading.replace("{stamp}", &stamp);
        }
    }
    let theirs = parts.hierarchy(ours);
    parts.log(ours.log);
    if let Some(theirs) = theirs {
        parts.note(&theirs);
    }
    parts.text()
}

/// A heading with what stands below it, up to the next of ours.
struct Section {
    /// Empty for what stands before the first heading.
    heading: String,
    lines: Vec<String>,
}

/// A file in pieces.
struct Parts {
    /// The lines between the two `---`, where there are such.
    head: Option<Vec<String>>,
    sections: Vec<Section>,
}

impl Parts {
    fn of(file: &str) -> Self {
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
            // Also in a block of code: pieces are put together as they were, and a fence may be left open.
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

    /// Sets the values of our keys; those that are missing are added.
    fn head(&mut self, session: &Session) {
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
            ("mode", quoted(session.mode.word())),
            ("governance_status", quoted(open)),
            ("created", session.created.as_millis().to_string()),
            ("last_updated", session.updated.as_millis().to_string()),
        ];
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

    /// Returns the section of a heading, made where it is missing.
    fn section(&mut self, heading: &str) -> &mut Section {
        let at = match self
            .sections
            .iter()
            .position(|section| section.heading.trim_end() == heading)
        {
            Some(at) => at,
            None => {
                // Apart from what stands before it.
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

    /// Puts the drawing in; returns what a person had put there.
    fn hierarchy(&mut self, ours: &SessionText<'_>) -> Option<Vec<String>> {
        let section = self.section(HIERARCHY);
        let (comments, found) = split(std::mem::take(&mut section.lines));
        let found = without_fence(&found);
        let digest = drawing_digest(&found.join("\n"));
        let known = found.is_empty()
            || ours.hierarchy_was == Some(digest)
            || digest == drawing_digest(ours.hierarchy);
        section.lines = comments;
        section.lines.push("```text".to_owned());
        section
            .lines
            .extend(ours.hierarchy.lines().map(str::to_owned));
        section.lines.extend(["```".to_owned(), String::new()]);
        (!known).then_some(found)
    }

    /// Appends the entries that are not there yet. Lines of others stay where they are.
    fn log(&mut self, log: &[LogEntry]) {
        let section = self.section(LOG);
        let mut lines = std::mem::take(&mut section.lines);
        while lines.last().is_some_and(|line| line.trim().is_empty()) {
            lines.pop();
        }
        // Each line of the file can stand for one entry; two entries may read the same.
        let mut taken = vec![false; lines.len()];
        let mut from = 0;
        for entry in log {
            let wanted = line(entry);
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

    /// Keeps under the notes what stood where we draw.
    fn note(&mut self, theirs: &[String]) {
        let section = self.section(NOTES);
        let mut block = vec![String::new(), MOVED.to_owned(), String::new()];
        block.extend(theirs.iter().cloned());
        let text = theirs.join("\n");
        if !section.lines.join("\n").contains(&text) {
            section.lines.append(&mut block);
        }
    }

    fn text(self) -> String {
        let mut out = String::new();
        if let Some(head) = self.head {
            out.push_str("---\n");
            head.iter().for_each(|line| push(&mut out, line));
            out.push_str("---\n");
        }
        for section in self.sections {
            if !section.heading.is_empty() {
                push(&mut out, &section.heading);
            }
            section.lines.iter().for_each(|line| push(&mut out, line));
        }
        let mut text = out.trim_end_matches('\n').to_owned();
        text.push('\n');
        text
    }
}

fn push(out: &mut String, line: &str) {
    out.push_str(line);
    out.push('\n');
}

/// Takes the comments and blank lines at the beginning apart from the rest.
fn split(lines: Vec<String>) -> (Vec<String>, Vec<String>) {
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

/// Returns a drawing without the fence around it and without blank lines at its end.
fn without_fence(lines: &[String]) -> Vec<String> {
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
