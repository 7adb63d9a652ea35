//! Guides of the work phases: built in, overridable by files of the project.

/// Built-in guides: file name and text.
pub const BUILT_IN_GUIDES: [(&str, &str); 5] = [
    ("DISCOVERY.md", include_str!("phases/DISCOVERY.md")),
    ("SCENARIOS.md", include_str!("phases/SCENARIOS.md")),
    ("DECOMPOSITION.md", include_str!("phases/DECOMPOSITION.md")),
    ("TDD.md", include_str!("phases/TDD.md")),
    ("DONE.md", include_str!("phases/DONE.md")),
];

/// Directory of a project's own guides.
pub const GUIDES_FOLDER: &str = ".throughline/phases";

/// Returns the built-in guide of that file name.
#[must_use]
pub fn find_built_in_guide(name: &str) -> Option<&'static str> {
    BUILT_IN_GUIDES
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, text)| *text)
}

/// What a guide names where the last phase is over.
const AFTER_LAST_PHASE: &str = "tl focus exit";

/// Returns a guide for a ticket: in its commands the word `ID` is the ticket's id, and `NEXT` the phase
/// that follows for work of its level, so that they can be run as they are.
#[must_use]
pub fn fill_in_ticket(guide: &str, ticket: &str, next_phase: Option<&str>) -> String {
    let fill_command = |command: &str| {
        if next_phase.is_none() && command.ends_with(" NEXT") {
            return AFTER_LAST_PHASE.to_owned();
        }
        let words = command.split(' ').map(|word| match word {
            "ID" => ticket,
            "NEXT" => next_phase.unwrap_or(word),
            word => word,
        });
        words.collect::<Vec<_>>().join(" ")
    };
    let fill_line = |line: &str| {
        if line.trim_start().starts_with("tl ") {
            return fill_command(line);
        }
        let spans = line.split('`').enumerate();
        let spans = spans.map(
            |(index, span)| match index % 2 == 1 && span.starts_with("tl ") {
                true => fill_command(span),
                false => span.to_owned(),
            },
        );
        spans.collect::<Vec<_>>().join("`")
    };
    guide
        .split('\n')
        .map(fill_line)
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    #[test]
    fn commands_of_a_guide_name_the_ticket() {
        let guide = "Its ID stays.\n`tl ticket phase ID implement`, `ID`, `tl evidence run ID`.";
        assert_eq!(
            super::fill_in_ticket(guide, "017a", None),
            "Its ID stays.\n`tl ticket phase 017a implement`, `ID`, `tl evidence run 017a`."
        );
        let guide = "NEXT: `tl ticket phase ID NEXT`.";
        for (next, expected) in [
            (Some("implement"), "NEXT: `tl ticket phase 017a implement`."),
            (None, "NEXT: `tl focus exit`."),
        ] {
            assert_eq!(super::fill_in_ticket(guide, "017a", next), expected);
        }
        for (name, text) in super::BUILT_IN_GUIDES {
            let filled = super::fill_in_ticket(text, "017a", Some("done"));
            assert!(!filled.contains(" ID "), "{name}: {filled}");
            assert!(!filled.contains("NEXT"), "{name}: {filled}");
        }
    }

    #[test]
    fn every_guide_can_be_read_in_one_go() {
        for (name, text) in super::BUILT_IN_GUIDES {
            let lines = text.lines().count();
            // A guide is part of a gate's block, so it has to be short enough to be read at once.
            assert!((45..=70).contains(&lines), "{name} has {lines} lines");
            assert!(text.contains("tl "), "{name} names no command");
        }
    }
}
