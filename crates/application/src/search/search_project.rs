//! Searches the project: ranked hits with snippets, filtered by kind, status and subtree.

use domain::comment::Comment;
use domain::ids::NodeId;
use domain::memory::{Entry, name_ids_in};
use domain::node::{Node, Status};
use domain::ports::{SearchIndex, Snapshot};
use domain::record;
use domain::search::MatchMode;
use domain::search::documents::{DocumentKey, DocumentKind, FilteredQuery};
use domain::search::expansion::{Correction, ExpandedQuery, expand_query};
use domain::search::memory_index::MemorySearchIndex;
use domain::search::snippet::{Snippet, find_snippet};
use domain::time::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::document_sources::{node_of, operation_of, read_prose_text, record_of, record_texts};
use super::update_index::update_index;
use crate::context::Context;
use crate::failure::Failure;
use crate::locate::{find_node, load_ancestors, load_node_path, reject_extra_words};
use crate::memory::memory_files::observe_memory;
use crate::observe::observe_then_read;
use crate::scan::ScanScope;
use crate::tick::story_state::prose_path_below;

/// How many times more documents are ranked than requested if a filter may reject some.
const FILTERED_FACTOR: usize = 8;

/// Request of [`search_project`].
#[derive(Clone, Debug)]
pub struct SearchRequest {
    /// Words, phrases in quotation marks, and filters: `kind:plan status:draft under:act-2`.
    pub query: String,
    pub limit: usize,
}

/// Outcome of [`search_project`].
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct SearchOutcome {
    pub query: String,
    /// The best first; operations of the log come after everything else.
    pub hits: Vec<SearchHitView>,
    /// Whether there are more hits than the limit.
    pub has_more: bool,
    /// Words that occur nowhere, with the similar ones that were searched instead.
    pub corrections: Vec<Correction>,
}

/// One hit.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SearchHitView {
    pub kind: DocumentKind,
    /// The node's path, the id of a memory entry or note, or the number of an operation.
    pub id: String,
    pub title: Option<String>,
    /// Status of the node it belongs to.
    pub status: Option<Status>,
    /// The file the text is in.
    pub file: Option<String>,
    /// Author of a comment or operation.
    pub by: Option<String>,
    pub at: Option<Timestamp>,
    pub snippet: Snippet,
}

/// Searches the project.
///
/// # Errors
/// When the query is empty or has an unknown filter, or the state cannot be read.
pub fn search_project(
    ctx: &Context<'_>,
    request: &SearchRequest,
) -> Result<SearchOutcome, Failure> {
    // Before anything is observed: a typing error in a filter should not cost a scan.
    let query = FilteredQuery::parse_query(&request.query)?;
    // Edits in files count at once: people search right after they saved.
    drop(observe_memory(ctx)?);
    let state = observe_then_read(ctx, ScanScope::Everything)?;
    let under = match &query.under {
        Some(name) => {
            let words = [name.clone()];
            let (id, rest) = find_node(ctx, &*state, &words)?;
            reject_extra_words(rest)?;
            Some(id)
        }
        None => None,
    };
    let search = Search {
        ctx,
        state: &*state,
        query: &query,
        under,
        limit: request.limit,
    };
    let fresh = MemorySearchIndex::default();
    let found = match ctx.search_index.map(|index| search.find_documents(index)) {
        Some(Ok(found)) => found,
        // No index, or one that cannot be written, as on a read-only disk: indexed for this search
        // alone.
        Some(Err(_)) | None => search.find_documents(&fresh)?,
    };
    let (keys, expanded) = found;
    let mut hits = Vec::new();
    for key in keys.iter().take(request.limit) {
        hits.extend(search.load_hit(key, &expanded)?);
    }
    Ok(SearchOutcome {
        query: request.query.clone(),
        hits,
        has_more: keys.len() > request.limit,
        corrections: expanded.corrections,
    })
}

/// A search on one snapshot.
struct Search<'s> {
    ctx: &'s Context<'s>,
    state: &'s dyn Snapshot,
    query: &'s FilteredQuery,
    under: Option<NodeId>,
    limit: usize,
}

