//! The audit log: what was changed over HTTP, and who was turned away. Written beside the requests, by one thread.
//!
//! What happens often is one line a minute with a count, and never more kinds of it than can be held, so that nobody can
//! fill a disk by being refused. No line has a secret: of a request it knows who, what, from where, and how it ended.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use application::Workspace;
use domain::access::Admitted;
use domain::time::Timestamp;
use domain::token::Audited;

use crate::middleware::RequestSource;

/// How long lines are kept, and how many at most.
const KEPT_MILLIS: i64 = 90 * 24 * 60 * 60 * 1000;
const MOST_LINES: usize = 100_000;

/// Lines of one kind within this time become one.
const MINUTE: Duration = Duration::from_secs(60);
/// How often the log is looked through for lines that are too old.
const HOUR: Duration = Duration::from_secs(60 * 60);
/// So many kinds are told apart in a minute; all others are one.
const MOST_KINDS: usize = 256;
/// So many lines wait to be written; more are lost, and counted in the metrics.
const MOST_WAITING: usize = 4_096;
/// So many are written at once.
const BATCH: usize = 256;
/// How long to wait before a book that could not be written is tried again.
const AGAIN: Duration = Duration::from_secs(1);
/// How long the last lines may take when the server ends.
const GOODBYE: Duration = Duration::from_secs(2);

/// A line, with when it was.
#[derive(Clone)]
struct Line {
    line: Audited,
    when: Instant,
}

enum Note {
    Line(Line),
    /// A token was used.
    Used(u64, Instant),
    End,
}

/// What makes two lines the same kind.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Kind {
    token: Option<u64>,
    from: String,
    action: String,
    outcome: String,
}

impl Kind {
    fn of(line: &Audited) -> Self {
        let Audited {
            token,
            from,
            action,
            outcome,
            ..
        } = line.clone();
        Self {
            token,
            from,
            action,
            outcome,
        }
    }
}

/// The first line of a kind, and how many more there were.
struct Counted {
    line: Line,
    more: u64,
}

#[derive(Default)]
struct Minute {
    kinds: HashMap<Kind, Counted>,
    /// When each token was last noted as used.
    used: HashMap<u64, Instant>,
}

/// Where lines are handed in.
pub struct AuditLog {
    out: SyncSender<Note>,
    minute: Arc<Mutex<Minute>>,
    ended: Mutex<Option<Receiver<()>>>,
    lost: AtomicU64,
}

impl AuditLog {
    /// Begins to write the log of a project.
    pub(crate) fn of(workspace: Arc<dyn Workspace>) -> Self {
        let (out, notes) = sync_channel(MOST_WAITING);
        let (end, ended) = sync_channel(1);
        let minute = Arc::new(Mutex::new(Minute::default()));
        let held = minute.clone();
        // Without a thread nothing is written, and nobody is held up.
        let _ = std::thread::Builder::new()
            .name("audit".to_owned())
            .spawn(move || {
                Writer {
                    workspace,
                    minute: held,
                    waiting: Vec::new(),
                    uses: HashMap::new(),
                    pruned: None,
                }
                .run(&notes);
                let _ = end.send(());
            });
        Self {
            out,
            minute,
            ended: Mutex::new(Some(ended)),
            lost: AtomicU64::new(0),
        }
    }

    /// Notes something that was changed.
    pub fn note(
        &self,
        who: &Admitted,
        caller: &RequestSource,
        action: &str,
        outcome: &str,
        detail: &str,
    ) {
        self.send(Note::Line(line(Some(who), caller, action, outcome, detail)));
    }

    /// Notes something that may happen often: the first of its kind in a minute at once, the others as a number.
    pub(crate) fn note_often(
        &self,
        who: Option<&Admitted>,
        caller: &RequestSource,
        action: &str,
        outcome: &str,
    ) {
        let Line { mut line, when } = line(who, caller, action, outcome, "");
        {
            let mut minute = self.held();
            if minute.kinds.len() >= MOST_KINDS && !minute.kinds.contains_key(&Kind::of(&line)) {
                let (action, from) = ("others".to_owned(), "many".to_owned());
                line = Audited {
                    principal: None,
                    token: None,
                    action,
                    from,
                    trace: None,
                    ..line
                };
            }
            match minute.kinds.entry(Kind::of(&line)) {
                Entry::Occupied(mut counted) => {
                    let counted = counted.get_mut();
                    counted.more += 1;
                    counted.line.when = when;
                    return;
                }
                Entry::Vacant(first) => {
                    first.insert(Counted {
                        line: Line {
                            line: line.clone(),
                            when,
                        },
                        more: 0,
                    });
                }
            }
        }
        self.send(Note::Line(Line { line, when }));
    }

    /// Notes that a token was used, once a minute.
    pub(crate) fn used(&self, token: u64) {
        let now = Instant::now();
        {
            let used = &mut self.held().used;
            if used
                .get(&token)
                .is_some_and(|at| now.duration_since(*at) < MINUTE)
            {
                return;
            }
            used.insert(token, now);
        }
        self.send(Note::Used(token, now));
    }

