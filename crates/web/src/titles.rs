//! Titles of plans that a page knows by their paths alone.

use std::collections::HashMap;

use maud::Markup;

use crate::Dashboard;
use crate::pages::link_by_title;

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

    pub(crate) fn title_of(&self, path: &str) -> Option<&str> {
        self.0.get(path).map(String::as_str)
    }
}

impl Dashboard {
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
