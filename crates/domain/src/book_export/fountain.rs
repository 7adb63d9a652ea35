//! Fountain, the plain text of screenplays: parts and chapters are sections, scenes have forced headings,
//! and prose is action.

use std::fmt::Write as _;

use super::Book;

impl Book {
    /// Renders the book as Fountain.
    #[must_use]
    pub fn to_fountain(&self) -> String {
        let mut out = format!("Title: {}\n", self.title);
        if let Some(author) = &self.details.author {
            let _ = write!(out, "Credit: by\nAuthor: {author}\n");
        }
        for part in &self.parts {
            if let Some(title) = &part.title {
                let _ = write!(out, "\n# {title}\n");
            }
            for chapter in &part.chapters {
                let _ = write!(out, "\n## {}\n", chapter.title);
                for scene in &chapter.scenes {
                    let heading = scene.title.to_uppercase();
                    // The dot that forces a heading is added below; two dots are action.
                    let heading = heading.trim_start_matches(['.', ' ']);
                    let _ = write!(out, "\n.{heading}\n");
                    if let Some(why) = &scene.stale_mark {
                        let _ = write!(out, "\n[[stale: {why}]]\n");
                    }
                    for paragraph in scene.text.trim().split("\n\n") {
                        let _ = write!(out, "\n{}\n", force_action(paragraph.trim()));
                    }
                }
            }
        }
        out
    }
}

/// Returns a paragraph that Fountain reads as action, whatever it begins with.
fn force_action(paragraph: &str) -> String {
    let upper = paragraph.to_uppercase();
    let starts = ["INT", "EXT", "EST", "I/E"];
    let looks_like_heading = starts.iter().any(|start| {
        let rest = upper.strip_prefix(start);
        rest.is_some_and(|rest| rest.starts_with(['.', ' ', '/']))
    });
    let first_line = paragraph.lines().next().unwrap_or_default();
    // A line in capitals is a character's name in Fountain, and what follows would be dialogue.
    let is_shouted =
        first_line.chars().any(char::is_alphabetic) && !first_line.chars().any(char::is_lowercase);
    let is_marked = paragraph.starts_with(['.', '@', '#', '=', '>', '~', '!']);
    match is_marked || looks_like_heading || is_shouted {
        true => format!("!{paragraph}"),
        false => paragraph.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_never_read_as_a_heading_or_a_speaker() {
        for text in [
            "NO!\nShe ran.",
            "int. she thought.",
            "> letter",
            "...and then",
        ] {
            assert!(force_action(text).starts_with('!'), "{text}");
        }
        for text in ["He said no.", "Integers.", "Extra salt."] {
            assert_eq!(force_action(text), text);
        }
    }
}
