//! Edits our entries in a host's JSON settings, preserving foreign entries with their comments,
//! order and indentation.
//!
//! An entry is ours if its command is `tl hook HOST`, whatever path `tl` has. There is no other
//! marker, so an entry written by hand is adopted as well. The concrete syntax tree is edited,
//! never a parsed value: people keep comments in these files.

use domain::host_event::Host;
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{
    CstArray, CstContainerNode, CstNode, CstObject, CstObjectProp, CstRootNode,
};

use super::command_line::{
    hook_program, is_status_command, status_command_line, tolerates_missing_program,
};
use super::hooks::{HookListShape, SettingsHooks};
use super::mcp_servers::{self, ServerFormat};
use super::ordered_json::{OrderedJson, json_object};
use super::{HookCall, HookEntry, HookSetup, HostSettingsProblem, InstalledHooks};
use crate::host_spec;
use crate::spec::HostSpec;

const BYTE_ORDER_MARK: char = '\u{feff}';

/// Returns the settings with our entries.
pub(super) fn install_hooks(
    existing: Option<&str>,
    spec: &HostSpec,
    hooks: &SettingsHooks,
    setup: &HookSetup,
) -> Result<String, HostSettingsProblem> {
    let (mark, text) = strip_byte_order_mark(existing.unwrap_or_default());
    let blank = text.trim().is_empty();
    let root = parse_settings(if blank { "{}\n" } else { text })?;
    let top = root
        .object_value()
        .ok_or_else(|| settings_problem("expected an object at the top"))?;
    if let Some(version) = hooks
        .format_version
        .filter(|_| top.get("version").is_none())
    {
        top.insert(0, "version", OrderedJson::from(version).into());
    }
    let lists = match top.get("hooks") {
        Some(property) => property
            .object_value()
            .ok_or_else(|| settings_problem("expected an object in `hooks`"))?,
        None => top.object_value_or_set("hooks"),
    };
    for property in lists.properties() {
        let name = property.decoded_name().unwrap_or_default();
        let is_wanted = hooks.events.contains(&name.as_str());
        let list = property
            .array_value()
            .ok_or_else(|| settings_problem(&format!("expected a list in `hooks.{name}`")));
        match list {
            // An event that an earlier version subscribed to.
            Ok(_) if !is_wanted => remove_from_event(property, spec.host, hooks.shape),
            // The form of events that we do not subscribe to is none of our business.
            Err(problem) if is_wanted => return Err(problem),
            _ => {}
        }
    }
    for event in hooks.events {
        let list = lists.array_value_or_set(event);
        place_hook(&list, spec.host, hooks.shape, &(hooks.entry)(event, setup));
    }
    if let Some((key, entry)) = server_in_hooks_file(spec) {
        mcp_servers::add_server(&top, key, entry(&setup.program))?;
    }
    place_status_line(&top, hooks, setup);
    Ok(format!("{mark}{root}"))
}

/// Returns the settings without our entries; `None` if nothing is left.
pub(super) fn uninstall_hooks(
    existing: &str,
    spec: &HostSpec,
    hooks: &SettingsHooks,
) -> Result<Option<String>, HostSettingsProblem> {
    let (mark, text) = strip_byte_order_mark(existing);
    // Nothing of ours: the text goes back byte for byte. A file that cannot be parsed is still an
    // error, since our entries may be in it.
    if find_installed(spec.host, hooks, existing).is_none() {
        parse_settings(text)?;
        return Ok(Some(existing.to_owned()));
    }
    let root = parse_settings(text)?;
    if let (Some(top), Some(lists)) = (root.object_value(), hooks_object(&root)) {
        for property in lists.properties() {
            remove_from_event(property, spec.host, hooks.shape);
        }
        if lists.properties().is_empty()
            && let Some(property) = top.get("hooks")
        {
            remove_node(CstContainerNode::from(property).into());
        }
        if let Some((key, _)) = server_in_hooks_file(spec) {
            mcp_servers::remove_server(&top, key);
        }
        if let Some(property) = find_status_line(&top, hooks).filter(runs_our_status_line) {
            remove_node(CstContainerNode::from(property).into());
        }
        // `version` is not content: a file with nothing else was created by us.
        let needless = |name: &str| hooks.format_version.is_some() && name == "version";
        let empty = top
            .properties()
            .iter()
            .all(|left| left.decoded_name().is_some_and(|name| needless(&name)));
        if empty && !has_comment(&root) {
            return Ok(None);
        }
    }
    Ok(Some(format!("{mark}{root}")))
}

