//! The terminal user interface: an event loop around a state machine.
//!
//! `state.rs` decides what a key means and knows neither terminal nor store; `actions.rs` runs the use
//! cases; `view.rs` draws.

mod actions;
mod detail;
mod state;
mod view;

use std::io;
use std::time::Duration;

use application::Failure;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEventKind};

use self::actions::ActionRunner;
use self::state::{Request, ReviewRoom};
use crate::wiring::Project;

/// How long a key is waited for before the list is refreshed.
const REFRESH_INTERVAL: Duration = Duration::from_secs(2);

/// Runs the interface until the user quits.
///
/// # Errors
/// When the terminal cannot be used, or the state cannot be read at the start.
pub(crate) fn run_terminal_ui(project: &Project) -> Result<(), Failure> {
    let runner = ActionRunner::new(project);
    let mut room = ReviewRoom::new(runner.project_name());
    // Before the screen is taken: an error is printed as every command prints it.
    runner.load_lists(&mut room)?;
    runner.carry_out(&mut room, Request::LoadDetail);
    let outcome = ratatui::try_init().and_then(|mut terminal| {
        let outcome = handle_events(&mut terminal, &runner, &mut room);
        ratatui::restore();
        outcome
    });
    outcome.map_err(|error| Failure::unavailable(format!("the terminal cannot be used: {error}")))
}

fn handle_events(
    terminal: &mut DefaultTerminal,
    runner: &ActionRunner<'_>,
    room: &mut ReviewRoom,
) -> io::Result<()> {
    loop {
        terminal.draw(|frame| view::draw_room(frame, room))?;
        // Only after two quiet seconds: a refresh scans the files and would delay the keys.
        if !event::poll(REFRESH_INTERVAL)? {
            runner.carry_out(room, Request::Refresh);
            continue;
        }
        let Event::Key(key) = event::read()? else {
            continue;
        };
        // Windows and some terminals report releases too, which would count every key twice.
        if key.kind != KeyEventKind::Press {
            continue;
        }
        match room.press_key(key) {
            Some(Request::Quit) => return Ok(()),
            Some(request) => runner.carry_out(room, request),
            None => {}
        }
    }
}
