//! Slash commands for agents: one source, rendered in each host's format.
//!
//! Every text begins with `Throughline command: /NAME ARGUMENTS`. Some hosts report only the text a
//! typed command expands to, and this line identifies the command.

use domain::host_event::Host;
use domain::profile::Profile;

use crate::host_spec;

/// Placeholder for the arguments in the sources.
const ARGUMENTS_PLACEHOLDER: &str = "{{ARGUMENTS}}";

macro_rules! sources {
    ($($name:literal),+ $(,)?) => {
        [$(($name, include_str!(concat!("../../assets/commands/", $name, ".md")))),+]
    };
}

const COMMAND_SOURCES: [(&str, &str); 18] = sources![
    "plan-story",
    "plan-act",
    "plan-chapter",
    "plan-scene",
    "ticket",
    "where",
    "next",
    "approve-plan",
    "revalidate-scene",
    "revalidate-all",
    "show-hierarchy",
    "list-versions",
    "diff-version",
    "restore-version",
    "check-state-consistency",
    "repair-state",
    "rebuild-state",
    "sync-version-hashes",
];

/// A command that a person invokes by typing `/NAME`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgentCommand {
    pub name: &'static str,
    pub description: &'static str,
    /// Hint about the arguments; empty if it takes none.
    pub hint: &'static str,
    body: &'static str,
    need: CommandNeed,
}

/// What a project has to have for a command to make sense in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommandNeed {
    Nothing,
    /// A profile with a level of this name.
    Level(&'static str),
    /// A profile with work phases: tickets.
    Phases,
}

impl CommandNeed {
    fn parse(text: &'static str) -> Self {
        match text.split_once(' ') {
            Some(("level", name)) => Self::Level(name),
            _ if text == "phases" => Self::Phases,
            _ => Self::Nothing,
        }
    }

    /// Whether one of the profiles has it. Without profiles nothing is known, and every command fits.
    pub(super) fn is_met(self, profiles: &[Profile]) -> bool {
        let is_met_by = |profile: &Profile| match self {
            Self::Nothing => true,
            Self::Level(name) => profile.find_level(name).is_some(),
            Self::Phases => !profile.work_phases.is_empty(),
        };
        profiles.is_empty() || profiles.iter().any(is_met_by)
    }
}

/// Returns every command.
#[must_use]
pub fn agent_commands() -> Vec<AgentCommand> {
    COMMAND_SOURCES
        .iter()
        .map(|(name, source)| parse_command(name, source))
        .collect()
}

fn parse_command(name: &'static str, source: &'static str) -> AgentCommand {
    let front = source
        // The sources are compiled in and a test renders each of them, so a broken one cannot ship.
        .strip_prefix("---\n")
        .expect("BUG: a command's source begins with its front matter");
    let (front, body) = front
        .split_once("\n---\n")
        .expect("BUG: a command's front matter ends");
    let field = |field: &str| {
        front
            .lines()
            .find_map(|line| line.strip_prefix(field)?.strip_prefix(": "))
            .unwrap_or_default()
            .trim()
    };
    AgentCommand {
        name,
        description: field("description"),
        hint: field("argument-hint"),
        body: body.trim(),
        need: CommandNeed::parse(field("needs")),
    }
}

/// Where and how a host keeps commands.
pub(crate) struct CommandFiles {
    /// Start of a file's path, before the command's name.
    pub(crate) folder: &'static str,
    /// End of a file's path, after the command's name.
    pub(crate) suffix: &'static str,
    /// What the host replaces by the arguments; `None` if it only shows them elsewhere.
    pub(crate) arguments: Option<&'static str>,
    /// Renders the file around a command's text.
    pub(crate) frame: fn(&AgentCommand, &str) -> String,
}

impl CommandFiles {
    /// Skills, in the folder that several hosts read: one file serves them all.
    pub(crate) const SKILLS: Self = Self {
        folder: ".agents/skills/",
        suffix: "/SKILL.md",
        arguments: None,
        frame: |command, text| {
            let (name, description) = (command.name, command.description);
            format!("---\nname: {name}\ndescription: {description}\n---\n\n{text}")
        },
    };
}

