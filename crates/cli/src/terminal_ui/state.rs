//! State of the terminal interface: lists, selection, and what each key asks for.

use std::collections::BTreeSet;

use domain::node::Status;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::detail::Detail;

/// A plan in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PlanRow {
    pub(super) path: String,
    pub(super) title: Option<String>,
    pub(super) status: Status,
    /// Distance from its root, in the tree.
    pub(super) depth: usize,
    pub(super) has_children: bool,
    /// Why it waits, in the inbox: plans with the same cause form a group.
    pub(super) cause: String,
    /// The host of a session that waits for the decision about it.
    pub(super) stopped: Option<String>,
}

/// What waits for a person and is decided elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct OtherWaiting {
    /// Findings of reviews: they count as decisions, as on the dashboard.
    pub(super) findings: Vec<String>,
    /// Sessions stopped by something else than a plan of the list.
    pub(super) stopped: Vec<String>,
}

/// The list on the left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Screen {
    #[default]
    Inbox,
    Tree,
}

/// What a typed text is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextPurpose {
    RequestChanges,
    Reject,
    Comment,
    Filter,
}

/// What the keys mean now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Mode {
    #[default]
    Browse,
    /// A yes is asked for.
    Confirm {
        question: String,
        request: Request,
    },
    Write {
        purpose: TextPurpose,
        text: String,
    },
    Help,
}

/// What the interface asks of the use cases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// Show the selected plan.
    LoadDetail,
    /// Read the lists again.
    Refresh,
    Approve,
    Keep,
    SendBack(String),
    Reject(String),
    Comment(String),
    /// Ask whether the last decision is to be undone.
    PreviewUndo,
    /// Undo this operation, which the preview named.
    Undo(u64),
    Quit,
}

/// The whole state.
#[derive(Debug, Default)]
pub(super) struct ReviewRoom {
    pub(super) project: String,
    pub(super) screen: Screen,
    pub(super) mode: Mode,
    pub(super) inbox: Vec<PlanRow>,
    pub(super) tree: Vec<PlanRow>,
    pub(super) others: OtherWaiting,
    /// Paths of folded plans in the tree.
    pub(super) folded: BTreeSet<String>,
    /// Part of a title or path, for the tree.
    pub(super) filter: String,
    pub(super) selected: usize,
    pub(super) detail: Detail,
    pub(super) scroll: u16,
    /// The last outcome or problem.
    pub(super) notice: String,
}

impl ReviewRoom {
    pub(super) fn new(project: String) -> Self {
        Self {
            project,
            ..Self::default()
        }
    }

    /// Returns the rows of the present list.
    pub(super) fn rows(&self) -> Vec<&PlanRow> {
        match self.screen {
            Screen::Inbox => self.inbox.iter().collect(),
            Screen::Tree => self.visible_tree(),
        }
    }

    fn visible_tree(&self) -> Vec<&PlanRow> {
        // A filter looks through folded plans too: it is how one finds what is out of sight.
        if !self.filter.is_empty() {
            let wanted = self.filter.to_lowercase();
            let is_wanted = |row: &&PlanRow| {
                let title = row.title.as_deref().unwrap_or_default().to_lowercase();
                row.path.to_lowercase().contains(&wanted) || title.contains(&wanted)
            };
            return self.tree.iter().filter(is_wanted).collect();
        }
        let mut hidden_below: Option<usize> = None;
        let mut visible = Vec::new();
        for row in &self.tree {
            if hidden_below.is_some_and(|depth| row.depth > depth) {
                continue;
            }
            hidden_below = self.folded.contains(&row.path).then_some(row.depth);
            visible.push(row);
        }
        visible
    }

    /// Returns the number of decisions that wait.
    pub(super) fn count_waiting(&self) -> usize {
        self.inbox.len() + self.others.findings.len()
    }

    /// Returns the path of the selected plan.
    pub(super) fn selected_path(&self) -> Option<String> {
        self.rows().get(self.selected).map(|row| row.path.clone())
    }

    /// Replaces the lists. The selection stays on its plan; one that left the list leaves its place
    /// to the next.
    pub(super) fn replace_lists(&mut self, inbox: Vec<PlanRow>, tree: Vec<PlanRow>) {
        let selected = self.selected_path();
        self.inbox = inbox;
        self.tree = tree;
        self.select_path(selected.as_deref());
    }

    fn select_path(&mut self, path: Option<&str>) {
        let rows = self.rows();
        let found = rows.iter().position(|row| Some(row.path.as_str()) == path);
        let last = rows.len().saturating_sub(1);
        self.selected = found.unwrap_or(self.selected).min(last);
    }

