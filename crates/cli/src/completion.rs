//! Shell completion of node names, ids, versions, operations and setting keys.
//!
//! The script of `tl completions SHELL` calls the program for every press of the key, so this only
//! reads the store, and looks at no plan file. Everything that goes wrong completes nothing: an
//! error message would be printed into the line that is being typed.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Arg, Command, CommandFactory};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, ValueCompleter};
use clap_complete::env::{CompleteEnv, Shells};
use domain::node::Node;
use domain::ports::Snapshot;
use domain::tree::Tree;

use crate::Cli;
use crate::help::full_parser;
use crate::settings;
use crate::ui::Ui;
use crate::wiring::{App, Project};

/// Set by the completion scripts. Not `COMPLETE`, clap's default: a variable of that name, set for
/// something else, would disable the program.
const COMPLETION_VARIABLE: &str = "TL_COMPLETE";

/// Maximum time to wait for another process's write lock.
const MAX_LOCK_WAIT: Duration = Duration::from_millis(100);

/// Maximum number of candidates; shells page through more than that anyway.
const MAX_CANDIDATES: usize = 500;

/// Maximum number of words that name a node.
const MAX_NODE_WORDS: usize = 2;

/// Number of operations offered to `tl undo`.
const MAX_OPERATIONS: usize = 20;

/// Whether a completion script called the program.
pub(crate) fn is_requested() -> bool {
    settings::environment_variable(COMPLETION_VARIABLE).is_some()
}

/// Prints the candidates for the command line after `--`.
pub(crate) fn complete_command_line(arguments: Vec<OsString>) {
    let directory = std::env::current_dir().ok();
    // A panic's message goes the way of every other error.
    std::panic::set_hook(Box::new(|_| {}));
    let _ = CompleteEnv::with_factory(full_parser)
        .var(COMPLETION_VARIABLE)
        .bin("tl")
        .try_complete(arguments, directory.as_deref());
}

/// Renders the script that registers the completion with a shell; `None` for an unknown one.
pub(crate) fn render_script(shell: &str) -> Option<String> {
    let mut script = Vec::new();
    Shells::builtins()
        .completer(shell)?
        .write_registration(COMPLETION_VARIABLE, "tl", "tl", "tl", &mut script)
        .ok()?;
    String::from_utf8(script).ok()
}

/// Completes the one or two words of an argument that names a node.
pub(crate) fn node_completer() -> ArgValueCompleter {
    ArgValueCompleter::new(WordsCompleter::of_argument(1))
}

/// Completes the name of a gate, then a node.
pub(crate) fn gate_and_node_completer() -> ArgValueCompleter {
    ArgValueCompleter::new(WordsCompleter {
        starts_with_gate: true,
        ..WordsCompleter::of_argument(1)
    })
}

/// Completes an argument that names several nodes, at most `max_nodes`.
pub(crate) fn nodes_completer(max_nodes: usize) -> ArgValueCompleter {
    ArgValueCompleter::new(WordsCompleter::of_argument(max_nodes))
}

/// Completes an option whose value is a node.
pub(crate) fn node_option_completer() -> ArgValueCompleter {
    ArgValueCompleter::new(WordsCompleter::of_option(1))
}

/// Completes an option whose values are nodes.
pub(crate) fn nodes_option_completer() -> ArgValueCompleter {
    ArgValueCompleter::new(WordsCompleter::of_option(usize::MAX))
}

/// Completes a node, then one of its versions.
pub(crate) fn node_and_version_completer() -> ArgValueCompleter {
    ArgValueCompleter::new(WordsCompleter {
        complete_rest: complete_versions,
        ..WordsCompleter::of_argument(1)
    })
}

/// Completes an operation of the log.
pub(crate) fn operation_completer() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        complete_from_store(current, |state, _, current| {
            let heads = state
                .operation_heads(None, MAX_OPERATIONS)
                .ok()?
                .into_iter()
                .map(|head| (head.id.to_string(), head.summary));
            Some(matching(heads, current))
        })
    })
}

