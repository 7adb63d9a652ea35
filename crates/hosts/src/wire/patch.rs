//! Parses patch envelopes, `*** Begin Patch` … `*** End Patch`: the files they touch and the size
//! of each change.
//!
//! As lenient as the hosts. What they apply must not escape the gates; what they refuse does no
//! harm.

use domain::host_event::{FileEffect, Touch};

const BEGIN_PATCH: &str = "*** Begin Patch";

/// Whether a text contains an envelope.
pub(super) fn contains_patch(text: &str) -> bool {
    text.contains(BEGIN_PATCH)
}

/// Returns the files of all envelopes in a text, relative to `base`.
pub(super) fn patch_touches(text: &str, base: &str) -> Vec<Touch> {
    let mut touches: Vec<Touch> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        if !inside {
            // In `apply_patch '*** Begin Patch` the command is on the same line.
            inside = line.trim().ends_with(BEGIN_PATCH);
            continue;
        }
        // In the body of an update, a leading blank marks a context line of the file; elsewhere it
        // is
        // sloppy formatting that hosts accept.
        let in_update = matches!(
            touches.last(),
            Some(Touch {
                effect: FileEffect::Edit { .. },
                ..
            })
        );
        let header = if in_update { line } else { line.trim_start() };
        if let Some(path) = header.strip_prefix("*** Add File:") {
            push_touch(
                &mut touches,
                base,
                path,
                FileEffect::Write {
                    // Collected from the `+` lines that follow.
                    text: Some(String::new()),
                },
            );
        } else if let Some(path) = header.strip_prefix("*** Update File:") {
            push_touch(
                &mut touches,
                base,
                path,
                FileEffect::Edit {
                    removed: 0,
                    added: 0,
                },
            );
        } else if let Some(path) = header.strip_prefix("*** Delete File:") {
            push_touch(&mut touches, base, path, FileEffect::Delete);
        } else if let (true, Some(path)) = (in_update, header.strip_prefix("*** Move to:")) {
            // A move deletes the old path, which may be an approved plan, and writes the new one.
            if let Some(source) = touches.last_mut() {
                source.effect = FileEffect::Delete;
            }
            push_touch(&mut touches, base, path, FileEffect::Write { text: None });
        } else if header.starts_with("*** End Patch") {
            inside = false;
        } else if let Some(touch) = touches.last_mut() {
            count_line(&mut touch.effect, line);
        }
    }
    touches
}

fn push_touch(touches: &mut Vec<Touch>, base: &str, path: &str, effect: FileEffect) {
    let path = path.trim();
    if !path.is_empty() {
        touches.push(Touch {
            path: join_path(base, path),
            effect,
        });
    }
}

fn count_line(effect: &mut FileEffect, line: &str) {
    match effect {
        FileEffect::Write { text: Some(text) } => {
            if let Some(new) = line.strip_prefix('+') {
                text.push_str(new);
                text.push('\n');
            }
        }
        // The length includes the sign, which makes up for the line break that `lines` removed.
        FileEffect::Edit { added, .. } if line.starts_with('+') => *added += line.len(),
        FileEffect::Edit { removed, .. } if line.starts_with('-') => *removed += line.len(),
        FileEffect::Edit { .. }
        | FileEffect::Write { text: None }
        | FileEffect::Read
        | FileEffect::Delete => {}
    }
}

/// Resolves a relative path against `base`.
pub(super) fn join_path(base: &str, path: &str) -> String {
    if base.is_empty() || path.starts_with(['/', '\\']) || path.get(1..2) == Some(":") {
        path.to_owned()
    } else {
        format!("{}/{path}", base.trim_end_matches('/'))
    }
}
