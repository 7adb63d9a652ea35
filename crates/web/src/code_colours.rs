//! Code in colours: words of a fenced block, each with the class of its kind.
//!
//! The grammars are those of `synoptic`. A block in a language it does not know, or one that is too
//! long, stays plain.

use maud::{Markup, html};
use synoptic::{TokOpt, from_extension};

/// Maximum size of a block in colours: a plan with a megabyte of code must not take seconds.
const MAX_COLOURED_BYTES: usize = 100_000;
const TAB_WIDTH: usize = 4;

/// Renders a block of code in a language, as the first word of its fence names it.
pub(crate) fn render_code(language: &str, code: &str) -> Markup {
    match colour_lines(language, code) {
        Some(lines) => html! {
            @for line in lines {
                @for (text, kind) in line {
                    @match kind {
                        Some(kind) => span class={ "c-" (kind) } { (text) },
                        None => (text),
                    }
                }
                "\n"
            }
        },
        None => html! { (code) },
    }
}

/// A part of a line, with the kind of word it is.
type CodeWord = (String, Option<&'static str>);

fn colour_lines(language: &str, code: &str) -> Option<Vec<Vec<CodeWord>>> {
    let extension = extension_of(language)?;
    // Before the text is copied into lines.
    if code.len() > MAX_COLOURED_BYTES {
        return None;
    }
    let lines: Vec<String> = code.lines().map(str::to_owned).collect();
    // A library's panic on an unusual text must cost the colours, not the page.
    let coloured = std::panic::catch_unwind(|| {
        let mut highlighter = from_extension(extension, TAB_WIDTH)?;
        highlighter.run(&lines);
        let line = |(index, line): (usize, &String)| {
            let words = highlighter.line(index, line).into_iter();
            words
                .map(|word| match word {
                    TokOpt::Some(text, kind) => (text, known_kind(&kind)),
                    TokOpt::None(text) => (text, None),
                })
                .collect::<Vec<CodeWord>>()
        };
        Some(lines.iter().enumerate().map(line).collect::<Vec<_>>())
    });
    let coloured = coloured.ok().flatten()?;
    // Colours must not change a character of the text.
    let is_same = coloured.len() == lines.len()
        && coloured
            .iter()
            .zip(&lines)
            .all(|(words, line)| words.iter().map(|(text, _)| text.as_str()).eq_text(line));
    is_same.then_some(coloured)
}

/// Comparison of parts with the whole.
trait EqText<'t>: Iterator<Item = &'t str> + Sized {
    fn eq_text(self, whole: &str) -> bool {
        self.flat_map(str::chars).eq(whole.chars())
    }
}

impl<'t, I: Iterator<Item = &'t str>> EqText<'t> for I {}

/// Returns the extension by which the grammars know a language.
fn extension_of(language: &str) -> Option<&'static str> {
    Some(match language.to_ascii_lowercase().as_str() {
        "rust" | "rs" => "rs",
        "python" | "py" => "py",
        "javascript" | "js" | "jsx" | "mjs" => "js",
        "typescript" | "ts" | "tsx" => "ts",
        "json" | "jsonc" => "json",
        "toml" => "toml",
        "yaml" | "yml" => "yaml",
        "sh" | "bash" | "shell" | "console" | "zsh" => "sh",
        "sql" => "sql",
        "html" => "html",
        "css" => "css",
        "xml" | "svg" => "xml",
        "go" => "go",
        "c" | "h" => "c",
        "cpp" | "c++" => "cpp",
        "java" => "java",
        "kotlin" | "kt" => "kt",
        "swift" => "swift",
        "ruby" | "rb" => "rb",
        "php" => "php",
        "csharp" | "cs" => "cs",
        "lua" => "lua",
        "haskell" | "hs" => "hs",
        "scala" => "scala",
        "dart" => "dart",
        "diff" | "patch" => "diff",
        _ => return None,
    })
}

/// Returns the class of a kind of word: kinds that look the same share one.
fn known_kind(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "comment" => "comment",
        "string" | "character" | "regex" => "string",
        "digit" | "boolean" | "number" => "number",
        "keyword" | "tag" | "heading" => "keyword",
        "function" | "macro" | "attribute" | "key" => "name",
        "struct" | "type" | "namespace" | "global" | "reference" => "type",
        "insertion" => "added",
        "deletion" => "removed",
        // Kinds without a colour stay plain: a new version of the grammars must not add classes
        // that no style sheet knows.
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_known_languages_have_classes_and_everything_is_escaped() {
        let shown = render_code("rust", "// a <b>\nlet x = \"y\";\n").into_string();
        assert!(
            shown.contains("<span class=\"c-comment\">// a &lt;b&gt;</span>"),
            "{shown}"
        );
        assert!(shown.contains("c-keyword\">let</span>"), "{shown}");
        let plain = render_code("klingon", "let <x>\n").into_string();
        assert_eq!(plain, "let &lt;x&gt;\n");
    }

    #[test]
    fn no_character_is_lost() {
        for code in [
            "",
            "\tlet ß = 'ä'; /* never closed",
            "fn 🦀() {}\r\n\r\n\"\\",
            "日本語 = r#\"x\"#",
        ] {
            let shown = render_code("rust", code).into_string();
            let mut text = String::new();
            let mut in_tag = false;
            for one in shown.chars() {
                match one {
                    '<' => in_tag = true,
                    '>' if in_tag => in_tag = false,
                    one if !in_tag => text.push(one),
                    _ => {}
                }
            }
            let text = text.replace("&quot;", "\"");
            let wanted: Vec<&str> = code.lines().collect();
            assert_eq!(text.lines().collect::<Vec<_>>(), wanted, "{code:?}");
        }
    }
}
