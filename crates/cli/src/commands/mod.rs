//! The commands, one file each: arguments, the use case they call, and how its outcome is shown.

mod adopt;
mod approve;
mod check;
mod children;
mod completions;
mod demo;
mod diff;
mod init;
mod invalidate;
mod log;
mod man;
mod next;
mod plan;
mod progress;
mod rebuild;
mod reference;
mod repair;
mod restore;
mod revalidate;
mod show;
mod status;
mod sync_hashes;
mod tree;
mod undo;
mod versions;
mod why;

use application::Failure;
use clap::{Args, Subcommand};

use crate::exit_code::ExitCode;
use crate::wiring::App;

/// A node, in one word or two.
#[derive(Debug, Args)]
pub(crate) struct NodeArgs {
    /// The node: `chapter-02`, `act-1/chapter-02` or `chapter 2`
    #[arg(required = true, num_args = 1..=2, value_name = "NODE")]
    pub(crate) node: Vec<String>,
}

/// Declares the commands once: their variants and where each runs.
macro_rules! commands {
    ($($variant:ident => $module:ident::$args:ident),+ $(,)?) => {
        /// What to do.
        #[derive(Debug, Subcommand)]
        pub(crate) enum Command {
            $($variant($module::$args)),+
        }

        impl Command {
            /// Runs the command.
            pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
                match self {
                    $(Self::$variant(args) => args.run(app)),+
                }
            }
        }
    };
}

commands! {
    Init => init::InitArgs,
    Demo => demo::DemoArgs,
    Status => status::StatusArgs,
    Tree => tree::TreeArgs,
    Show => show::ShowArgs,
    Children => children::ChildrenArgs,
    Next => next::NextArgs,
    Plan => plan::PlanArgs,
    Approve => approve::ApproveArgs,
    Revalidate => revalidate::RevalidateArgs,
    Invalidate => invalidate::InvalidateArgs,
    Why => why::WhyArgs,
    Progress => progress::ProgressArgs,
    Versions => versions::VersionsArgs,
    Diff => diff::DiffArgs,
    Restore => restore::RestoreArgs,
    Log => log::LogArgs,
    Undo => undo::UndoArgs,
    Check => check::CheckArgs,
    Repair => repair::RepairArgs,
    Rebuild => rebuild::RebuildArgs,
    SyncHashes => sync_hashes::SyncHashesArgs,
    Adopt => adopt::AdoptArgs,
    Completions => completions::CompletionsArgs,
    Man => man::ManArgs,
    Reference => reference::ReferenceArgs,
}
