//! Repository checks: crate arrows, module docs, file lengths, code map, vocabulary, function names, link order, links of pages, workflows, generated pages.

mod arrows;
mod files;
mod function_names;
mod hook_path;
mod links;
mod vocabulary;
pub(crate) mod workflows;

use crate::workspace::metadata;
use crate::{Outcome, generate, say};

pub(crate) use function_names::record_function_names;

/// Checks everything and reports all findings at once.
pub(crate) fn tidy() -> Outcome {
    let metadata = metadata()?;
    let mut findings = arrows::check_arrows(&metadata);
    findings.extend(files::check_sources());
    findings.extend(files::check_code_map());
    findings.extend(vocabulary::check_vocabulary());
    findings.extend(function_names::check_function_names());
    findings.extend(hook_path::check_hook_path());
    findings.extend(links::check_links());
    findings.extend(workflows::check_workflows());
    findings.extend(generate::stale()?);
    if findings.is_empty() {
        say("tidy: every rule holds");
        return Ok(());
    }
    Err(format!(
        "{} to tidy:\n{}",
        findings.len(),
        findings.join("\n")
    ))
}