    /// Writes what is left, for a moment at most.
    pub(crate) fn finish(&self) {
        self.send(Note::End);
        if let Some(ended) = self
            .ended
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
        {
            let _ = ended.recv_timeout(GOODBYE);
        }
    }

    fn held(&self) -> MutexGuard<'_, Minute> {
        self.minute.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, note: Note) {
        // A log that cannot keep up must not hold up what it is about.
        if self.out.try_send(note).is_err() {
            self.lost.fetch_add(1, Relaxed);
        }
    }

    /// Returns how many lines could not be kept.
    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Relaxed)
    }
}

fn line(
    who: Option<&Admitted>,
    caller: &RequestSource,
    action: &str,
    outcome: &str,
    detail: &str,
) -> Line {
    let line = Audited {
        at: Timestamp::from_millis(0),
        principal: who.map(|who| who.principal.clone()),
        token: who.and_then(|who| who.token),
        action: action.to_owned(),
        outcome: outcome.to_owned(),
        detail: detail.to_owned(),
        from: caller.from.clone(),
        trace: caller.trace.clone(),
        times: 1,
    };
    Line {
        line,
        when: Instant::now(),
    }
}

struct Writer {
    workspace: Arc<dyn Workspace>,
    minute: Arc<Mutex<Minute>>,
    waiting: Vec<Line>,
    uses: HashMap<u64, Instant>,
    pruned: Option<Instant>,
}

impl Writer {
    fn run(mut self, notes: &Receiver<Note>) {
        let mut turned = Instant::now();
        let mut ended = false;
        while !ended {
            let patience = if self.waiting.is_empty() {
                MINUTE
            } else {
                AGAIN
            };
            let mut next = notes.recv_timeout(
                patience.min((turned + MINUTE).saturating_duration_since(Instant::now())),
            );
            loop {
                match next {
                    Ok(Note::Line(line)) => self.waiting.push(line),
                    Ok(Note::Used(token, when)) => drop(self.uses.insert(token, when)),
                    Ok(Note::End) | Err(RecvTimeoutError::Disconnected) => ended = true,
                    Err(RecvTimeoutError::Timeout) => break,
                }
                if ended || self.waiting.len() >= BATCH {
                    break;
                }
                next = notes.try_recv().map_err(|_| RecvTimeoutError::Timeout);
            }
            if ended || turned.elapsed() >= MINUTE {
                turned = Instant::now();
                self.count();
            }
            match self.write() {
                // The engine keeps no book: then there is nothing to write into.
                Ok(false) => self.forget(),
                Ok(true) => {}
                Err(_) if ended => {}
                // It is tried again; what is too much by then is lost.
                Err(_) => {
                    let too_many = self.waiting.len().saturating_sub(MOST_WAITING);
                    self.waiting.drain(..too_many);
                    std::thread::sleep(AGAIN);
                }
            }
        }
    }

    fn forget(&mut self) {
        self.waiting.clear();
        self.uses.clear();
    }

    /// Takes the numbers of the minute that is over.
    fn count(&mut self) {
        let mut minute = self.minute.lock().unwrap_or_else(PoisonError::into_inner);
        for (_, Counted { line, more }) in
            minute.kinds.drain().filter(|(_, counted)| counted.more > 0)
        {
            self.waiting.push(Line {
                line: Audited {
                    times: more,
                    ..line.line
                },
                when: line.when,
            });
        }
        minute.used.retain(|_, at| at.elapsed() < MINUTE);
    }

    fn write(&mut self) -> Result<bool, application::Failure> {
        let prune = self.pruned.is_none_or(|at| at.elapsed() >= HOUR);
        if self.waiting.is_empty() && self.uses.is_empty() {
            return Ok(true);
        }
        let (waiting, uses) = (&self.waiting, &self.uses);
        let has_book = self.workspace.access(&mut |book, now| {
            let at = |when: Instant| {
                let ago = i64::try_from(when.elapsed().as_millis()).unwrap_or_default();
                Timestamp::from_millis(now.as_millis().saturating_sub(ago))
            };
            let lines: Vec<Audited> = waiting
                .iter()
                .map(|line| Audited {
                    at: at(line.when),
                    ..line.line.clone()
                })
                .collect();
            let to_the_minute =
                |at: Timestamp| Timestamp::from_millis(at.as_millis() / 60_000 * 60_000);
            let uses: Vec<_> = uses
                .iter()
                .map(|(token, when)| (*token, to_the_minute(at(*when))))
                .collect();
            book.note(&lines, &uses)?;
            if prune {
                // What is too old now still is in an hour.
                let _ = book.forget_audited(
                    Timestamp::from_millis(now.as_millis() - KEPT_MILLIS),
                    MOST_LINES,
                );
            }
            Ok(())
        })?;
        if prune {
            self.pruned = Some(Instant::now());
        }
        self.forget();
        Ok(has_book)
    }
}
