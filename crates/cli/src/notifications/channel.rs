//! Channels of notifications: a Slack-compatible webhook, ntfy, the desktop, a program of the user.

use std::fmt;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use domain::notification::Notification;
use serde::Deserialize;
use store::post_webhook;

/// Maximum time a program may take: the messages of other channels wait for it.
const MAX_PROGRAM_TIME: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A way to reach the user.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum NotifyChannel {
    /// A webhook that takes Slack's `{"text": …}`: Slack, Mattermost, Rocket.Chat, Discord (`/slack`).
    Slack { url: String },
    /// A topic of an ntfy server, as its full URL.
    Ntfy { url: String },
    /// The desktop's notification service.
    Desktop {},
    /// A program and its arguments; it gets the message as JSON on stdin.
    Command { command: Vec<String> },
}

/// The name without the URL, which is a secret.
impl fmt::Display for NotifyChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Slack { url } => write!(f, "slack ({})", host_of(url)),
            Self::Ntfy { url } => write!(f, "ntfy ({})", host_of(url)),
            Self::Desktop {} => f.write_str("desktop"),
            Self::Command { command } => {
                // Without the arguments, which may contain a token.
                write!(f, "command ({})", command.first().map_or("", |name| name))
            }
        }
    }
}

/// Returns the host of a URL.
fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    // User and password may stand before the host.
    authority.rsplit('@').next().unwrap_or_default()
}

/// Splits the URL of an ntfy topic into the server and the topic.
fn split_topic(url: &str) -> Option<(&str, &str)> {
    // The message is posted to the server as JSON with the topic inside: headers would be limited
    // to ASCII.
    let (server, topic) = url.trim_end_matches('/').rsplit_once('/')?;
    let is_server = server.contains("://") && !host_of(server).is_empty();
    (is_server && !topic.is_empty()).then_some((server, topic))
}

impl NotifyChannel {
    /// Checks what the file says about it.
    pub(super) fn check(&self) -> Result<(), String> {
        match self {
            Self::Slack { url } | Self::Ntfy { url }
                if !(url.starts_with("https://") || url.starts_with("http://")) =>
            {
                Err("the `url` of a channel has to begin with https:// or http://".to_owned())
            }
            Self::Ntfy { url } if split_topic(url).is_none() => {
                Err("the `url` of an ntfy channel names a topic: https://ntfy.sh/TOPIC".to_owned())
            }
            // Relative, it would be another program in each project.
            Self::Command { command }
                if !command
                    .first()
                    .is_some_and(|name| std::path::Path::new(name).is_absolute()) =>
            {
                Err(
                    "`command` of a channel begins with the absolute path of a program: [\"/usr/bin/…\"]"
                        .to_owned(),
                )
            }
            _ => Ok(()),
        }
    }

    /// Sends a message.
    pub(crate) fn send(&self, message: &Notification) -> Result<(), String> {
        match self {
            Self::Slack { url } => post_webhook(url, &message.slack_body()),
            Self::Ntfy { url } => {
                let (server, topic) = split_topic(url).ok_or("its URL names no topic")?;
                post_webhook(server, &message.ntfy_body(topic))
            }
            Self::Desktop {} => run_program(&desktop_command(message), None),
            Self::Command { command } => {
                let json = serde_json::to_string(message).map_err(|error| error.to_string())?;
                run_program(command, Some(&json))
            }
        }
    }
}

/// Returns the command of the desktop's notification. The texts are arguments: they are no part of a
/// script, and `--` keeps them from being options.
fn desktop_command(message: &Notification) -> Vec<String> {
    let words: &[&str] = if cfg!(target_os = "macos") {
        &[
            "/usr/bin/osascript",
            "-e",
            "on run argv",
            "-e",
            "display notification (item 2 of argv) with title (item 1 of argv)",
            "-e",
            "end run",
            "--",
        ]
    } else {
        &["/usr/bin/notify-send", "--app-name=Throughline", "--"]
    };
    let texts = [&message.title, &message.text];
    let words = words.iter().map(|word| (*word).to_owned());
    words.chain(texts.into_iter().cloned()).collect()
}

/// Runs a program to its end, without a shell.
fn run_program(command: &[String], input: Option<&str>) -> Result<(), String> {
    let (program, arguments) = command.split_first().ok_or("it names no program")?;
    #[expect(
        clippy::disallowed_methods,
        reason = "the user's own configuration names this program"
    )]
    let mut child = Command::new(program)
        .args(arguments)
        // A pipe even without input: with the server's own terminal the program could
        // wait for a key.
        .stdin(Stdio::piped())
        // What a program prints would mix with the server's own output.
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("cannot run `{program}`: {error}"))?;
    if let (Some(mut pipe), Some(input)) = (child.stdin.take(), input) {
        // A program that does not read its input has still been notified.
        let _ = pipe.write_all(input.as_bytes());
    }
    let begun = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(format!("`{program}` ended with {status}")),
            Ok(None) if begun.elapsed() < MAX_PROGRAM_TIME => std::thread::sleep(POLL_INTERVAL),
            Ok(None) => {
                // An error means that it ended meanwhile. The wait reaps it: zombies would pile up
                // in a server that runs for weeks.
                let _ = child.kill();
                let _ = child.wait();
                let seconds = MAX_PROGRAM_TIME.as_secs();
                return Err(format!("`{program}` did not end within {seconds} s"));
            }
            Err(error) => return Err(format!("cannot wait for `{program}`: {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<NotifyChannel, String> {
        toml::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn a_channel_is_named_without_its_secret() {
        let slack =
            parse("kind = \"slack\"\nurl = \"https://me:key@hooks.example.org/T0/B0/secret\"");
        assert_eq!(slack.unwrap().to_string(), "slack (hooks.example.org)");
    }

    #[test]
    fn an_unusable_channel_is_refused_with_what_is_expected() {
        for (text, expected) in [
            ("kind = \"slack\"\nurl = \"file:///etc/passwd\"", "https://"),
            ("kind = \"ntfy\"\nurl = \"https://ntfy.sh/\"", "TOPIC"),
            (
                "kind = \"command\"\ncommand = [\"notify.sh\"]",
                "absolute path",
            ),
            ("kind = \"command\"\ncommand = []", "absolute path"),
        ] {
            let problem = parse(text).unwrap().check().unwrap_err();
            assert!(problem.contains(expected), "{problem}");
        }
        assert!(parse("kind = \"pigeon\"").is_err());
        assert!(parse("kind = \"desktop\"\nurl = \"https://a\"").is_err());
    }

    #[test]
    fn a_topic_is_the_last_part_of_the_url() {
        assert_eq!(
            split_topic("https://ntfy.example.org/base/plans/"),
            Some(("https://ntfy.example.org/base", "plans"))
        );
        assert_eq!(split_topic("https://ntfy.sh"), None);
    }
}
