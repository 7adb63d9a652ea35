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

#[cfg(test)]
mod tests {
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
