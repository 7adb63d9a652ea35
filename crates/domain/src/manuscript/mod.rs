//! Manuscripts of other tools: which format it is, its parts, chapters and scenes, and the plans and
//! prose they become.
//!
//! Pure: the files come as bytes ([`ManuscriptFiles`]), within the limits of their reader. One
//! reader per format feeds the same [`builder`], so that a scene break means the same everywhere.

mod binder;
mod builder;
mod chapter_files;
mod docx;
mod file_names;
mod heading_words;
mod layout;
mod longform;
mod markdown;
mod novelwriter;
mod plain_text;
mod rich_text;
mod rtf;
mod scrivener;
mod source_files;
mod xml;

pub use self::file_names::{compare_file_names, is_chapter_name};
pub use self::layout::{ImportLayout, ImportedPlan, ImportedProse, LayoutRefused, lay_out};
pub use self::source_files::{ManuscriptFiles, is_archive, is_text_file, is_wanted_file};

use crate::named_enum::named_enum;

named_enum! {
    /// The format of a manuscript.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
    pub enum ManuscriptFormat {
        Markdown = "markdown",
        /// Plain text with chapter headings on lines of their own.
        Text = "text",
        Docx = "docx",
        Rtf = "rtf",
        NovelWriter = "novelwriter",
        Scrivener = "scrivener",
        /// Index note and scenes of the Obsidian plugin.
        Longform = "longform",
    }
}

/// A manuscript, as far as it is taken over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manuscript {
    pub title: Option<String>,
    pub author: Option<String>,
    /// Text before the first chapter: a title page, a dedication.
    pub preamble: String,
    pub parts: Vec<ManuscriptPart>,
    /// What is in the source and not taken over, a sentence each.
    pub left_out: Vec<String>,
}

/// A part of a manuscript. A book without parts is one part without a title.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ManuscriptPart {
    pub title: Option<String>,
    pub synopsis: String,
    pub chapters: Vec<ManuscriptChapter>,
}

/// A chapter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ManuscriptChapter {
    pub title: Option<String>,
    pub synopsis: String,
    pub scenes: Vec<ManuscriptScene>,
}

/// A scene: what is known about it, and its prose as Markdown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ManuscriptScene {
    pub title: Option<String>,
    pub synopsis: String,
    pub notes: String,
    pub pov: Option<String>,
    pub characters: Vec<String>,
    pub locations: Vec<String>,
    pub prose: String,
}

/// Why a manuscript cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManuscriptRefused {
    #[error("the format of `{name}` is not known")]
    UnknownFormat { name: String },
    #[error("`{file}` is not a text: {why}")]
    NotText { file: String, why: String },
    #[error("`{file}` is damaged: {why}")]
    Damaged { file: String, why: String },
    #[error("`{file}` is missing in the {format} project")]
    MissingFile { file: String, format: &'static str },
    #[error("there is no prose in `{name}`")]
    Empty { name: String },
}

/// Returns the format of a manuscript, by its files.
#[must_use]
pub fn detect_format(files: &ManuscriptFiles) -> Option<ManuscriptFormat> {
    // Project formats first: their folders also contain files of the plain ones.
    let has = |wanted: &str| files.paths().any(|path| path.ends_with(wanted));
    if has(novelwriter::PROJECT_FILE) {
        return Some(ManuscriptFormat::NovelWriter);
    }
    if has(".scrivx") {
        return Some(ManuscriptFormat::Scrivener);
    }
    if has(docx::DOCUMENT_FILE) {
        return Some(ManuscriptFormat::Docx);
    }
    if longform::find_index(files).is_some() {
        return Some(ManuscriptFormat::Longform);
    }
    let Some(main) = files.main_file() else {
        return chapter_files::detect_text_format(files);
    };
    let extension = main.rsplit('.').next().unwrap_or_default().to_lowercase();
    match extension.as_str() {
        "md" | "markdown" | "mdown" => Some(ManuscriptFormat::Markdown),
        "rtf" => Some(ManuscriptFormat::Rtf),
        "txt" | "text" => Some(ManuscriptFormat::Text),
        _ => None,
    }
}

/// Reads a manuscript.
///
/// # Errors
/// When the files are not of that format, are damaged, or contain no prose.
pub fn read_manuscript(
    files: &ManuscriptFiles,
    format: ManuscriptFormat,
) -> Result<Manuscript, ManuscriptRefused> {
    let mut manuscript = match format {
        ManuscriptFormat::Markdown | ManuscriptFormat::Text if files.main_file().is_none() => {
            chapter_files::read_chapter_files(files, format)?
        }
        ManuscriptFormat::Markdown => markdown::read_markdown(&main_text(files)?),
        ManuscriptFormat::Text => plain_text::read_plain_text(&main_text(files)?),
        ManuscriptFormat::Rtf => plain_text::read_paragraphs(&rtf::read_rtf(main_bytes(files)?)),
        ManuscriptFormat::Docx => docx::read_docx(files)?,
        ManuscriptFormat::NovelWriter => novelwriter::read_project(files)?,
        ManuscriptFormat::Scrivener => scrivener::read_project(files)?,
        ManuscriptFormat::Longform => longform::read_vault(files)?,
    };
    let scenes = manuscript.scenes().count();
    // Plans without any prose would look like a successful import of nothing.
    if scenes == 0 || manuscript.scenes().all(|scene| scene.prose.is_empty()) {
        return Err(ManuscriptRefused::Empty {
            name: files.name.clone(),
        });
    }
    manuscript.join_leading_chapters();
    Ok(manuscript)
}

fn main_bytes(files: &ManuscriptFiles) -> Result<&[u8], ManuscriptRefused> {
    let unknown = || ManuscriptRefused::UnknownFormat {
        name: files.name.clone(),
    };
    let main = files.main_file().ok_or_else(unknown)?;
    files.bytes_of(main).ok_or_else(unknown)
}

fn main_text(files: &ManuscriptFiles) -> Result<String, ManuscriptRefused> {
    let main = files
        .main_file()
        .ok_or_else(|| ManuscriptRefused::UnknownFormat {
            name: files.name.clone(),
        })?;
    files.text_of(main)
}

impl Manuscript {
    /// Returns all scenes in order.
    pub fn scenes(&self) -> impl Iterator<Item = &ManuscriptScene> {
        self.parts
            .iter()
            .flat_map(|part| &part.chapters)
            .flat_map(|chapter| &chapter.scenes)
    }

    /// Moves chapters before the first titled part into it: a prologue before part one is not a part.
    fn join_leading_chapters(&mut self) {
        let is_bare = |part: &ManuscriptPart| part.title.is_none() && part.synopsis.is_empty();
        if self.parts.len() > 1 && self.parts.first().is_some_and(is_bare) {
            let leading = self.parts.remove(0);
            if let Some(first) = self.parts.first_mut() {
                let rest = std::mem::replace(&mut first.chapters, leading.chapters);
                first.chapters.extend(rest);
            }
        }
    }
}
