//! Links of the documentation: every file and heading they name exists, and the book has every page.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use regex::Regex;

use crate::workspace::{files_below, relative, root};

const SUMMARY: &str = "docs/SUMMARY.md";
/// Directories with pages, and the pages at the top.
const FOLDERS: [&str; 2] = ["docs", "packaging"];
const PAGES: [&str; 4] = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
];

pub(super) fn check_links() -> Vec<String> {
    let mut pages: Vec<PathBuf> = PAGES.iter().map(|page| root().join(page)).collect();
    for folder in FOLDERS {
        pages.extend(files_below(&root().join(folder), ".md"));
    }
    let texts: BTreeMap<PathBuf, String> = pages
        .into_iter()
        .filter_map(|page| Some((page.clone(), std::fs::read_to_string(&page).ok()?)))
        .collect();
    let mut findings = Vec::new();
    for (page, text) in &texts {
        for (line, target) in find_links(text) {
            if let Some(problem) = find_problem(page, &target, &texts) {
                findings.push(format!("{}:{line}: {problem}", relative(page)));
            }
        }
    }
    findings.extend(find_pages_outside_book(&texts));
    findings
}

/// Pages of `docs` that the book's contents do not name.
fn find_pages_outside_book(texts: &BTreeMap<PathBuf, String>) -> Vec<String> {
    let summary = root().join(SUMMARY);
    let Some(text) = texts.get(&summary) else {
        return vec![format!("{SUMMARY} is missing")];
    };
    let named: BTreeSet<PathBuf> = find_links(text)
        .into_iter()
        .map(|(_, target)| resolve(&summary, &target))
        .collect();
    texts
        .keys()
        .filter(|page| page.starts_with(root().join("docs")) && **page != summary)
        .filter(|page| !named.contains(*page))
        .map(|page| format!("{} is not in {SUMMARY}", relative(page)))
        .collect()
}

/// Returns what is wrong with a link, if anything. Addresses of other machines are not asked.
fn find_problem(page: &Path, target: &str, texts: &BTreeMap<PathBuf, String>) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, heading) = target.split_once('#').unwrap_or((target, ""));
    let path = if file.is_empty() {
        page.to_owned()
    } else {
        resolve(page, file)
    };
    if !path.exists() {
        return Some(format!("there is no `{target}`"));
    }
    let text = texts.get(&path)?;
    let has_heading = heading.is_empty() || anchors(text).contains(heading);
    (!has_heading).then(|| format!("there is no heading for `{target}`"))
}

fn resolve(page: &Path, target: &str) -> PathBuf {
    let target = target.split('#').next().unwrap_or_default();
    let mut resolved = page.parent().unwrap_or(page).to_owned();
    for part in Path::new(target).components() {
        match part {
            Component::ParentDir => {
                resolved.pop();
            }
            Component::Normal(name) => resolved.push(name),
            _ => {}
        }
    }
    resolved
}

/// Returns the links of a page with their lines, without those in code.
fn find_links(text: &str) -> Vec<(usize, String)> {
    let link = Regex::new(r"\]\(([^()\s]+)\)").expect("a valid expression");
    let code = Regex::new(r"`[^`]*`").expect("a valid expression");
    prose_lines(text)
        .flat_map(|(number, line)| {
            // The text of a link may be code; its target may not.
            let line = code.replace_all(line, "code");
            link.captures_iter(&line)
                .map(|found| (number, found[1].to_owned()))
                .collect::<Vec<_>>()
        })
        .collect()
}

/// Returns the anchors of the headings, as forges and mdBook make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let headings = prose_lines(text).filter_map(|(_, line)| {
        let title = line.trim_start_matches('#');
        (title.len() < line.len() && title.starts_with(' ')).then(|| title.trim())
    });
    headings
        .map(|title| {
            let slug: String = title
                .to_lowercase()
                .chars()
                .filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'))
                .map(|letter| if letter == ' ' { '-' } else { letter })
                .collect();
            let count = seen.entry(slug.clone()).or_default();
            *count += 1;
            if *count == 1 {
                slug
            } else {
                format!("{slug}-{}", *count - 1)
            }
        })
        .collect()
}

/// The lines outside of code fences, numbered from 1.
fn prose_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fence: Option<String> = None;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let marks: String = line
            .trim_start()
            .chars()
            .take_while(|mark| matches!(mark, '`' | '~'))
            .collect();
        match &fence {
            Some(open) if marks.starts_with(open.as_str()) => fence = None,
            Some(_) => {}
            None if marks.len() >= 3 => fence = Some(marks),
            None => return Some((index + 1, line)),
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_in_code_are_none() {
        let text = "see [a](b.md)\n```\n[x](y)\n```\nand `[p](q)` or [`c`](d.md#e)\n";
        let links = find_links(text);
        assert_eq!(links, [(1, "b.md".to_owned()), (5, "d.md#e".to_owned())]);
    }

    #[test]
    fn a_heading_has_the_anchor_a_forge_gives_it() {
        let found = anchors("# What `tl` is for\n## A, b\n## A, b\n```\n# no\n```\n");
        let expected = ["a-b", "a-b-1", "what-tl-is-for"].map(str::to_owned);
        assert_eq!(found, BTreeSet::from(expected));
    }

    #[test]
    fn a_missing_file_and_a_missing_heading_are_findings() {
        let page = root().join("README.md");
        let texts = BTreeMap::from([(page.clone(), "# Here\n".to_owned())]);
        assert_eq!(find_problem(&page, "#here", &texts), None);
        assert!(find_problem(&page, "#there", &texts).is_some());
        assert!(find_problem(&page, "docs/no-such-page.md", &texts).is_some());
        assert_eq!(find_problem(&page, "https://example.com", &texts), None);
    }
}
