//! Titles of plans that a page knows by their paths alone.

use std::collections::HashMap;

use maud::{Markup, html};

use crate::Dashboard;
use crate::pages::link_by_title;

/// Titles by path. A plan without a title is called by its path.
#[derive(Debug, Default)]
pub(crate) struct PlanTitles(HashMap<String, String>);

impl PlanTitles {
    /// Adds other titles.
    pub(crate) fn with(mut self, others: Self) -> Self {
        self.0.extend(others.0);
        self
    }

    /// Returns the title of a plan, or its path.
    pub(crate) fn name_of<'n>(&'n self, path: &'n str) -> &'n str {
        self.title_of(path).unwrap_or(path)
    }

    /// Renders a link to a plan by its title, with its path small behind it.
    pub(crate) fn link_to(&self, path: &str) -> Markup {
        link_by_title(path, self.title_of(path))
    }

    /// Renders a plan by its title with its path small behind it, where a link would lead away.
    pub(crate) fn name_with_path(&self, path: &str) -> Markup {
        html! {
            @match self.title_of(path) {
                Some(title) => { span dir="auto" { (title) } " " code.id { (path) } },
                None => code { (path) },
            }
        }
    }

    /// Renders a summary of the log with its plans by title, their paths small behind them.
    pub(crate) fn render_summary(&self, summary: &str) -> Markup {
        html! {
            @for (index, part) in summary.split('`').enumerate() {
                @if index % 2 == 1 { (self.name_with_path(part)) }
                @else {
                    @for word in part.split_inclusive(' ') {
                        @let (before, name, after) = split_name(word);
                        @if self.title_of(name).is_some() { (before) (self.name_with_path(name)) (after) } @else { (word) }
                    }
                }
            }
        }
    }

    /// Like [`Self::link_to`], for what may be a file or a plan that is not there.
    pub(crate) fn link_to_known(&self, path: &str) -> Markup {
        match self.title_of(path) {
            Some(_) => self.link_to(path),
            None => html! { code { (path) } },
        }
    }

    pub(crate) fn title_of(&self, path: &str) -> Option<&str> {
        self.0.get(path).map(String::as_str)
    }
}

/// Splits a word of a summary into what may be a path and the punctuation around it.
fn split_name(word: &str) -> (&str, &str, &str) {
    let is_around = |letter: char| " ,:;()".contains(letter);
    let inner = word.trim_start_matches(is_around);
    let (before, _) = word.split_at(word.len() - inner.len());
    let name = inner.trim_end_matches(is_around);
    let (_, after) = inner.split_at(name.len());
    (before, name, after)
}

/// Returns the words of a summary that may be paths of plans.
fn list_names(summary: &str) -> impl Iterator<Item = &str> {
    let words = summary.split([' ', '`']).map(|word| split_name(word).1);
    // Numbers in a sentence are counts, as in `2 new`; ids of tickets have three digits.
    words.filter(|word| {
        word.len() > 2 && word.contains(|letter: char| letter.is_ascii_digit() || letter == '/')
    })
}

impl Dashboard {
    /// Looks up the titles of the plans that summaries of the log name.
    pub(crate) async fn load_titles_in<'s>(
        &self,
        summaries: impl IntoIterator<Item = &'s str>,
    ) -> PlanTitles {
        let names: std::collections::BTreeSet<String> = summaries
            .into_iter()
            .flat_map(list_names)
            .map(str::to_owned)
            .collect();
        self.load_titles(names).await
    }

    /// Looks titles up in the cached tree, right after a page whose handler has scanned the files. A page
    /// is readable without them, so a state that cannot be read gives none.
    pub(crate) async fn load_titles(&self, paths: impl IntoIterator<Item = String>) -> PlanTitles {
        let paths: Vec<String> = paths.into_iter().collect();
        let found = self
            .ask_recorded(move |_, known| {
                let named = paths
                    .iter()
                    .filter_map(|path| Some((path.clone(), known.title_of_path(path)?.to_owned())));
                Ok(named.collect())
            })
            .await;
        PlanTitles(found.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_of_a_summary_are_called_by_their_titles() {
        let known = [("act-1/chapter-01", "The storm"), ("017", "Quality")];
        let titles = PlanTitles(
            known
                .iter()
                .map(|(path, title)| ((*path).to_owned(), (*title).to_owned()))
                .collect(),
        );
        let text = |summary: &str| titles.render_summary(summary).into_string();
        let named = text("approve act-1/chapter-01, and `017`: 2 new");
        assert_eq!(
            named,
            "approve <span dir=\"auto\">The storm</span> <code class=\"id\">act-1/chapter-01</code>, and \
             <span dir=\"auto\">Quality</span> <code class=\"id\">017</code>: 2 new"
        );
        assert_eq!(text("move act-9 to <b>"), "move act-9 to &lt;b&gt;");
        let names: Vec<&str> = list_names("2 new: act-1/chapter-01, … (`017`)").collect();
        assert_eq!(names, ["act-1/chapter-01", "017"]);
    }
}
