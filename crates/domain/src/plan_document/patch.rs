//! Unified diffs of a plan: parse them, and apply them to the text of a file.
//!
//! The strictness of `git apply`: every context and removed line has to match, at the given line or
//! shifted as a whole; nothing is applied with fuzz. Pure: it needs neither git nor the disk, so that a
//! plan from a repository can be checked without running anything.

use std::collections::BTreeMap;

/// The changes of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FilePatch {
    path: String,
    kind: PatchKind,
    hunks: Vec<PatchHunk>,
}

/// What a patch does to its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PatchKind {
    Change,
    Create,
    Delete,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct PatchHunk {
    /// First line of the old text, from 1; 0 if the old text is empty.
    old_start: usize,
    old: Vec<String>,
    new: Vec<String>,
    /// Whether the last line of the old or new text has no line break.
    old_lacks_newline: bool,
    new_lacks_newline: bool,
    /// Line of the diff, from 1.
    line: usize,
}

/// Why a diff cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatchProblem {
    #[error("not a unified diff: no line begins with `@@`")]
    NoHunk,
    #[error("line {line} of the diff: {why}")]
    Malformed { line: usize, why: String },
    #[error("the diff is about `{found}`, not about `{expected}`")]
    OtherFile { found: String, expected: String },
    #[error("`{path}` does not exist")]
    Missing { path: String },
    #[error("`{path}` exists already")]
    Exists { path: String },
    #[error(
        "the hunk at line {line} of the diff does not apply to `{path}`: expected `{expected}`"
    )]
    Mismatch {
        path: String,
        line: usize,
        expected: String,
    },
    #[error("`{path}` may not be changed by a plan")]
    Protected { path: String },
}

/// Parses a unified diff; hunks without a file header are about `file`.
///
/// # Errors
/// [`PatchProblem`] when it is not a diff, its counts do not match, or a header names another file.
fn parse_patch(diff: &str, file: &str) -> Result<Vec<FilePatch>, PatchProblem> {
    let mut patches: Vec<FilePatch> = Vec::new();
    let mut header: Option<(String, PatchKind)> = None;
    let mut old_name: Option<String> = None;
    // Not `lines()`: an empty last line may be an empty context line.
    let lines: Vec<&str> = diff.split('\n').collect();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let line = line.trim_end_matches('\r');
        if let Some(name) = line.strip_prefix("--- ") {
            old_name = Some(parse_file_name(name));
        // Only after `--- `: text around the diff may begin a line like this.
        } else if let Some(name) = line.strip_prefix("+++ ")
            && let Some(old) = old_name.take()
        {
            header = Some(name_patch(&old, &parse_file_name(name)));
            if let Some((path, kind)) = &header {
                patches.push(FilePatch {
                    path: path.clone(),
                    kind: *kind,
                    hunks: Vec::new(),
                });
            }
        } else if line.starts_with("@@") {
            // Models often leave the file header out; the plan names the file anyway.
            if header.is_none() && patches.is_empty() {
                patches.push(FilePatch {
                    path: file.to_owned(),
                    kind: PatchKind::Change,
                    hunks: Vec::new(),
                });
            }
            let (hunk, next) = parse_hunk(&lines, at)?;
            if let Some(patch) = patches.last_mut() {
                patch.hunks.push(hunk);
            }
            at = next;
            continue;
        }
        at += 1;
    }
    // An empty file is created or deleted by a header alone.
    patches.retain(|patch| !patch.hunks.is_empty() || patch.kind != PatchKind::Change);
    if patches.is_empty() {
        return Err(PatchProblem::NoHunk);
    }
    for patch in &mut patches {
        // `@@ -0,0 +1,N @@` without a header is how a new file is written down by hand.
        if patch.kind == PatchKind::Change
            && matches!(&patch.hunks[..], [only] if only.old_start == 0 && only.old.is_empty())
        {
            patch.kind = PatchKind::Create;
        }
    }
    // A change is checked and reviewed under the file it names; a diff of another one would slip
    // past.
    if let Some(other) = patches.iter().find(|patch| patch.path != file) {
        return Err(PatchProblem::OtherFile {
            found: other.path.clone(),
            expected: file.to_owned(),
        });
    }
    Ok(patches)
}

