//! Longform, the Obsidian plugin: an index note that lists scenes, and a note for each.

use serde_json::Value;

use super::binder::{BinderItem, build_parts};
use super::builder::clean_title;
use super::markdown::{read_markdown, strip_comments};
use super::{Manuscript, ManuscriptFiles, ManuscriptRefused};
use crate::front_matter::{FrontMatter, parse_front_matter, split_front_matter};
use crate::text::count_with_noun;

const FORMAT_NAME: &str = "longform";
/// Nesting of the scene list that is followed.
const MAX_LIST_DEPTH: usize = 32;

/// Returns the path of the index note: the named one, or the only one.
pub(super) fn find_index(files: &ManuscriptFiles) -> Option<String> {
    let is_index = |path: &&str| path.ends_with(".md") && read_settings(files, path).is_some();
    if let Some(main) = &files.main {
        return Some(main.clone()).filter(|main| is_index(&main.as_str()));
    }
    files.paths().find(is_index).map(str::to_owned)
}

fn read_settings(files: &ManuscriptFiles, path: &str) -> Option<FrontMatter> {
    let bytes = files.bytes_of(path)?;
    // Before the whole note is parsed: a vault has thousands of notes.
    let start = bytes.get(..bytes.len().min(4_096))?;
    if !String::from_utf8_lossy(start).contains(FORMAT_NAME) {
        return None;
    }
    let about = parse_front_matter(&files.text_of(path).ok()?);
    matches!(about.keys.get(FORMAT_NAME), Some(Value::Object(_))).then_some(about)
}

/// Reads the book of an index note.
pub(super) fn read_vault(files: &ManuscriptFiles) -> Result<Manuscript, ManuscriptRefused> {
    let missing = || ManuscriptRefused::MissingFile {
        file: "a note with `longform:` above it".to_owned(),
        format: FORMAT_NAME,
    };
    let index = find_index(files).ok_or_else(missing)?;
    let about = read_settings(files, &index).ok_or_else(missing)?;
    let Some(Value::Object(settings)) = about.keys.get(FORMAT_NAME) else {
        return Err(missing());
    };
    let text_of = |key: &str| settings.get(key).and_then(Value::as_str);
    let file_name = index.rsplit('/').next().unwrap_or(&index);
    let title = text_of("title")
        .and_then(clean_title)
        .or_else(|| clean_title(file_name.trim_end_matches(".md")));
    let author = about.get_text("author");
    if text_of("format") == Some("single") {
        // A project in one note: its prose is below the settings.
        let mut book = read_markdown(&files.text_of(&index)?);
        book.title = title;
        return Ok(book);
    }
    let above = index.rsplit_once('/').map_or("", |(folder, _)| folder);
    let folder = join_path(above, text_of("sceneFolder").unwrap_or("/"));
    let mut reader = SceneReader {
        files,
        folder,
        missing: Vec::new(),
        comments: 0,
    };
    let list = settings.get("scenes").and_then(Value::as_array);
    let items = reader.read_list(list.map(Vec::as_slice).unwrap_or_default(), 0)?;
    let mut book = Manuscript {
        title,
        author,
        parts: build_parts(&items),
        ..Manuscript::default()
    };
    for name in reader.missing {
        book.left_out.push(format!("`{name}`, which has no note"));
    }
    if reader.comments > 0 {
        let comments = count_with_noun(reader.comments, "comment", "comments");
        book.left_out.push(format!("{comments} in the notes"));
    }
    Ok(book)
}

/// Joins a folder and a relative path; `..` stays inside of what was read, where it finds nothing.
fn join_path(above: &str, relative: &str) -> String {
    let parts = above.split('/').chain(relative.split('/'));
    let parts: Vec<&str> = parts.filter(|part| !matches!(*part, "" | ".")).collect();
    parts.join("/")
}

struct SceneReader<'f> {
    files: &'f ManuscriptFiles,
    folder: String,
    missing: Vec<String>,
    comments: usize,
}

impl SceneReader<'_> {
    /// Reads a list of scenes; a list in it is below the item before it.
    fn read_list(
        &mut self,
        list: &[Value],
        depth: usize,
    ) -> Result<Vec<BinderItem>, ManuscriptRefused> {
        let mut items: Vec<BinderItem> = Vec::new();
        for entry in list {
            match entry {
                // Recursion over data from outside is bounded; deeper lists are left out.
                Value::Array(below) if depth < MAX_LIST_DEPTH => {
                    let below = self.read_list(below, depth + 1)?;
                    match items.last_mut() {
                        Some(last) => last.children.extend(below),
                        None => items.extend(below),
                    }
                }
                Value::String(name) => items.extend(self.read_scene(name)?),
                // YAML reads a scene that is called `1984` as a number.
                Value::Number(number) => items.extend(self.read_scene(&number.to_string())?),
                // … and one that is called `Pier: night` as a mapping.
                Value::Object(pair) if pair.len() == 1 => {
                    for (key, value) in pair {
                        let name = match value {
                            Value::String(value) => format!("{key}: {value}"),
                            Value::Null => format!("{key}:"),
                            value => format!("{key}: {value}"),
                        };
                        items.extend(self.read_scene(&name)?);
                    }
                }
                Value::Bool(word) => items.extend(self.read_scene(&word.to_string())?),
                // Named, because a scene would be missing without a word.
                other => self.missing.push(other.to_string()),
            }
        }
        Ok(items)
    }

    fn read_scene(&mut self, name: &str) -> Result<Option<BinderItem>, ManuscriptRefused> {
        let path = join_path(&self.folder, &format!("{name}.md"));
        if self.files.bytes_of(&path).is_none() {
            self.missing.push(name.to_owned());
            return Ok(None);
        }
        let text = self.files.text_of(&path)?;
        let about = parse_front_matter(&text);
        let (body, comments) = strip_comments(split_front_matter(&text).1);
        self.comments += comments;
        let synopsis = about
            .get_text("synopsis")
            .or_else(|| about.get_text("summary"))
            .or_else(|| about.get_text("description"));
        Ok(Some(BinderItem {
            title: clean_title(name),
            synopsis: synopsis.unwrap_or_default(),
            pov: about.get_text("pov"),
            text: body.trim().to_owned(),
            ..BinderItem::default()
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Defect: a scene called `Pier: night` was missing in the book, and nothing said so.
    #[test]
    fn a_scene_whose_name_yaml_reads_as_a_mapping_is_found() {
        let index = "---\nlongform:\n  format: scenes\n  title: Salt\n  sceneFolder: /\n  scenes:\n    - Pier: night\n    - 1984\n    - Gone: now\n---\n";
        let file = |name: &str, text: &str| (name.to_owned(), text.as_bytes().to_vec());
        let files = ManuscriptFiles {
            name: "salt".to_owned(),
            main: Some("Index.md".to_owned()),
            files: [
                file("Index.md", index),
                file("Pier: night.md", "Fog."),
                file("1984.md", "Rain."),
            ]
            .into(),
        };
        let book = read_vault(&files).unwrap();
        let prose: Vec<&str> = book.scenes().map(|it| it.prose.as_str()).collect();
        assert_eq!(prose, ["Fog.", "Rain."]);
        assert_eq!(book.left_out, ["`Gone: now`, which has no note"]);
    }
}