impl AgentCommand {
    /// Returns the path where the host looks for it.
    #[must_use]
    pub fn path(&self, host: Host) -> String {
        let files = &host_spec(host).commands;
        format!("{}{}{}", files.folder, self.name, files.suffix)
    }

    /// Renders the file for a host.
    #[must_use]
    pub fn render(&self, host: Host) -> String {
        let files = &host_spec(host).commands;
        let text = match files.arguments {
            Some(arguments) => self.render_text(arguments),
            None => self.render_plain_text(),
        };
        (files.frame)(self, &text)
    }

    pub(super) fn need(&self) -> CommandNeed {
        self.need
    }

    /// Returns the marker that identifies a file with this command as ours.
    pub(super) fn file_mark(&self) -> String {
        format!("Throughline command: /{}", self.name)
    }

    /// Renders the text for a host that substitutes the arguments.
    fn render_text(&self, arguments: &str) -> String {
        let first = if self.hint.is_empty() {
            self.file_mark()
        } else {
            format!("{} {arguments}", self.file_mark())
        };
        format!(
            "{first}\n\n{}\n",
            self.body.replace(ARGUMENTS_PLACEHOLDER, arguments)
        )
    }

    /// Renders the text for a host that does not substitute arguments but shows them elsewhere.
    fn render_plain_text(&self) -> String {
        let body = self.body.replace(ARGUMENTS_PLACEHOLDER, "ARGUMENTS");
        let explained = if body.contains("ARGUMENTS") {
            "ARGUMENTS below stands for the words given after the command.\n\n"
        } else {
            ""
        };
        format!("{}\n\n{explained}{body}\n", self.file_mark())
    }
}

#[cfg(test)]
mod tests {
    use domain::profile::built_in_profile;

    use super::*;

    #[test]
    fn commands_of_another_kind_of_project_are_left_out() {
        let names = |profiles: &[&str]| -> Vec<&str> {
            let profiles: Vec<Profile> = profiles
                .iter()
                .map(|name| built_in_profile(name).expect("built in"))
                .collect();
            let commands = agent_commands().into_iter();
            commands
                .filter(|command| command.need().is_met(&profiles))
                .map(|command| command.name)
                .collect()
        };
        let (story, tickets) = (names(&["story"]), names(&["tickets", "trail"]));
        assert!(story.contains(&"plan-act") && !story.contains(&"ticket"));
        assert!(tickets.contains(&"ticket") && !tickets.contains(&"plan-act"));
        assert!(story.contains(&"approve-plan") && tickets.contains(&"approve-plan"));
        assert_eq!(names(&["story", "tickets"]).len(), agent_commands().len());
    }

    #[test]
    fn every_command_is_whole_and_fits_every_host() {
        for command in agent_commands() {
            let AgentCommand {
                name,
                description,
                hint,
                body,
                ..
            } = command;
            assert!(!description.is_empty() && !body.is_empty(), "{name}");
            // These are written into YAML and TOML without escaping.
            assert!(
                !description.contains([':', '#', '"', '\\', '\'']),
                "{name}: {description}"
            );
            assert!(!hint.contains(['"', '\\']), "{name}: {hint}");
            assert!(
                !body.contains("'''") && !body.contains("!{") && !body.contains("@{"),
                "{name}"
            );
            assert_eq!(
                body.contains(ARGUMENTS_PLACEHOLDER),
                !hint.is_empty(),
                "{name}: arguments are hinted at when they are used"
            );
            for host in Host::ALL {
                let text = command.render(host);
                assert!(!text.contains(ARGUMENTS_PLACEHOLDER), "{name} for {host:?}");
                let first = text
                    .lines()
                    .find(|line| line.starts_with("Throughline command: /"));
                let expected = match host_spec(host).commands.arguments {
                    Some(arguments) if !hint.is_empty() => {
                        format!("Throughline command: /{name} {arguments}")
                    }
                    _ => format!("Throughline command: /{name}"),
                };
                assert_eq!(first, Some(expected.as_str()), "{name} for {host:?}");
            }
        }
    }
}
