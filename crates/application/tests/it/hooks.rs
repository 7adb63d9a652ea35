//! A session of a host: builds its events and hands them to the use case, as a hook would.

use application::Failure;
use application::handle_host_event::{
    EventContext, EventOutcome, ObservedCall, handle_host_event, touched_files, touched_plans,
};
use domain::host_event::{
    FileEffect, Happening, Host, HostEvent, StartSource, ToolCall, ToolKind, Touch,
};
use domain::ids::Principal;
use domain::ports::{Git, NoRepository};

use crate::world::World;

/// A session of a host in a project.
pub(crate) struct Session<'w> {
    world: &'w World,
    git: &'w dyn Git,
    name: String,
    pub(crate) host: Host,
    pub(crate) agent: Option<String>,
}

impl<'w> Session<'w> {
    pub(crate) fn new(world: &'w World, name: &str) -> Self {
        Self::with_git(world, name, &NoRepository)
    }

    pub(crate) fn with_git(world: &'w World, name: &str, git: &'w dyn Git) -> Self {
        Self {
            world,
            git,
            name: name.to_owned(),
            host: Host::ClaudeCode,
            agent: None,
        }
    }

    fn event(&self, happening: Happening) -> HostEvent {
        HostEvent {
            host: self.host,
            name: happening.as_str().to_owned(),
            session: self.name.clone(),
            turn: None,
            agent: self.agent.clone(),
            directory: None,
            happening,
        }
    }

    /// Asks for permission to write a whole file as the program does: what needs no state is decided
    /// without it.
    pub(crate) fn ask_to_write(&self, path: &str, text: &str) -> EventOutcome {
        let event = self.event(Happening::ToolAboutToRun(write_call(path, text)));
        let world = self.world;
        let call = ObservedCall::from_event(&world.files, &world.profiles, &event);
        match call.refuse_without_state(&event, &world.policy) {
            Some(refused) => refused,
            None if !call.concerns_state(&event, &world.policy) => EventOutcome::default(),
            None => self.handle(event.happening),
        }
    }

    /// Hands one event over, with the files it names resolved.
    pub(crate) fn try_handle(&self, happening: Happening) -> Result<EventOutcome, Failure> {
        let event = self.event(happening);
        let person = Principal::Human("Ада".to_owned());
        let plans = touched_plans(&self.world.files, &self.world.profiles, &event);
        let files = touched_files(&self.world.files, &self.world.profiles, &event);
        let surroundings = EventContext {
            person: &person,
            plans: &plans,
            files: &files,
            faults: None,
            missed: &[],
            host_process: None,
            may_have_news: false,
        };
        let ctx = self
            .world
            .agent(&self.name)
            .with_git_and_session(self.git, self.name.clone());
        handle_host_event(&ctx, &event, &surroundings)
    }

    pub(crate) fn handle(&self, happening: Happening) -> EventOutcome {
        self.try_handle(happening).unwrap()
    }

    pub(crate) fn start(&self) -> EventOutcome {
        self.handle(Happening::SessionStarted {
            source: StartSource::Startup,
        })
    }

    /// Asks for permission to write a whole file.
    pub(crate) fn before_write(&self, path: &str, text: &str) -> EventOutcome {
        self.handle(Happening::ToolAboutToRun(write_call(path, text)))
    }

    /// Writes a file, with the events before and after; panics where a gate blocks.
    #[track_caller]
    pub(crate) fn write(&self, path: &str, text: &str) -> EventOutcome {
        let asked = self.before_write(path, text);
        assert_eq!(asked.reply.block, None);
        self.world.files.edit(path, text);
        self.after(write_call(path, text))
    }

    /// Reads a file.
    pub(crate) fn read(&self, path: &str) -> EventOutcome {
        self.after(call_on(ToolKind::Read, path, FileEffect::Read))
    }

    /// Reports a finished call.
    pub(crate) fn after(&self, call: ToolCall) -> EventOutcome {
        self.handle(Happening::ToolFinished {
            call,
            failed: false,
        })
    }

    /// Reports a finished command.
    pub(crate) fn ran(&self, command: &str) -> EventOutcome {
        self.after(shell_call(command))
    }

    pub(crate) fn prompt(&self, text: &str) -> EventOutcome {
        self.handle(Happening::PromptSubmitted {
            prompt: text.to_owned(),
        })
    }
}

pub(crate) fn call_on(kind: ToolKind, path: &str, effect: FileEffect) -> ToolCall {
    ToolCall {
        id: None,
        name: "Tool".to_owned(),
        kind,
        touches: vec![Touch {
            path: path.to_owned(),
            effect,
        }],
        command: None,
        says: None,
    }
}

pub(crate) fn write_call(path: &str, text: &str) -> ToolCall {
    let text = Some(text.to_owned());
    call_on(ToolKind::Write, path, FileEffect::Write { text })
}

pub(crate) fn shell_call(command: &str) -> ToolCall {
    ToolCall {
        id: None,
        name: "Bash".to_owned(),
        kind: ToolKind::Shell,
        touches: Vec::new(),
        command: Some(command.to_owned()),
        says: None,
    }
}

/// The gates that blocked, by name.
pub(crate) fn blocked(outcome: &EventOutcome) -> Vec<&str> {
    outcome.blocked.iter().map(|fired| fired.gate).collect()
}

/// The gates that only warned, by name.
pub(crate) fn warned(outcome: &EventOutcome) -> Vec<&str> {
    outcome.warned.iter().map(|fired| fired.gate).collect()
}
