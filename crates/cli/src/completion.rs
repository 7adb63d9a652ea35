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

/// Completes the one or two words that name a node.
pub(crate) fn node_completer() -> ArgValueCompleter {
    ArgValueCompleter::new(WordsCompleter {
        complete_rest: |_, _, _| Some(Vec::new()),
    })
}

/// Completes a node, then one of its versions.
pub(crate) fn node_and_version_completer() -> ArgValueCompleter {
    ArgValueCompleter::new(WordsCompleter {
        complete_rest: complete_versions,
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

/// Completes the words of a node, then what follows them.
struct WordsCompleter {
    complete_rest: CompleteRest,
}

impl ValueCompleter for WordsCompleter {
    // Not `complete_at`: clap counts the values of options only, and these are positional.
    fn complete(&self, current: &OsStr) -> Vec<CompletionCandidate> {
        complete_from_store(current, |state, project, current| {
            let before = values_before_cursor();
            let is_level = |word: &str| {
                let mut levels = project.profiles.iter().flat_map(|one| &one.levels);
                levels.any(|level| level.name == word)
            };
            match &*before {
                [] => complete_node_names(state, current),
                [level] if is_level(level) => complete_ids(state, level, current),
                words => (self.complete_rest)(state, words, current),
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

/// The positional values before the word that is completed.
fn values_before_cursor() -> Vec<String> {
    let words = completed_line();
    let index = settings::environment_variable("_CLAP_COMPLETE_INDEX")
        .and_then(|index| index.parse().ok())
        .unwrap_or_else(|| words.len().saturating_sub(1));
    let program = Cli::command();
    let mut command = &program;
    let mut values = Vec::new();
    let mut before = words.into_iter().take(index).skip(1);
    while let Some(word) = before.next() {
        if word.starts_with('-') {
            // The value of an option is not one of the command.
            if !word.contains('=') && takes_value(&program, command, &word) {
                before.next();
            }
            continue;
        }
        // The names of the command and its group are not values.
        match command.find_subcommand(&word) {
            Some(inner) if values.is_empty() => command = inner,
            _ => values.push(word),
        }
    }
    values
}

/// Whether an option of a command, or of every command, is followed by a value.
fn takes_value(program: &Command, command: &Command, option: &str) -> bool {
    let is_meant = |argument: &&Arg| match option.strip_prefix("--") {
        Some(long) => argument.get_long() == Some(long),
        None => argument.get_short() == option.chars().nth(1),
    };
    let mut known = command.get_arguments().chain(program.get_arguments());
    known
        .find(is_meant)
        .is_some_and(|argument| argument.get_action().takes_values())
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
