//! Patch envelopes, `*** Begin Patch` … `*** End Patch`: which files they touch and by how much.
//!
//! Lenient where the hosts are: what they apply must not escape us, what they refuse does no harm.

use domain::host_event::{Effect, Touch};

const BEGIN: &str = "*** Begin Patch";

/// Says whether the text holds an envelope.
pub(super) fn is_in(text: &str) -> bool {
    text.contains(BEGIN)
}

/// Returns the files of all envelopes in a text, relative to `base`.
pub(super) fn touches(text: &str, base: &str) -> Vec<Touch> {
    let mut touches: Vec<Touch> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        if !inside {
            // `apply_patch '*** Begin Patch` has the command before it on the same line.
            inside = line.trim().ends_with(BEGIN);
            continue;
        }
        // In the body of an update a line that begins with a blank is text of the file, elsewhere it is sloppy.
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
        // The sign stands for the line break that `lines` took.
        Effect::Edit { added, .. } if line.starts_with('+') => *added += line.len(),
        Effect::Edit { removed, .. } if line.starts_with('-') => *removed += line.len(),
        Effect::Edit { .. } | Effect::Write { text: None } | Effect::Read | Effect::Delete => {}
    }
}

/// Puts a relative path below `base`.
pub(super) fn join(base: &str, path: &str) -> String {
    if base.is_empty() || path.starts_with(['/', '\\']) || path.get(1..2) == Some(":") {
        path.to_owned()
    } else {
        format!("{}/{path}", base.trim_end_matches('/'))
    }
}