/// Reads the file name of a header: without the prefix of git and the time of `diff`.
fn parse_file_name(text: &str) -> String {
    let name = text.split('\t').next().unwrap_or_default().trim();
    let bare = name.strip_prefix("a/").or_else(|| name.strip_prefix("b/"));
    bare.unwrap_or(name).to_owned()
}

fn name_patch(old: &str, new: &str) -> (String, PatchKind) {
    match (old, new) {
        ("/dev/null", new) => (new.to_owned(), PatchKind::Create),
        (old, "/dev/null") => (old.to_owned(), PatchKind::Delete),
        (_, new) => (new.to_owned(), PatchKind::Change),
    }
}

/// Parses the hunk whose header is at `at`; also returns the place of the line after it.
fn parse_hunk(lines: &[&str], at: usize) -> Result<(PatchHunk, usize), PatchProblem> {
    let malformed = |at: usize, why: String| PatchProblem::Malformed { line: at + 1, why };
    let header = lines.get(at).copied().unwrap_or_default();
    let (old_range, new_range) = parse_hunk_header(header).ok_or_else(|| {
        malformed(
            at,
            "expected a header such as `@@ -10,7 +10,8 @@`".to_owned(),
        )
    })?;
    let mut hunk = PatchHunk {
        old_start: old_range.0,
        old: Vec::new(),
        new: Vec::new(),
        old_lacks_newline: false,
        new_lacks_newline: false,
        line: at + 1,
    };
    let mut next = at + 1;
    let mut last = ' ';
    while let Some(line) = lines.get(next).copied() {
        let is_full = hunk.old.len() == old_range.1 && hunk.new.len() == new_range.1;
        // Also after the last counted line, where git writes it.
        if let Some(note) = line.strip_prefix('\\') {
            if note.contains("No newline") {
                hunk.old_lacks_newline |= last != '+';
                hunk.new_lacks_newline |= last != '-';
            }
            next += 1;
            continue;
        }
        if is_full {
            break;
        }
        // Editors and models drop the space of an empty context line.
        let mark = line.chars().next().unwrap_or(' ');
        let text = line.get(1..).unwrap_or_default().to_owned();
        match mark {
            ' ' | '\t' | '\r' => {
                let text = if mark == ' ' { text } else { line.to_owned() };
                hunk.old.push(text.clone());
                hunk.new.push(text);
            }
            '-' => hunk.old.push(text),
            '+' => hunk.new.push(text),
            other => {
                let why = format!("a line of a hunk begins with ` `, `-` or `+`, found `{other}`");
                return Err(malformed(next, why));
            }
        }
        last = mark;
        next += 1;
    }
    // Counts that do not match mean a truncated answer or a diff that was edited by hand; `git
    // apply` refuses it too.
    if hunk.old.len() != old_range.1 || hunk.new.len() != new_range.1 {
        let why = format!(
            "the header announces {} old and {} new lines, the hunk has {} and {}",
            old_range.1,
            new_range.1,
            hunk.old.len(),
            hunk.new.len()
        );
        return Err(malformed(at, why));
    }
    Ok((hunk, next))
}

