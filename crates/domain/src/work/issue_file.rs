//! Issue files of other tools, read into the parts of a new ticket: Markdown with or without front
//! matter, or the JSON of an issue tracker.

use serde_json::Value;

use crate::front_matter;

/// An issue as far as a ticket keeps it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportedIssue {
    pub title: String,
    pub body: String,
    pub labels: Vec<String>,
    pub links: Vec<String>,
    pub priority: Option<String>,
    pub due: Option<String>,
}

/// Reads an issue; its title is empty if it has none.
#[must_use]
pub fn parse_issue(text: &str) -> ImportedIssue {
    let mut issue = match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(keys)) => parse_json(&Value::Object(keys)),
        _ => parse_markdown(text),
    };
    issue.title = issue.title.trim().to_owned();
    issue
}

/// Returns what is wrong with a text that begins like the JSON of a tracker and is none; such a text is no
/// Markdown either.
#[must_use]
pub fn find_json_problem(text: &str) -> Option<String> {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    // Front matter and headings of Markdown begin with neither.
    if !text.starts_with('{') {
        return None;
    }
    let parsed = serde_json::from_str::<Value>(text);
    parsed.err().map(|error| error.to_string())
}

/// Reads the JSON of a tracker: `title`, `body`, `labels` (names, or objects with a name), `url`.
fn parse_json(issue: &Value) -> ImportedIssue {
    let text = |keys: &[&str]| {
        let found = keys.iter().find_map(|key| issue.get(key)?.as_str());
        found.map(str::to_owned)
    };
    let labels = issue.get("labels").and_then(Value::as_array);
    let label = |one: &Value| {
        one.as_str()
            .or_else(|| one.get("name")?.as_str())
            .map(str::to_owned)
    };
    ImportedIssue {
        title: text(&["title", "summary", "name"]).unwrap_or_default(),
        body: text(&["body", "description"]).unwrap_or_default(),
        labels: labels.into_iter().flatten().filter_map(label).collect(),
        links: text(&["html_url", "url", "web_url"]).into_iter().collect(),
        priority: text(&["priority"]),
        due: text(&["due", "due_date", "dueDate"]),
    }
}

/// Reads Markdown: the title is that of the front matter, the first heading, or the first line.
fn parse_markdown(text: &str) -> ImportedIssue {
    let front = front_matter::parse_front_matter(text);
    let (_, body) = front_matter::split_front_matter(text);
    let mut lines = body.lines().skip_while(|line| line.trim().is_empty());
    let first = lines.next().unwrap_or_default().trim();
    let heading = first.trim_start_matches('#').trim();
    let (title, body) = match front.get_text("title") {
        // A heading that repeats the title is not a part of the text.
        Some(title) if heading == title => (title, lines.collect::<Vec<_>>().join("\n")),
        Some(title) => (title, body.to_owned()),
        None => (heading.to_owned(), lines.collect::<Vec<_>>().join("\n")),
    };
    let mut links = front.get_list("links");
    links.extend(front.get_text("url").filter(|url| !links.contains(url)));
    ImportedIssue {
        title,
        body: body.trim().to_owned(),
        labels: front.get_list("labels"),
        links,
        priority: front.get_text("priority"),
        due: front.get_text("due"),
    }
}

#[cfg(test)]
mod tests {
    use super::{find_json_problem, parse_issue};

    #[test]
    fn damaged_json_is_no_markdown() {
        let problem = find_json_problem("{\"title\": \"Sum\",").expect("a problem");
        assert!(problem.contains("line 1"), "{problem}");
        for text in ["{\"title\": \"Sum\"}", "# Sum\n\n{ is a brace\n", ""] {
            assert_eq!(find_json_problem(text), None);
        }
    }

    #[test]
    fn issues_of_other_tools_are_read() {
        let plain = parse_issue("# Discount codes\n\nA code lowers the price.\n");
        assert_eq!(
            (plain.title.as_str(), plain.body.as_str()),
            ("Discount codes", "A code lowers the price.")
        );
        let front = "---\ntitle: Discount codes\nlabels: [shop, ux]\nurl: https://example.org/1\npriority: high\n---\nText.\n";
        let front = parse_issue(front);
        assert_eq!(front.title, "Discount codes");
        assert_eq!(front.labels, ["shop", "ux"]);
        assert_eq!(front.links, ["https://example.org/1"]);
        assert_eq!(
            (front.priority.as_deref(), front.body.as_str()),
            (Some("high"), "Text.")
        );
        let json = r#"{"number": 7, "title": "Discount codes", "body": "Text.", "labels": [{"name": "shop"}], "url": "https://example.org/7"}"#;
        let json = parse_issue(json);
        assert_eq!(
            (json.title.as_str(), json.body.as_str()),
            ("Discount codes", "Text.")
        );
        assert_eq!(
            (json.labels, json.links),
            (
                vec!["shop".to_owned()],
                vec!["https://example.org/7".to_owned()]
            )
        );
        for without_title in ["", "{}", "#  \n"] {
            assert_eq!(parse_issue(without_title).title, "", "{without_title}");
        }
    }
}
