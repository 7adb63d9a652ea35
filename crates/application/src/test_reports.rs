//! Reports that a test command writes: which of them this run wrote, and what they say about one test.
//!
//! A report of an earlier run lies where the new one would be. A build that does not compile leaves it
//! there, and its passes would prove a program that no longer exists.

use std::collections::BTreeMap;

use domain::ports::{FileReadResult, FileStamp, FileStatResult, FolderEntryKind};
use domain::work::test_report::{TestOutcome, find_test_outcome, parse_test_report};

use crate::context::Context;

/// Maximum number of report files that are read.
const MAX_REPORT_FILES: usize = 400;

/// Maximum size of a report.
const MAX_REPORT_BYTES: u64 = 16 * 1024 * 1024;

/// The files of a report, a file or a folder of them, as they were before a command ran.
pub(crate) struct ReportBefore<'r> {
    report: &'r str,
    stamps: BTreeMap<String, FileStamp>,
}

/// What a run reports about a test.
pub(crate) enum ReportedTest {
    Outcome(TestOutcome),
    /// The results name no such test.
    NotNamed,
    /// The run wrote no report.
    NoReport,
}

impl<'r> ReportBefore<'r> {
    pub(crate) fn stat_before(ctx: &Context<'_>, report: &'r str) -> Self {
        Self {
            report,
            stamps: stat_report_files(ctx, report),
        }
    }

    /// Returns the outcome of a test by the files that were written since.
    pub(crate) fn find_outcome(&self, ctx: &Context<'_>, test: &str) -> ReportedTest {
        let written: Vec<String> = stat_report_files(ctx, self.report)
            .into_iter()
            .filter(|(path, stamp)| self.stamps.get(path) != Some(stamp))
            .map(|(path, _)| path)
            .collect();
        if written.is_empty() {
            return ReportedTest::NoReport;
        }
        let mut results = Vec::new();
        for path in written {
            match ctx.files.read_file(&path, MAX_REPORT_BYTES) {
                FileReadResult::Text { text, .. } => results.extend(parse_test_report(&text)),
                FileReadResult::Missing | FileReadResult::Unreadable { .. } => {}
            }
        }
        match find_test_outcome(&results, test) {
            Some(outcome) => ReportedTest::Outcome(outcome),
            None => ReportedTest::NotNamed,
        }
    }
}

/// Returns the stamps of a report, or of the files in a folder of reports: some runners write one file
/// per test class.
fn stat_report_files(ctx: &Context<'_>, report: &str) -> BTreeMap<String, FileStamp> {
    let mut stamps = BTreeMap::new();
    let mut add = |path: String| {
        if let FileStatResult::Present(stamp) = ctx.files.stat_file(&path) {
            stamps.insert(path, stamp);
        }
    };
    if let FileStatResult::Present(_) = ctx.files.stat_file(report) {
        add(report.to_owned());
        return stamps;
    }
    let files = ctx.files.list_folder(report).into_iter();
    let reports =
        files.filter(|entry| entry.kind == FolderEntryKind::File && entry.name.ends_with(".xml"));
    for file in reports.take(MAX_REPORT_FILES) {
        add(format!("{}/{}", report.trim_end_matches('/'), file.name));
    }
    stamps
}
