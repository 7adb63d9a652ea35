//! Installation into agent hosts: plans, applies and prints changes of their settings files.
//!
//! All changes are planned before the first write, so that an unreadable file aborts the whole. A
//! file that is changed or removed and differs from what we would have written is backed up to
//! `.throughline/host-backups` first.

use std::collections::BTreeMap;

use application::Failure;
use domain::diff::{DiffLineKind, compute_hunks};
use domain::host_event::Host;
use domain::ports::{Clock, FileReadResult, PlanFiles};
use domain::profile::Profile;
use domain::text::count_with_noun;
use hosts::install::{
    FileOutcome, HookSetup, HostFile, HostSettingsProblem, agent_commands, find_installed,
    host_files,
};
use hosts::{HostSpec, SPECS, host_spec};
use serde::Serialize;
use store::{DiskFiles, SystemClock};

use crate::ui::{BAD, BOLD, DIM, GOOD, INFO, PLAIN, Ui, WARN, styled};

const BACKUP_FOLDER: &str = ".throughline/host-backups";
/// Maximum size of a settings file. They are written by hand; a larger one is something else.
const MAX_SETTINGS_BYTES: u64 = 4 * 1024 * 1024;
/// Maximum number of lines of a file's diff in a preview: enough to see where our entries go.
const MAX_PREVIEW_LINES: usize = 40;

/// Changes for one host.
#[derive(Debug, Serialize)]
pub(super) struct HostChange {
    pub(super) host: Host,
    pub(super) files: Vec<FileChange>,
    /// Settings file of another host that this one reads too, so that the hooks are there already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) covered_by: Option<&'static str>,
    /// Things the user has to know or to do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) notes: Vec<String>,
}

/// Change of one file.
#[derive(Debug, Serialize)]
pub(super) struct FileChange {
    pub(super) path: String,
    pub(super) action: FileAction,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) backup: Option<String>,
    #[serde(skip)]
    before: Option<String>,
    #[serde(skip)]
    after: Option<String>,
    /// Contains text that is not ours, so it is backed up.
    #[serde(skip)]
    precious: bool,
}

/// Action on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum FileAction {
    Created,
    Changed,
    Unchanged,
    Removed,
    /// Has the name of one of our files, but is not ours; kept.
    NotOurs,
    /// Used by another installed host as well; kept.
    StillUsed,
}

impl FileAction {
    /// Describes what was done, or what a run without `--dry-run` would do.
    fn describe(self, is_preview: bool) -> &'static str {
        match self {
            Self::Created if is_preview => "would make",
            Self::Changed if is_preview => "would change",
            Self::Removed if is_preview => "would remove",
            Self::Created => "made",
            _ => self.word(),
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Changed => "changed",
            Self::Unchanged => "unchanged",
            Self::Removed => "removed",
            Self::NotOurs => "not ours, left as it is:",
            Self::StillUsed => "still used by another host:",
        }
    }
}

/// Overlay of planned file contents over the disk: the plan for one host is seen by the next.
struct PlannedFiles<'d> {
    disk: &'d DiskFiles,
    decided: BTreeMap<String, Option<String>>,
}

impl<'d> PlannedFiles<'d> {
    fn new(disk: &'d DiskFiles) -> Self {
        Self {
            disk,
            decided: BTreeMap::new(),
        }
    }

    fn read_planned(&self, path: &str) -> Result<Option<String>, Failure> {
        match self.decided.get(path) {
            Some(text) => Ok(text.clone()),
            None => read_project_file(self.disk, path),
        }
    }

    fn has_hooks(&self, host: Host) -> Result<bool, Failure> {
        Ok(self
            .read_planned(host_spec(host).hooks_path)?
            .is_some_and(|text| find_installed(host, &text).is_some()))
    }

