//! Progress display of long commands: a bar or spinner on a terminal, plain lines elsewhere.

use std::io::{self, IsTerminal};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::styled::sanitize_to_line;
use crate::ui::{DIM, Ui, flush_output, styled};

const BAR_TEMPLATE: &str = "{spinner} [{bar:24}] {pos}/{len} {wide_msg} {elapsed}";
const SPINNER_TEMPLATE: &str = "{spinner} {wide_msg} {elapsed}";
const SPINNER_INTERVAL: Duration = Duration::from_millis(120);

/// Progress display of one command.
pub(crate) struct Progress {
    ui: Ui,
    /// `None` without a terminal.
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Creates a bar over `steps` steps, or a spinner for at most one.
    pub(crate) fn new(ui: Ui, steps: u64) -> Self {
        // On stderr, so that the output can be piped while a bar is shown.
        let watched = !ui.silent && !ui.json && io::stderr().is_terminal();
        let bar = watched.then(|| {
            let template = if steps > 1 {
                BAR_TEMPLATE
            } else {
                SPINNER_TEMPLATE
            };
            let style = ProgressStyle::with_template(template)
                .unwrap_or_else(|_| ProgressStyle::default_spinner());
            ProgressBar::new(steps).with_style(style.progress_chars("=> "))
        });
        Self { ui, bar }
    }

    /// Shows what the command is waiting for.
    pub(crate) fn show_waiting_for(&self, what: &str) {
        match &self.bar {
            Some(bar) => {
                bar.set_message(sanitize_to_line(what));
                bar.enable_steady_tick(SPINNER_INTERVAL);
            }
            None => self.ui.print_message(styled(DIM, what)),
        }
    }

    /// Prints a line and hides the bar, for a text that is streamed next.
    pub(crate) fn announce_stream(&self, what: &str) {
        self.hide_bar();
        self.ui.print_message(styled(DIM, what));
    }

    /// Prints a message above the bar.
    pub(crate) fn print_message(&self, text: &str) {
        self.suspend_while(|| self.ui.print_message(styled(DIM, text)));
    }

    /// Streams a chunk of text.
    pub(crate) fn stream_text(&self, piece: &str) {
        self.ui.stream_message(piece);
    }

    /// Suspends the bar while `print` runs.
    pub(crate) fn suspend_while<T>(&self, print: impl FnOnce() -> T) -> T {
        let printed = || {
            // Flushed inside: a buffered line would be drawn over by the bar.
            let value = print();
            flush_output();
            value
        };
        match &self.bar {
            Some(bar) => bar.suspend(printed),
            None => printed(),
        }
    }

    /// Advances the bar by one step.
    pub(crate) fn advance_step(&self) {
        if let Some(bar) = &self.bar {
            bar.inc(1);
        }
    }

    /// Hides the bar until the next wait.
    pub(crate) fn hide_bar(&self) {
        if let Some(bar) = &self.bar {
            bar.disable_steady_tick();
            // An empty suspension clears the line; the bar would otherwise stay above a streamed
            // text.
            bar.suspend(|| {});
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
