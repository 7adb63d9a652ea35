//! `tl story memory reread` and `at`: reads written texts into the memory, and shows it as of a scene.

use application::Failure;
use application::memory::memory_at::{MemoryAt, memory_at};
use application::memory::reread_prose::{
    ReadingAnswer, RereadOutcome, begin_reading, list_unread_scenes, reread_by_rules,
    submit_reading,
};
use application::tick::spending::record_spending;
use clap::Args;
use domain::text::count_with_noun;
use llm::{ErrorClass, Message};
use serde_json::{Value, json};

use crate::completion::node_completer;
use crate::exit_code::ExitCode;
use crate::model::{ModelRequest, Planner, halve_context, send_model_request};
use crate::progress::Progress;
use crate::ui::{BOLD, DIM, WARN, styled};
use crate::wiring::App;

/// Read written texts into the memory
///
/// People, places, facts and who is present, each with its quotation. Every text is read by rules; with a
/// configured model, a scene that it has not read yet is read by it too. Edited texts are read again
/// without this command. The same texts give the same memory.
#[derive(Debug, Args)]
pub(crate) struct RereadArgs {
    /// A scene, or everything below a chapter or an act
    #[arg(required_unless_present = "all", num_args = 1..=2, value_name = "NODE", add = node_completer())]
    node: Vec<String>,
    /// The whole story
    #[arg(long, conflicts_with = "node")]
    all: bool,
    /// Only by rules, although a model is configured
    #[arg(long)]
    rules: bool,
    /// Ask the model about texts that it has read already, too
    #[arg(long, conflicts_with = "rules")]
    again: bool,
}

impl RereadArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        // First by rules, in one step: the model is then asked with the whole cast known.
        let mut outcome = app.run(|ctx| reread_by_rules(ctx, &self.node))?;
        let mind = if self.rules {
            Planner::Offline
        } else {
            Planner::from_configuration(app)?
        };
        if let Planner::Model { .. } = mind {
            let unread = app.run(|ctx| list_unread_scenes(ctx, &self.node, self.again))?;
            let progress = Progress::new(app.ui, unread.len() as u64);
            for scene in unread {
                outcome = self.read_with_model(app, &mind, &progress, scene)?;
                progress.advance_step();
            }
            // Everything as it is now, not only the last scene.
            outcome = app
                .run(|ctx| reread_by_rules(ctx, &self.node))
                // What the model read is recorded; a summary that fails must not look like a
                // failed reading.
                .unwrap_or(outcome);
        }
        print_outcome(app, &outcome);
        Ok(ExitCode::Done)
    }

    /// Lets the model read one scene. An answer that stays unusable is a warning: the rules have read it.
    fn read_with_model(
        &self,
        app: &App,
        mind: &Planner,
        progress: &Progress,
        scene: String,
    ) -> Result<RereadOutcome, Failure> {
        let words = [scene];
        let [scene] = &words;
        let Planner::Model { model, cancel } = mind else {
            return app.run(|ctx| reread_by_rules(ctx, &words));
        };
        let mut ask = app.run(|ctx| begin_reading(ctx, &words, None))?;
        let mut answer = ReadingAnswer {
            reader: mind.name(),
            ..ReadingAnswer::default()
        };
        let mut is_shrunk = false;
        loop {
            progress.show_waiting_for(&format!("reading {scene}"));
            let asked = ModelRequest {
                purpose: "read",
                account: scene,
                system: &ask.system,
                messages: vec![Message::from_user(&ask.prompt)],
                schema: Some(&ask.schema),
                max_output_tokens: ask.max_output_tokens,
            };
            let unanswered = match send_model_request(&**model, cancel, progress, asked) {
                Ok(answered) => {
                    answer.spent.extend(answered.spent);
                    answer.verdict = answered.json.unwrap_or(Value::Null);
                    // That of the prompt which was answered: a shortened one has its own.
                    answer.nonce.clone_from(&ask.nonce);
                    return app.run(|ctx| submit_reading(ctx, &words, &answer));
                }
                Err(unanswered) => unanswered,
            };
            answer.spent.extend(unanswered.spent.iter().cloned());
            if let Some(problem) = unanswered.answer_problem() {
                app.run(|ctx| record_spending(ctx, &answer.spent))?;
                app.ui
                    .print_warning(format!("{scene} was read by rules only: {problem}"));
                return app.run(|ctx| reread_by_rules(ctx, &words));
            }
            if unanswered.class == ErrorClass::ContextTooLong && !is_shrunk {
                is_shrunk = true;
                let tokens = halve_context(progress, &ask.prompt, Some(&ask.schema));
                ask = app.run(|ctx| begin_reading(ctx, &words, Some(tokens)))?;
                continue;
            }
            // Attempts that led to nothing are paid for, too.
            app.run(|ctx| record_spending(ctx, &answer.spent))?;
            let resume = if self.all {
                "tl story memory reread --all".to_owned()
            } else {
                format!("tl story memory reread {}", self.node.join(" "))
            };
            return Err(unanswered.into_stop("what was read is kept", &resume));
        }
    }
}

