//! Semantic search: embeds memory entries with the user's embedding model, and keeps the vectors in
//! a file.
//!
//! The model is chosen by the environment or the user's `llm.toml`, never by the project.

use std::collections::HashSet;

use application::Failure;
use application::memory::search_memory::{SearchMemoryRequest, entry_texts};
use domain::record::RecordKey;
use llm::{CancelToken, Embedder, LlmError, ModelSelection, Secret};
use serde::Serialize;
use store::{NewVector, VectorFile};

use crate::model::{invalid_input, load_user_config, model_failure, provider_catalogue};
use crate::settings::{all_environment_variables, environment_variable};
use crate::wiring::App;

/// Batch size: an interrupted run loses at most this many embeddings.
const EMBEDDING_BATCH_SIZE: usize = 512;

/// An embedding model with its vector file.
pub(crate) struct VectorIndex {
    embedder: Embedder,
    file: VectorFile,
    cancel: CancelToken,
}

/// Result of an index update.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct IndexOutcome {
    pub(crate) entries: usize,
    pub(crate) embedded: usize,
}

/// Returns the configured embedding model, if any.
pub(crate) fn configured_embedder() -> Result<Option<Embedder>, Failure> {
    let choice = load_user_config()?;
    let own = choice.embeddings.clone().unwrap_or_default();
    let Some(provider) = environment_variable("THROUGHLINE_EMBED_PROVIDER")
        .or(own.provider)
        .filter(|name| name != "none")
    else {
        return Ok(None);
    };
    let key = match (
        environment_variable("THROUGHLINE_EMBED_API_KEY"),
        &own.key_file,
    ) {
        (Some(key), _) => Secret::new(&key),
        (None, Some(file)) => {
            Some(Secret::from_file(file).map_err(|error| invalid_input(error.to_string()))?)
        }
        (None, None) => None,
    };
    let selection = ModelSelection {
        provider,
        model: environment_variable("THROUGHLINE_EMBED_MODEL").or(own.model),
        base_url: environment_variable("THROUGHLINE_EMBED_BASE_URL").or(own.base_url),
        key,
        ..ModelSelection::default()
    };
    Embedder::new(
        &provider_catalogue(&choice)?,
        &selection,
        &all_environment_variables(),
    )
    .map(Some)
    .map_err(|error| model_failure(&error))
}

impl VectorIndex {
    /// Opens the vector index of a project, if a model is configured.
    pub(crate) fn open_for_project(app: &App) -> Result<Option<Self>, Failure> {
        let Some(embedder) = configured_embedder()? else {
            return Ok(None);
        };
        // The file is bound to the model's name: vectors of different models cannot be compared.
        let file = VectorFile::new(&app.find_project()?.layout.vectors, &embedder.model_name());
        Ok(Some(Self {
            embedder,
            file,
            cancel: CancelToken::on_ctrl_c(),
        }))
    }

    pub(crate) fn model_name(&self) -> String {
        self.embedder.model_name()
    }

    /// Returns the nearest entries to a query, best first.
    pub(crate) fn find_nearest(
        &self,
        request: &SearchMemoryRequest,
    ) -> Result<Vec<RecordKey>, Box<LlmError>> {
        let vectors = self
            .embedder
            .embed_texts(std::slice::from_ref(&request.query), &self.cancel)?;
        let Some(query) = vectors.first() else {
            return Ok(Vec::new());
        };
        let found = self
            .file
            .find_nearest(query, &request.kind_words(), request.search_depth());
        Ok(found.into_iter().map(|(record, _)| record).collect())
    }

    /// Embeds new and changed entries. Batches that are finished survive an interruption.
    pub(crate) fn update_index(
        &self,
        app: &App,
        told: &dyn Fn(usize, usize),
    ) -> Result<IndexOutcome, Failure> {
        let texts = app.run(entry_texts)?;
        // Compared by a digest of the text, so that an entry that only moved or was saved again is
        // not sent to the model.
        let known = self.file.load_marks();
        let records: HashSet<&RecordKey> = texts.iter().map(|entry| &entry.record).collect();
        let new: Vec<_> = texts
            .iter()
            .filter(|entry| known.get(&entry.record) != Some(&entry.mark))
            .collect();
        let put = |vectors: &[NewVector]| {
            self.file
                .upsert_vectors(vectors, |record| records.contains(record))
                .map_err(|error| {
                    Failure::unavailable(format!("the vectors cannot be written: {error}"))
                })
        };
        let mut indexed = IndexOutcome {
            entries: texts.len(),
            embedded: 0,
        };
        for batch in new.chunks(EMBEDDING_BATCH_SIZE) {
            told(indexed.embedded, new.len());
            let words: Vec<String> = batch.iter().map(|entry| entry.text.clone()).collect();
            let vectors = self
                .embedder
                .embed_texts(&words, &self.cancel)
                .map_err(|error| model_failure(&error))?;
            let made = batch.iter().zip(vectors).map(|(entry, vector)| NewVector {
                record: entry.record.clone(),
                mark: entry.mark,
                vector,
            });
            put(&made.collect::<Vec<_>>())?;
            indexed.embedded += batch.len();
        }
        // Every `put` drops the vectors of deleted entries; without new ones it has to be called
        // for that alone.
        if known.keys().any(|record| !records.contains(record)) && new.is_empty() {
            put(&[])?;
        }
        Ok(indexed)
    }
}
