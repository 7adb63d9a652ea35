//! The recording in README: a short session of the real program, drawn as an SVG whose lines appear
//! one after another.

use std::fmt::Write;
use std::path::Path;

use crate::workspace::{cargo, command, root, run, target_directory};
use crate::{Outcome, say};

const PICTURE: &str = "docs/images/session.svg";
const LINE_HEIGHT: usize = 20;
const MARGIN: usize = 18;
const WIDTH: usize = 880;
/// Seconds between two commands.
const PAUSE: f64 = 1.6;
/// The longest line that fits.
const MAX_COLUMNS: usize = 100;

const ACT: &str = "# The harbour\n\n## Characters\n- Mara, a pilot\n\n## Purpose\nMara comes home and finds the harbour closed.\n";
const CHAPTER: &str = "# The closed gate\n\n## Characters\n- Mara\n";

/// One step: files to write first, then the command a person types.
struct Step {
    writes: Option<(&'static str, &'static str, &'static str)>,
    command: &'static [&'static str],
}

const STEPS: [Step; 6] = [
    Step {
        writes: Some((
            "acts/act-1/strategic-plan.md",
            ACT,
            "an agent writes acts/act-1/strategic-plan.md",
        )),
        command: &["plan", "chapter", "1"],
    },
    Step {
        writes: None,
        command: &["approve", "act", "1"],
    },
    Step {
        writes: Some((
            "acts/act-1/chapters/chapter-01/plan.md",
            CHAPTER,
            "the chapter is written too",
        )),
        command: &["approve", "chapter", "1"],
    },
    Step {
        writes: Some((
            "acts/act-1/strategic-plan.md",
            "# The harbour\n\n## Characters\n- Mara, a pilot\n\n## Purpose\nMara comes home and finds the harbour burned down.\n",
            "an editor changes the act: closed → burned down",
        )),
        command: &["tree"],
    },
    Step {
        writes: None,
        command: &["approve", "act", "1"],
    },
    Step {
        writes: None,
        command: &["revalidate", "chapter", "1", "--keep"],
    },
];

/// Plays the session and writes the picture.
pub(crate) fn record() -> Outcome {
    run(cargo().args(["build", "--package", "throughline"]))?;
    let program = target_directory()?.join("debug/tl");
    let folder = tempfile::tempdir().map_err(|error| format!("no directory: {error}"))?;
    let project = folder.path().join("novel");
    std::fs::create_dir(&project).map_err(|error| format!("no directory: {error}"))?;
    play(&program, folder.path(), &["init", "--profile", "story"])?;
    let mut drawing = Drawing::default();
    for step in &STEPS {
        if let Some((file, text, remark)) = step.writes {
            write_plan(&project.join(file), text)?;
            drawing.add_line(&[Span::new(&format!("({remark})"), "dim")]);
        }
        let typed = format!("$ tl {}", step.command.join(" "));
        drawing.add_line(&[Span::new(&typed, "typed")]);
        for line in play(&program, folder.path(), step.command)?.lines() {
            drawing.add_line(&parse_line(line));
        }
        drawing.add_pause();
    }
    crate::bench::story::write_file(&root().join(PICTURE), &drawing.render())?;
    say(&format!("{PICTURE} is written"));
    Ok(())
}

