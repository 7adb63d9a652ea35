//! Terminal output, in the only place that writes it: data to stdout, messages to stderr.
//!
//! Meaning never depends on colour. `NO_COLOR` and pipes are respected by `anstream`. Everything
//! printed is a [`Rendered`], which sanitizes it: callers may pass text from files, git and models
//! as it is.

use std::cell::RefCell;
use std::fmt::Display;
use std::io::{self, BufWriter, IsTerminal, Write};

use anstyle::{AnsiColor, Style};
use application::Failure;
use domain::node::Status;
use serde::Serialize;

use crate::styled::{Rendered, sanitize_json};
pub(crate) use crate::styled::{Styled, StyledLine, styled, styled_line};

pub(crate) const PLAIN: Style = Style::new();
pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const WARN: Style = AnsiColor::Yellow.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default();
pub(crate) const INFO: Style = AnsiColor::Cyan.on_default();

/// Output mode of a command.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ui {
    pub(crate) json: bool,
    pub(crate) silent: bool,
}

impl Ui {
    /// Prints a line of data; line breaks in it become spaces.
    pub(crate) fn print_line(self, text: impl Display) {
        self.print_data(|output| output.push_line(text));
    }

    /// Prints a line of data about something that is done.
    pub(crate) fn print_success(self, text: impl Display) {
        self.print_line(format_args!("{} {text}", styled(GOOD, "✓")));
    }

    /// Prints a text of several lines as data; it contains its own line ends.
    pub(crate) fn print_text(self, text: impl Display) {
        self.print_data(|output| output.push_text(text));
    }

    /// Prints text that is JSON already.
    pub(crate) fn print_json_text(self, text: &str) {
        self.buffer_output(|output| output.push_text(sanitize_json(text.to_owned())));
    }

    /// Prints the lines of a text.
    pub(crate) fn print_lines(self, text: &str) {
        text.lines().for_each(|line| self.print_line(line));
    }

    /// Prints an empty line of data.
    pub(crate) fn print_blank_line(self) {
        self.print_line("");
    }

    fn print_data(self, add: impl FnOnce(&mut Rendered)) {
        // Text on stdout would break the program that parses the JSON there.
        match self.json {
            true => self.print_to_stderr(add),
            false => self.buffer_output(add),
        }
    }

    fn buffer_output(self, add: impl FnOnce(&mut Rendered)) {
        if self.silent {
            return;
        }
        let full = OUTPUT.with_borrow_mut(|output| {
            add(output);
            // Bounded, so that the first lines of a long tree appear before the last ones exist.
            output.len() > 16 * 1024
        });
        if full {
            flush_output();
        }
    }

    /// Prints a message to stderr, on one line.
    pub(crate) fn print_message(self, text: impl Display) {
        self.print_to_stderr(|output| output.push_line(text));
    }

    /// Prints a warning to stderr.
    pub(crate) fn print_warning(self, text: impl Display) {
        self.print_message(format_args!("{}: {text}", styled(WARN, "warning")));
    }

    /// Prints a note to stderr.
    pub(crate) fn print_note(self, text: impl Display) {
        self.print_message(format_args!("{}: {text}", styled(INFO, "note")));
    }

    /// Prints a next step to stderr.
    pub(crate) fn print_next_step(self, step: impl Display) {
        self.print_message(format_args!("{}: {step}", styled(INFO, "next")));
    }

    /// Prints the lines of a text to stderr.
    pub(crate) fn print_message_lines(self, text: &str) {
        text.lines().for_each(|line| self.print_message(line));
    }

    /// Streams a chunk of text to stderr, if that is a terminal.
    pub(crate) fn stream_message(self, piece: &str) {
        if !self.json && io::stderr().is_terminal() {
            self.print_to_stderr(|output| output.push_text(styled(DIM, piece)));
        }
    }

    fn print_to_stderr(self, add: impl FnOnce(&mut Rendered)) {
        if self.silent {
            return;
        }
        flush_output();
        let mut output = Rendered::new();
        // The buffered data is printed before (see above), so that both streams keep their order on
        // a terminal.
        add(&mut output);
        // A closed stderr is no reason to fail.
        let _ = anstream::stderr().write_all(output.as_str().as_bytes());
    }