    /// Plans the change of a file.
    fn plan_change(
        &mut self,
        path: &str,
        after: FileOutcome,
        precious: bool,
    ) -> Result<FileChange, Failure> {
        let before = self.read_planned(path)?;
        let (action, after) = match after {
            FileOutcome::NotOurs => (FileAction::NotOurs, before.clone()),
            FileOutcome::Gone => (
                if before.is_some() {
                    FileAction::Removed
                } else {
                    FileAction::Unchanged
                },
                None,
            ),
            FileOutcome::Text(text) => match &before {
                None => (FileAction::Created, Some(text)),
                Some(old) if *old == text => (FileAction::Unchanged, Some(text)),
                Some(_) => (FileAction::Changed, Some(text)),
            },
        };
        // Recorded for every file, so that the plan for the next host builds on the result of this
        // one.
        self.decided.insert(path.to_owned(), after.clone());
        Ok(FileChange {
            path: path.to_owned(),
            action,
            backup: None,
            before,
            after,
            precious,
        })
    }
}

/// Reads a file of the project; `None` if it does not exist.
pub(super) fn read_project_file(files: &DiskFiles, path: &str) -> Result<Option<String>, Failure> {
    match files.read_file(path, MAX_SETTINGS_BYTES) {
        FileReadResult::Text { text, .. } => Ok(Some(text)),
        FileReadResult::Missing => Ok(None),
        FileReadResult::Unreadable { why, .. } => {
            Err(Failure::unavailable(format!("cannot use `{path}`: {why}")))
        }
    }
}

/// Plans the changes of an installation, with the commands that fit the profiles.
pub(super) fn plan_install(
    disk: &DiskFiles,
    hosts: &[Host],
    setup: &HookSetup,
    profiles: &[Profile],
) -> Result<Vec<HostChange>, Failure> {
    let mut desk = PlannedFiles::new(disk);
    // Planned in one go for all hosts, because they share files: `.mcp.json`, `.agents/skills` and
    // Claude Code's settings are read by others as well.
    let mut wanted = hosts.to_vec();
    // Copilot runs Claude Code's hooks too: with both files every hook would run twice. Its own
    // ones are removed in the same run.
    for reader in readers_of(hosts) {
        if desk.has_hooks(reader.host)? {
            wanted.push(reader.host);
        }
    }
    wanted
        .into_iter()
        .map(|host| plan_host_install(&mut desk, host, setup, profiles))
        .collect()
}

/// Returns the hosts that run the hooks of one of these too, and are not among them.
fn readers_of(hosts: &[Host]) -> impl Iterator<Item = &'static HostSpec> {
    SPECS.into_iter().filter(|spec| {
        !hosts.contains(&spec.host) && hosts.iter().any(|host| spec.runs_hooks_of(*host))
    })
}

fn plan_host_install(
    desk: &mut PlannedFiles<'_>,
    host: Host,
    setup: &HookSetup,
    profiles: &[Profile],
) -> Result<HostChange, Failure> {
    let mut change = HostChange {
        host,
        files: Vec::new(),
        covered_by: None,
        notes: Vec::new(),
    };
    let quirks = &host_spec(host).quirks;
    // Hosts come in the order of `Host::ALL`, Claude Code before Copilot, so this also sees hooks
    // that are only planned.
    let covered_by = match &quirks.foreign_hooks {
        Some(foreign) if desk.has_hooks(foreign.host)? => Some(host_spec(foreign.host).hooks_path),
        _ => None,
    };
    let wanted = |piece: &HostFile| piece.is_wanted(profiles);
    for piece in host_files(host, setup).into_iter().filter(wanted) {
        let existing = desk.read_planned(&piece.path)?;
        if covered_by.is_some() && piece.is_settings() {
            // Only the hooks are covered. Copilot does not read `.claude/commands`, so its skills
            // are still installed.
            change.covered_by = covered_by;
            if let Some(text) = existing.filter(|text| find_installed(host, text).is_some()) {
                let after = piece
                    .uninstall(&text)
                    .map_err(|problem| settings_failure(&piece, &problem))?;
                change
                    .files
                    .push(desk.plan_change(&piece.path, after, true)?);
            }
            continue;
        }
        let after = piece
            .install(existing.as_deref(), setup)
            .map_err(|problem| settings_failure(&piece, &problem))?;
        change
            .files
            .push(desk.plan_change(&piece.path, after, true)?);
    }
    if let Some(file) = change.covered_by {
        change.notes.push(format!(
            "it runs the hooks in {file} too; a second file would run them twice"
        ));
    }
    // The hooks come first in the list, unless those of another host cover them.
    let hooks_changed = change
        .files
        .first()
        .is_some_and(|file| file.action != FileAction::Unchanged);
    let note = quirks.install_note.filter(|_| hooks_changed);
    change.notes.extend(note.map(str::to_owned));
    Ok(change)
}

