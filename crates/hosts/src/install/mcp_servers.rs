//! Our entry in a host's list of MCP servers.

use jsonc_parser::cst::{CstContainerNode, CstObject};
use toml_edit::{Array, DocumentMut, InlineTable, Item, value};

use super::ordered_json::{OrderedJson, json_object};
use super::settings::{
    has_comment, parse_settings, remove_node, settings_problem, strip_byte_order_mark,
};
use super::{HookSetup, HostSettingsProblem};

/// Name of our entry.
pub(super) const SERVER_NAME: &str = "throughline";

/// A host's list of MCP servers.
pub(crate) struct ServerFile {
    /// Relative to the project.
    pub(crate) path: &'static str,
    /// The key that holds the servers.
    pub(crate) key: &'static str,
    pub(crate) format: ServerFormat,
}

/// Format of a server list.
pub(crate) enum ServerFormat {
    /// JSON, and our entry for a program.
    Json(fn(&str) -> OrderedJson),
    Toml,
}

impl ServerFile {
    /// The form that most hosts share.
    pub(crate) const fn standard(path: &'static str) -> Self {
        Self {
            path,
            key: "mcpServers",
            format: ServerFormat::Json(|program| {
                json_object([
                    ("command", program.into()),
                    ("args", OrderedJson::List(vec!["mcp".into()])),
                ])
            }),
        }
    }
}

/// Returns the file with our server.
pub(super) fn install_server(
    existing: Option<&str>,
    servers: &ServerFile,
    setup: &HookSetup,
) -> Result<String, HostSettingsProblem> {
    let ServerFormat::Json(entry) = servers.format else {
        return install_toml(existing.unwrap_or_default(), servers.key, setup);
    };
    let (mark, text) = strip_byte_order_mark(existing.unwrap_or_default());
    let root = parse_settings(if text.trim().is_empty() { "{}\n" } else { text })?;
    let top = root
        .object_value()
        .ok_or_else(|| settings_problem("expected an object at the top"))?;
    add_server(&top, servers.key, entry(&setup.program))?;
    Ok(format!("{mark}{root}"))
}

/// Returns the file without our server; `None` if nothing is left.
pub(super) fn uninstall_server(
    existing: &str,
    servers: &ServerFile,
) -> Result<Option<String>, HostSettingsProblem> {
    if matches!(servers.format, ServerFormat::Toml) {
        return uninstall_toml(existing, servers.key);
    }
    let (mark, text) = strip_byte_order_mark(existing);
    let root = parse_settings(text)?;
    let Some(top) = root.object_value() else {
        return Ok(Some(existing.to_owned()));
    };
    if !remove_server(&top, servers.key) {
        return Ok(Some(existing.to_owned()));
    }
    // A file that only holds a comment was not created by us.
    let empty = top.properties().is_empty() && !has_comment(&root);
    Ok((!empty).then(|| format!("{mark}{root}")))
}

/// Adds our server to parsed settings.
pub(super) fn add_server(
    top: &CstObject,
    list: &str,
    wanted: OrderedJson,
) -> Result<(), HostSettingsProblem> {
    let servers = match top.get(list) {
        Some(property) => property
            .object_value()
            .ok_or_else(|| settings_problem(&format!("expected an object in `{list}`")))?,
        None => top.object_value_or_set(list),
    };
    match servers.get(SERVER_NAME) {
        // Compared as values: an equal entry with other spacing stays untouched, so that a second
        // installation changes nothing.
        Some(old)
            if old
                .value()
                .is_some_and(|old| OrderedJson::from_node(&old) == wanted) => {}
        Some(old) => old.set_value(wanted.into()),
        None => {
            servers.append(SERVER_NAME, wanted.into());
        }
    }
    Ok(())
}

