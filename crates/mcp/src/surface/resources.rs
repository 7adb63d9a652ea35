//! Resources: states, trees, texts and the briefing, each with its URI.

use application::brief::compose_briefing;
use application::generation::view::show_generation;
use application::show_node::show_node;
use application::show_tree::show_tree;
use application::{Failure, FailureKind};
use domain::ids::Principal;
use serde_json::json;

use super::Surface;
use super::listing::{Age, Listed};

/// A resource in the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    pub uri: String,
    pub name: String,
    pub title: Option<String>,
    pub description: String,
    pub mime_type: &'static str,
}

/// A resource template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    pub uri_template: &'static str,
    pub name: &'static str,
    pub description: &'static str,
    pub mime_type: &'static str,
}

/// Content of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    pub uri: String,
    pub mime_type: &'static str,
    pub text: String,
}

/// A page of a list, and the cursor of the next one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    pub items: Vec<T>,
    pub next: Option<String>,
}

const JSON: &str = "application/json";
const MARKDOWN: &str = "text/markdown";
const PER_PAGE: usize = 100;
const BRIEFING: &str = "plan://briefing";

pub(super) const TEMPLATES: [Template; 4] = [
    Template {
        uri_template: "state://planning/{entity_type}/{entity_id}",
        name: "entity_state",
        description: "State of a plan: status, version, parent, children, file",
        mime_type: JSON,
    },
    Template {
        uri_template: "state://planning/hierarchy/{act_id}",
        name: "hierarchy",
        description: "A plan and everything below it, with statuses",
        mime_type: JSON,
    },
    Template {
        uri_template: "plan://node/{+path}",
        name: "plan_text",
        description: "The text of a plan",
        mime_type: MARKDOWN,
    },
    Template {
        uri_template: "state://generation/{scene_id}",
        name: "generation_state",
        description: "How a scene that is being written stands",
        mime_type: JSON,
    },
];

impl Surface {
    /// Returns the resource templates.
    #[must_use]
    pub fn templates(&self) -> Vec<Template> {
        TEMPLATES.to_vec()
    }

    /// Returns a page of resources: the briefing, then every plan's text.
    ///
    /// # Errors
    /// When the state cannot be read, or the cursor is invalid.
    pub fn resources(
        &self,
        actor: &Principal,
        cursor: Option<&str>,
    ) -> Result<Page<Resource>, Failure> {
        let from: usize = match cursor {
            None => 0,
            Some(cursor) => cursor.parse().map_err(|_| {
                Failure::invalid(format!("`{cursor}` is not a cursor of this list"))
            })?,
        };
        // Only the first page scans the files: a new scan per page could shift the entries.
        let listing = self.listing(actor, if from == 0 { &Age::New } else { &Age::Any })?;
        let briefing = Resource {
            uri: BRIEFING.to_owned(),
            name: "briefing".to_owned(),
            title: Some("Where the work stands".to_owned()),
            description: "One short text about the state of all plans".to_owned(),
            mime_type: "text/plain",
        };
        // A plan without a text has nothing to read; its state is reached through a template.
        let texts = listing.plans.iter().filter(|plan| plan.has_text).map(text);
        let mut rest = std::iter::once(briefing).chain(texts).skip(from);
        let items = rest.by_ref().take(PER_PAGE).collect();
        // One element ahead: a cursor that leads to an empty page confuses clients.
        let next = rest.next().map(|_| (from + PER_PAGE).to_string());
        Ok(Page { items, next })
    }

