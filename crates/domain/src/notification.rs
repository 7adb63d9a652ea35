//! Notifications about plans that wait for a person: which are new, when a message is due, and its text.
//!
//! Pure. The caller says what waits now and what time it is; sending is up to the program.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::text::{clean_line, count_with_noun};
use crate::time::{LocalMinute, Timestamp};

/// Maximum number of items that a message names.
const MAX_NAMED_ITEMS: usize = 5;

/// Something that waits for a person's decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WaitingItem {
    /// Identifies the very question: another text of the same plan is another item.
    #[serde(skip)]
    pub key: String,
    pub path: String,
    pub title: Option<String>,
    /// Its status in a word or two.
    pub status: String,
}

impl WaitingItem {
    /// Returns its title, or its path if it has none.
    #[must_use]
    pub fn name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.path)
    }
}

/// A daily period without messages; it may cross midnight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuietHours {
    from_minute: u16,
    until_minute: u16,
}

impl QuietHours {
    /// Parses `22:00-07:00`.
    ///
    /// # Errors
    /// When it is not two times of day.
    pub fn parse(text: &str) -> Result<Self, String> {
        let problem = || format!("`{text}` is not a period: expected HH:MM-HH:MM");
        let (from, until) = text.split_once('-').ok_or_else(problem)?;
        let minute_of = |time: &str| -> Option<u16> {
            let (hour, minute) = time.trim().split_once(':')?;
            let (hour, minute): (u16, u16) = (hour.parse().ok()?, minute.parse().ok()?);
            (hour < 24 && minute < 60).then_some(hour * 60 + minute)
        };
        Ok(Self {
            from_minute: minute_of(from).ok_or_else(problem)?,
            until_minute: minute_of(until).ok_or_else(problem)?,
        })
    }

    /// Whether a local time is within the period. A period that ends when it begins is empty.
    #[must_use]
    pub fn contains(self, at: LocalMinute) -> bool {
        let minute = u16::try_from(i16::from(at.hour) * 60 + i16::from(at.minute)).unwrap_or(0);
        match self.from_minute <= self.until_minute {
            true => (self.from_minute..self.until_minute).contains(&minute),
            false => minute >= self.from_minute || minute < self.until_minute,
        }
    }
}

/// When messages are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NotificationRules {
    /// Time that items are collected for one message, from the first of them on.
    pub digest_millis: i64,
    pub quiet_hours: Option<QuietHours>,
}

/// What waits, what was announced of it, and what is still to be announced.
#[derive(Clone, Debug, Default)]
pub struct NotificationQueue {
    /// Keys of everything that waited at the last look; `None` before the first.
    waiting: Option<BTreeSet<String>>,
    unsent: BTreeMap<String, WaitingItem>,
    /// When the first unsent item was seen.
    collecting_since: Option<Timestamp>,
}

impl NotificationQueue {
    /// Takes over what waits now. What waits at the first look is known to the person who started
    /// the program, and is not announced.
    pub fn observe(&mut self, waiting: &[WaitingItem], now: Timestamp) {
        let keys: BTreeSet<String> = waiting.iter().map(|item| item.key.clone()).collect();
        if let Some(before) = &self.waiting {
            for item in waiting.iter().filter(|item| !before.contains(&item.key)) {
                // By key: the same question is announced once, however often it is observed before
                // its message is due.
                self.unsent.insert(item.key.clone(), item.clone());
            }
        }
        // What was decided before its message was due is not announced any more.
        self.unsent.retain(|key, _| keys.contains(key));
        // From the first unsent item, so that a steady stream of new ones cannot postpone the
        // message for ever.
        self.collecting_since = match self.unsent.is_empty() {
            true => None,
            false => self.collecting_since.or(Some(now)),
        };
        self.waiting = Some(keys);
    }

    /// Returns the items of the message that is due now, each once; empty if none is.
    pub fn take_due_items(
        &mut self,
        rules: &NotificationRules,
        now: Timestamp,
    ) -> Vec<WaitingItem> {
        let Some(since) = self.collecting_since else {
            return Vec::new();
        };
        let is_collecting = now.as_millis() - since.as_millis() < rules.digest_millis;
        let is_quiet = rules
            .quiet_hours
            .is_some_and(|quiet| quiet.contains(now.local_minute()));
        if is_collecting || is_quiet {
            return Vec::new();
        }
        self.collecting_since = None;
        std::mem::take(&mut self.unsent).into_values().collect()
    }