    /// Takes a key and returns what it asks for.
    pub(super) fn press_key(&mut self, key: KeyEvent) -> Option<Request> {
        let code = match (key.modifiers.contains(KeyModifiers::CONTROL), key.code) {
            (true, KeyCode::Char('c')) => return Some(Request::Quit),
            // Enter that was typed before the terminal was in raw mode arrives as a line feed.
            (true, KeyCode::Char('j' | 'm')) => KeyCode::Enter,
            // Ctrl-A is not `a`: a combination for the terminal must not begin an approval.
            (true, KeyCode::Char(_)) => return None,
            (_, code) => code,
        };
        // Taken, so that every branch that does not set a mode ends in browsing.
        match std::mem::take(&mut self.mode) {
            Mode::Browse => self.press_in_list(code),
            // Every key closes the help.
            Mode::Help => None,
            Mode::Confirm { request, .. } => match code {
                KeyCode::Char('y' | 'Y') => Some(request),
                _ => {
                    "nothing was changed".clone_into(&mut self.notice);
                    None
                }
            },
            Mode::Write { purpose, text } => self.press_in_text(code, purpose, text),
        }
    }

    fn press_in_list(&mut self, code: KeyCode) -> Option<Request> {
        match code {
            KeyCode::Char('q') => return Some(Request::Quit),
            KeyCode::Esc if !self.filter.is_empty() => {
                let selected = self.selected_path();
                self.filter.clear();
                self.select_path(selected.as_deref());
            }
            KeyCode::Char('?') => self.mode = Mode::Help,
            KeyCode::Char('j') | KeyCode::Down => return self.move_selection(1),
            KeyCode::Char('k') | KeyCode::Up => return self.move_selection(-1),
            KeyCode::Char('g') | KeyCode::Home => return self.move_selection(isize::MIN),
            KeyCode::Char('G') | KeyCode::End => return self.move_selection(isize::MAX),
            KeyCode::Char(' ') | KeyCode::PageDown => self.scroll = self.scroll.saturating_add(10),
            KeyCode::PageUp | KeyCode::Char('b') => self.scroll = self.scroll.saturating_sub(10),
            KeyCode::Char('J') => self.scroll = self.scroll.saturating_add(1),
            KeyCode::Char('K') => self.scroll = self.scroll.saturating_sub(1),
            KeyCode::Tab | KeyCode::Char('t') => return self.switch_screen(),
            KeyCode::Enter => self.toggle_fold(),
            KeyCode::Char('/') => {
                self.screen = Screen::Tree;
                self.begin_text(TextPurpose::Filter);
            }
            KeyCode::Char('u') => return Some(Request::PreviewUndo),
            KeyCode::Char('c') if !self.detail.path.is_empty() => {
                self.begin_text(TextPurpose::Comment);
            }
            KeyCode::Char(key @ ('a' | 'r' | 'x')) => self.begin_decision(key),
            _ => {}
        }
        None
    }

    /// Begins a decision about the plan on the screen.
    fn begin_decision(&mut self, key: char) {
        let Some(question) = &self.detail.question else {
            "there is nothing to decide about this plan now".clone_into(&mut self.notice);
            return;
        };
        let path = question.path.clone();
        let version = question.version_hash.short_hex();
        let despite = question.required_force.despite_clause();
        match key {
            'a' if self.detail.is_kept_by_yes() => {
                self.mode = Mode::Confirm {
                    question: format!("Keep {path} at {version} as it is{despite}?"),
                    request: Request::Keep,
                };
            }
            'a' => {
                self.mode = Mode::Confirm {
                    question: format!("Approve {path} at {version}{despite}?"),
                    request: Request::Approve,
                };
            }
            'r' => self.begin_text(TextPurpose::RequestChanges),
            _ => self.begin_text(TextPurpose::Reject),
        }
    }

    fn begin_text(&mut self, purpose: TextPurpose) {
        self.notice.clear();
        self.mode = Mode::Write {
            purpose,
            text: String::new(),
        };
    }

    fn press_in_text(
        &mut self,
        code: KeyCode,
        purpose: TextPurpose,
        mut text: String,
    ) -> Option<Request> {
        match code {
            KeyCode::Esc => {
                "nothing was changed".clone_into(&mut self.notice);
                return None;
            }
            KeyCode::Enter if purpose == TextPurpose::Filter => {
                self.filter = text;
                // The selected plan may not match, and its place in the shorter list means nothing.
                self.selected = 0;
                return Some(Request::LoadDetail);
            }
            // An empty text is no reason: the key is ignored.
            KeyCode::Enter if !text.trim().is_empty() => return finish_text(purpose, text),
            KeyCode::Backspace => {
                text.pop();
            }
            KeyCode::Char(typed) => text.push(typed),
            _ => {}
        }
        self.mode = Mode::Write { purpose, text };
        None
    }

    fn move_selection(&mut self, by: isize) -> Option<Request> {
        let last = self.rows().len().checked_sub(1)?;
        let moved = match by {
            isize::MIN => 0,
            isize::MAX => last,
            by => self.selected.saturating_add_signed(by).min(last),
        };
        if moved == self.selected {
            return None;
        }
        self.selected = moved;
        self.scroll = 0;
        self.notice.clear();
        Some(Request::LoadDetail)
    }