/// Parses `@@ -10,7 +10,8 @@ …` into start and length of both sides.
fn parse_hunk_header(line: &str) -> Option<((usize, usize), (usize, usize))> {
    let (ranges, _) = line.strip_prefix("@@ ")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(' ')?;
    let range = |text: &str, sign: char| {
        let text = text.strip_prefix(sign)?;
        let (start, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((start.parse().ok()?, count.parse().ok()?))
    };
    Some((range(old, '-')?, range(new, '+')?))
}

impl FilePatch {
    /// Returns the text of the file after the patch; `None` if the patch deletes it.
    ///
    /// # Errors
    /// [`PatchProblem`] when the file does not exist, exists already, or a hunk does not match.
    fn apply_to(&self, text: Option<&str>) -> Result<Option<String>, PatchProblem> {
        let path = || self.path.clone();
        let before = match (self.kind, text) {
            // An empty file is created in some tools before it is filled.
            (PatchKind::Create, None | Some("")) => "",
            (PatchKind::Create, Some(_)) => return Err(PatchProblem::Exists { path: path() }),
            (PatchKind::Change | PatchKind::Delete, Some(text)) => text,
            (PatchKind::Change | PatchKind::Delete, None) => {
                return Err(PatchProblem::Missing { path: path() });
            }
        };
        let ends_with_newline = before.is_empty() || before.ends_with('\n');
        let mut lines: Vec<String> = match before.is_empty() {
            true => Vec::new(),
            false => before
                .strip_suffix('\n')
                .unwrap_or(before)
                .split('\n')
                .map(str::to_owned)
                .collect(),
        };
        let mut has_newline = ends_with_newline;
        let (mut offset, mut from) = (0_isize, 0_usize);
        for hunk in &self.hunks {
            // Lines count from 1, but `-10,0` means after line 10.
            let wanted = hunk
                .old_start
                .saturating_sub(usize::from(!hunk.old.is_empty()));
            let wanted = wanted.saturating_add_signed(offset);
            let place =
                find_hunk(&lines, hunk, wanted, from).ok_or_else(|| PatchProblem::Mismatch {
                    path: path(),
                    line: hunk.line,
                    expected: hunk.old.first().cloned().unwrap_or_default(),
                })?;
            let end = place + hunk.old.len();
            let reaches_end = end == lines.len();
            lines.splice(place..end, hunk.new.iter().cloned());
            // Hunks are in order: a later one must not match in what an earlier one wrote.
            from = place + hunk.new.len();
            offset += place.cast_signed() - wanted.cast_signed();
            offset += hunk.new.len().cast_signed() - hunk.old.len().cast_signed();
            // Only the file's last line can lack a line break; other hunks leave its end alone.
            if reaches_end && (hunk.old_lacks_newline || hunk.new_lacks_newline) {
                has_newline = !hunk.new_lacks_newline;
            }
        }
        if self.kind == PatchKind::Delete {
            return Ok(None);
        }
        let mut after = lines.join("\n");
        if has_newline && !lines.is_empty() {
            after.push('\n');
        }
        Ok(Some(after))
    }
}

impl FilePatch {
    /// Whether the file has what the patch would make of it.
    fn is_applied_to(&self, text: Option<&str>) -> bool {
        let Some(text) = text else {
            return self.kind == PatchKind::Delete;
        };
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let is_same = |found: &[String], expected: &[String]| {
            found.len() == expected.len()
                && found.iter().zip(expected).all(|(a, b)| is_same_line(a, b))
        };
        match (self.kind, self.hunks.as_slice()) {
            (PatchKind::Delete, _) => false,
            (PatchKind::Create, []) => text.is_empty(),
            (PatchKind::Create, [only]) => is_same(&lines, &only.new),
            _ => self.has_new_lines(&lines),
        }
    }

    /// Whether the file has every hunk's new lines, in order, and not its old ones any more.
    fn has_new_lines(&self, lines: &[String]) -> bool {
        let (mut from, mut offset) = (0, 0_isize);
        !self.hunks.is_empty()
            && self.hunks.iter().all(|hunk| {
                // Lines that are only taken away leave nothing to recognise.
                if hunk.old.is_empty() || hunk.new.len() < hunk.old.len() {
                    return false;
                }
                let wanted = hunk
                    .old_start
                    .saturating_sub(1)
                    .saturating_add_signed(offset);
                let Some(place) = find_hunk(lines, &hunk.inverted(), wanted, from) else {
                    return false;
                };
                let found = place..place + hunk.new.len();
                // The old lines may be a part of the new ones: lines added at the end of a file, or at
                // its beginning, would be added twice.
                let is_replaced = match find_hunk(lines, hunk, wanted, from) {
                    Some(old) => found.contains(&old) && old + hunk.old.len() <= found.end,
                    None => true,
                };
                from = found.end;
                offset += hunk.new.len().cast_signed() - hunk.old.len().cast_signed();
                is_replaced || place == wanted
            })
    }
}

impl PatchHunk {
    /// Returns the hunk that takes this one back.
    fn inverted(&self) -> Self {
        Self {
            old: self.new.clone(),
            new: self.old.clone(),
            ..self.clone()
        }
    }
}

/// Whether the files have what a diff would make of them.
pub(super) fn is_patch_applied(
    diff: &str,
    file: &str,
    files: &PatchedFiles,
    read_file: &dyn Fn(&str) -> Option<String>,
) -> bool {
    let Ok(patches) = parse_patch(diff, file) else {
        return false;
    };
    patches.iter().all(|patch| {
        let text = match files.get(&patch.path) {
            Some(text) => text.clone(),
            None => read_file(&patch.path),
        };
        !is_protected_path(&patch.path) && patch.is_applied_to(text.as_deref())
    })
}

/// Finds where a hunk's old lines are: at the wanted place, or at the nearest one after `from`.
fn find_hunk(lines: &[String], hunk: &PatchHunk, wanted: usize, from: usize) -> Option<usize> {
    let last = lines.len().checked_sub(hunk.old.len())?;
    // A hunk of added lines alone has no text to be found by.
    if hunk.old.is_empty() {
        return Some(wanted.min(last)).filter(|place| *place >= from);
    }
    let matches = |place: usize| {
        place >= from
            && lines
                .get(place..place + hunk.old.len())
                .is_some_and(|found| found.iter().zip(&hunk.old).all(|(a, b)| is_same_line(a, b)))
    };
    // The line number is the diff's own, and may be any number: beyond the file's end the last place
    // is the nearest one.
    let wanted = wanted.min(last);
    (0..=last).find_map(|distance| {
        let before = wanted.checked_sub(distance).filter(|place| matches(*place));
        before.or_else(|| Some(wanted + distance).filter(|place| *place <= last && matches(*place)))
    })
}

/// Whether two lines are equal, apart from the line ending of the file.
fn is_same_line(found: &str, expected: &str) -> bool {
    found == expected || found.trim_end_matches('\r') == expected.trim_end_matches('\r')
}

/// Files as they are after some patches: `None` for a deleted file.
pub type PatchedFiles = BTreeMap<String, Option<String>>;

/// Applies a diff to files; `read_file` returns the text of one that no earlier diff changed.
///
/// # Errors
/// [`PatchProblem`]; `files` is then unchanged.
pub(super) fn apply_patch(
    diff: &str,
    file: &str,
    files: &mut PatchedFiles,
    read_file: &dyn Fn(&str) -> Option<String>,
) -> Result<(), PatchProblem> {
    let mut changed = PatchedFiles::new();
    for patch in parse_patch(diff, file)? {
        if is_protected_path(&patch.path) {
            return Err(PatchProblem::Protected { path: patch.path });
        }
        // A diff applies on top of the plan's earlier ones, as they will be carried out.
        let known = changed.get(&patch.path).or_else(|| files.get(&patch.path));
        let before = match known {
            Some(text) => text.clone(),
            None => read_file(&patch.path),
        };
        let after = patch.apply_to(before.as_deref())?;
        changed.insert(patch.path, after);
    }
    // Only after every part applied: a diff that fails leaves nothing half done.
    files.append(&mut changed);
    Ok(())
}

/// Whether a path is git's or ours: a plan that came with a repository must not reach hooks or
/// settings.
fn is_protected_path(path: &str) -> bool {
    let mut parts = path.split(['/', '\\']);
    parts.any(|part| {
        // File systems of macOS and Windows ignore case: `.GIT/hooks` is `.git/hooks`.
        let part = part.to_lowercase();
        matches!(part.as_str(), ".git" | ".throughline" | "..")
    }) || path.starts_with('/')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use similar::TextDiff;

    use super::{PatchProblem, PatchedFiles, apply_patch, is_patch_applied};

    fn apply(diff: &str, text: Option<&str>) -> Result<Option<String>, PatchProblem> {
        let mut files = PatchedFiles::new();
        let read_file = |_: &str| text.map(str::to_owned);
        apply_patch(diff, "src/a.rs", &mut files, &read_file)?;
        Ok(files.remove("src/a.rs").flatten())
    }

    fn applied(diff: &str, text: Option<&str>) -> String {
        apply(diff, text).expect("it applies").unwrap_or_default()
    }

    #[test]
    fn a_diff_is_applied_with_and_without_a_header() {
        let old = "one\ntwo\nthree\n";
        for diff in [
            "@@ -2 +2 @@\n-two\n+2\n",
            "--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n",
            "diff --git a/src/a.rs b/src/a.rs\nindex 1..2 100644\n--- src/a.rs\t2026\n+++ src/a.rs\t2026\n@@ -1,2 +1,2 @@ fn x\n one\n-two\n+2\n",
        ] {
            assert_eq!(applied(diff, Some(old)), "one\n2\nthree\n", "{diff}");
        }
        assert_eq!(applied("@@ -0,0 +1 @@\n+new\n", None), "new\n");
        let created = "--- /dev/null\n+++ b/src/a.rs\n@@ -0,0 +1,2 @@\n+a\n+b\n";
        assert_eq!(applied(created, None), "a\nb\n");
        let deleted = "--- a/src/a.rs\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n";
        assert_eq!(apply(deleted, Some("one\n")), Ok(None));
    }

    fn is_applied(diff: &str, text: Option<&str>) -> bool {
        let read_file = |_: &str| text.map(str::to_owned);
        is_patch_applied(diff, "src/a.rs", &PatchedFiles::new(), &read_file)
    }

    #[test]
    fn a_diff_that_is_in_the_file_counts_as_applied() {
        for (diff, before) in [
            ("@@ -2 +2 @@\n-two\n+2\n", Some("one\ntwo\nthree\n")),
            ("@@ -1,2 +1,3 @@\n one\n two\n+three\n", Some("one\ntwo\n")),
            (
                "@@ -1,2 +1,3 @@\n one\n+one and a half\n two\n",
                Some("one\ntwo\n"),
            ),
            ("@@ -0,0 +1,2 @@\n+a\n+b\n", None),
            (
                "--- a/src/a.rs\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n",
                Some("one\n"),
            ),
        ] {
            assert!(!is_applied(diff, before), "{diff}");
            let after = apply(diff, before).expect("it applies");
            assert!(is_applied(diff, after.as_deref()), "{diff}: {after:?}");
        }
        let create = "@@ -0,0 +1,2 @@\n+a\n+b\n";
        assert!(!is_applied(create, Some("a\nb\nc\n")), "another file");
        assert!(!is_applied("@@ -1 +1 @@\n-x\n+y\n", Some("z\n")));
    }

    proptest! {
        /// A diff that is applied twice is there once.
        #[test]
        fn an_applied_diff_is_recognised(
            before in prop::collection::vec("[a-d]", 1..8),
            added in prop::collection::vec("[w-z]", 1..4),
            at in 0..8_usize,
        ) {
            let at = at.min(before.len());
            let mut after = before.clone();
            after.splice(at..at, added);
            let text = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect();
            let (before, after): (String, String) = (text(&before), text(&after));
            let diff = TextDiff::from_lines(&before, &after).unified_diff().to_string();
            prop_assert!(!is_applied(&diff, Some(&before)));
            prop_assert!(is_applied(&diff, Some(&after)));
        }
    }

    #[test]
    fn a_hunk_is_found_where_the_lines_moved_to() {
        let diff = "@@ -1,2 +1,2 @@\n a\n-b\n+B\n";
        assert_eq!(applied(diff, Some("x\ny\na\nb\n")), "x\ny\na\nB\n");
    }

    #[test]
    fn a_line_number_far_beyond_the_file_ends_the_search() {
        for line in ["99999999999", "18446744073709551615"] {
            let found = format!("@@ -{line},1 +1 @@\n-b\n+B\n");
            assert_eq!(applied(&found, Some("a\nb\n")), "a\nB\n", "{line}");
            let missing = format!("@@ -{line},1 +1 @@\n-c\n+C\n");
            assert!(apply(&missing, Some("a\nb\n")).is_err(), "{line}");
        }
    }

    #[test]
    fn a_diff_that_does_not_fit_is_refused_with_the_reason() {
        for (diff, text, expected) in [
            ("garbage\n", Some("a\n"), "not a unified diff"),
            (
                "@@ nonsense\n",
                Some("a\n"),
                "line 1 of the diff: expected a header",
            ),
            (
                "@@ -1,2 +1 @@\n-a\n+b\n",
                Some("a\n"),
                "announces 2 old and 1 new",
            ),
            ("@@ -1 +1 @@\n*a\n", Some("a\n"), "found `*`"),
            (
                "@@ -1 +1 @@\n-b\n+c\n",
                Some("a\n"),
                "does not apply to `src/a.rs`: expected `b`",
            ),
            ("@@ -1 +1 @@\n-b\n+c\n", None, "`src/a.rs` does not exist"),
            (
                "@@ -0,0 +1 @@\n+c\n",
                Some("a\n"),
                "`src/a.rs` exists already",
            ),
            (
                "--- a/x.rs\n+++ b/x.rs\n@@ -1 +1 @@\n-a\n+b\n",
                Some("a\n"),
                "is about `x.rs`, not about `src/a.rs`",
            ),
        ] {
            let problem = apply(diff, text).expect_err(diff).to_string();
            assert!(problem.contains(expected), "{diff}: {problem}");
        }
    }

    #[test]
    fn settings_and_hooks_are_never_changed() {
        for path in [
            ".git/hooks/post-checkout",
            ".throughline/config.toml",
            "a/.GIT/config",
        ] {
            let mut files = PatchedFiles::new();
            let refused = apply_patch("@@ -0,0 +1 @@\n+x\n", path, &mut files, &|_| None);
            assert_eq!(
                refused,
                Err(PatchProblem::Protected {
                    path: path.to_owned()
                })
            );
        }
    }

    #[test]
    fn later_diffs_see_what_earlier_ones_did() {
        let mut files = PatchedFiles::new();
        let read_file = |_: &str| None;
        for diff in ["@@ -0,0 +1 @@\n+a\n", "@@ -1 +1,2 @@\n a\n+b\n"] {
            apply_patch(diff, "x", &mut files, &read_file).expect("applies");
        }
        assert_eq!(files["x"].as_deref(), Some("a\nb\n"));
    }

    proptest! {
        /// A diff between two texts, applied to the first, gives the second.
        #[test]
        fn a_diff_leads_from_the_old_text_to_the_new(
            old in prop::collection::vec("[ab]{0,2}", 0..12),
            new in prop::collection::vec("[ab]{0,2}", 0..12),
            ends in any::<(bool, bool)>(),
        ) {
            let text = |lines: &[String], ends: bool| {
                let mut text = lines.join("\n");
                if ends && !text.is_empty() {
                    text.push('\n');
                }
                text
            };
            let (old, new) = (text(&old, ends.0), text(&new, ends.1));
            prop_assume!(old != new && !old.is_empty());
            let diff = TextDiff::from_lines(&old, &new)
                .unified_diff()
                .header("a/src/a.rs", "b/src/a.rs")
                .to_string();
            prop_assert_eq!(applied(&diff, Some(&old)), new, "{}", diff);
        }

        #[test]
        fn any_text_is_read_without_a_panic(diff in "(@@ -[0-9]{1,3},[0-9] \\+[0-9] @@\n)?(\\PC|\n){0,80}") {
            let _ = apply(&diff, Some("a\nb\n"));
        }
    }
}
