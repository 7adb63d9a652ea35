//! Parses patch envelopes, `*** Begin Patch` … `*** End Patch`: the files they touch and the size
//! of each change.
//!
//! As lenient as the hosts. What they apply must not escape the gates; what they refuse does no
//! harm.

use domain::host_event::{Effect, Touch};

const BEGIN: &str = "*** Begin Patch";

/// Whether a text contains an envelope.
pub(super) fn is_in(text: &str) -> bool {
    text.contains(BEGIN)
}

/// Returns the files of all envelopes in a text, relative to `base`.
pub(super) fn touches(text: &str, base: &str) -> Vec<Touch> {
    let mut touches: Vec<Touch> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        if !inside {
            // In `apply_patch '*** Begin Patch` the command is on the same line.
            inside = line.trim().ends_with(BEGIN);
            continue;
        }
        // In the body of an update, a leading blank marks a context line of the file; elsewhere it
        // is
        // sloppy formatting that hosts accept.
        let in_update = matches!(
            touches.last(),
            Some(Touch {
                effect: Effect::Edit { .. },
                ..
            })
        );
        let header = if in_update { line } else { line.trim_start() };
        if let Some(path) = header.strip_prefix("*** Add File:") {
            push(
                &mut touches,
                base,
                path,
                Effect::Write {
                    // Collected from the `+` lines that follow.
                    text: Some(String::new()),
                },
            );
        } else if let Some(path) = header.strip_prefix("*** Update File:") {
            push(
                &mut touches,
                base,
                path,
                Effect::Edit {
                    removed: 0,
                    added: 0,
                },
            );
        } else if let Some(path) = header.strip_prefix("*** Delete File:") {
            push(&mut touches, base, path, Effect::Delete);
        } else if let (true, Some(path)) = (in_update, header.strip_prefix("*** Move to:")) {
            // A move deletes the old path, which may be an approved plan, and writes the new one.
            if let Some(source) = touches.last_mut() {
                source.effect = Effect::Delete;
            }
            push(&mut touches, base, path, Effect::Write { text: None });
        } else if header.starts_with("*** End Patch") {
            inside = false;
        } else if let Some(touch) = touches.last_mut() {
            count(&mut touch.effect, line);
        }
    }
    touches
}

fn push(touches: &mut Vec<Touch>, base: &str, path: &str, effect: Effect) {
    let path = path.trim();
    if !path.is_empty() {
        touches.push(Touch {
            path: join(base, path),
            effect,
        });
    }
}

fn count(effect: &mut Effect, line: &str) {
    match effect {
        Effect::Write { text: Some(text) } => {
            if let Some(new) = line.strip_prefix('+') {
                text.push_str(new);
                text.push('\n');
            }
        }
        // The length includes the sign, which makes up for the line break that `lines` removed.
        Effect::Edit { added, .. } if line.starts_with('+') => *added += line.len(),
        Effect::Edit { removed, .. } if line.starts_with('-') => *removed += line.len(),
        Effect::Edit { .. } | Effect::Write { text: None } | Effect::Read | Effect::Delete => {}
    }
}

/// Resolves a relative path against `base`.
pub(super) fn join(base: &str, path: &str) -> String {
    if base.is_empty() || path.starts_with(['/', '\\']) || path.get(1..2) == Some(":") {
        path.to_owned()
    } else {
        format!("{}/{path}", base.trim_end_matches('/'))
    }
}
