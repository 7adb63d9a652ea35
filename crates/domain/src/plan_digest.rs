//! Shortens a long plan for an agent that plans below it.
//!
//! Sections that name the child are given in full, of the others the heading and the first whole
//! sentences. Nothing is cut in the middle of a sentence unless one sentence alone is too long.

use crate::section::{Section, mentioned_sections, split_sections};

/// A plan within a budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanDigest {
    pub text: String,
    /// Number of sections that are not given in full; 0 if the plan is whole.
    pub shortened: usize,
    pub sections: usize,
}

/// Shortens a plan to about `budget` characters; `names` are those of the child.
#[must_use]
pub fn digest_plan(text: &str, names: &[String], budget: usize) -> PlanDigest {
    let sections = split_sections(text);
    let count = sections.len();
    if text.chars().count() <= budget {
        return PlanDigest {
            text: text.to_owned(),
            shortened: 0,
            sections: count,
        };
    }
    let is_about = mentioned_sections(&sections, names);
    // Headings are paid first: a reader has to see what was left out in order to ask for it.
    let headings: usize = sections
        .iter()
        .map(|section| render_heading(section).chars().count() + 1)
        .sum();
    let mut left = budget.saturating_sub(headings);
    let mut bodies: Vec<String> = vec![String::new(); count];
    // The sections about the child first, then the rest in equal shares.
    for (index, section) in sections.iter().enumerate() {
        if is_about[index] {
            bodies[index] = take_sentences(&section.body, left);
            left = left.saturating_sub(bodies[index].chars().count());
        }
    }
    let mut others = is_about.iter().filter(|about| !**about).count();
    for (index, section) in sections.iter().enumerate() {
        if !is_about[index] {
            // What a short section leaves over is shared by those after it.
            bodies[index] = take_sentences(&section.body, left / others.max(1));
            left = left.saturating_sub(bodies[index].chars().count());
            others -= 1;
        }
    }
    let mut out = String::new();
    let mut shortened = 0;
    for (section, body) in sections.iter().zip(bodies) {
        let is_whole = body.len() == section.body.trim_end().len();
        shortened += usize::from(!is_whole);
        // A plan with thousands of headings is cut after those that fit.
        if out.chars().count() > budget {
            continue;
        }
        let heading = render_heading(section);
        let mark = if is_whole { "" } else { " …" };
        for line in [heading.as_str(), &format!("{body}{mark}")] {
            if !line.trim().is_empty() {
                out.push_str(line);
                out.push('\n');
            }
        }
    }
    PlanDigest {
        text: out,
        shortened,
        sections: count,
    }
}

fn render_heading(section: &Section) -> String {
    match section.depth {
        0 => section.heading.clone(),
        depth => format!("{} {}", "#".repeat(usize::from(depth)), section.heading),
    }
}

/// Returns as many whole sentences and lines from the start as fit into `room` characters. If not
/// even the first one fits, it is cut between words, or left out if there is no room for some.
pub(crate) fn take_sentences(text: &str, room: usize) -> String {
    /// A shorter piece of a sentence says nothing.
    const MIN_PIECE_CHARS: usize = 40;

    let text = text.trim_end();
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let (mut end, mut space) = (0, 0);
    let mut previous = ' ';
    for (used, (at, c)) in text.char_indices().enumerate() {
        if used >= room {
            break;
        }
        let is_sentence_end = c.is_whitespace() && matches!(previous, '.' | '!' | '?' | '…' | ':');
        if c == '\n' || is_sentence_end || matches!(c, '。' | '！' | '？') {
            end = at;
        }
        if c.is_whitespace() {
            space = at;
        }
        previous = c;
    }
    let cut = match end {
        0 if room >= MIN_PIECE_CHARS => space,
        end => end,
    };
    text.get(..cut).unwrap_or_default().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{digest_plan, take_sentences};

    fn long_act() -> String {
        let filler = "It goes on for a while. ".repeat(80);
        let mut text = String::from("# Act 2\n\nThe question of the act is whether she stays.\n");
        for chapter in 1..=25 {
            text.push_str(&format!(
                "\n## Chapter {chapter}\n\nChapter {chapter} begins at the harbour. {filler}\n"
            ));
        }
        text
    }

    #[test]
    fn the_section_about_the_child_is_whole_and_the_others_keep_their_first_sentence() {
        let text = long_act();
        assert!(text.chars().count() > 45_000);
        let digest = digest_plan(&text, &["chapter 7".to_owned()], 6_000);
        assert!(
            digest.text.chars().count() <= 6_200,
            "{}",
            digest.text.len()
        );
        assert!(digest.text.contains("whether she stays."));
        let own = format!(
            "Chapter 7 begins at the harbour. {}",
            "It goes on for a while. ".repeat(80)
        );
        assert!(digest.text.contains(own.trim_end()), "{}", digest.text);
        for chapter in [1, 6, 8, 25] {
            let first = format!("## Chapter {chapter}\nChapter {chapter} begins at the harbour.");
            assert!(digest.text.contains(&first), "{}", digest.text);
        }
        assert_eq!((digest.shortened, digest.sections), (24, 26));
    }

    #[test]
    fn a_short_plan_is_whole() {
        let digest = digest_plan("# Act\n\nText.\n", &[], 500);
        assert_eq!(
            (digest.text.as_str(), digest.shortened),
            ("# Act\n\nText.\n", 0)
        );
    }

    #[test]
    fn one_endless_paragraph_is_cut_between_words() {
        let text = format!("# Act\n\n{}", "слово ".repeat(5_000));
        let digest = digest_plan(&text, &[], 1_000);
        assert!(digest.text.chars().count() > 900, "{}", digest.text.len());
        assert!(
            digest.text.trim_end().ends_with("слово …"),
            "{}",
            digest.text
        );
    }

    proptest! {
        #[test]
        fn what_is_taken_is_a_start_of_the_text(text in "[a-zа-я .\n]{0,300}", room in 0_usize..320) {
            let taken = take_sentences(&text, room);
            prop_assert!(text.starts_with(&taken));
            prop_assert!(taken.chars().count() <= room.max(text.trim_end().chars().count().min(room)));
        }

        #[test]
        fn a_digest_keeps_its_budget(text in "(# [a-z]{1,9}\n\n([a-z]{1,9}[ .\n]){0,60}){0,12}", budget in 100_usize..2_000) {
            let digest = digest_plan(&text, &["chapter 1".to_owned()], budget);
            // Marks and line breaks come on top: a few characters per section.
            prop_assert!(digest.text.chars().count() <= budget + 4 * digest.sections + 4);
        }
    }
}
