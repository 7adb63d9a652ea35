//! `tl story follow`: sets and shows whom the story follows.

use application::Failure;
use application::novel::follow_character::{
    FollowReason, FollowView, follow_character, show_followed,
};
use clap::Args;
use domain::shell_line::quote_word;

use crate::exit_code::ExitCode;
use crate::ui::{BOLD, styled};
use crate::wiring::App;

/// Show or choose whom the story follows
///
/// A point of view in a plan (`pov: Mara` between two `---`, in a scene's blueprint, its chapter or its
/// act) comes first, then the character chosen here, then the first of the memory.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl story follow              # whom, and why
  tl story follow Mara
  tl story follow --by-plan    # take the choice back")]
pub(crate) struct FollowArgs {
    /// The character: name, alias or id
    #[arg(value_name = "CHARACTER")]
    character: Option<String>,

    /// Let the plans and the loop decide again
    #[arg(long, conflicts_with = "character")]
    by_plan: bool,
}

impl FollowArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let followed = match (&self.character, self.by_plan) {
            (None, false) => app.run(show_followed)?,
            (character, _) => app.run(|ctx| follow_character(ctx, character.as_deref()))?,
        };
        if !app.ui.try_print_json(&followed) {
            print_followed(app, &followed);
        }
        Ok(ExitCode::Done)
    }
}

fn print_followed(app: &App, followed: &FollowView) {
    if let Some(unknown) = &followed.unknown {
        app.ui.print_message(format_args!(
            "the plan of the next scene names `{unknown}` as the point of view, whom the memory does not have"
        ));
        app.ui.print_next_step(format_args!(
            "tl story memory edit --new character {}",
            quote_word(&format!("name={unknown}"))
        ));
    }
    let Some(name) = &followed.name else {
        app.ui.print_message("the story follows nobody yet");
        app.ui
            .print_next_step("tl story memory edit --new character name=NAME");
        return;
    };
    let why = match followed.reason {
        FollowReason::Plan => {
            let scene = followed.scene.as_deref().unwrap_or("the next scene");
            format!("the plan of {scene} names the point of view")
        }
        FollowReason::Chosen => "you chose so".to_owned(),
        FollowReason::First if followed.unknown.is_some() => "the loop began with it".to_owned(),
        FollowReason::First => "the loop began with it; no plan names another".to_owned(),
        FollowReason::Nobody => String::new(),
    };
    app.ui
        .print_line(format_args!("follows {}: {why}", styled(BOLD, name)));
}
