//! `tl completions`

use crate::{COMMANDS, empty};

#[test]
fn every_shell_gets_a_script_with_every_command() {
    let project = empty();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = project.ok(&["completions", shell]);
        for command in COMMANDS {
            assert!(
                output.stdout.contains(command),
                "{shell} does not know `{command}`"
            );
        }
        assert_eq!(output.stderr, "", "{shell}");
    }
    assert_eq!(crate::names_in(&project, "."), Vec::<String>::new());
}

#[test]
fn an_unknown_shell_lists_the_known_ones() {
    let output = empty().run(&["completions", "csh"]);
    assert_eq!(output.code, 2);
    assert!(
        output.stderr.contains("bash") && output.stderr.contains("fish"),
        "{}",
        output.stderr
    );
}
