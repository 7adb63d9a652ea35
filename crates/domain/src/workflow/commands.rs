//! Commands that a workflow can allow to a role, with their usage.

/// Every command a role can be allowed, with its usage, a line for each form.
pub const ROLE_COMMANDS: &[(&str, &[&str])] = &[
    ("doc set", &["tl doc set ID FIELD=VALUE … --version N"]),
    (
        "doc add-decision",
        &["tl doc add-decision --decision TEXT --reasoning TEXT"],
    ),
    (
        "doc add-alternative",
        &["tl doc add-alternative --alternative TEXT --reason TEXT --decision-ref DL-NNN"],
    ),
    (
        "doc add-constraint",
        &["tl doc add-constraint --type TEXT --description TEXT [--source TEXT]"],
    ),
    (
        "doc add-risk",
        &[
            "tl doc add-risk --risk TEXT --mitigation TEXT [--anchor FILE:PLACE] [--decision-ref DL-NNN]",
        ],
    ),
    (
        "doc add-milestone",
        &[
            "tl doc add-milestone --name TEXT [--file PATH]… [--requirement TEXT]… [--criterion TEXT]… [--needs M-NNN]… [--test-file PATH]… [--skip-tests TEXT]",
        ],
    ),
    (
        "doc add-intent",
        &[
            "tl doc add-intent --milestone M-NNN --file PATH --behavior TEXT [--function NAME] [--decision-ref DL-NNN]…",
        ],
    ),
    (
        "doc add-change",
        &["tl doc add-change --intent CI-NNN [--file PATH] --diff FILE|- [--why TEXT]…"],
    ),
    (
        "doc add-doc",
        &[
            "tl doc add-doc --milestone M-NNN --place module|docstring|algorithm|inline [--target NAME] --text TEXT",
        ],
    ),
    ("doc remove", &["tl doc remove ID --version N"]),
    (
        "doc apply",
        &["tl doc apply FILE|-   # many changes, one JSON object a line, all or nothing"],
    ),
    ("doc freeze", &["tl doc freeze"]),
    ("doc render", &["tl doc render"]),
    ("doc validate", &["tl doc validate"]),
    ("doc show", &["tl doc show [ID]"]),
    (
        "review add",
        &["tl review add --check TEXT --severity MUST|SHOULD|COULD [--scope TEXT]"],
    ),
    (
        "review verdict",
        &[
            "tl review verdict qa-NNN pass",
            "tl review verdict qa-NNN fail --finding TEXT",
        ],
    ),
    ("review status", &["tl review status"]),
    ("progress", &["tl progress DOCUMENT/M-NNN complete"]),
    ("next", &["tl next"]),
    (
        "take",
        &["tl flow take   # a milestone of this wave, claimed for this session"],
    ),
    (
        "apply",
        &["tl flow apply M-NNN   # its diffs, checked, all or none"],
    ),
    ("release", &["tl release DOCUMENT/M-NNN"]),
    (
        "evidence",
        &[
            "tl evidence propose DOCUMENT/M-NNN   # the project's own test command",
            "tl evidence add DOCUMENT/M-NNN -- COMMAND",
            "tl evidence run DOCUMENT/M-NNN",
        ],
    ),
    ("evidence run", &["tl evidence run DOCUMENT/M-NNN"]),
    ("plan", &["tl plan LEVEL ID"]),
    ("reconcile", &["tl doc reconcile"]),
];

/// Returns the usage of a command; none if it is unknown.
#[must_use]
pub fn command_usage(word: &str) -> &'static [&'static str] {
    let known = ROLE_COMMANDS.iter().find(|(known, _)| *known == word);
    known.map_or(&[], |(_, usage)| usage)
}