/// Completes the key of a setting.
pub(crate) fn setting_key_completer() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let keys =
            domain::settings::setting_keys().map(|key| (key.name.to_owned(), key.text.to_owned()));
        matching(keys, &current.to_string_lossy())
    })
}

type CompleteRest = fn(&dyn Snapshot, &[String], &str) -> Option<Vec<CompletionCandidate>>;

/// Whose words are completed: clap asks the option before the cursor and the argument alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WordsOf {
    Argument,
    Option,
}

/// Completes the words of nodes, then what follows them.
struct WordsCompleter {
    of: WordsOf,
    starts_with_gate: bool,
    max_nodes: usize,
    complete_rest: CompleteRest,
}

impl WordsCompleter {
    fn of_argument(max_nodes: usize) -> Self {
        Self {
            of: WordsOf::Argument,
            starts_with_gate: false,
            max_nodes,
            complete_rest: |_, _, _| Some(Vec::new()),
        }
    }

    fn of_option(max_nodes: usize) -> Self {
        Self {
            of: WordsOf::Option,
            ..Self::of_argument(max_nodes)
        }
    }
}

impl ValueCompleter for WordsCompleter {
    // Not `complete_at`: clap counts the values of options only.
    fn complete(&self, current: &OsStr) -> Vec<CompletionCandidate> {
        complete_from_store(current, |state, project, current| {
            let is_level = |word: &String| {
                let mut levels = project.profiles.iter().flat_map(|one| &one.levels);
                levels.any(|level| level.name == *word)
            };
            let line = WordsBefore::of_completed_line();
            let before = match (self.of, line.option) {
                (WordsOf::Option, option) => option.unwrap_or_default(),
                // The word belongs to the option: `--under act <TAB>`, and any after `--except`.
                (WordsOf::Argument, Some(option))
                    if line.takes_every_word || option.last().is_some_and(is_level) =>
                {
                    return None;
                }
                (WordsOf::Argument, _) => line.values,
            };
            let (mut words, mut nodes) = (&*before, 0);
            if self.starts_with_gate {
                let Some(after) = words.get(1..) else {
                    return Some(complete_gates(current));
                };
                words = after;
            }
            while let [first, rest @ ..] = words
                && nodes < self.max_nodes
            {
                words = match (is_level(first), rest) {
                    (true, []) => return complete_ids(state, first, current),
                    (true, [_, rest @ ..]) => rest,
                    (false, rest) => rest,
                };
                nodes += 1;
            }
            match nodes < self.max_nodes {
                true => complete_node_names(state, current),
                false => (self.complete_rest)(state, &before, current),
            }
        })
    }
}

/// Runs a completer on the state as it is recorded.
fn complete_from_store(
    current: &OsStr,
    complete: impl Fn(&dyn Snapshot, &Project, &str) -> Option<Vec<CompletionCandidate>>,
) -> Vec<CompletionCandidate> {
    let candidates = || {
        let ui = Ui {
            json: false,
            silent: true,
        };
        let app = App::new(ui, project_option()).ok()?;
        // As a hook loads it: an invalid variable must not end completion.
        let project = Project::load_for_hook(&app.find_project_root().ok()?).ok()?;
        let mut engine = project.store_engine_settings();
        engine.patience = MAX_LOCK_WAIT;
        let store = project.open_store_quietly(&engine, None).ok()?;
        // Cached, because a replica would ask its server first.
        let state = store.begin_read_cached().ok()?;
        complete(&*state, &project, current.to_str()?)
    };
    let mut candidates: Vec<_> = candidates().unwrap_or_default();
    candidates.truncate(MAX_CANDIDATES);
    candidates
}