/// Runs one command as a person at a terminal would, and returns what it prints, in order.
fn play(program: &Path, folder: &Path, words: &[&str]) -> Result<String, String> {
    // One pipe for both streams keeps their order.
    let line = format!("\"$0\" {} 2>&1", words.join(" "));
    let output = command("sh")
        .arg("-c")
        .arg(line)
        .arg(program)
        .current_dir(folder.join("novel"))
        .env("HOME", folder)
        .env("CLICOLOR_FORCE", "1")
        .output()
        .map_err(|error| format!("cannot start tl: {error}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn write_plan(path: &Path, text: &str) -> Outcome {
    std::fs::create_dir_all(path.parent().unwrap_or(path))
        .map_err(|error| format!("no directory: {error}"))?;
    crate::bench::story::write_file(path, text)
}

/// A part of a line in one style.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Span {
    text: String,
    style: &'static str,
}

impl Span {
    fn new(text: &str, style: &'static str) -> Self {
        Self {
            text: text.to_owned(),
            style,
        }
    }
}

/// Splits a line of a terminal into its styles.
fn parse_line(line: &str) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut style = "plain";
    let mut parts = line.split("\u{1b}[");
    spans.extend(parts.next().map(|text| Span::new(text, style)));
    for part in parts {
        let (codes, text) = part.split_once('m').unwrap_or(("", part));
        for code in codes.split(';') {
            style = style_of_code(code, style);
        }
        spans.push(Span::new(text, style));
    }
    spans.retain(|span| !span.text.is_empty());
    spans
}

fn style_of_code(code: &str, present: &'static str) -> &'static str {
    match code {
        "" | "0" => "plain",
        "1" => "bold",
        "2" => "dim",
        "31" | "91" => "red",
        "32" | "92" => "green",
        "33" | "93" => "yellow",
        "34" | "35" | "36" | "94" | "95" | "96" => "blue",
        _ => present,
    }
}

#[derive(Default)]
struct Drawing {
    lines: Vec<(f64, Vec<Span>)>,
    time: f64,
}

impl Drawing {
    fn add_line(&mut self, spans: &[Span]) {
        self.time += 0.12;
        self.lines.push((self.time, spans.to_vec()));
    }

    fn add_pause(&mut self) {
        self.time += PAUSE;
        self.lines.push((self.time, Vec::new()));
    }

    fn render(&self) -> String {
        let height = self.lines.len() * LINE_HEIGHT + 2 * MARGIN;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">\n\
             <title>A session with tl: a chapter is refused, the act approved, changed, and decided on again</title>\n\
             <style>\n{STYLE}</style>\n<rect class=\"screen\" width=\"{WIDTH}\" height=\"{height}\" rx=\"8\"/>\n"
        );
        for (index, (time, spans)) in self.lines.iter().enumerate() {
            if spans.is_empty() {
                continue;
            }
            let y = MARGIN + (index + 1) * LINE_HEIGHT - 5;
            let _ = write!(
                svg,
                "<text class=\"line\" style=\"animation-delay:{time:.2}s\" x=\"{MARGIN}\" y=\"{y}\" xml:space=\"preserve\">"
            );
            let mut left = MAX_COLUMNS;
            for span in spans {
                let text: String = span.text.chars().take(left).collect();
                left -= text.chars().count();
                let _ = write!(
                    svg,
                    "<tspan class=\"{}\">{}</tspan>",
                    span.style,
                    escape(&text)
                );
            }
            svg.push_str("</text>\n");
        }
        svg.push_str("</svg>\n");
        svg
    }
}

const STYLE: &str = "\
.screen{fill:#16181d}
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#d7dae0}
.typed{fill:#fff;font-weight:600}.bold{font-weight:600}.dim{fill:#8b919d}
.red{fill:#ff7b72}.green{fill:#7ee787}.yellow{fill:#e3b341}.blue{fill:#79c0ff}
.line{opacity:0;animation:show .01s forwards}
@keyframes show{to{opacity:1}}
@media(prefers-reduced-motion:reduce){.line{opacity:1;animation:none}}
";

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_become_styles_and_nothing_is_lost() {
        let spans = parse_line("a \u{1b}[1m\u{1b}[31merror\u{1b}[0m: b");
        assert_eq!(
            spans,
            [
                Span::new("a ", "plain"),
                Span::new("error", "red"),
                Span::new(": b", "plain"),
            ]
        );
    }

    #[test]
    fn text_cannot_leave_its_element() {
        let mut drawing = Drawing::default();
        drawing.add_line(&[Span::new("<script>&", "plain")]);
        let svg = drawing.render();
        assert!(svg.contains("&lt;script&gt;&amp;") && !svg.contains("<script>"));
    }
}