/// Plans the changes of an uninstallation.
pub(super) fn plan_uninstall(disk: &DiskFiles, hosts: &[Host]) -> Result<Vec<HostChange>, Failure> {
    let mut desk = PlannedFiles::new(disk);
    let mut changes = Vec::new();
    for host in hosts.iter().copied() {
        changes.push(plan_host_uninstall(&mut desk, host)?);
    }
    for change in &mut changes {
        for reader in readers_of(hosts).filter(|reader| reader.runs_hooks_of(change.host)) {
            if !change.files.is_empty() && was_covered(&desk, reader)? {
                change.notes.push(format!(
                    "{} ran these hooks too; for its own: tl init --host {}",
                    reader.host.display_name(),
                    reader.host.as_str()
                ));
            }
        }
    }
    Ok(changes)
}

fn plan_host_uninstall(desk: &mut PlannedFiles<'_>, host: Host) -> Result<HostChange, Failure> {
    let mut change = HostChange {
        host,
        files: Vec::new(),
        covered_by: None,
        notes: Vec::new(),
    };
    let hooks = desk.read_planned(host_spec(host).hooks_path)?;
    // The installed program and strictness are read back from the file: comparing with today's
    // defaults would not recognise entries of another installation as unchanged.
    let setup = hooks
        .as_deref()
        .and_then(|text| find_installed(host, text))
        .map(|found| found.setup);
    // Commands may be left over without hooks; their paths do not depend on the setup.
    let setup = setup.unwrap_or_else(|| HookSetup {
        program: "tl".to_owned(),
        strict: false,
        status_line: false,
    });
    for piece in host_files(host, &setup) {
        let Some(existing) = desk.read_planned(&piece.path)? else {
            continue;
        };
        if is_still_used(desk, host, &piece.path)? {
            let mut kept = desk.plan_change(&piece.path, FileOutcome::Text(existing), false)?;
            kept.action = FileAction::StillUsed;
            change.files.push(kept);
            continue;
        }
        // A file that is exactly what we create contains nothing of the user's, so it needs no
        // backup.
        let ours = piece.install(None, &setup).ok() == Some(FileOutcome::Text(existing.clone()));
        let after = if (piece.is_settings() || piece.is_servers())
            && let Some(original) = find_original(desk.disk, &piece, &existing, &setup)
        {
            FileOutcome::Text(original)
        } else {
            piece
                .uninstall(&existing)
                .map_err(|problem| settings_failure(&piece, &problem))?
        };
        let decided = desk.plan_change(&piece.path, after, !ours)?;
        if decided.action != FileAction::Unchanged {
            change.files.push(decided);
        }
    }
    Ok(change)
}

