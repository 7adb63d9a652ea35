//! Notifications to the person who runs the server: the user's channels, and the thread that sends.
//!
//! Channels come from the user's `notify.toml` alone. A project must not choose a URL that learns the titles
//! of plans, and nothing in a repository makes us run a program.

mod channel;

use std::path::PathBuf;
use std::time::Duration;

use application::Failure;
use domain::documentation::guide_address;
use domain::notification::{Notification, NotificationQueue, NotificationRules, QuietHours};
use domain::ports::Clock;
use serde::Deserialize;
use store::SystemClock;
use web::Dashboard;

pub(crate) use self::channel::NotifyChannel;
use crate::model::user_config_directory;
use crate::wiring::Project;

/// Name of the file in the user's configuration directory.
const CONFIG_FILE: &str = "notify.toml";
/// Interval at which the server looks at what waits. Live pages are quicker; this is for people who
/// are elsewhere.
const LOOK_INTERVAL: Duration = Duration::from_secs(5);
/// Pauses before a failed message is sent again.
const RETRY_PAUSES: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(10)];

/// The user's configuration of notifications.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct NotifyFile {
    digest_minutes: u32,
    quiet_hours: Option<String>,
    channel: Vec<NotifyChannel>,
}

/// Where and when the user is notified.
#[derive(Debug)]
pub(crate) struct NotifyConfig {
    pub(crate) file: PathBuf,
    pub(crate) rules: NotificationRules,
    pub(crate) channels: Vec<NotifyChannel>,
}

/// Loads the user's configuration; without a file there are no channels.
pub(crate) fn load_notify_config() -> Result<NotifyConfig, Failure> {
    let file = user_config_directory()
        .ok_or_else(|| {
            Failure::unavailable("there is no home directory to read notify.toml from")
                .with_step("set THROUGHLINE_HOME to an absolute path")
        })?
        .join(CONFIG_FILE);
    let invalid = |problem: String| {
        Failure::invalid(format!("`{}`: {problem}", file.display()))
            .with_step(format!("see {}", guide_address("notifications")))
    };
    let parsed: NotifyFile = match std::fs::read_to_string(&file) {
        Ok(text) => toml::from_str(&text).map_err(|error| invalid(error.to_string()))?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => NotifyFile::default(),
        Err(error) => return Err(invalid(error.to_string())),
    };
    for channel in &parsed.channel {
        channel.check().map_err(invalid)?;
    }
    let quiet_hours = parsed
        .quiet_hours
        .as_deref()
        .map(QuietHours::parse)
        .transpose()
        .map_err(invalid)?;
    Ok(NotifyConfig {
        rules: NotificationRules {
            digest_millis: i64::from(parsed.digest_minutes) * 60_000,
            quiet_hours,
        },
        channels: parsed.channel,
        file,
    })
}

/// Starts the thread that notifies the user of what begins to wait while the server runs; it ends
/// with the process. `dashboard_url` has no slash at its end.
pub(crate) fn start_notifier(
    config: NotifyConfig,
    project: Project,
    dashboard: Dashboard,
    dashboard_url: String,
) {
    // Without a thread nobody is notified; the server works all the same.
    let _ = std::thread::Builder::new()
        .name("notify".to_owned())
        .spawn(move || {
            let name = dashboard.project_name().to_owned();
            // In memory only: what waits when the server starts is not announced again.
            let mut queue = NotificationQueue::default();
            loop {
                // A state that cannot be read is reported by the pages; the next look may succeed.
                if let Ok(waiting) = dashboard.list_waiting_items() {
                    queue.observe(&waiting, SystemClock.now());
                }
                let due = queue.take_due_items(&config.rules, SystemClock.now());
                if !due.is_empty() {
                    let message = Notification::compose(
                        &name,
                        due,
                        queue.waiting_count(),
                        &dashboard_url,
                        Dashboard::page_of_item,
                    );
                    for channel in &config.channels {
                        // One channel that cannot be reached must not keep the others
                        // from being tried.
                        if let Err(problem) = send_with_retries(channel, &message) {
                            project.append_log_message(&format!(
                                "no notification by {channel}: {problem}"
                            ));
                        }
                    }
                }
                std::thread::sleep(LOOK_INTERVAL);
            }
        });
}

/// Sends a message, and again after a pause when that fails.
fn send_with_retries(channel: &NotifyChannel, message: &Notification) -> Result<(), String> {
    let mut outcome = channel.send(message);
    for pause in RETRY_PAUSES {
        if outcome.is_ok() {
            break;
        }
        std::thread::sleep(pause);
        outcome = channel.send(message);
    }
    outcome
}
