//! `tl team notify`: shows where the user is notified, and sends a message to try it.

use application::Failure;
use clap::Args;
use domain::documentation::guide_address;
use domain::notification::{Notification, WaitingItem};
use domain::text::count_with_noun;
use serde_json::json;

use crate::exit_code::ExitCode;
use crate::notifications::load_notify_config;
use crate::wiring::App;

/// Show where you are notified of waiting decisions, or try it
///
/// While `tl serve` runs, every channel of your `notify.toml` gets a message when a plan begins to
/// wait for you. The file is your own, in your configuration directory: a project cannot set it.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tl team notify          # the channels\n  tl team notify --test   # send a message to each"
)]
pub(crate) struct NotifyArgs {
    /// Send a message to every channel
    #[arg(long)]
    test: bool,
}

impl NotifyArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let config = load_notify_config()?;
        let message = Notification::compose(
            "Throughline",
            vec![WaitingItem {
                key: String::new(),
                path: "act-1/chapter-02".to_owned(),
                title: Some("A test".to_owned()),
                status: "draft".to_owned(),
            }],
            1,
            "http://127.0.0.1:7070",
            |_| "/".to_owned(),
        );
        let outcomes: Vec<(String, Option<Result<(), String>>)> = config
            .channels
            .iter()
            .map(|channel| {
                // Without retries: a person waits for the result and wants to know of the
                // first failure.
                let sent = self.test.then(|| channel.send(&message));
                (channel.to_string(), sent)
            })
            .collect();
        let failed = outcomes
            .iter()
            .filter(|(_, sent)| matches!(sent, Some(Err(_))))
            .count();
        if app.ui.json {
            let channels: Vec<_> = outcomes
                .iter()
                .map(|(name, sent)| {
                    let problem = sent.as_ref().and_then(|sent| sent.as_ref().err());
                    json!({ "channel": name, "sent": sent.as_ref().map(Result::is_ok), "problem": problem })
                })
                .collect();
            app.ui
                .print_json(&json!({ "file": config.file, "channels": channels }));
        } else {
            for (name, sent) in &outcomes {
                match sent {
                    None => app.ui.print_line(name),
                    Some(Ok(())) => app.ui.print_success(format_args!("sent by {name}")),
                    Some(Err(problem)) => {
                        app.ui
                            .print_warning(format_args!("not sent by {name}: {problem}"));
                    }
                }
            }
            if outcomes.is_empty() {
                app.ui.print_message(format_args!(
                    "no channels: `{}` names none",
                    config.file.display()
                ));
                app.ui.print_next_step(format_args!(
                    "write it as {} shows",
                    guide_address("notifications")
                ));
            }
        }
        // Every channel is tried and listed before the command fails.
        match failed {
            0 => Ok(ExitCode::Done),
            failed => Err(Failure::unavailable(format!(
                "{} could not be reached",
                count_with_noun(failed, "channel", "channels")
            ))
            .with_step(format!("check `{}`", config.file.display()))),
        }
    }
}