/// Sets the host's status line if that is wanted and the user has none. One of ours is kept up to date.
fn place_status_line(top: &CstObject, hooks: &SettingsHooks, setup: &HookSetup) {
    let Some(key) = hooks.status_line_key else {
        return;
    };
    let wanted = json_object([
        ("type", "command".into()),
        (
            "command",
            OrderedJson::Text(status_command_line(&setup.program)),
        ),
    ]);
    match find_status_line(top, hooks) {
        None if setup.status_line => {
            top.append(key, wanted.into());
        }
        Some(old)
            if runs_our_status_line(&old)
                && old
                    .value()
                    .is_some_and(|old| OrderedJson::from_node(&old) != wanted) =>
        {
            old.set_value(wanted.into());
        }
        _ => {}
    }
}

fn find_status_line(top: &CstObject, hooks: &SettingsHooks) -> Option<CstObjectProp> {
    top.get(hooks.status_line_key?)
}

fn runs_our_status_line(property: &CstObjectProp) -> bool {
    property
        .value()
        .map(|value| OrderedJson::from_node(&value))
        .and_then(|value| value.get("command")?.as_text().map(is_status_command))
        .unwrap_or_default()
}

/// Renders the entry of an MCP server, given the program.
type RenderServer = fn(&str) -> OrderedJson;

/// Returns key and entry of our MCP server, if the host keeps its servers in the same file.
fn server_in_hooks_file(spec: &HostSpec) -> Option<(&'static str, RenderServer)> {
    match spec.servers.format {
        ServerFormat::Json(entry) if spec.servers.path == spec.hooks_path => {
            Some((spec.servers.key, entry))
        }
        _ => None,
    }
}

/// Finds our entries; `None` if there are none or the text cannot be parsed.
pub(super) fn find_installed(
    host: Host,
    hooks: &SettingsHooks,
    text: &str,
) -> Option<InstalledHooks> {
    let root = parse_settings(strip_byte_order_mark(text).1).ok()?;
    let mut entries = Vec::new();
    let mut programs = Vec::new();
    for property in hooks_object(&root)?.properties() {
        let Some(list) = property.array_value() else {
            continue;
        };
        for spot in find_our_hooks(&list, host, hooks.shape) {
            let call = parse_call(&OrderedJson::from_node(&spot.hook))?;
            programs.extend(hook_program(host, &call));
            entries.push(HookEntry {
                event: property.decoded_name().unwrap_or_default(),
                call,
            });
        }
    }
    let program = programs.into_iter().next()?;
    let is_strict = |entry: &HookEntry| match (&entry.call, hooks.fail_closed_suffix) {
        (HookCall::Shell(line), Some(suffix)) => line.ends_with(suffix),
        (call, _) => entry.event == host_spec(host).gate_event && !tolerates_missing_program(call),
    };
    let strict = entries.iter().any(is_strict);
    let status_line = root
        .object_value()
        .and_then(|top| find_status_line(&top, hooks))
        .is_some_and(|property| runs_our_status_line(&property));
    Some(InstalledHooks {
        setup: HookSetup {
            program,
            strict,
            status_line,
        },
        entries,
    })
}

/// Location of one of our hooks.
struct HookSpot {
    /// Element of the event's list: the hook itself, or its group.
    element: CstNode,
    hook: CstNode,
    /// Whether it is the only hook of its group.
    alone: bool,
    /// Whether the group has a matcher that limits it to some tools.
    narrowed: bool,
}

