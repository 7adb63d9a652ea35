//! Position of a plan document: how far it is, and what is expected next.
//!
//! Decided by what the state knows, without reading `plan.json`: that is for validation, and a session
//! start must not parse a large plan.

use super::document_record::DocumentRecord;
use crate::ids::VersionHash;
use crate::text::count_with_noun;

/// How far a plan document is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentStage {
    /// Its file is not the text that was written last, and it is not frozen.
    ChangedOutside,
    Draft,
    /// Its milestones are worked on; they are ready nodes.
    Frozen,
}

/// A plan document in the list of what is under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentPosition {
    pub document: String,
    pub title: Option<String>,
    pub stage: DocumentStage,
    pub milestones: usize,
    /// How many of them are complete; not counted for drafts.
    pub completed: usize,
}

/// What is expected next of a document, and the command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentStep {
    pub what: String,
    pub command: String,
}

impl DocumentStage {
    /// Returns the stage of a document whose file has the text `now`, as far as it can be read.
    #[must_use]
    pub fn of_record(record: &DocumentRecord, now: Option<VersionHash>) -> Self {
        match (&record.frozen, now == Some(record.written)) {
            (Some(_), _) => Self::Frozen,
            (None, false) => Self::ChangedOutside,
            (None, true) => Self::Draft,
        }
    }
}

impl DocumentPosition {
    /// Renders where a session is that works on the document: `search [draft], 2 milestones`.
    #[must_use]
    pub fn render_place(&self) -> String {
        let document = &self.document;
        let milestones = match self.milestones {
            0 => "no milestone yet".to_owned(),
            number => count_with_noun(number, "milestone", "milestones"),
        };
        match self.stage {
            DocumentStage::Frozen => format!(
                "{document} [frozen], {} of {milestones} complete",
                self.completed
            ),
            DocumentStage::Draft => format!("{document} [draft], {milestones}"),
            DocumentStage::ChangedOutside => {
                format!("{document} [changed outside], {milestones}")
            }
        }
    }

    /// Returns what is expected next of the document itself; `None` once it is frozen.
    #[must_use]
    pub fn next_step(&self) -> Option<DocumentStep> {
        let document = &self.document;
        let (what, command) = match (self.stage, self.milestones) {
            (DocumentStage::Frozen, _) => return None,
            (DocumentStage::ChangedOutside, _) => (
                "its plan.json was changed outside of `tl`".to_owned(),
                format!("tl doc validate --doc {document}"),
            ),
            (DocumentStage::Draft, 0) => (
                "a draft without milestones".to_owned(),
                format!("tl flow start planner --for {document}"),
            ),
            (DocumentStage::Draft, number) => (
                format!(
                    "a draft with {}; complete, it can be frozen",
                    count_with_noun(number, "milestone", "milestones")
                ),
                format!("tl doc validate --doc {document}"),
            ),
        };
        Some(DocumentStep { what, command })
    }
}

#[cfg(test)]
mod tests {
    use super::{DocumentPosition, DocumentStage, DocumentStep};

    fn position(stage: DocumentStage, milestones: usize) -> DocumentPosition {
        DocumentPosition {
            document: "search".to_owned(),
            title: None,
            stage,
            milestones,
            completed: 1,
        }
    }

    #[test]
    fn every_stage_before_the_freeze_has_a_next_command() {
        let next = |stage, milestones| position(stage, milestones).next_step();
        let command = |step: Option<DocumentStep>| step.map(|step| step.command);
        assert_eq!(
            command(next(DocumentStage::Draft, 0)).as_deref(),
            Some("tl flow start planner --for search")
        );
        for (stage, milestones) in [
            (DocumentStage::Draft, 2),
            (DocumentStage::ChangedOutside, 0),
            (DocumentStage::ChangedOutside, 2),
        ] {
            assert_eq!(
                command(next(stage, milestones)).as_deref(),
                Some("tl doc validate --doc search")
            );
        }
        assert_eq!(next(DocumentStage::Frozen, 2), None);
    }

    #[test]
    fn the_place_names_document_stage_and_milestones() {
        let place = |stage, milestones| position(stage, milestones).render_place();
        assert_eq!(
            place(DocumentStage::Draft, 0),
            "search [draft], no milestone yet"
        );
        assert_eq!(
            place(DocumentStage::Frozen, 3),
            "search [frozen], 1 of 3 milestones complete"
        );
        assert_eq!(
            place(DocumentStage::ChangedOutside, 1),
            "search [changed outside], 1 milestone"
        );
    }
}