fn print_outcome(app: &App, outcome: &RereadOutcome) {
    if app.ui.try_print_json(outcome) {
        return;
    }
    for scene in &outcome.read {
        let place = scene.location.as_deref();
        let place = place
            .map(|place| format!(" in {place}"))
            .unwrap_or_default();
        let facts = count_with_noun(scene.facts, "fact", "facts");
        app.ui.print_line(format_args!(
            "{} {}: {}{place}, {facts} {}",
            styled(BOLD, &scene.id),
            scene.scene,
            if scene.characters.is_empty() {
                "nobody named".to_owned()
            } else {
                scene.characters.join(", ")
            },
            styled(DIM, format!("by {}", scene.reader))
        ));
    }
    for fact in &outcome.disputed {
        app.ui.print_line(format_args!(
            "{} {}: {} — \"{}\"; earlier: {}",
            styled(WARN, "disputed"),
            fact.fact,
            fact.statement,
            fact.quote,
            fact.against
        ));
    }
    for it in &outcome.contradictions {
        app.ui.print_line(format_args!(
            "{} {}: {} — \"{}\"; earlier: {}",
            styled(WARN, "contradicts"),
            it.scene,
            it.problem,
            it.quote,
            it.against
        ));
    }
    if let Some(first) = outcome.disputed.first() {
        app.ui.print_next_step(format_args!(
            "edit the text, or tl story memory intend {}   # it is meant so",
            first.fact
        ));
    }
    if outcome.without_text > 0 {
        let scenes = count_with_noun(outcome.without_text, "scene has", "scenes have");
        app.ui.print_message(format!("{scenes} no text yet"));
    }
}

/// Show who knows what before a scene, and since when
#[derive(Debug, Args)]
pub(crate) struct AtArgs {
    /// A scene, a chapter or an act
    #[arg(required = true, num_args = 1..=2, value_name = "NODE", add = node_completer())]
    node: Vec<String>,
}

impl AtArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let at = app.run(|ctx| memory_at(ctx, &self.node))?;
        if !app.ui.try_print_json(&json!(at)) {
            print_moment(app, &at);
        }
        Ok(ExitCode::Done)
    }
}

fn print_moment(app: &App, at: &MemoryAt) {
    let since = |scene: &Option<String>| {
        let scene = scene.as_deref();
        scene.map_or_else(
            || "since before the story".to_owned(),
            |it| format!("since {it}"),
        )
    };
    let scenes = count_with_noun(at.scenes.len(), "written scene", "written scenes");
    app.ui
        .print_line(format_args!("before {}: {scenes}", styled(BOLD, &at.node)));
    for it in &at.moment.characters {
        let seen = match (&it.last_seen, &it.location) {
            (Some(scene), Some(place)) => format!("last in {scene}, {place}"),
            (Some(scene), None) => format!("last in {scene}"),
            (None, _) => "not seen yet".to_owned(),
        };
        app.ui.print_line(format_args!(
            "{} {} {}",
            styled(BOLD, &it.id),
            it.name,
            styled(DIM, seen)
        ));
        for known in &it.knows {
            app.ui.print_line(format_args!(
                "  knows {} {} {}",
                known.fact,
                known.statement,
                styled(DIM, since(&known.since))
            ));
        }
    }
    for it in &at.moment.open_loops {
        let line = it.text.lines().next().unwrap_or_default();
        // A tick opens a loop without a scene.
        let opened = match (&it.since, it.tick) {
            (None, Some(tick)) => format!("since tick {tick}"),
            _ => since(&it.since),
        };
        app.ui.print_line(format_args!(
            "open {} {line} {}",
            styled(BOLD, &it.id),
            styled(DIM, opened)
        ));
    }
    let known: std::collections::BTreeSet<&str> = at
        .moment
        .characters
        .iter()
        .flat_map(|it| it.knows.iter().map(|known| known.fact.as_str()))
        .collect();
    for it in at
        .moment
        .facts
        .iter()
        .filter(|it| !known.contains(it.fact.as_str()))
    {
        app.ui.print_line(format_args!(
            "nobody knows {} {} {}",
            it.fact,
            it.statement,
            styled(DIM, since(&it.since))
        ));
    }
}