fn find_our_hooks(list: &CstArray, host: Host, shape: HookListShape) -> Vec<HookSpot> {
    let is_ours = |hook: &CstNode| {
        parse_call(&OrderedJson::from_node(hook))
            .is_some_and(|call| hook_program(host, &call).is_some())
    };
    let mut spots = Vec::new();
    for element in list.elements() {
        match shape {
            HookListShape::Flat if is_ours(&element) => {
                spots.push(HookSpot {
                    hook: element.clone(),
                    element,
                    alone: true,
                    narrowed: false,
                });
            }
            HookListShape::Flat => {}
            HookListShape::Grouped => {
                let group = OrderedJson::from_node(&element);
                let hooks = element
                    .as_object()
                    .and_then(|group| group.array_value("hooks"));
                let hooks = hooks.map(|hooks| hooks.elements()).unwrap_or_default();
                let alone = hooks.len() == 1;
                // A hook limited to some tools would let the others pass the gates, so it does not
                // count.
                let narrowed = !matches!(
                    group.get("matcher").map(OrderedJson::as_text),
                    None | Some(Some("" | "*"))
                );
                spots.extend(hooks.into_iter().filter(is_ours).map(|hook| HookSpot {
                    element: element.clone(),
                    hook,
                    alone,
                    narrowed,
                }));
            }
        }
    }
    spots
}

/// Ensures that the list has exactly one hook of ours, with the wanted values.
fn place_hook(list: &CstArray, host: Host, shape: HookListShape, wanted: &OrderedJson) {
    let spots = find_our_hooks(list, host, shape);
    // An entry that is right is not touched: in Codex any edit revokes the user's trust in it.
    let right = spots
        .iter()
        .position(|spot| !spot.narrowed && OrderedJson::from_node(&spot.hook) == *wanted);
    if right.is_some() {
        remove_our_hooks(list, host, shape, right);
        return;
    }
    // An older entry with the same members is updated in place, keeping its comments.
    if let Some(index) = spots
        .iter()
        .position(|spot| !spot.narrowed && update_in_place(&spot.hook, wanted))
    {
        remove_our_hooks(list, host, shape, Some(index));
        return;
    }
    let whole = match shape {
        HookListShape::Flat => wanted.clone(),
        HookListShape::Grouped => json_object([("hooks", OrderedJson::List(vec![wanted.clone()]))]),
    };
    // One with other members is replaced, but keeps its position.
    if let Some(index) = spots.iter().position(|spot| spot.alone) {
        remove_our_hooks(list, host, shape, Some(index));
        let old = find_our_hooks(list, host, shape)
            .into_iter()
            .next()
            .map(|spot| spot.element);
        if let Some((place, old)) = old.and_then(|old| Some((old.element_index()?, old))) {
            remove_node(old);
            list.insert(place, whole.into());
            return;
        }
    }
    remove_our_hooks(list, host, shape, None);
    list.append(whole.into());
}

/// Updates the values of a hook; `false` if it has other members.
fn update_in_place(hook: &CstNode, wanted: &OrderedJson) -> bool {
    let (Some(hook), OrderedJson::Object(members)) = (hook.as_object(), wanted) else {
        return false;
    };
    let properties = hook.properties();
    let names = properties
        .iter()
        .map(|property| property.decoded_name().unwrap_or_default());
    if !names.eq(members.iter().map(|(name, _)| name.clone())) {
        return false;
    }
    for (property, (_, value)) in properties.iter().zip(members) {
        if property
            .value()
            .is_none_or(|old| OrderedJson::from_node(&old) != *value)
        {
            property.set_value(value.clone().into());
        }
    }
    true
}

/// Removes a node, with the line break before the closing bracket if it was appended to a single
/// line.
pub(super) fn remove_node(node: CstNode) {
    let parent = node.parent();
    let is_snug = node
        .next_siblings()
        .find(|sibling| !sibling.is_whitespace())
        .is_some_and(|sibling| matches!(sibling.token_char(), Some(']' | '}')));
    node.remove();
    if !is_snug {
        return;
    }
    let children = parent.map(|parent| parent.children()).unwrap_or_default();
    for child in children
        .into_iter()
        .rev()
        .skip(1)
        .take_while(|child| child.is_whitespace() || child.is_newline())
    {
        if child.is_newline() {
            child.remove();
        }
    }
}

