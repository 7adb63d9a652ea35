//! Which session a command belongs to: the host's, or the terminal's own.

use application::handle_host_event::CALLING;
use domain::ids::Principal;
use domain::ports::Store;

use crate::settings;

/// Variables in which hosts tell their commands which session they belong to.
const TOLD_BY_HOSTS: [&str; 3] = ["THROUGHLINE_SESSION", "CLAUDE_CODE_SESSION_ID", "GEMINI_SESSION_ID"];

/// Returns the session's name.
pub(crate) fn session_name(actor: &Principal, store: &dyn Store) -> String {
    if let Some(told) =
        TOLD_BY_HOSTS.iter().find_map(|name| settings::environment(name)).filter(|name| !name.is_empty())
    {
        return told;
    }
    match actor {
        // The host says nothing: its hook noted who is about to run us.
        Principal::Agent { host, session } if host != "shell" => {
            let noted = store.read().ok().and_then(|state| state.note(CALLING).ok().flatten());
            noted.unwrap_or_else(|| match session.as_str() {
                "" | "unknown" => format!("{host}-without-a-session"),
                // A client without hooks is known by its connection.
                connection => connection.to_owned(),
            })
        }
        _ => terminal().unwrap_or_else(|| "shell".to_owned()),
    }
}

/// Returns the terminal's name: `terminal-pts-3`.
fn terminal() -> Option<String> {
    let device = std::fs::read_link("/proc/self/fd/0").ok()?;
    let name = device.to_str()?.strip_prefix("/dev/")?;
    (name.starts_with("pts/") || name.starts_with("tty")).then(|| format!("terminal-{}", name.replace('/', "-")))
}