/// Nodes by the shortest name that is not ambiguous. A title is matched too, in any script.
fn complete_node_names(state: &dyn Snapshot, current: &str) -> Option<Vec<CompletionCandidate>> {
    let tree = Tree::new(state.all_nodes().ok()?);
    let order = tree.all_preorder();
    let mut uses: HashMap<&str, usize> = HashMap::new();
    for node in &order {
        *uses.entry(&node.alias).or_default() += 1;
    }
    let wanted = current.to_lowercase();
    let candidate = |node: &&Node| {
        let path = tree.alias_path(node);
        let title = node.description.title.clone().unwrap_or_default();
        let is_unique = uses.get(&*node.alias) == Some(&1);
        // Once a slash is typed, only paths continue the word.
        let name = if is_unique && !current.contains('/') {
            node.alias.clone()
        } else {
            path
        };
        let matches = name.to_lowercase().starts_with(&wanted)
            || node.alias.to_lowercase().starts_with(&wanted)
            || title
                .to_lowercase()
                .split_whitespace()
                .any(|word| word.starts_with(&wanted));
        matches.then(|| candidate_with_help(name, title))
    };
    Some(order.iter().filter_map(candidate).collect())
}

fn complete_gates(current: &str) -> Vec<CompletionCandidate> {
    let gates = domain::gates::GATES.iter();
    matching(
        gates.map(|gate| (gate.name.to_owned(), gate.text.to_owned())),
        current,
    )
}

/// The ids after a level: `chapter <TAB>` offers `01`, `02`.
fn complete_ids(
    state: &dyn Snapshot,
    level: &str,
    current: &str,
) -> Option<Vec<CompletionCandidate>> {
    let nodes = state.all_nodes().ok()?;
    let of_level = nodes.into_iter().filter(|node| node.level == level);
    let ids = of_level.map(|node| {
        let id = node
            .alias
            .strip_prefix(level)
            .map(|rest| rest.trim_start_matches('-').to_owned())
            .filter(|rest| !rest.is_empty());
        let title = node.description.title.unwrap_or_default();
        (id.unwrap_or(node.alias), title)
    });
    Some(matching(ids, current))
}

fn complete_versions(
    state: &dyn Snapshot,
    words: &[String],
    current: &str,
) -> Option<Vec<CompletionCandidate>> {
    let tree = Tree::new(state.all_nodes().ok()?);
    // `chapter 2` is completed to `chapter 02` before a version is asked for, so an exact
    // comparison is enough.
    let name = words.join("-");
    let node = tree
        .nodes()
        .find(|node| node.alias == name || tree.alias_path(node) == name)?;
    let mut versions = state.load_versions(node.id).ok()?;
    versions.sort_by_key(|version| std::cmp::Reverse(version.at));
    let hashes = versions.into_iter().map(|version| {
        (
            version.hash.short_hex().to_string(),
            version.at.format_local_minute(),
        )
    });
    Some(matching(hashes, current))
}

fn matching(
    candidates: impl Iterator<Item = (String, String)>,
    current: &str,
) -> Vec<CompletionCandidate> {
    candidates
        .filter(|(value, _)| value.starts_with(current))
        .map(|(value, help)| candidate_with_help(value, help))
        .collect()
}

fn candidate_with_help(value: String, help: String) -> CompletionCandidate {
    // One line without control characters: shells print it as it is.
    let help = domain::text::clean_line(&help);
    CompletionCandidate::new(value).help((!help.is_empty()).then(|| help.into()))
}

/// The words before the one that is completed, by what they belong to.
#[derive(Debug, Default, PartialEq, Eq)]
struct WordsBefore {
    /// Values of the command's arguments.
    values: Vec<String>,
    /// Those of the option right before the cursor, if it takes one more.
    option: Option<Vec<String>>,
    /// Whether that option takes any number of words.
    takes_every_word: bool,
}

impl WordsBefore {
    fn of_completed_line() -> Self {
        let words = completed_line();
        let index = settings::environment_variable("_CLAP_COMPLETE_INDEX")
            .and_then(|index| index.parse().ok())
            .unwrap_or_else(|| words.len().saturating_sub(1));
        Self::parse_words(words.into_iter().take(index).skip(1))
    }

