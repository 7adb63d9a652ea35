//! The file of a new ticket: its front matter and its text.

use domain::node::Node;
use domain::ports::PlanFiles;
use domain::work::scenarios::slugify_title;

use crate::context::Context;
use crate::failure::Failure;
use crate::file_writes::PlannedFiles;
use crate::tickets::{NewTicket, find_ticket_level};

/// Plans the file of a new ticket, and returns its path.
pub(crate) fn plan_ticket_file(
    ctx: &Context<'_>,
    planned: &PlannedFiles<'_>,
    id: &str,
    title: &str,
    parent: Option<&Node>,
    request: &NewTicket,
) -> Result<String, Failure> {
    // The title becomes a folder name as well, which no later masking could reach.
    let title = &ctx.mask_secrets(title, "title");
    let (profile, level, pattern) = find_ticket_level(ctx)?;
    let phase = profile
        .work_phases
        .first()
        .map_or("", |phase| phase.name.as_str());
    let mut keys = vec![
        ("id", quote(id)),
        ("type", request.kind.clone()),
        ("phase", phase.to_owned()),
        ("status", "ready".to_owned()),
    ];
    keys.extend(parent.map(|parent| ("parent", quote(&parent.alias))));
    // A line break in a value would end it, and the rest of the text would become keys of its own.
    let one_line = |text: &String| quote(&text.split_whitespace().collect::<Vec<_>>().join(" "));
    keys.extend(
        request
            .priority
            .iter()
            .map(|text| ("priority", one_line(text))),
    );
    keys.extend(request.due.iter().map(|text| ("due", one_line(text))));
    keys.extend(request.branch.iter().map(|text| ("branch", one_line(text))));
    for (key, items) in [("labels", &request.labels), ("links", &request.links)] {
        let list: Vec<String> = items.iter().map(one_line).collect();
        keys.extend((!list.is_empty()).then(|| (key, format!("[{}]", list.join(", ")))));
    }
    keys.push(("created", ctx.clock.now().to_string()));
    let front: String = keys
        .iter()
        .map(|(key, value)| format!("{key}: {value}\n"))
        .collect();
    let outline: String = match &request.body {
        Some(body) => format!("\n{}\n", body.trim()),
        None => level
            .outline
            .iter()
            .map(|heading| format!("\n## {heading}\n"))
            .collect(),
    };
    let text = format!("---\n{front}---\n\n# {title}\n{outline}");
    let path = pattern.file_at("", &format!("{id}-{}", slugify_title(title)), id);
    planned.create_file(&path, &text)?;
    Ok(path)
}

/// Quotes a YAML value: a bare `017` would be read as an octal number.
fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
