//! Titles of plans that a page knows by their paths alone.

use std::collections::HashMap;

use application::describe_operation::{OperationPlans, name_changed_plans};
use application::views::OperationView;
use domain::ids::OperationId;
use maud::{Markup, html};

use crate::Dashboard;
use crate::pages::{link_by_title, render_message};

/// Titles by path. A plan without a title is called by its path.
#[derive(Debug, Default)]
pub(crate) struct PlanTitles(HashMap<String, String>);

impl PlanTitles {
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
    fn render_summary(&self, summary: &str) -> Markup {
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

/// Titles of the plans that operations are about. By operation, because a path may be another plan's
/// after a change of shape.
#[derive(Debug, Default)]
pub(crate) struct LogTitles(HashMap<OperationId, PlanTitles>);

impl LogTitles {
    pub(crate) fn from_plans(plans: &HashMap<OperationId, OperationPlans>) -> Self {
        let titles =
            |plans: &OperationPlans| PlanTitles(plans.titles.clone().into_iter().collect());
        let found = plans.iter().map(|(id, plans)| (*id, titles(plans)));
        Self(found.collect())
    }

    /// Returns the plan that an operation is about: the first one that its summary names.
    pub(crate) fn subject_of<'o>(&self, operation: &'o OperationView) -> Option<&'o str> {
        let titles = self.0.get(&operation.operation)?;
        let words = operation.summary.split([' ', '`']);
        let names = words.map(|word| split_name(word).1);
        names
            .into_iter()
            .find(|name| titles.title_of(name).is_some())
    }

    /// Renders the summary of an operation.
    pub(crate) fn render_summary(&self, operation: &OperationView) -> Markup {
        match self.0.get(&operation.operation) {
            Some(titles) => titles.render_summary(&operation.summary),
            None => render_message(&operation.summary),
        }
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

impl Dashboard {
    /// Looks up the titles of the plans that operations are about, right after a page whose handler has
    /// scanned the files.
    pub(crate) async fn load_log_titles(
        &self,
        operations: impl IntoIterator<Item = &OperationView>,
    ) -> LogTitles {
        let operations: Vec<OperationView> = operations.into_iter().cloned().collect();
        let found = self
            .ask_recorded(move |ctx, known| name_changed_plans(ctx, known, &operations))
            .await;
        LogTitles::from_plans(&found.unwrap_or_default())
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
    }
}