/// Removes our server from parsed settings; returns whether there was one.
pub(super) fn remove_server(top: &CstObject, list: &str) -> bool {
    let Some(property) = top.get(list) else {
        return false;
    };
    let Some(servers) = property.object_value() else {
        return false;
    };
    let Some(ours) = servers.get(SERVER_NAME) else {
        return false;
    };
    remove_node(CstContainerNode::from(ours).into());
    // The list was probably created by us; an empty one is not worth keeping.
    if servers.properties().is_empty() {
        remove_node(CstContainerNode::from(property).into());
    }
    true
}

fn read_toml(text: &str) -> Result<DocumentMut, HostSettingsProblem> {
    text.parse::<DocumentMut>().map_err(|error| {
        let before = error
            .span()
            .and_then(|span| text.get(..span.start))
            .unwrap_or_default();
        HostSettingsProblem {
            line: Some(before.matches('\n').count() + 1),
            what: error.message().to_owned(),
        }
    })
}

fn install_toml(
    existing: &str,
    list: &str,
    setup: &HookSetup,
) -> Result<String, HostSettingsProblem> {
    let mut document = read_toml(existing)?;
    // An entry that is right stays as it is, with the bytes around it.
    if has_toml_server(&document, list, &setup.program) {
        return Ok(existing.to_owned());
    }
    // Edited as text where that is valid: the editor normalises all line ends of the file, and takes
    // a comment before our entry for a part of it.
    let edited = replace_block(existing, &document, list, &setup.program)
        .unwrap_or_else(|| append_block(existing, list, &setup.program));
    if read_toml(&edited).is_ok_and(|edited| has_toml_server(&edited, list, &setup.program)) {
        return Ok(edited);
    }
    let servers = document
        .get_mut(list)
        .and_then(Item::as_table_like_mut)
        .ok_or_else(|| settings_problem(&format!("expected a table in `{list}`")))?;
    // An inline table or dotted keys, which a table of its own cannot extend.
    let mut ours = InlineTable::new();
    ours.insert("command", setup.program.as_str().into());
    ours.insert("args", Array::from_iter(["mcp"]).into());
    servers.insert(SERVER_NAME, value(ours));
    Ok(with_line_ends_of(existing, &document.to_string()))
}

/// Whether the list has our server with this program.
fn has_toml_server(document: &DocumentMut, list: &str, program: &str) -> bool {
    let ours = document
        .get(list)
        .and_then(|servers| servers.get(SERVER_NAME));
    ours.is_some_and(|ours| {
        ours.get("command").and_then(Item::as_str) == Some(program)
            && ours
                .get("args")
                .map(|arguments| arguments.to_string().replace(' ', ""))
                == Some("[\"mcp\"]".to_owned())
    })
}

/// Renders our entry as a table of its own.
fn render_block(list: &str, program: &str, line_end: &str) -> String {
    let program = value(program).to_string();
    [
        format!("[{list}.{SERVER_NAME}]"),
        format!("command = {}", program.trim()),
        "args = [\"mcp\"]".to_owned(),
        String::new(),
    ]
    .join(line_end)
}

