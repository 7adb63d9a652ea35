//! Drawing: header, list, plan, and the line of keys.

use domain::node::Status;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Clear, List, ListItem, ListState, Paragraph, Wrap};

use super::detail::{DetailLine, Tone};
use super::state::{Mode, PlanRow, ReviewRoom, Screen, TextPurpose};

/// Width below which list and plan are shown one above the other.
const MIN_SPLIT_COLUMNS: u16 = 90;

const KEYS: &str = "j k move · a approve/keep · r request changes · x reject · c comment · u undo · t tree · ? keys · q quit";

const HELP: &[&str] = &[
    "j k ↓ ↑    next and previous plan       g G      first and last",
    "a          approve, or keep a stale plan that still holds",
    "r          request changes (with a text for the agent)",
    "x          reject, with everything below (with a reason)",
    "c          comment",
    "u          undo your last decision, after a preview",
    "Space b    scroll the plan               J K      line by line",
    "t Tab      inbox or tree                 Enter    fold in the tree",
    "/          filter the tree               Esc      end the filter",
    "q          quit",
];

/// Draws the whole screen.
pub(super) fn draw_room(frame: &mut Frame<'_>, room: &ReviewRoom) {
    let [header, body, footer] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(3),
        Constraint::Length(2),
    ])
    .areas(frame.area());
    frame.render_widget(render_header(room), header);
    let (list, plan) = split_body(body);
    draw_list(frame, room, list);
    draw_plan(frame, room, plan);
    frame.render_widget(render_footer(room), footer);
    if room.mode == Mode::Help {
        draw_help(frame);
    }
}

fn split_body(body: Rect) -> (Rect, Rect) {
    let layout = match body.width >= MIN_SPLIT_COLUMNS {
        true => Layout::horizontal([Constraint::Percentage(36), Constraint::Percentage(64)]),
        false => Layout::vertical([Constraint::Percentage(35), Constraint::Percentage(65)]),
    };
    let [list, plan] = layout.areas(body);
    (list, plan)
}

fn render_header(room: &ReviewRoom) -> Line<'_> {
    let waiting = room.count_waiting();
    let name = |screen: Screen, text: String| match room.screen == screen {
        true => Span::styled(
            text,
            Style::new().add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
        ),
        false => Span::styled(text, quiet()),
    };
    Line::from(vec![
        Span::styled(
            format!("{}   ", room.project),
            Style::new().add_modifier(Modifier::BOLD),
        ),
        name(Screen::Inbox, format!("Inbox {waiting}")),
        Span::raw("   "),
        name(Screen::Tree, format!("Tree {}", room.tree.len())),
        Span::styled(
            match room.filter.is_empty() || room.screen != Screen::Tree {
                true => String::new(),
                false => format!("   /{}", room.filter),
            },
            quiet(),
        ),
    ])
}

fn draw_list(frame: &mut Frame<'_>, room: &ReviewRoom, area: Rect) {
    let rows = room.rows();
    let mut items: Vec<ListItem<'_>> = Vec::new();
    let mut selected_item = None;
    let mut cause: Option<&str> = None;
    // Headings of groups are items of the list as well, so the selected row is counted apart.
    for (index, row) in rows.iter().enumerate() {
        if room.screen == Screen::Inbox && cause != Some(row.cause.as_str()) {
            items.push(ListItem::new(Span::styled(row.cause.clone(), quiet())));
            cause = Some(row.cause.as_str());
        }
        if index == room.selected {
            selected_item = Some(items.len());
        }
        items.push(ListItem::new(render_row(room, row)));
    }
    if items.is_empty() {
        let text = match room.screen {
            Screen::Inbox => "Nothing waits for you.",
            Screen::Tree if room.filter.is_empty() => "No plans yet: tl plan",
            Screen::Tree => "No plan has this in its name or title.",
        };
        items.push(ListItem::new(Span::styled(text, quiet())));
    }
    if room.screen == Screen::Inbox {
        push_others(&mut items, room);
    }
    let list = List::new(items)
        .block(
            Block::new()
                .borders(Borders::TOP | Borders::RIGHT)
                .border_style(quiet()),
        )
        .highlight_style(Style::new().add_modifier(Modifier::REVERSED));
    let mut state = ListState::default().with_selected(selected_item);
    frame.render_stateful_widget(list, area, &mut state);
}