    /// Number of items that wait, announced or not.
    #[must_use]
    pub fn waiting_count(&self) -> usize {
        self.waiting.as_ref().map_or(0, BTreeSet::len)
    }
}

/// A message about what waits for a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Notification {
    pub project: String,
    pub title: String,
    pub text: String,
    /// The page to decide on: that of the item if it is one, else the inbox.
    pub link: String,
    pub items: Vec<WaitingItem>,
    /// Number of items that wait in all.
    pub waiting: usize,
}

impl Notification {
    /// Composes the message about `items`; `dashboard` is the URL of the server without a slash at
    /// the end, `page_of` returns the path of an item's page there.
    #[must_use]
    pub fn compose(
        project: &str,
        items: Vec<WaitingItem>,
        waiting: usize,
        dashboard: &str,
        page_of: impl Fn(&WaitingItem) -> String,
    ) -> Self {
        // Titles and paths come from files, and the message leaves the machine.
        let project = clean_line(project);
        let count = count_with_noun(items.len(), "plan waits", "plans wait");
        let mut lines: Vec<String> = items
            .iter()
            .take(MAX_NAMED_ITEMS)
            .map(|item| clean_line(&format!("{} ({}, {})", item.name(), item.path, item.status)))
            .collect();
        if items.len() > MAX_NAMED_ITEMS {
            lines.push(format!("and {} more", items.len() - MAX_NAMED_ITEMS));
        }
        if waiting > items.len() {
            lines.push(format!("{waiting} wait in all"));
        }
        let page = match items.as_slice() {
            [item] => page_of(item),
            _ => "/".to_owned(),
        };
        Self {
            title: format!("{project}: {count} for you"),
            text: lines.join("\n"),
            link: format!("{dashboard}{page}"),
            project,
            items,
            waiting,
        }
    }

    /// Returns the body of a Slack-compatible webhook.
    #[must_use]
    pub fn slack_body(&self) -> serde_json::Value {
        // Slack reads `<`, `>` and `&` as markup; its documentation asks for just these entities.
        let escape = |text: &str| {
            text.replace('&', "&amp;")
                .replace('<', "&lt;")
                .replace('>', "&gt;")
        };
        let text = format!(
            "*{}*\n{}\n<{}|Open the dashboard>",
            escape(&self.title),
            escape(&self.text),
            self.link
        );
        serde_json::json!({ "text": text })
    }

