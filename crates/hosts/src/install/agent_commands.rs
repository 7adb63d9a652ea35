//! The commands we give to agents: one source, rendered as each host reads it.
//!
//! Every text begins with `Throughline command: /NAME ARGUMENTS`: some hosts tell us of a typed command only what they
//! made of it, and this line says which one it was.

use domain::host_event::Host;

/// Stands for the arguments in the sources.
const ARGUMENTS: &str = "{{ARGUMENTS}}";

macro_rules! sources {
    ($($name:literal),+ $(,)?) => {
        [$(($name, include_str!(concat!("../../assets/commands/", $name, ".md")))),+]
    };
}

const SOURCES: [(&str, &str); 15] = sources![
    "plan-story",
    "plan-act",
    "plan-chapter",
    "plan-scene",
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

/// A command an agent can be given by typing `/NAME`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgentCommand {
    pub name: &'static str,
    pub description: &'static str,
    /// What may follow the name; empty when nothing may.
    pub hint: &'static str,
    body: &'static str,
}

/// Returns every command.
#[must_use]
pub fn agent_commands() -> Vec<AgentCommand> {
    SOURCES
        .iter()
        .map(|(name, source)| parse(name, source))
        .collect()
}

fn parse(name: &'static str, source: &'static str) -> AgentCommand {
    let front = source
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
    }
}

impl AgentCommand {
    /// Returns where the host looks for it.
    #[must_use]
    pub fn path(&self, host: Host) -> String {
        let name = self.name;
        match host {
            Host::ClaudeCode => format!(".claude/commands/{name}.md"),
            Host::Cursor => format!(".cursor/commands/{name}.md"),
            Host::OpenCode => format!(".opencode/commands/{name}.md"),
            Host::Gemini => format!(".gemini/commands/{name}.toml"),
            // Both read skills, and both read them here.
            Host::Codex | Host::Copilot => format!(".agents/skills/{name}/SKILL.md"),
        }
    }

    /// Returns the file for the host.
    #[must_use]
    pub fn render(&self, host: Host) -> String {
        let AgentCommand {
            name,
            description,
            hint,
            ..
        } = self;
        match host {
            Host::ClaudeCode => {
                let hint = if hint.is_empty() {
                    String::new()
                } else {
                    format!("argument-hint: \"{hint}\"\n")
                };
                format!(
                    "---\ndescription: {description}\n{hint}---\n\n{}",
                    self.text("$ARGUMENTS")
                )
            }
            Host::OpenCode => format!(
                "---\ndescription: {description}\n---\n\n{}",
                self.text("$ARGUMENTS")
            ),
            Host::Gemini => format!(
                "description = \"{description}\"\nprompt = '''\n{}'''\n",
                self.text("{{args}}")
            ),
            Host::Cursor => self.plain_text(),
            Host::Codex | Host::Copilot => {
                format!(
                    "---\nname: {name}\ndescription: {description}\n---\n\n{}",
                    self.plain_text()
                )
            }
        }
    }

    /// Returns the words by which a file with this command is known to be ours.
    pub(super) fn mark(&self) -> String {
        format!("Throughline command: /{}", self.name)
    }

    /// Returns the text for a host that puts the arguments in place of a word.
    fn text(&self, arguments: &str) -> String {
        let first = if self.hint.is_empty() {
            self.mark()
        } else {
            format!("{} {arguments}", self.mark())
        };
        format!("{first}\n\n{}\n", self.body.replace(ARGUMENTS, arguments))
    }

    /// Returns the text for a host that leaves it as it is and shows the arguments elsewhere.
    fn plain_text(&self) -> String {
        let body = self.body.replace(ARGUMENTS, "ARGUMENTS");
        let explained = if body.contains("ARGUMENTS") {
            "ARGUMENTS below stands for the words given after the command.\n\n"
        } else {
            ""
        };
        format!("{}\n\n{explained}{body}\n", self.mark())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_whole_and_fits_every_host() {
        for command in agent_commands() {
            let AgentCommand {
                name,
                description,
                hint,
                body,
            } = command;
            assert!(!description.is_empty() && !body.is_empty(), "{name}");
            // These are written into YAML and TOML without further care.
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
                body.contains(ARGUMENTS),
                !hint.is_empty(),
                "{name}: arguments are hinted at when they are used"
            );
            for host in Host::ALL {
                let text = command.render(host);
                assert!(!text.contains(ARGUMENTS), "{name} for {host:?}");
                let first = text
                    .lines()
                    .find(|line| line.starts_with("Throughline command: /"));
                let expected = match host {
                    _ if hint.is_empty() => format!("Throughline command: /{name}"),
                    Host::ClaudeCode | Host::OpenCode => {
                        format!("Throughline command: /{name} $ARGUMENTS")
                    }
                    Host::Gemini => format!("Throughline command: /{name} {{{{args}}}}"),
                    Host::Cursor | Host::Codex | Host::Copilot => {
                        format!("Throughline command: /{name}")
                    }
                };
                assert_eq!(first, Some(expected.as_str()), "{name} for {host:?}");
            }
        }
    }
}