    /// Prints a value as JSON: indented on a terminal, one line in a pipe.
    pub(crate) fn print_json<T: Serialize>(self, value: &T) {
        if self.silent {
            return;
        }
        flush_output();
        let stdout = io::stdout();
        // One line per document in a pipe, which line-based tools can read.
        let written = if stdout.is_terminal() {
            serde_json::to_string_pretty(value)
        } else {
            serde_json::to_string(value)
        };
        report_write_error(written.map_err(io::Error::from).and_then(|json| {
            let mut json = sanitize_json(json);
            json.push('\n');
            stdout.lock().write_all(json.as_bytes())
        }));
    }

    /// Prints a value as JSON where `--json` asks for it, and returns whether it did.
    pub(crate) fn try_print_json<T: Serialize>(self, value: &T) -> bool {
        if self.json {
            self.print_json(value);
        }
        self.json
    }

    /// Reports a failure: as JSON on stdout, or as text on stderr.
    pub(crate) fn report_failure(self, failure: &Failure) {
        if self.json {
            match &failure.current {
                None => self.print_json_error(failure.kind.as_str(), &failure.message, &failure.next_steps),
                Some(current) => self.print_json(&serde_json::json!({
                    "error": { "kind": failure.kind.as_str(), "message": failure.message, "next_steps": failure.next_steps },
                    "current": current,
                })),
            }
            return;
        }
        self.print_message(format_args!(
            "{}: {}",
            styled(BAD, "error"),
            failure.message
        ));
        for step in &failure.next_steps {
            self.print_next_step(step);
        }
        if let Some(current) = &failure.current {
            self.print_message(format_args!("{}: {current}", styled(INFO, "now")));
        }
    }

    /// Prints the JSON form of a failure.
    pub(crate) fn print_json_error(self, kind: &str, message: &str, next_steps: &[String]) {
        self.print_json(&serde_json::json!({
            "error": { "kind": kind, "message": message, "next_steps": next_steps }
        }));
    }
}

thread_local! {
    /// Output buffer: one write instead of one per line.
    static OUTPUT: RefCell<Rendered> = const { RefCell::new(Rendered::new()) };
}

/// Flushes the output buffer. Called before messages and at the end of a command.
pub(crate) fn flush_output() {
    // Borrowed only when a panic is reported from inside `print`; then the text is lost, not the
    // report.
    let output = OUTPUT.with(|output| {
        output
            .try_borrow_mut()
            .map(|mut output| std::mem::take(&mut *output))
    });
    let output = output.unwrap_or_default();
    if output.len() > 0 {
        report_write_error(write_to_stdout(&output));
    }
}

/// Writes the whole buffer at once; `anstream` alone would write line by line.
fn write_to_stdout(output: &Rendered) -> io::Result<()> {
    let output = output.as_str();
    let stdout = io::stdout();
    let plain = anstream::AutoStream::choice(&stdout) == anstream::ColorChoice::Never;
    if !plain {
        return anstream::AutoStream::auto(stdout).write_all(output.as_bytes());
    }
    let mut out = BufWriter::with_capacity(output.len(), stdout.lock());
    write!(out, "{}", anstream::adapter::strip_str(output))?;
    out.flush()
}

/// Reports a write error, except for a closed pipe (`tl tree | head`).
fn report_write_error(result: io::Result<()>) {
    if let Err(error) = result
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        let _ = writeln!(io::stderr(), "error: cannot write the output: {error}");
    }
}

/// Renders the title of a node behind its name; nothing for a node without one.
pub(crate) fn title_suffix(title: Option<&str>) -> String {
    title.map(|title| format!("  {title}")).unwrap_or_default()
}

/// Renders a status as symbol and word, so that it is readable without colour.
pub(crate) fn render_node_status(status: Status) -> Styled<String> {
    let style = match status {
        Status::Draft => DIM,
        Status::Approved => GOOD,
        Status::RequiresRevalidation => WARN,
        Status::Invalid => BAD,
    };
    styled(style, format!("{} {status}", status.symbol()))
}
