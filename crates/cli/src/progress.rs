//! How far a long command is: a bar or a spinner for a person at a terminal, plain lines for everybody else.

use std::io::{self, IsTerminal};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::styled::printable;
use crate::ui::{DIM, Ui, flush, styled};

const BAR: &str = "{spinner} [{bar:24}] {pos}/{len} {wide_msg} {elapsed}";
const SPINNER: &str = "{spinner} {wide_msg} {elapsed}";
const BEAT: Duration = Duration::from_millis(120);

/// What a command shows while it works.
pub(crate) struct Progress {
    ui: Ui,
    /// For a person who watches.
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Returns progress over so many steps; with one or none, just a sign of life.
    pub(crate) fn new(ui: Ui, steps: u64) -> Self {
        let watched = !ui.silent && !ui.json && io::stderr().is_terminal();
        let bar = watched.then(|| {
            let template = if steps > 1 { BAR } else { SPINNER };
            let style = ProgressStyle::with_template(template)
                .unwrap_or_else(|_| ProgressStyle::default_spinner());
            ProgressBar::new(steps).with_style(style.progress_chars("=> "))
        });
        Self { ui, bar }
    }

    /// Says what is being waited for.
    pub(crate) fn waiting_for(&self, what: &str) {
        match &self.bar {
            Some(bar) => {
                bar.set_message(printable(what));
                bar.enable_steady_tick(BEAT);
            }
            None => self.ui.say(styled(DIM, what)),
        }
    }

    /// Says what comes now, and leaves the screen to it: a text that is shown as it comes.
    pub(crate) fn showing(&self, what: &str) {
        self.rest();
        self.ui.say(styled(DIM, what));
    }

    /// Says something beside.
    pub(crate) fn say(&self, text: &str) {
        self.aside(|| self.ui.say(styled(DIM, text)));
    }

    /// Shows a piece of a text as it comes.
    pub(crate) fn stream(&self, piece: &str) {
        self.ui.stream(piece);
    }

    /// Prints something without disturbing what is shown.
    pub(crate) fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        let printed = || {
            let value = print();
            flush();
            value
        };
        match &self.bar {
            Some(bar) => bar.suspend(printed),
            None => printed(),
        }
    }

    /// A step is done.
    pub(crate) fn step(&self) {
        if let Some(bar) = &self.bar {
            bar.inc(1);
        }
    }

    /// Takes it off the screen until something is waited for again.
    pub(crate) fn rest(&self) {
        if let Some(bar) = &self.bar {
            bar.disable_steady_tick();
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