impl Search<'_> {
    /// Returns up to one document more than the limit, with the query as it was searched.
    fn find_documents(
        &self,
        index: &dyn SearchIndex,
    ) -> Result<(Vec<DocumentKey>, ExpandedQuery), Failure> {
        update_index(self.ctx, self.state, index)?;
        let expanded = expand_query(&self.query.words, index)?;
        // One more than shown tells whether there are more, without counting all matches.
        let most = self.limit.saturating_add(1);
        let wanted =
            |kind: &DocumentKind| self.query.kinds.is_empty() || self.query.kinds.contains(kind);
        let kinds: Vec<DocumentKind> = DocumentKind::ALL.into_iter().filter(wanted).collect();
        // The log comes last: its one-line summaries would outrank every text.
        let (log, texts): (Vec<_>, Vec<_>) = kinds
            .into_iter()
            .partition(|kind| *kind == DocumentKind::Log);
        let mut found = Vec::new();
        for kinds in [texts, log] {
            let room = most - found.len();
            if !kinds.is_empty() && room > 0 {
                found.extend(self.rank_accepted(index, &expanded, &kinds, room)?);
            }
        }
        Ok((found, expanded))
    }

    /// Ranks more and more documents, until enough pass the filters.
    fn rank_accepted(
        &self,
        index: &dyn SearchIndex,
        expanded: &ExpandedQuery,
        kinds: &[DocumentKind],
        most: usize,
    ) -> Result<Vec<DocumentKey>, Failure> {
        let is_filtered = self.under.is_some() || !self.query.statuses.is_empty();
        let mut ranked = match is_filtered {
            true => most.saturating_mul(FILTERED_FACTOR),
            false => most,
        };
        loop {
            let found = index.rank_documents(expanded, MatchMode::AllElseAny, kinds, ranked)?;
            let is_all = found.len() < ranked;
            let mut accepted = Vec::new();
            for key in found {
                if accepted.len() < most && (!is_filtered || self.passes_filters(&key)?) {
                    accepted.push(key);
                }
            }
            if is_all || accepted.len() == most || !is_filtered {
                return Ok(accepted);
            }
            // Grows by a factor, so that a rare status in a large project needs few rounds.
            ranked = ranked.saturating_mul(FILTERED_FACTOR);
        }
    }

    /// Whether a document belongs to a node that passes the filters.
    fn passes_filters(&self, key: &DocumentKey) -> Result<bool, Failure> {
        // Notes, memory and the log belong to no node: a filter by status or subtree cannot mean
        // them.
        let Some(node) = self.load_owner(key)? else {
            return Ok(false);
        };
        if !self.query.statuses.is_empty() && !self.query.statuses.contains(&node.status()) {
            return Ok(false);
        }
        let Some(under) = self.under else {
            return Ok(true);
        };
        // Walked in the state and not read from the index, which has no hierarchy: a moved subtree
        // needs no new index for this.
        let mut above = node.parent;
        while let Some(id) = above {
            if id == under {
                return Ok(true);
            }
            above = self.state.load_node(id)?.and_then(|parent| parent.parent);
        }
        Ok(node.id == under)
    }

    fn load_owner(&self, key: &DocumentKey) -> Result<Option<Node>, Failure> {
        match node_of(key) {
            Some(id) => Ok(self.state.load_node(id)?),
            None => Ok(None),
        }
    }

    /// Loads the text of a hit; `None` if it is gone, as a prose file that was just deleted.
    fn load_hit(
        &self,
        key: &DocumentKey,
        query: &ExpandedQuery,
    ) -> Result<Option<SearchHitView>, Failure> {
        match key.kind {
            DocumentKind::Plan | DocumentKind::Prose => self.load_node_hit(key, query),
            DocumentKind::Comment => self.load_comment_hit(key, query),
            DocumentKind::Note | DocumentKind::Memory => self.load_record_hit(key, query),
            DocumentKind::Log => self.load_log_hit(key, query),
        }
    }

    fn load_node_hit(
        &self,
        key: &DocumentKey,
        query: &ExpandedQuery,
    ) -> Result<Option<SearchHitView>, Failure> {
        let Some(node) = self.load_owner(key)? else {
            return Ok(None);
        };
        let is_plan = key.kind == DocumentKind::Plan;
        let file = match is_plan {
            true => node.path.clone(),
            false => {
                let ancestors = load_ancestors(self.state, &node)?;
                prose_path_below(self.ctx, ancestors.first(), &node)
            }
        };
        // The snippet is cut from the present text: prose outside of this search's turn of folders
        // may be newer than the index.
        let text = match (is_plan, node.content.version_hash()) {
            (true, Some(version)) => self.state.load_text(version)?,
            (true, None) => None,
            (false, _) => file
                .as_deref()
                .and_then(|path| read_prose_text(self.ctx.files, path)),
        };
        let Some(text) = text else {
            return Ok(None);
        };
        Ok(Some(SearchHitView {
            kind: key.kind,
            id: load_node_path(self.state, &node)?,
            title: node.description.title.clone(),
            status: Some(node.status()),
            file,
            by: None,
            at: None,
            snippet: find_snippet(&text, query),
        }))
    }

    fn load_comment_hit(
        &self,
        key: &DocumentKey,
        query: &ExpandedQuery,
    ) -> Result<Option<SearchHitView>, Failure> {
        let Some(node) = self.load_owner(key)? else {
            return Ok(None);
        };
        let Some(record) = record_of(key) else {
            return Ok(None);
        };
        let comment = record::read_record::<Comment>(self.state, &record.key)?;
        let path = load_node_path(self.state, &node)?;
        Ok(comment.map(|comment| SearchHitView {
            kind: key.kind,
            id: path,
            title: node.description.title.clone(),
            status: Some(node.status()),
            file: None,
            by: Some(comment.by.to_string()),
            at: Some(comment.at),
            snippet: find_snippet(&comment.text, query),
        }))
    }

    fn load_record_hit(
        &self,
        key: &DocumentKey,
        query: &ExpandedQuery,
    ) -> Result<Option<SearchHitView>, Failure> {
        let Some(record) = record_of(key) else {
            return Ok(None);
        };
        let body = self.state.record_body(&record.kind, &record.key)?;
        Ok(body.map(|body| {
            let (title, text) = record_texts(&record, &body);
            let (title, text) = (self.name_entries(&title), self.name_entries(&text));
            SearchHitView {
                kind: key.kind,
                id: record.key.clone(),
                title: Some(title).filter(|title| !title.is_empty()),
                status: None,
                file: None,
                by: None,
                at: None,
                snippet: find_snippet(&text, query),
            }
        }))
    }

    /// Writes names for the ids by which entries of the memory refer to each other.
    fn name_entries(&self, text: &str) -> String {
        name_ids_in(text, |kind, id| {
            let body = self.state.record_body(kind.as_str(), id).ok()??;
            match Entry::from_value(kind, body).ok()? {
                Entry::Character(person) => Some(person.name),
                Entry::Location(place) => Some(place.name),
                Entry::Lore(lore) => Some(lore.name),
                Entry::Scene(scene) => Some(scene.title),
                // They have no name of their own.
                Entry::Relationship(_) | Entry::Loop(_) | Entry::Fact(_) => None,
            }
            .filter(|name| !name.is_empty())
        })
    }

    fn load_log_hit(
        &self,
        key: &DocumentKey,
        query: &ExpandedQuery,
    ) -> Result<Option<SearchHitView>, Failure> {
        let Some(id) = operation_of(key) else {
            return Ok(None);
        };
        Ok(self
            .state
            .operation_head(id)?
            .map(|operation| SearchHitView {
                kind: key.kind,
                id: operation.id.to_string(),
                title: None,
                status: None,
                file: None,
                by: Some(operation.by.to_string()),
                at: Some(operation.at),
                snippet: find_snippet(&operation.summary, query),
            }))
    }
}