    /// Reads a resource; `None` if there is none with that URI.
    ///
    /// # Errors
    /// When the state cannot be read.
    pub fn read(&self, actor: &Principal, uri: &str) -> Result<Option<Content>, Failure> {
        let found = self.run(actor, &mut |ctx| {
            if uri == BRIEFING {
                return Ok(Some(("text/plain", compose_briefing(ctx, None)?)));
            }
            // Before the generic prefix, which would take `hierarchy` for a level.
            if let Some(top) = uri.strip_prefix("state://planning/hierarchy/") {
                // A subtree at once: clients cannot page through a resource.
                let tree = show_tree(ctx, &[top.to_owned()])?;
                return Ok(Some((JSON, json!(tree).to_string())));
            }
            if let Some((level, id)) = uri
                .strip_prefix("state://planning/")
                .and_then(|rest| rest.split_once('/'))
            {
                let words = crate::tools::words(level, id);
                return Ok(Some((JSON, json!(show_node(ctx, &words)?).to_string())));
            }
            if let Some(scene) = uri.strip_prefix("state://generation/") {
                return Ok(Some((
                    JSON,
                    json!(show_generation(ctx, &[scene.to_owned()])?).to_string(),
                )));
            }
            if let Some(path) = uri.strip_prefix("plan://node/") {
                let node = show_node(ctx, &[path.to_owned()])?;
                let text = match node.version_hash {
                    // From the store, not from the file: the text belongs to the recorded version,
                    // which the status is about.
                    Some(version) => ctx.store.begin_read()?.load_text(version)?,
                    None => None,
                };
                return Ok(text.map(|text| (MARKDOWN, text)));
            }
            Ok(None)
        });
        match found {
            Ok(found) => Ok(found.map(|(mime_type, text)| Content {
                uri: uri.to_owned(),
                mime_type,
                // The others are material, or data whose steps a tool returns as calls.
                text: match uri == BRIEFING {
                    true => self.render_text(&text),
                    false => text,
                },
            })),
            // An invalid reference in a URI is an unknown resource; the protocol has an error for
            // it.
            Err(failure)
                if failure.kind == FailureKind::NotFound
                    || failure.kind == FailureKind::Invalid =>
            {
                Ok(None)
            }
            Err(failure) => Err(failure),
        }
    }

    /// Completes a variable of a template.
    ///
    /// # Errors
    /// When the state cannot be read.
    pub fn complete_resource(
        &self,
        actor: &Principal,
        uri_template: &str,
        argument: &str,
        value: &str,
    ) -> Result<Vec<String>, Failure> {
        if !TEMPLATES
            .iter()
            .any(|template| template.uri_template == uri_template)
        {
            return Ok(Vec::new());
        }
        match argument {
            "entity_type" => {
                let profiles = self.workspace().profiles();
                // Levels of all profiles: the URI does not name one.
                let levels = profiles
                    .iter()
                    .flat_map(|profile| &profile.levels)
                    .map(|level| level.name.clone());
                Ok(levels.filter(|level| level.starts_with(value)).collect())
            }
            "entity_id" | "act_id" | "path" => self.paths(actor, value, argument == "act_id"),
            // Prose is generated for levels with an output file.
            "scene_id" => {
                let profiles = self.workspace().profiles();
                let written = |name: &str| {
                    profiles
                        .iter()
                        .filter_map(|profile| profile.find_level(name))
                        .any(|level| level.output.is_some())
                };
                let listing = self.listing(actor, &Age::Recent)?;
                let fits = |plan: &&Listed| {
                    written(&plan.level)
                        && (plan.path.starts_with(value) || plan.alias.starts_with(value))
                };
                Ok(listing
                    .plans
                    .iter()
                    .filter(fits)
                    .map(|plan| plan.path.clone())
                    .collect())
            }
            _ => Ok(Vec::new()),
        }
    }

    /// Returns the paths that start with `value`, or whose last alias does.
    pub(super) fn paths(
        &self,
        actor: &Principal,
        value: &str,
        roots_only: bool,
    ) -> Result<Vec<String>, Failure> {
        let listing = self.listing(actor, &Age::Recent)?;
        let fits = |plan: &&Listed| {
            (plan.is_top || !roots_only)
                && (plan.path.starts_with(value) || plan.alias.starts_with(value))
        };
        Ok(listing
            .plans
            .iter()
            .filter(fits)
            .map(|plan| plan.path.clone())
            .collect())
    }
}

fn text(plan: &Listed) -> Resource {
    Resource {
        uri: format!("plan://node/{}", plan.path),
        name: plan.path.clone(),
        title: plan.title.clone(),
        description: format!("{}, {}", plan.level, plan.status),
        mime_type: MARKDOWN,
    }
}