/// Adds what is decided elsewhere; the selection does not reach it, so no key decides about it here.
fn push_others<'r>(items: &mut Vec<ListItem<'r>>, room: &'r ReviewRoom) {
    let parts = [
        ("Reviews that wait for you", "◇", &room.others.findings),
        ("Stopped agents", "‖", &room.others.stopped),
    ];
    for (heading, sign, lines) in parts.into_iter().filter(|(.., lines)| !lines.is_empty()) {
        items.push(ListItem::new(Span::styled(heading, quiet())));
        for line in lines {
            items.push(ListItem::new(format!("  {sign} {line}")));
        }
    }
}

fn render_row<'r>(room: &ReviewRoom, row: &'r PlanRow) -> Line<'r> {
    let fold = match (
        room.screen,
        row.has_children,
        room.folded.contains(&row.path),
    ) {
        (Screen::Inbox, ..) => "  ",
        (_, true, true) => "▸ ",
        (_, true, false) => "▾ ",
        (_, false, _) => "  ",
    };
    let name = row.path.rsplit('/').next().unwrap_or(&row.path);
    Line::from(vec![
        Span::raw(format!("{}{fold}", "  ".repeat(row.depth))),
        Span::styled(
            format!("{} ", row.status.symbol()),
            status_style(row.status),
        ),
        Span::raw(row.title.as_deref().unwrap_or(name)),
        Span::styled(format!("  {name}"), quiet()),
        Span::styled(
            match &row.stopped {
                Some(host) => format!("  ‖ {host} waits"),
                None => String::new(),
            },
            Style::new().add_modifier(Modifier::BOLD),
        ),
    ])
}

fn draw_plan(frame: &mut Frame<'_>, room: &ReviewRoom, area: Rect) {
    let lines: Vec<Line<'_>> = room.detail.lines.iter().map(render_line).collect();
    let block = Block::new().borders(Borders::TOP).border_style(quiet());
    let text = Paragraph::new(lines)
        .block(block)
        .wrap(Wrap { trim: false });
    // Not past the end: an empty screen would look like an empty plan. Wrapped lines count once, so
    // the last of a long plan are reached by the height that is left.
    let longest = u16::try_from(room.detail.lines.len()).unwrap_or(u16::MAX);
    let last = longest.saturating_mul(3).saturating_sub(area.height / 2);
    frame.render_widget(text.scroll((room.scroll.min(last), 0)), area);
}

fn render_line(line: &DetailLine) -> Line<'_> {
    let span = |(tone, text): &(Tone, String)| Span::styled(text.clone(), tone_style(*tone));
    line.iter().map(span).collect::<Vec<_>>().into()
}

fn render_footer(room: &ReviewRoom) -> Paragraph<'_> {
    let asked = match &room.mode {
        Mode::Confirm { question, .. } => Line::from(vec![
            Span::styled(question.clone(), Style::new().add_modifier(Modifier::BOLD)),
            Span::raw("  y yes · any other key no"),
        ]),
        Mode::Write { purpose, text } => {
            let what = match purpose {
                TextPurpose::RequestChanges => "What should change",
                TextPurpose::Reject => "Reject, because",
                TextPurpose::Comment => "Comment",
                TextPurpose::Filter => "Filter",
            };
            Line::from(vec![
                Span::styled(
                    format!("{what}: "),
                    Style::new().add_modifier(Modifier::BOLD),
                ),
                Span::raw(text.clone()),
                Span::styled("█", quiet()),
                Span::styled("   Enter · Esc", quiet()),
            ])
        }
        Mode::Browse | Mode::Help => Line::from(room.notice.clone()),
    };
    Paragraph::new(vec![asked, Line::from(Span::styled(KEYS, quiet()))])
}

fn draw_help(frame: &mut Frame<'_>) {
    let area = frame.area();
    // The terminal may be smaller than the help, and drawing outside of the frame panics.
    let height = u16::try_from(HELP.len() + 2)
        .unwrap_or(u16::MAX)
        .min(area.height);
    let width = 72.min(area.width);
    let place = Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    };
    let lines: Vec<Line<'_>> = HELP.iter().map(|line| Line::from(*line)).collect();
    frame.render_widget(Clear, place);
    frame.render_widget(
        Paragraph::new(lines).block(Block::bordered().title(" Keys ")),
        place,
    );
}