    fn switch_screen(&mut self) -> Option<Request> {
        let selected = self.selected_path();
        self.screen = match self.screen {
            Screen::Inbox => Screen::Tree,
            Screen::Tree => Screen::Inbox,
        };
        self.select_path(selected.as_deref());
        self.scroll = 0;
        Some(Request::LoadDetail)
    }

    fn toggle_fold(&mut self) {
        let rows = self.rows();
        let Some(row) = rows.get(self.selected).filter(|row| row.has_children) else {
            return;
        };
        if self.screen != Screen::Tree {
            return;
        }
        let path = row.path.clone();
        if !self.folded.remove(&path) {
            self.folded.insert(path);
        }
    }
}

fn finish_text(purpose: TextPurpose, text: String) -> Option<Request> {
    match purpose {
        TextPurpose::RequestChanges => Some(Request::SendBack(text)),
        TextPurpose::Reject => Some(Request::Reject(text)),
        TextPurpose::Comment => Some(Request::Comment(text)),
        TextPurpose::Filter => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(path: &str, depth: usize, has_children: bool) -> PlanRow {
        PlanRow {
            path: path.to_owned(),
            title: None,
            status: Status::Draft,
            depth,
            has_children,
            cause: String::new(),
            stopped: None,
        }
    }

    fn press(room: &mut ReviewRoom, keys: &str) -> Option<Request> {
        let mut last = None;
        for key in keys.chars() {
            let code = match key {
                '\n' => KeyCode::Enter,
                '\u{1b}' => KeyCode::Esc,
                other => KeyCode::Char(other),
            };
            last = room.press_key(KeyEvent::new(code, KeyModifiers::NONE));
        }
        last
    }

    fn room() -> ReviewRoom {
        let mut room = ReviewRoom::new("novel".to_owned());
        let tree = vec![
            row("act-1", 0, true),
            row("act-1/chapter-01", 1, true),
            row("act-1/chapter-01/scene-0101", 2, false),
            row("act-2", 0, false),
        ];
        room.replace_lists(vec![row("act-2", 0, false), row("act-1", 0, true)], tree);
        room
    }

    #[test]
    fn the_selection_stays_on_its_plan_when_the_list_changes() {
        let mut room = room();
        assert_eq!(press(&mut room, "j"), Some(Request::LoadDetail));
        assert_eq!(room.selected_path().as_deref(), Some("act-1"));
        let inbox = vec![
            row("act-0", 0, false),
            row("act-2", 0, false),
            row("act-1", 0, true),
        ];
        room.replace_lists(inbox, Vec::new());
        assert_eq!(room.selected_path().as_deref(), Some("act-1"));
        room.replace_lists(vec![row("act-0", 0, false)], Vec::new());
        assert_eq!(room.selected_path().as_deref(), Some("act-0"));
        room.replace_lists(Vec::new(), Vec::new());
        assert_eq!(press(&mut room, "jkgG"), None);
    }

    #[test]
    fn a_folded_plan_hides_everything_below_it() {
        let mut room = room();
        press(&mut room, "tg");
        assert_eq!(room.rows().len(), 4);
        press(&mut room, "\n");
        let paths: Vec<&str> = room.rows().iter().map(|row| row.path.as_str()).collect();
        assert_eq!(paths, ["act-1", "act-2"]);
    }

    #[test]
    fn a_filter_finds_plans_in_folded_branches_and_escape_ends_it() {
        let mut room = room();
        press(&mut room, "tg\n");
        assert_eq!(press(&mut room, "/0101\n"), Some(Request::LoadDetail));
        assert_eq!(
            room.selected_path().as_deref(),
            Some("act-1/chapter-01/scene-0101")
        );
        press(&mut room, "\u{1b}");
        assert_eq!(room.rows().len(), 2);
    }

    #[test]
    fn nothing_is_decided_without_a_question_or_without_yes() {
        let mut room = room();
        assert_eq!(press(&mut room, "a"), None);
        assert_eq!(room.mode, Mode::Browse);
        room.mode = Mode::Confirm {
            question: "Approve?".to_owned(),
            request: Request::Approve,
        };
        assert_eq!(press(&mut room, "n"), None);
        assert_eq!(room.notice, "nothing was changed");
        room.mode = Mode::Confirm {
            question: "Approve?".to_owned(),
            request: Request::Approve,
        };
        assert_eq!(press(&mut room, "y"), Some(Request::Approve));
    }

    #[test]
    fn a_reason_is_typed_and_an_empty_one_is_ignored() {
        let mut room = room();
        room.mode = Mode::Write {
            purpose: TextPurpose::Reject,
            text: String::new(),
        };
        assert_eq!(press(&mut room, " \n"), None);
        assert_eq!(
            press(&mut room, "слишком q\n"),
            Some(Request::Reject(" слишком q".to_owned()))
        );
    }
}
