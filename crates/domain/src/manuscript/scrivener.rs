//! Scrivener projects, of version 3 and of 1 and 2: the documents below the draft folder.

use roxmltree::Node;

use super::binder::{BinderItem, build_parts};
use super::builder::clean_title;
use super::rich_text::RichParagraph;
use super::rtf::read_rtf;
use super::xml::{attribute, child_named, child_text, children_named, parse_xml};
use super::{Manuscript, ManuscriptFiles, ManuscriptRefused};
use crate::text::count_with_noun;

/// The files of a project, and what was left out on the way.
struct ScrivenerProject<'f> {
    files: &'f ManuscriptFiles,
    /// The folder of the project, with a slash.
    folder: String,
    excluded: usize,
    missing: usize,
}

/// Reads a Scrivener project.
pub(super) fn read_project(files: &ManuscriptFiles) -> Result<Manuscript, ManuscriptRefused> {
    let missing = |file: &str| ManuscriptRefused::MissingFile {
        file: file.to_owned(),
        format: "scrivener",
    };
    let path = files
        .paths()
        .find(|path| path.ends_with(".scrivx"))
        .ok_or_else(|| missing("*.scrivx"))?
        .to_owned();
    let text = files.text_of(&path)?;
    let document = parse_xml(&path, &text)?;
    // Only the draft is the manuscript; research, templates and the trash are beside it.
    let draft = document
        .descendants()
        .find(|node| is_item(*node) && attribute(*node, "Type") == Some("DraftFolder"))
        .ok_or_else(|| ManuscriptRefused::Damaged {
            file: path.clone(),
            why: "it has no draft folder".to_owned(),
        })?;
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut project = ScrivenerProject {
        files,
        folder: match folder {
            "" => String::new(),
            folder => format!("{folder}/"),
        },
        excluded: 0,
        missing: 0,
    };
    let items = project.read_children(draft)?;
    let mut book = Manuscript {
        title: project.read_project_title(document.root_element(), &path),
        parts: build_parts(&items),
        ..Manuscript::default()
    };
    let left_out = [
        (
            project.excluded,
            "document that is not compiled",
            "documents that are not compiled",
        ),
        (
            project.missing,
            "document without a text",
            "documents without a text",
        ),
    ];
    for (number, one, many) in left_out.into_iter().filter(|(number, ..)| *number > 0) {
        book.left_out.push(count_with_noun(number, one, many));
    }
    Ok(book)
}

fn is_item(node: Node<'_, '_>) -> bool {
    node.is_element() && node.tag_name().name() == "BinderItem"
}

impl ScrivenerProject<'_> {
    fn read_project_title(&self, root: Node<'_, '_>, path: &str) -> Option<String> {
        let set = child_named(root, "ProjectProperties")
            .and_then(|it| child_text(it, "ProjectTitle"))
            .and_then(|title| clean_title(&title));
        let name = path.rsplit('/').next().unwrap_or(path);
        set.or_else(|| clean_title(name.strip_suffix(".scrivx").unwrap_or(name)))
    }

    fn read_children(&mut self, node: Node<'_, '_>) -> Result<Vec<BinderItem>, ManuscriptRefused> {
        let mut items = Vec::new();
        let Some(children) = child_named(node, "Children") else {
            return Ok(items);
        };
        for child in children_named(children, "BinderItem") {
            let kind = attribute(child, "Type").unwrap_or_default();
            let is_compiled = child_named(child, "MetaData")
                .and_then(|it| child_text(it, "IncludeInCompile"))
                // A document without the entry is taken over: prose is left out only where the
                // project says so.
                .is_none_or(|word| word.eq_ignore_ascii_case("yes"));
            // Images, PDF files and web pages can be in a draft, but not in its prose.
            if !matches!(kind, "Folder" | "Text") {
                self.excluded += 1;
                continue;
            }
            // A folder that is not compiled itself may hold documents that are.
            let below = self.read_children(child)?;
            if !is_compiled && below.is_empty() {
                self.excluded += 1;
                continue;
            }
            items.push(self.read_item(child, is_compiled, below)?);
        }
        Ok(items)
    }

    fn read_item(
        &mut self,
        node: Node<'_, '_>,
        is_compiled: bool,
        children: Vec<BinderItem>,
    ) -> Result<BinderItem, ManuscriptRefused> {
        let title = child_text(node, "Title").and_then(|title| clean_title(&title));
        // Version 3 names documents by UUID, the versions before by number.
        let (text, notes, synopsis) = match (attribute(node, "UUID"), attribute(node, "ID")) {
            (Some(id), _) => {
                let folder = format!("{}Files/Data/{id}", self.folder);
                (
                    format!("{folder}/content.rtf"),
                    format!("{folder}/notes.rtf"),
                    format!("{folder}/synopsis.txt"),
                )
            }
            (None, id) => {
                let start = format!("{}Files/Docs/{}", self.folder, id.unwrap_or_default());
                (
                    format!("{start}.rtf"),
                    format!("{start}_notes.rtf"),
                    format!("{start}_synopsis.txt"),
                )
            }
        };
        let is_text = attribute(node, "Type") == Some("Text");
        let prose = self.read_rtf_file(&text);
        // Folders mostly have no text of their own; a text document without one is reported.
        if prose.is_none() && is_text {
            self.missing += 1;
        }
        let synopsis = match self.files.bytes_of(&synopsis) {
            Some(_) => self.files.text_of(&synopsis)?.trim().to_owned(),
            None => String::new(),
        };
        Ok(BinderItem {
            title,
            synopsis,
            notes: self.read_rtf_file(&notes).unwrap_or_default(),
            // It is only here for the documents below it.
            text: prose.filter(|_| is_compiled).unwrap_or_default(),
            children,
            ..BinderItem::default()
        })
    }

    fn read_rtf_file(&self, path: &str) -> Option<String> {
        let paragraphs = read_rtf(self.files.bytes_of(path)?);
        let lines = paragraphs.iter().map(RichParagraph::to_markdown);
        let lines: Vec<String> = lines.filter(|line| !line.is_empty()).collect();
        Some(lines.join("\n\n"))
    }
}
