//! The guides of the phases: shipped with the program, overruled by the project's own.

/// The guides that come with the program: file name and text.
pub const SHIPPED: [(&str, &str); 5] = [
    ("DISCOVERY.md", include_str!("phases/DISCOVERY.md")),
    ("SCENARIOS.md", include_str!("phases/SCENARIOS.md")),
    ("DECOMPOSITION.md", include_str!("phases/DECOMPOSITION.md")),
    ("TDD.md", include_str!("phases/TDD.md")),
    ("DONE.md", include_str!("phases/DONE.md")),
];

/// Where a project's own guides lie.
pub const FOLDER: &str = ".throughline/phases";

/// Returns the guide of that name as it is shipped.
#[must_use]
pub fn shipped(name: &str) -> Option<&'static str> {
    SHIPPED
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_guide_can_be_read_in_one_go() {
        for (name, text) in super::SHIPPED {
            let lines = text.lines().count();
            assert!((45..=70).contains(&lines), "{name} has {lines} lines");
            assert!(text.contains("tl "), "{name} names no command");
        }
    }
}