/// Removes our hooks from a list, except the one at `keep`, and groups that become empty.
fn remove_our_hooks(list: &CstArray, host: Host, shape: HookListShape, keep: Option<usize>) {
    for (index, spot) in find_our_hooks(list, host, shape).into_iter().enumerate() {
        if Some(index) == keep {
            continue;
        }
        if spot.alone {
            remove_node(spot.element);
            continue;
        }
        remove_node(spot.hook);
        let group = spot
            .element
            .as_object()
            .and_then(|group| group.array_value("hooks"));
        if group.is_some_and(|hooks| hooks.elements().is_empty()) {
            remove_node(spot.element);
        }
    }
}

/// Removes our hooks from an event, and the event if nothing is left of it.
fn remove_from_event(event: CstObjectProp, host: Host, shape: HookListShape) {
    let Some(list) = event
        .array_value()
        // An empty list that the user left there is not ours to remove.
        .filter(|list| !find_our_hooks(list, host, shape).is_empty())
    else {
        return;
    };
    remove_our_hooks(&list, host, shape, None);
    if list.elements().is_empty() {
        remove_node(CstContainerNode::from(event).into());
    }
}

/// Returns how a hook is started.
fn parse_call(hook: &OrderedJson) -> Option<HookCall> {
    // `bash` is Copilot's name for it.
    let line = ["command", "bash"]
        .iter()
        .find_map(|name| hook.get(name))
        .and_then(OrderedJson::as_text)?;
    match hook.get("args").and_then(OrderedJson::as_list) {
        None => Some(HookCall::Shell(line.to_owned())),
        Some(arguments) => {
            let arguments = arguments
                .iter()
                .filter_map(OrderedJson::as_text)
                .map(str::to_owned)
                .collect();
            Some(HookCall::Program(line.to_owned(), arguments))
        }
    }
}

fn hooks_object(root: &CstRootNode) -> Option<CstObject> {
    root.object_value()?.object_value("hooks")
}

pub(super) fn has_comment(root: &CstRootNode) -> bool {
    fn contains_comment(node: &CstNode) -> bool {
        node.is_comment() || node.children().iter().any(contains_comment)
    }
    root.children().iter().any(contains_comment)
}

pub(crate) fn strip_byte_order_mark(text: &str) -> (&str, &str) {
    match text.strip_prefix(BYTE_ORDER_MARK) {
        Some(rest) => ("\u{feff}", rest),
        None => ("", text),
    }
}

pub(super) fn settings_problem(what: &str) -> HostSettingsProblem {
    HostSettingsProblem {
        line: None,
        what: what.to_owned(),
    }
}