fn line_end_of(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

fn append_block(existing: &str, list: &str, program: &str) -> String {
    let line_end = line_end_of(existing);
    let mut text = existing.to_owned();
    if !text.is_empty() {
        if !text.ends_with('\n') {
            text.push_str(line_end);
        }
        text.push_str(line_end);
    }
    text.push_str(&render_block(list, program, line_end));
    text
}

/// Replaces the program in the text that [`append_block`] added; `None` if it is not there.
fn replace_block(
    existing: &str,
    document: &DocumentMut,
    list: &str,
    program: &str,
) -> Option<String> {
    let former = document
        .get(list)?
        .get(SERVER_NAME)?
        .get("command")?
        .as_str()?;
    let line_end = line_end_of(existing);
    let (before, after) = existing.split_once(&render_block(list, former, line_end))?;
    let block = render_block(list, program, line_end);
    Some(format!("{before}{block}{after}"))
}

/// Removes the text that [`append_block`] added; `None` if it is not there any more.
fn remove_block(existing: &str, list: &str, program: &str) -> Option<String> {
    let line_end = line_end_of(existing);
    let block = render_block(list, program, line_end);
    let (before, after) = existing.split_once(&block)?;
    let before = before
        .strip_suffix(line_end)
        .filter(|rest| rest.is_empty() || rest.ends_with('\n'))
        .unwrap_or(before);
    Some(format!("{before}{after}"))
}

/// Gives an edited text the line ends of the original.
fn with_line_ends_of(original: &str, edited: &str) -> String {
    match line_end_of(original) {
        "\n" => edited.to_owned(),
        line_end => edited.replace("\r\n", "\n").replace('\n', line_end),
    }
}

fn uninstall_toml(existing: &str, list: &str) -> Result<Option<String>, HostSettingsProblem> {
    let mut document = read_toml(existing)?;
    let Some(servers) = document.get_mut(list).and_then(Item::as_table_like_mut) else {
        return Ok(Some(existing.to_owned()));
    };
    let Some(ours) = servers.remove(SERVER_NAME) else {
        return Ok(Some(existing.to_owned()));
    };
    let program = ours.get("command").and_then(Item::as_str);
    let shortened = program.and_then(|program| remove_block(existing, list, program));
    let left = match shortened.filter(|left| read_toml(left).is_ok()) {
        Some(left) => left,
        None => {
            if servers.is_empty() {
                document.remove(list);
            }
            with_line_ends_of(existing, &document.to_string())
        }
    };
    Ok((!left.trim().is_empty()).then_some(left))
}

#[cfg(test)]
mod tests {
    use domain::host_event::Host;

    use super::*;
    use crate::{SPECS, host_spec};

    fn setup(program: &str) -> HookSetup {
        HookSetup {
            program: program.to_owned(),
            strict: false,
            status_line: false,
        }
    }

    #[test]
    fn there_and_back_again() {
        let json = [
            "{\n  \"model\": \"opus\"\n}\n",
            "{\n  // theirs\n  \"mcpServers\": {\n    \"other\": { \"command\": \"x\" } // why\n  }\n}\n",
            "{\n  \"mcp\": {\n    \"other\": { \"type\": \"local\", \"command\": [\"x\"] }\n  }\n}\n",
        ];
        let toml = [
            "model = \"o\" # mine\n",
            "[mcp_servers.other]\ncommand = \"x\" # why\n",
            "# only a word\n",
            "model = \"o\"\r\n\r\n[mcp_servers.other]\r\ncommand = \"x\"\r\n",
            "mcp_servers = { other = { command = \"x\" } }\n",
        ];
        for spec in SPECS {
            let (host, servers) = (spec.host, &spec.servers);
            let originals: &[&str] = match servers.format {
                ServerFormat::Toml => &toml,
                ServerFormat::Json(_) => &json,
            };
            for original in originals {
                let installed = install_server(Some(original), servers, &setup("/usr/bin/tl"))
                    .expect("installs");
                assert!(installed.contains("/usr/bin/tl"), "{installed}");
                assert_eq!(
                    install_server(Some(&installed), servers, &setup("/usr/bin/tl"))
                        .expect("again"),
                    installed
                );
                let moved =
                    install_server(Some(&installed), servers, &setup("/opt/tl")).expect("moves");
                assert!(
                    moved.contains("/opt/tl") && !moved.contains("/usr/bin/tl"),
                    "{moved}"
                );
                assert_eq!(
                    uninstall_server(&moved, servers)
                        .expect("uninstalls")
                        .as_deref(),
                    Some(*original),
                    "{host:?}"
                );
            }
            let own = install_server(None, servers, &setup("tl")).expect("installs");
            assert_eq!(uninstall_server(&own, servers), Ok(None), "{own}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        for (host, text) in [
            (Host::ClaudeCode, "{\"mcpServers\": []}"),
            (Host::Cursor, "{,}"),
            (Host::Codex, "a = \n"),
            (Host::Codex, "mcp_servers = 1\n"),
        ] {
            assert!(
                install_server(Some(text), &host_spec(host).servers, &setup("tl")).is_err(),
                "{text}"
            );
        }
    }
}
