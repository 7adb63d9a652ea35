//! Group commands: families of commands under one name, as in `tl trail scan`.
//!
//! The members are ordinary commands in files of their own. The example of a group is one sequence
//! that can be typed from top to bottom.

use application::Failure;
use clap::{Args, Subcommand};

use super::{
    adopt, backup, check, compact, doctor, drift, follow, generation, install, intent, issuer,
    join, leave, llm, map, memory, migrate, move_state, notify, novel, prune, rate, rebuild,
    repair, replay, restore_backup, run_story, scan, secret, serve, session, sync_hashes,
    think_back, tick, token, trace, uninstall, write,
};
use crate::exit_code::ExitCode;
use crate::wiring::App;

/// Declares the members of a group once: variant, name, and arguments type.
macro_rules! command_group {
    (
        $args:ident $name:literal $command:ident
        { $($variant:ident $member:literal => $module:ident::$inner:ident),+ $(,)? }
    ) => {
        #[derive(Debug, Subcommand)]
        enum $command {
            $(#[command(name = $member)] $variant($module::$inner)),+
        }

        impl $args {
            pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
                match &self.what {
                    $($command::$variant(args) => args.run(app)),+
                }
            }

            /// Returns the parser of the group with one member alone.
            pub(crate) fn parser_of(member: &str) -> Option<clap::Command> {
                let member = match member {
                    $($member => $module::$inner::augment_args(clap::Command::new($member)),)+
                    _ => return None,
                };
                Some(clap::Command::new($name).subcommand(member))
            }
        }
    };
}

/// The trail of a session: its intent, its steps, and where it drifted
///
/// A session declares what it is for, records tactics and actions on the way, and leaves a report
/// to the next one. Hooks record most of it while an agent works.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl trail intent \"Build the auth system\"       # what this session is for
  tl trail map tactic \"Write the middleware\"    # how
  tl trail map action \"Create the handler\"      # what is done now
  tl trail scan                                 # the trail, with the cursor
  tl trail drift                                # how far the session has drifted
  tl trail back                                 # position, turning points, next action
  tl trail compact                              # end the session with a report")]
pub(crate) struct TrailArgs {
    #[command(subcommand)]
    what: TrailCommand,
}

command_group! {
    TrailArgs "trail" TrailCommand {
        Intent "intent" => intent::IntentArgs,
        Map "map" => map::MapArgs,
        Scan "scan" => scan::ScanArgs,
        Back "back" => think_back::ThinkBackArgs,
        Drift "drift" => drift::DriftArgs,
        Rate "rate" => rate::RateArgs,
        Compact "compact" => compact::CompactArgs,
        Prune "prune" => prune::PruneArgs,
        Migrate "migrate" => migrate::MigrateArgs,
        Trace "trace" => trace::TraceArgs,
        Session "session" => session::SessionArgs,
    }
}

/// A story as a book: plan it step by step, write it, compile it
///
/// Each tick plans one step and executes it; a scene is written from its approved blueprint.
/// Without a model (`tl story model check`) built-in rules plan, and scenes are placeholders.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl story new \"The Locked Drawer\"              # a project in a new directory
  cd \"The Locked Drawer\"
  tl story model check                          # does the configured model answer?
  tl story run --scenes 3                       # plan and write the next three scenes
  tl story tick --count 3                       # only plan the next three steps
  tl story write --next                         # write the first approved scene
  tl story memory show                          # characters, locations, open loops
  tl story compile --format epub --output drawer.epub")]
pub(crate) struct StoryArgs {
    #[command(subcommand)]
    what: StoryCommand,
}

command_group! {
    StoryArgs "story" StoryCommand {
        New "new" => novel::NewStoryArgs,
        Run "run" => run_story::RunArgs,
        Tick "tick" => tick::TickArgs,
        Write "write" => write::WriteArgs,
        Follow "follow" => follow::FollowArgs,
        Generation "generation" => generation::GenerationArgs,
        Memory "memory" => memory::MemoryArgs,
        Compile "compile" => novel::CompileArgs,
        Stats "stats" => novel::StatsArgs,
        Model "model" => llm::ModelArgs,
    }
}

/// The stored state: check, repair, back up, restore, move or adopt it
///
/// The state is everything in `.throughline`: history, approvals and texts. Nothing here changes a
/// plan file, except where an option says so, and what is replaced is quarantined, never deleted.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl state backup novel.tlbackup      # before anything risky
  tl state check                      # exits with 3 if something is wrong
  tl state repair                     # what needs no decision
  tl state quarantine                 # what was replaced, and when
  tl state restore novel.tlbackup     # back to the backup")]
pub(crate) struct StateArgs {
    #[command(subcommand)]
    what: StateCommand,
}

command_group! {
    StateArgs "state" StateCommand {
        Check "check" => check::CheckArgs,
        Repair "repair" => repair::RepairArgs,
        Rebuild "rebuild" => rebuild::RebuildArgs,
        SyncHashes "sync-hashes" => sync_hashes::SyncHashesArgs,
        Adopt "adopt" => adopt::AdoptArgs,
        Backup "backup" => backup::BackupArgs,
        Restore "restore" => restore_backup::RestoreBackupArgs,
        Move "move" => move_state::MoveArgs,
        Quarantine "quarantine" => repair::QuarantineArgs,
        Secret "secret" => secret::SecretArgs,
    }
}

/// A team's server: run it, give out tokens, join it or leave it, be notified
///
/// One machine runs the server for a project; every clone that joins works on its state. A token
/// says in whose name its owner acts, and how far.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl team token create anna --as human:anna --scope approve   # on the server
  tl team serve
  tl team join https://plans.example.org --token-file token   # in Anna's clone
  tl team token audit                                         # who did what
  tl team leave")]
pub(crate) struct TeamArgs {
    #[command(subcommand)]
    what: TeamCommand,
}

command_group! {
    TeamArgs "team" TeamCommand {
        Token "token" => token::TokenArgs,
        Issuer "issuer" => issuer::IssuerArgs,
        Serve "serve" => serve::ServeArgs,
        Join "join" => join::JoinArgs,
        Leave "leave" => leave::LeaveArgs,
        Notify "notify" => notify::NotifyArgs,
    }
}

/// Agent hosts: install the hooks, diagnose them, replay events
///
/// Hosts are Claude Code, Cursor, OpenCode, Codex, Gemini and Copilot. Only entries of Throughline
/// are added, changed or removed, and each changed file is backed up.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl host install claude-code          # hooks and commands, in this project
  tl host doctor                       # are they complete, and do they run?
  tl host replay claude-code events.jsonl
  tl host uninstall claude-code")]
pub(crate) struct HostArgs {
    #[command(subcommand)]
    what: HostCommand,
}

command_group! {
    HostArgs "host" HostCommand {
        Install "install" => install::InstallArgs,
        Uninstall "uninstall" => uninstall::UninstallArgs,
        Doctor "doctor" => doctor::DoctorArgs,
        Replay "replay" => replay::ReplayArgs,
    }
}