    fn parse_words(words: impl Iterator<Item = String>) -> Self {
        let program = Cli::command();
        let mut command = &program;
        let mut values = Vec::new();
        // Of the option whose values are read, with their maximum number.
        let mut option: Option<(usize, Vec<String>)> = None;
        for word in words {
            if word.starts_with('-') {
                let max = match word.contains('=') {
                    true => 0,
                    false => max_values(&program, command, &word),
                };
                option = Some((max, Vec::new()));
                continue;
            }
            if let Some((max, known)) = &mut option
                && known.len() < *max
                // `--under act 1`, but `--under act-1 scene`: as the command reads them.
                && (known.is_empty() || *max > MAX_NODE_WORDS || word.starts_with(|c: char| c.is_ascii_digit()))
            {
                known.push(word);
                continue;
            }
            option = None;
            // The names of the command and its group are not values.
            match command.find_subcommand(&word) {
                Some(inner) if values.is_empty() => command = inner,
                _ => values.push(word),
            }
        }
        let option = option.filter(|(max, known)| known.len() < *max);
        Self {
            values,
            takes_every_word: option
                .as_ref()
                .is_some_and(|(max, _)| *max > MAX_NODE_WORDS),
            option: option.map(|(_, known)| known),
        }
    }
}

/// Returns the number of values that an option of a command, or of every command, takes at most.
fn max_values(program: &Command, command: &Command, option: &str) -> usize {
    let is_meant = |argument: &&Arg| match option.strip_prefix("--") {
        Some(long) => argument.get_long() == Some(long),
        None => argument.get_short() == option.chars().nth(1),
    };
    let mut known = command.get_arguments().chain(program.get_arguments());
    let found = known
        .find(is_meant)
        .filter(|argument| argument.get_action().takes_values());
    // Not set where it is one: the parser is not built here.
    found.map_or(0, |argument| {
        argument
            .get_num_args()
            .map_or(1, |range| range.max_values())
    })
}

/// Value of `--project` on the command line that is completed.
fn project_option() -> Option<PathBuf> {
    let words = completed_line();
    let at = words
        .iter()
        .position(|word| word == "--project" || word.starts_with("--project="))?;
    let value = match words.get(at)?.strip_prefix("--project=") {
        Some(value) => value,
        None => words.get(at + 1)?,
    };
    Some(PathBuf::from(value))
}

/// The command line that is completed: what follows `--`.
fn completed_line() -> Vec<String> {
    std::env::args()
        .skip_while(|word| word != "--")
        .skip(1)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Value names of arguments that are nodes.
    const NODE_NAMES: &[&str] = &["NODE", "INTO", "CHILD", "SCENE", "TICKET", "TICKETS"];

    fn check_command(command: &Command, path: &str, without: &mut Vec<String>) {
        for argument in command.get_arguments() {
            let names = argument.get_value_names().unwrap_or_default();
            let is_node = names.iter().any(|name| NODE_NAMES.contains(&name.as_str()));
            if is_node && argument.get::<ArgValueCompleter>().is_none() {
                without.push(format!("{path} {argument}"));
            }
        }
        for inner in command.get_subcommands() {
            check_command(inner, &format!("{path} {}", inner.get_name()), without);
        }
    }

    #[test]
    fn every_argument_that_is_a_node_is_completed() {
        let mut without = Vec::new();
        check_command(&Cli::command(), "tl", &mut without);
        assert_eq!(without, Vec::<String>::new());
    }

    #[test]
    fn words_belong_to_the_option_before_them_as_the_command_reads_them() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        for (line, values, option) in [
            ("move scene-0101", "scene-0101", None),
            ("move scene-0101 --under", "scene-0101", Some("")),
            ("move scene-0101 --under act", "scene-0101", Some("act")),
            ("move scene-0101 --under act 1", "scene-0101", None),
            ("move --under act-1 scene", "scene", None),
            ("approve --below act-1 --except a b", "", Some("a b")),
            ("merge chapter 2 --dry-run", "chapter 2", None),
            ("story write --next", "", None),
        ] {
            let found = WordsBefore::parse_words(words(line).into_iter());
            assert_eq!(found.values.join(" "), values, "{line}");
            let found = found.option.map(|words| words.join(" "));
            assert_eq!(found.as_deref(), option, "{line}");
        }
    }
}
