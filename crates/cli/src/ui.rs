//! The only place that writes to the terminal: data to stdout, talk to stderr.
//!
//! Meaning never depends on colour. `NO_COLOR` and pipes are respected by `anstream`; control bytes
//! of stored text never reach the terminal.

use std::cell::RefCell;
use std::io::{self, BufWriter, IsTerminal, Write};

use anstyle::{AnsiColor, Style};
use application::Failure;
use domain::node::Status;
use domain::planning_prompt::clean_line;
use serde::Serialize;

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const WARN: Style = AnsiColor::Yellow.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default();
pub(crate) const INFO: Style = AnsiColor::Cyan.on_default();

/// How output is wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ui {
    pub(crate) json: bool,
    pub(crate) silent: bool,
}

impl Ui {
    /// Prints a line of data.
    pub(crate) fn line(self, text: impl AsRef<str>) {
        self.text(&format!("{}\n", text.as_ref()));
    }

    /// Says something to the person.
    pub(crate) fn say(self, text: impl AsRef<str>) {
        if self.silent {
            return;
        }
        flush();
        // Nobody listening on stderr is no reason to fail.
        let _ = writeln!(anstream::stderr(), "{}", text.as_ref());
    }

    /// Prints a value as JSON: on a terminal indented, in a pipe on one line.
    pub(crate) fn value<T: Serialize>(self, value: &T) {
        if self.silent {
            return;
        }
        flush();
        let stdout = io::stdout();
        let written = if stdout.is_terminal() { serde_json::to_vec_pretty(value) } else { serde_json::to_vec(value) };
        finish(written.map_err(io::Error::from).and_then(|mut bytes| {
            bytes.push(b'\n');
            stdout.lock().write_all(&bytes)
        }));
    }

    /// Prints raw text as data.
    pub(crate) fn text(self, text: &str) {
        if self.silent {
            return;
        }
        let full = OUTPUT.with_borrow_mut(|output| {
            output.push_str(text);
            output.len() > 16 * 1024
        });
        if full {
            flush();
        }
    }

    /// Reports a failure: as JSON on stdout, or in words on stderr.
    pub(crate) fn failure(self, failure: &Failure) {
        if self.json {
            match &failure.current {
                None => self.error_value(failure.kind.word(), &failure.message, &failure.next_steps),
                Some(current) => self.value(&serde_json::json!({
                    "error": { "kind": failure.kind.word(), "message": failure.message, "next_steps": failure.next_steps },
                    "current": current,
                })),
            }
            return;
        }
        self.say(format!("{}: {}", styled(BAD, "error"), clean_line(&failure.message)));
        for step in &failure.next_steps {
            self.say(format!("{}: {}", styled(INFO, "next"), clean_line(step)));
        }
        if let Some(current) = &failure.current {
            self.say(format!("{}: {}", styled(INFO, "now"), clean_line(&current.to_string())));
        }
    }

    /// Prints the JSON form of a failure.
    pub(crate) fn error_value(self, kind: &str, message: &str, next_steps: &[String]) {
        self.value(&serde_json::json!({
            "error": { "kind": kind, "message": message, "next_steps": next_steps }
        }));
    }
}

thread_local! {
    /// What is still to be printed: one write instead of one a line.
    static OUTPUT: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Prints what is still to be printed. Called before anything else is said and when a command ends.
pub(crate) fn flush() {
    let output = OUTPUT.with_borrow_mut(std::mem::take);
    if !output.is_empty() {
        finish(print(&output));
    }
}

/// Writes everything at once; `anstream` alone would write line by line.
fn print(output: &str) -> io::Result<()> {
    let stdout = io::stdout();
    let plain = anstream::AutoStream::choice(&stdout) == anstream::ColorChoice::Never;
    if !plain {
        return anstream::AutoStream::auto(stdout).write_all(output.as_bytes());
    }
    let mut out = BufWriter::with_capacity(output.len(), stdout.lock());
    write!(out, "{}", anstream::adapter::strip_str(output))?;
    out.flush()
}

/// A closed pipe (`tl tree | head`) is the reader's decision, not an error.
fn finish(result: io::Result<()>) {
    if let Err(error) = result
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        let _ = writeln!(io::stderr(), "error: cannot write the output: {error}");
    }
}

/// Returns text in a style.
pub(crate) fn styled(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// Returns a status as mark and word, so that it can be read without colour.
pub(crate) fn status(status: Status) -> String {
    let (style, mark) = match status {
        Status::Draft => (DIM, '○'),
        Status::Approved => (GOOD, '✓'),
        Status::RequiresRevalidation => (WARN, '↻'),
        Status::Invalid => (BAD, '✗'),
    };
    styled(style, &format!("{mark} {status}"))
}