    /// Returns the body for the root URL of an ntfy server, as JSON: headers would be limited to
    /// ASCII.
    #[must_use]
    pub fn ntfy_body(&self, topic: &str) -> serde_json::Value {
        serde_json::json!({
            "topic": topic,
            "title": self.title,
            "message": self.text,
            "click": self.link,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn item(key: &str) -> WaitingItem {
        WaitingItem {
            key: key.to_owned(),
            path: format!("act-1/{key}"),
            title: None,
            status: "draft".to_owned(),
        }
    }

    fn minute(minutes: i64) -> Timestamp {
        Timestamp::from_millis(minutes * 60_000)
    }

    fn names(items: &[WaitingItem]) -> Vec<&str> {
        items.iter().map(|item| item.key.as_str()).collect()
    }

    #[test]
    fn what_waits_at_the_start_is_not_announced() {
        let mut queue = NotificationQueue::default();
        queue.observe(&[item("a")], minute(0));
        let rules = NotificationRules::default();
        assert!(queue.take_due_items(&rules, minute(1)).is_empty());
        queue.observe(&[item("a"), item("b")], minute(2));
        assert_eq!(names(&queue.take_due_items(&rules, minute(2))), ["b"]);
        assert_eq!(queue.waiting_count(), 2);
    }

    #[test]
    fn a_digest_collects_from_its_first_item_on() {
        let mut queue = NotificationQueue::default();
        let rules = NotificationRules {
            digest_millis: 10 * 60_000,
            quiet_hours: None,
        };
        queue.observe(&[], minute(0));
        queue.observe(&[item("a")], minute(1));
        queue.observe(&[item("a"), item("b")], minute(9));
        assert!(queue.take_due_items(&rules, minute(10)).is_empty());
        assert_eq!(names(&queue.take_due_items(&rules, minute(11))), ["a", "b"]);
    }

    #[test]
    fn a_decided_plan_leaves_the_digest() {
        let mut queue = NotificationQueue::default();
        let rules = NotificationRules {
            digest_millis: 60_000,
            quiet_hours: None,
        };
        queue.observe(&[], minute(0));
        queue.observe(&[item("a")], minute(1));
        queue.observe(&[], minute(1));
        assert!(queue.take_due_items(&rules, minute(9)).is_empty());
    }

    #[test]
    fn quiet_hours_hold_messages_until_they_end() {
        let quiet = QuietHours::parse("22:00-07:30").unwrap();
        let rules = NotificationRules {
            digest_millis: 0,
            quiet_hours: Some(quiet),
        };
        let mut queue = NotificationQueue::default();
        queue.observe(&[], minute(0));
        queue.observe(&[item("a")], minute(23 * 60));
        assert!(queue.take_due_items(&rules, minute(23 * 60)).is_empty());
        let morning = 24 * 60 + 7 * 60;
        assert!(
            queue
                .take_due_items(&rules, minute(morning + 29))
                .is_empty()
        );
        assert_eq!(
            names(&queue.take_due_items(&rules, minute(morning + 30))),
            ["a"]
        );
    }

    #[test]
    fn a_period_that_is_no_period_is_named() {
        for text in ["22", "22:00", "22:00-25:00", "22:60-07:00", "a-b", ""] {
            let problem = QuietHours::parse(text).unwrap_err();
            assert!(problem.contains("HH:MM-HH:MM"), "{problem}");
        }
    }

    #[test]
    fn a_message_names_what_waits_and_leads_to_it() {
        let page = |item: &WaitingItem| format!("/nodes/{}", item.path);
        let one = Notification::compose("novel", vec![item("b")], 4, "http://127.0.0.1:7", page);
        assert_eq!(one.title, "novel: 1 plan waits for you");
        assert_eq!(one.text, "act-1/b (act-1/b, draft)\n4 wait in all");
        assert_eq!(one.link, "http://127.0.0.1:7/nodes/act-1/b");
        let many = ["a", "b", "c", "d", "e", "f"].map(item).to_vec();
        let all = Notification::compose("a<b>", many, 6, "http://127.0.0.1:7", page);
        assert_eq!(all.link, "http://127.0.0.1:7/");
        assert!(all.text.ends_with("and 1 more"));
        assert!(all.slack_body().to_string().contains("a&lt;b&gt;"));
    }

    proptest! {
        /// Whatever comes and goes: nothing is announced twice while it waits, and nothing that
        /// keeps waiting is forgotten.
        #[test]
        fn every_item_is_announced_once_while_it_waits(
            steps in proptest::collection::vec(proptest::collection::btree_set(0_u8..6, 0..6), 1..20),
            digest in 0_i64..4,
        ) {
            let rules = NotificationRules { digest_millis: digest * 60_000, quiet_hours: None };
            let mut queue = NotificationQueue::default();
            let mut announced: BTreeSet<String> = BTreeSet::new();
            let mut before: BTreeSet<u8> = steps[0].clone();
            let mut now = 0;
            for waiting in &steps {
                now += 1;
                // An item that left and came back may be announced again.
                for gone in before.difference(waiting) {
                    announced.remove(&gone.to_string());
                }
                let items: Vec<WaitingItem> = waiting.iter().map(|key| item(&key.to_string())).collect();
                queue.observe(&items, minute(now));
                for sent in queue.take_due_items(&rules, minute(now)) {
                    prop_assert!(announced.insert(sent.key));
                }
                before = waiting.clone();
            }
            let last: Vec<String> = queue
                .take_due_items(&rules, minute(now + 10))
                .into_iter()
                .map(|item| item.key)
                .collect();
            announced.extend(last);
            let mut first = steps[0].clone();
            for waiting in &steps {
                first = first.intersection(waiting).copied().collect();
            }
            for key in before.difference(&first) {
                prop_assert!(announced.contains(&key.to_string()));
            }
        }
    }
}