fn quiet() -> Style {
    Style::new().add_modifier(Modifier::DIM)
}

fn status_style(status: Status) -> Style {
    match status {
        Status::Draft => quiet(),
        Status::Approved => Style::new().fg(Color::Green),
        Status::RequiresRevalidation => Style::new().fg(Color::Yellow),
        Status::Invalid => Style::new().fg(Color::Red),
    }
}

/// Returns the look of a piece of text. Added and removed lines differ in their first character too.
fn tone_style(tone: Tone) -> Style {
    match tone {
        Tone::Plain => Style::new(),
        Tone::Heading => Style::new().add_modifier(Modifier::BOLD),
        Tone::Quiet => quiet(),
        Tone::Warning => Style::new().fg(Color::Yellow),
        Tone::Added => Style::new().fg(Color::Green),
        Tone::Removed => Style::new().fg(Color::Red),
        Tone::AddedWord => Style::new()
            .fg(Color::Green)
            .add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
        Tone::RemovedWord => Style::new()
            .fg(Color::Red)
            .add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
    }
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::*;

    fn draw(room: &ReviewRoom, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw_room(frame, room)).unwrap();
        terminal.backend().to_string()
    }

    fn row(path: &str, title: &str, cause: &str) -> PlanRow {
        PlanRow {
            path: path.to_owned(),
            title: Some(title.to_owned()),
            status: Status::RequiresRevalidation,
            depth: 0,
            has_children: false,
            cause: cause.to_owned(),
            stopped: None,
        }
    }

    #[test]
    fn the_inbox_groups_plans_by_cause_and_names_the_keys() {
        let mut room = ReviewRoom::new("роман".to_owned());
        let inbox = vec![
            row(
                "act-2/chapter-09",
                "The second key",
                "act-2 changed: 2 chapters",
            ),
            row(
                "act-2/chapter-10",
                "Долгий прилив",
                "act-2 changed: 2 chapters",
            ),
            row("act-3", "The end", "new: 1 act"),
        ];
        room.replace_lists(inbox, Vec::new());
        let screen = draw(&room, 140, 20);
        for wanted in [
            "роман   Inbox 3",
            "act-2 changed: 2 chapters",
            "The second key  chapter-09",
            "Долгий прилив",
            "new: 1 act",
            "a approve/keep",
        ] {
            assert!(screen.contains(wanted), "{wanted}:\n{screen}");
        }
    }

    #[test]
    fn reviews_count_and_stopped_agents_are_named() {
        let mut room = ReviewRoom::new("novel".to_owned());
        let mut waiting = row("act-1", "One", "act-1 changed");
        waiting.stopped = Some("codex".to_owned());
        room.replace_lists(vec![waiting], Vec::new());
        room.others.findings = vec!["The point of view holds  act-1".to_owned()];
        room.others.stopped = vec!["gemini at 003: claim gate".to_owned()];
        let screen = draw(&room, 140, 20);
        for wanted in [
            "Inbox 2",
            "‖ codex waits",
            "Reviews that wait for you",
            "◇ The point of view holds",
            "Stopped agents",
            "‖ gemini at 003",
        ] {
            assert!(screen.contains(wanted), "{wanted}:\n{screen}");
        }
    }

    #[test]
    fn a_small_terminal_shows_list_and_plan_one_above_the_other() {
        let mut room = ReviewRoom::new("novel".to_owned());
        room.replace_lists(vec![row("act-1", "One", "act-1 changed")], Vec::new());
        room.detail.lines = vec![vec![(Tone::Plain, "the text of the plan".to_owned())]];
        for (width, height) in [(40, 12), (20, 6), (3, 3), (1, 1)] {
            draw(&room, width, height);
        }
        assert!(draw(&room, 60, 16).contains("the text of the plan"));
    }

    #[test]
    fn an_empty_inbox_says_so() {
        let room = ReviewRoom::new("novel".to_owned());
        assert!(draw(&room, 100, 10).contains("Nothing waits for you."));
    }
}