/// Whether another installed host uses the same file: some hosts share the list of MCP servers or
/// the folder with skills.
fn is_still_used(desk: &PlannedFiles<'_>, host: Host, path: &str) -> Result<bool, Failure> {
    for other in SPECS {
        if other.host != host && other.uses_file(path) && desk.has_hooks(other.host)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a host was installed on top of another one's hooks: its commands exist, and no host with
/// hooks uses them.
fn was_covered(desk: &PlannedFiles<'_>, reader: &HostSpec) -> Result<bool, Failure> {
    for command in agent_commands() {
        let path = command.path(reader.host);
        if desk.read_planned(&path)?.is_some() {
            return Ok(!desk.has_hooks(reader.host)? && !is_still_used(desk, reader.host, &path)?);
        }
    }
    Ok(false)
}

/// Returns the original of a settings file, if it was not edited since the installation: the newest
/// backup that becomes the existing text by installing into it.
fn find_original(
    disk: &DiskFiles,
    piece: &HostFile,
    existing: &str,
    setup: &HookSetup,
) -> Option<String> {
    let mut kept = disk.list_folder(BACKUP_FOLDER);
    // Byte for byte, so that `init` and `uninstall` leave no diff: editing our entries out could
    // not restore blank lines and trailing commas.
    kept.reverse();
    kept.into_iter().find_map(|folder| {
        let copy = read_project_file(
            disk,
            &format!("{BACKUP_FOLDER}/{}/{}", folder.name, piece.path),
        )
        .ok()??;
        // Both conditions: the backup must be from before the installation, and must explain the
        // present file completely. An edit since then makes it unusable.
        let is_without_ours = piece.uninstall(&copy) == Ok(FileOutcome::Text(copy.clone()));
        let fits = is_without_ours
            && piece.install(Some(&copy), setup).ok()
                == Some(FileOutcome::Text(existing.to_owned()));
        fits.then_some(copy)
    })
}

fn settings_failure(piece: &HostFile, problem: &HostSettingsProblem) -> Failure {
    let line = problem
        .line
        .map(|line| format!(", line {line}"))
        .unwrap_or_default();
    let message = format!(
        "cannot read the settings of {} in `{}`{line}: {problem}",
        piece.host.display_name(),
        piece.path
    );
    Failure::invalid(message).with_step(format!(
        "fix {}, then run this again; nothing was changed",
        piece.path
    ))
}

/// Applies the planned changes. If a file cannot be written, the previous ones are rolled back.
pub(super) fn apply_changes(disk: &DiskFiles, changes: &mut [HostChange]) -> Result<(), Failure> {
    let folder = free_backup_folder(disk);
    // Several files in several hosts cannot be replaced atomically. With the old text in hand a
    // failure is rolled back, and after a crash a second run completes it.
    let mut done: Vec<(String, Option<String>)> = Vec::new();
    for file in changes
        .iter_mut()
        .flat_map(|change| change.files.iter_mut())
    {
        // A file that stays as it is gets no backup either: backups are searched for the original.
        if !matches!(
            file.action,
            FileAction::Created | FileAction::Changed | FileAction::Removed
        ) {
            continue;
        }
        if let Err(failure) = write_change(disk, file, &folder) {
            let mut is_rolled_back = true;
            for (path, before) in done.iter().rev() {
                // If the rollback fails too, there is still the backup.
                let reverted = match before {
                    Some(text) => disk.replace_file(path, text).is_ok(),
                    None => disk.remove_file(path).is_ok(),
                };
                is_rolled_back &= reverted;
            }
            return Err(failure.with_step(match is_rolled_back {
                true => {
                    "nothing was changed; make the file writable, then run this again".to_owned()
                }
                false => format!(
                    "some files were changed; the former ones are in {BACKUP_FOLDER}/{folder}"
                ),
            }));
        }
        done.push((file.path.clone(), file.before.clone()));
    }
    Ok(())
}

fn write_change(disk: &DiskFiles, file: &mut FileChange, folder: &str) -> Result<(), Failure> {
    // The backup is complete before the file is touched.
    if let Some(before) = file.before.as_ref().filter(|_| file.precious) {
        let copy = format!("{BACKUP_FOLDER}/{folder}/{}", file.path);
        disk.create_file(&copy, before)?;
        file.backup = Some(copy);
    }
    match &file.after {
        Some(text) if file.before.is_none() => disk.create_file(&file.path, text)?,
        Some(text) => {
            let whole = disk.root().join(&file.path);
            let mode = std::fs::symlink_metadata(&whole).map(|metadata| metadata.permissions());
            disk.replace_file(&file.path, text)?;
            // `replace` creates a new file with default permissions; one that is private stays so.
            if let Ok(mode) = mode {
                let _ = std::fs::set_permissions(&whole, mode);
            }
        }
        None => {
            disk.remove_file(&file.path)?;
            // Removes parent directories that are empty now; `remove_dir` fails on others.
            let mut above = file.path.as_str();
            while let Some((parent, _)) = above.rsplit_once('/') {
                if std::fs::remove_dir(disk.root().join(parent)).is_err() {
                    break;
                }
                above = parent;
            }
        }
    }
    Ok(())
}

/// Returns an unused name for the backup directory of this run.
fn free_backup_folder(disk: &DiskFiles) -> String {
    let stamp = SystemClock.now().format_for_file_name();
    let taken: Vec<String> = disk
        .list_folder(BACKUP_FOLDER)
        .into_iter()
        .map(|entry| entry.name)
        .collect();
    // Two runs within a second must not share a directory: `create` would fail on the second.
    let mut name = stamp.clone();
    let mut number = 2;
    while taken.contains(&name) {
        name = format!("{stamp}-{number}");
        number += 1;
    }
    name
}

/// Prints the changes in a line per host; in a preview with the first lines of each diff.
pub(super) fn print_changes_briefly(ui: Ui, changes: &[HostChange], is_preview: bool) {
    for change in changes {
        let name = change.host.display_name();
        let (commands, files): (Vec<&FileChange>, Vec<&FileChange>) =
            change.files.iter().partition(|file| is_agent_command(file));
        let parts: Vec<String> = BRIEF_ACTIONS
            .into_iter()
            .filter_map(|action| summarise_action(action, &files, &commands, is_preview))
            .collect();
        if let Some(file) = change.covered_by {
            ui.print_line(styled(DIM, format!("  {name}: covered by {file}")));
        } else if parts.is_empty() {
            ui.print_line(styled(DIM, format!("  {name}: installed already")));
        }
        if !parts.is_empty() {
            ui.print_line(format_args!("  {name}: {}", parts.join("; ")));
        }
        let is_changed = |file: &&&FileChange| file.action == FileAction::Changed;
        for file in files.iter().filter(is_changed).filter(|_| is_preview) {
            ui.print_line(styled(DIM, format!("    {}", file.path)));
            print_diff(ui, file, MAX_PREVIEW_LINES);
        }
        warn_of_foreign_commands(ui, &commands);
        for note in &change.notes {
            ui.print_message(format_args!("  {}: {note}", styled(INFO, "note")));
        }
    }
}

/// Returns the folder with the former files of a run, if files were changed.
pub(super) fn find_backup_folder(changes: &[HostChange]) -> Option<&str> {
    let files = changes.iter().flat_map(|change| &change.files);
    // All backups of a run are in one folder.
    files
        .filter_map(|file| file.backup.as_deref()?.strip_suffix(file.path.as_str()))
        .next()
}

/// Actions in the order in which they are printed.
const BRIEF_ACTIONS: [FileAction; 5] = [
    FileAction::Created,
    FileAction::Changed,
    FileAction::Removed,
    FileAction::NotOurs,
    FileAction::StillUsed,
];

/// Returns what happened to the files with an action: settings by their paths, commands as a number.
fn summarise_action(
    action: FileAction,
    files: &[&FileChange],
    commands: &[&FileChange],
    is_preview: bool,
) -> Option<String> {
    let is_meant = |file: &&&FileChange| file.action == action;
    let mut names: Vec<String> = files
        .iter()
        .filter(is_meant)
        .map(|file| file.path.clone())
        .collect();
    let commands = commands.iter().filter(is_meant);
    match (action, commands.clone().count()) {
        (_, 0) => {}
        // By name: the user has to rename them.
        (FileAction::NotOurs, _) => names.extend(commands.map(|file| file.path.clone())),
        (_, count) => names.push(count_with_noun(count, "command", "commands")),
    }
    (!names.is_empty()).then(|| format!("{} {}", action.describe(is_preview), names.join(", ")))
}

fn is_agent_command(file: &FileChange) -> bool {
    file.path.contains("/commands/") || file.path.contains("/skills/")
}

/// Prints the changes.
pub(super) fn print_changes(ui: Ui, changes: &[HostChange]) {
    for change in changes {
        ui.print_line(styled(BOLD, change.host.display_name()));
        if let Some(file) = change.covered_by {
            ui.print_line(format_args!("  covered by {file}"));
        }
        if change.files.is_empty() && change.covered_by.is_none() {
            ui.print_line(styled(DIM, "  nothing installed"));
        }
        // Hooks decide what the agent may do, so each file is shown with its diff. Commands are a
        // dozen similar files per host.
        let (commands, hooks): (Vec<&FileChange>, Vec<&FileChange>) =
            change.files.iter().partition(|file| is_agent_command(file));
        for file in hooks {
            print_file_change(ui, file);
        }
        let mut by_action: BTreeMap<&str, Vec<&FileChange>> = BTreeMap::new();
        for file in commands {
            by_action.entry(file.action.word()).or_default().push(file);
        }
        for (action, files) in by_action {
            print_command_summary(ui, action, &files);
        }
        for note in &change.notes {
            ui.print_message(format_args!("  {}: {note}", styled(INFO, "note")));
        }
    }
}

fn print_file_change(ui: Ui, file: &FileChange) {
    let line = format!("  {} {}", file.action.word(), file.path);
    ui.print_line(styled(
        if file.action == FileAction::Unchanged {
            DIM
        } else {
            PLAIN
        },
        line,
    ));
    if let Some(backup) = &file.backup {
        ui.print_line(styled(DIM, format!("    backup: {backup}")));
    }
    print_diff(ui, file, usize::MAX);
}

/// Prints the first lines of the diff of a changed file.
fn print_diff(ui: Ui, file: &FileChange, max_lines: usize) {
    let (FileAction::Changed, Some(before), Some(after)) = (file.action, &file.before, &file.after)
    else {
        return;
    };
    let mut hidden = 0;
    let mut shown = 0;
    for hunk in compute_hunks(before, after) {
        if shown < max_lines {
            ui.print_line(format_args!("    {}", styled(INFO, hunk.header.trim_end())));
        }
        for line in &hunk.lines {
            if shown >= max_lines {
                hidden += 1;
                continue;
            }
            shown += 1;
            let text: String = line.pieces.iter().map(|(_, piece)| &**piece).collect();
            let style = match line.kind {
                DiffLineKind::Same => PLAIN,
                DiffLineKind::Removed => BAD,
                DiffLineKind::Added => GOOD,
            };
            ui.print_line(format_args!(
                "    {}",
                styled(style, format_args!("{}{text}", line.kind.diff_marker()))
            ));
        }
    }
    if hidden > 0 {
        let lines = count_with_noun(hidden, "more line", "more lines");
        ui.print_line(styled(DIM, format!("    … {lines}")));
    }
}

/// Prints agent commands with the same action in one line: there are many, and they are alike.
fn print_command_summary(ui: Ui, action: &str, files: &[&FileChange]) {
    if files.len() < 4 {
        for file in files {
            print_file_change(ui, file);
        }
        return;
    }
    let folder = files
        .first()
        .and_then(|file| file.path.split('/').nth(1).zip(file.path.split('/').next()));
    let folder = folder
        .map(|(inner, outer)| format!("{outer}/{inner}"))
        .unwrap_or_default();
    let line = format!(
        "  {action} {} in {folder}",
        count_with_noun(files.len(), "command", "commands")
    );
    let quiet = files
        .iter()
        .all(|file| file.action == FileAction::Unchanged);
    ui.print_line(styled(if quiet { DIM } else { PLAIN }, line));
    warn_of_foreign_commands(ui, files);
}

fn warn_of_foreign_commands(ui: Ui, files: &[&FileChange]) {
    if files.iter().any(|file| file.action == FileAction::NotOurs) {
        ui.print_message(format_args!(
            "  {}: files with the same names are not ours; rename them and run this again",
            styled(WARN, "warning")
        ));
    }
}