/// Parses JSON with comments and trailing commas, which some hosts allow in their settings, and
/// nothing looser.
pub(crate) fn parse_settings(text: &str) -> Result<CstRootNode, HostSettingsProblem> {
    let options = ParseOptions {
        // A looser parser would accept files that the host rejects, and then the hooks would
        // silently
        // not run.
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    CstRootNode::parse(text, &options).map_err(|error| {
        let what = error.kind().to_string();
        let mut chars = what.chars();
        let first = chars
            .next()
            .map(|c| c.to_lowercase().to_string())
            .unwrap_or_default();
        HostSettingsProblem {
            line: Some(error.line_display()),
            what: format!("{first}{}", chars.as_str()),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::hooks::HookFormat;
    use super::*;
    use crate::SPECS;

    /// The hosts with hooks in a settings file.
    fn settings_hosts() -> impl Iterator<Item = (&'static HostSpec, &'static SettingsHooks)> {
        SPECS.into_iter().filter_map(|spec| match &spec.hooks {
            HookFormat::Settings(hooks) => Some((spec, hooks)),
            HookFormat::Plugin(_) => None,
        })
    }

    fn settings_host(host: Host) -> (&'static HostSpec, &'static SettingsHooks) {
        settings_hosts()
            .find(|(spec, _)| spec.host == host)
            .expect("a settings file")
    }

    fn setup(program: &str) -> HookSetup {
        HookSetup {
            program: program.to_owned(),
            strict: false,
            status_line: false,
        }
    }

    /// Files as people have them; each must come back byte for byte. (A file on a single line comes
    /// back from its backup, because the edit breaks it into lines.)
    const ORIGINALS: [&str; 10] = [
        "{\n  \"version\": 1,\n  \"hooks\": {\n    \"stop\": [{ \"command\": \"x\" }],\n    \"Stop\": [{ \"hooks\": [ { \"command\": \"x\" } ] } ]\n  }\n}\n",
        "{\n  \"model\": \"opus\"\n}\n",
        "{\n\t\"model\": \"opus\",\n\t\"list\": [1, 2]\n}",
        "// mine\n{\n    // about the model\n    \"model\": \"opus\", // why\n    \"last\": true // end\n}\n",
        "{\r\n  \"model\": \"opus\"\r\n}\r\n",
        "{\n  \"model\": \"opus\",\n}\n",
        "{\n  \"hooks\": {\n    \"Notification\": [\n      {\n        \"hooks\": [{ \"type\": \"command\", \"command\": \"say hi\" }]\n      }\n    ]\n  },\n  \"z\": null\n}\n",
        "{\n  \"hooks\": {\n    // before\n    \"Stop\": [\n      // theirs\n      { \"matcher\": \"*\", \"hooks\": [{ \"type\": \"command\", \"command\": \"./stop.sh\" }] } // after\n    ],\n    \"stop\": [\n      { \"command\": \"./stop.sh\" }\n    ]\n    // last\n  }\n}\n",
        "\u{feff}{\n  \"model\": \"opus\"\n}\n",
        "{\n  \"version\": 1,\n  \"model\": \"opus\"\n}\n",
    ];

    #[test]
    fn there_and_back_again() {
        for (spec, hooks) in settings_hosts() {
            let host = spec.host;
            for original in ORIGINALS {
                // A `version` that was put in stays: others may rely on it by then.
                if hooks.format_version.is_some() && !original.contains("\"version\"") {
                    continue;
                }
                let installed = install_hooks(Some(original), spec, hooks, &setup("/usr/bin/tl"))
                    .expect("installs");
                assert_eq!(
                    install_hooks(Some(&installed), spec, hooks, &setup("/usr/bin/tl"))
                        .expect("again"),
                    installed
                );
                let moved =
                    install_hooks(Some(&installed), spec, hooks, &setup("/opt/my tools/tl"))
                        .expect("moves");
                let afresh = install_hooks(Some(original), spec, hooks, &setup("/opt/my tools/tl"))
                    .expect("installs");
                assert_eq!(moved, afresh, "{host:?}");
                let back = uninstall_hooks(&moved, spec, hooks).expect("uninstalls");
                assert_eq!(
                    back.as_deref(),
                    Some(original),
                    "{host:?} by way of\n{moved}"
                );
            }
        }
    }

    #[test]
    fn a_file_of_ours_goes_as_a_whole() {
        for (spec, hooks) in settings_hosts() {
            let host = spec.host;
            for existing in [None, Some(""), Some(" \n")] {
                let installed =
                    install_hooks(existing, spec, hooks, &setup("tl")).expect("installs");
                assert!(
                    installed.starts_with("{\n  \"") && installed.ends_with("\n}\n"),
                    "{installed}"
                );
                assert_eq!(
                    uninstall_hooks(&installed, spec, hooks),
                    Ok(None),
                    "{host:?}"
                );
            }
        }
    }

    #[test]
    fn every_event_has_one_entry() {
        for (spec, hooks) in settings_hosts() {
            let host = spec.host;
            let installed =
                install_hooks(None, spec, hooks, &setup("/usr/bin/tl")).expect("installs");
            let found = find_installed(host, hooks, &installed).expect("entries");
            assert_eq!(found.setup, setup("/usr/bin/tl"));
            let names: Vec<&str> = found
                .entries
                .iter()
                .map(|entry| entry.event.as_str())
                .collect();
            assert_eq!(names, hooks.events);
        }
    }

    #[test]
    fn older_entries_are_brought_up_to_date() {
        let old = r#"{
  "hooks": {
    "PreToolUse": [
      { "matcher": "Write", "hooks": [{ "type": "command", "command": "/old/tl", "args": ["hook", "claude-code"] }] },
      { "hooks": [{ "type": "command", "command": "./theirs" }, { "type": "command", "command": "tl hook claude-code" }] },
      { "hooks": [{ "type": "command", "command": "tl hook claude-code" }, { "type": "command", "command": "tl hook claude-code" }] }
    ],
    "Notification": [{ "hooks": [{ "type": "command", "command": "tl hook claude-code" }] }]
  }
}
"#;
        let (spec, hooks) = settings_host(Host::ClaudeCode);
        let new = install_hooks(Some(old), spec, hooks, &setup("/new/tl")).expect("installs");
        let found = find_installed(spec.host, hooks, &new).expect("entries");
        assert_eq!(found.entries.len(), hooks.events.len(), "{new}");
        assert!(
            !new.contains("Notification") && !new.contains("matcher") && new.contains("./theirs"),
            "{new}"
        );
        let left = uninstall_hooks(&new, spec, hooks)
            .expect("uninstalls")
            .expect("theirs");
        assert_eq!(left.matches("command\":").count(), 1, "{left}");
    }

    #[test]
    fn strict_is_found_again() {
        let strict = HookSetup {
            program: "/usr/bin/tl".to_owned(),
            strict: true,
            status_line: false,
        };
        for (spec, hooks) in settings_hosts() {
            let installed = install_hooks(None, spec, hooks, &strict).expect("installs");
            let found = find_installed(spec.host, hooks, &installed).expect("entries");
            assert_eq!(found.setup, strict);
            assert_eq!(
                installed.matches("exit 2").count(),
                usize::from(hooks.fail_closed_suffix.is_some())
            );
            // Only the gate: a prompt that is refused because of a missing program locks the person
            // out.
            assert_eq!(installed.matches("exit 0").count(), hooks.events.len() - 1);
        }
    }

    #[test]
    fn a_status_line_is_set_on_request_and_never_replaces_the_users() {
        let (spec, hooks) = settings_host(Host::ClaudeCode);
        let with_line = HookSetup {
            status_line: true,
            ..setup("/usr/bin/tl")
        };
        let original = "{\n  \"model\": \"opus\"\n}\n";
        let installed = install_hooks(Some(original), spec, hooks, &with_line).expect("installs");
        assert!(installed.contains("/usr/bin/tl statusline"), "{installed}");
        let found = find_installed(spec.host, hooks, &installed).expect("entries");
        assert_eq!(found.setup, with_line);
        let moved = install_hooks(Some(&installed), spec, hooks, &setup("tl")).expect("moves");
        assert!(moved.contains("}; tl statusline"), "{moved}");
        assert_eq!(
            uninstall_hooks(&moved, spec, hooks),
            Ok(Some(original.to_owned()))
        );
        let theirs =
            "{\n  \"statusLine\": { \"type\": \"command\", \"command\": \"./mine.sh\" }\n}\n";
        let kept = install_hooks(Some(theirs), spec, hooks, &with_line).expect("installs");
        assert!(
            kept.contains("./mine.sh") && !kept.contains("statusline\""),
            "{kept}"
        );
        assert_eq!(
            uninstall_hooks(&kept, spec, hooks),
            Ok(Some(theirs.to_owned()))
        );
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        for (text, line, what) in [
            ("{\n  \"a\": 1,\n  \"b\": \n}\n", Some(4), "expected"),
            ("{ 'a': 1 }", Some(1), "single-quoted"),
            ("[]", None, "expected an object at the top"),
            ("{\"hooks\": []}", None, "expected an object in `hooks`"),
            (
                "{\"hooks\": {\"PreToolUse\": {}}}",
                None,
                "expected a list in `hooks.PreToolUse`",
            ),
        ] {
            let (spec, hooks) = settings_host(Host::ClaudeCode);
            let problem = install_hooks(Some(text), spec, hooks, &setup("tl")).expect_err(text);
            assert_eq!(problem.line, line, "{text}: {problem}");
            assert!(problem.what.contains(what), "{text}: {problem}");
        }
    }
}
