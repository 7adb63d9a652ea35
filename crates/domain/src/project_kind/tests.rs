//! Tests of the detection: what a directory with these names is taken for.

use super::*;
use crate::profile::{Profile, parse_profile};

/// Lists paths as a directory has them.
fn list(paths: &[&str]) -> DirectoryListing {
    let mut listing = DirectoryListing::default();
    for path in paths {
        match path.split_once('/') {
            None => listing.files.push((*path).to_owned()),
            Some((folder, rest)) => {
                listing.folders.push(folder.to_owned());
                if !rest.is_empty() {
                    listing.below.push((*path).to_owned());
                }
            }
        }
    }
    listing
}

fn assert_detected(paths: &[&str], profiles: &str, because: &str) {
    let kind = detect_project_kind(&list(paths));
    let found = (kind.profiles.join(","), kind.because.unwrap_or_default());
    assert_eq!(
        found,
        (profiles.to_owned(), because.to_owned()),
        "{paths:?}"
    );
}

#[test]
fn names_at_the_root_decide_first() {
    for (paths, profiles, because) in [
        (&["tests/", "Cargo.toml"][..], "tickets,trail", "Cargo.toml"),
        (&["src/", "docs/", "README.md"], "tickets,trail", "src/"),
        (&["main.py", "README.md"], "tickets,trail", "main.py"),
        (&["tickets/"], "tickets,trail", "tickets/"),
        (&[".beads/", "docs/"], "tickets,trail", ".beads/"),
        (&["openspec/", "AGENTS.md"], "tickets,trail", "openspec/"),
        (&["acts/", "Makefile"], "story", "acts/"),
        (&["acts/", "src/", "package.json"], "story", "acts/"),
        (&["Novel.scriv/"], "story", "Novel.scriv"),
        (&["content/", "nwProject.nwx"], "story", "nwProject.nwx"),
        (&["Chapters/one.md", "build.sh"], "story", "Chapters/"),
        (
            &["scenes/menu.tscn", "project.godot"],
            "tickets,trail",
            "project.godot",
        ),
        (
            &["drafts/idea.md", "package.json"],
            "tickets,trail",
            "package.json",
        ),
        (&["drafts/idea.md"], "story", "drafts/"),
    ] {
        assert_detected(paths, profiles, because);
    }
}

#[test]
fn code_is_found_below_the_root_and_by_any_common_name() {
    for (paths, because) in [
        (
            &[
                "backend/pyproject.toml",
                "backend/app/main.py",
                "frontend/package.json",
                "infra/main.tf",
                ".github/",
                "Dockerfile",
                "Makefile",
            ][..],
            "Dockerfile",
        ),
        (
            &["apps/web/index.ts", "services/api/go.mod"],
            "services/api/go.mod",
        ),
        (&["internal/server.go", "README.md"], "internal/server.go"),
        (&["исходники/разбор.py"], "исходники/разбор.py"),
        (&["a/b/c.go"], "a/b/c.go"),
        (&["main.tf"], "main.tf"),
        (&["analysis.ipynb"], "analysis.ipynb"),
        (&["index.html"], "index.html"),
        (&["schema.sql"], "schema.sql"),
        (&["App.vue"], "App.vue"),
        (&["main.zig"], "main.zig"),
        (&["flake.nix"], "flake.nix"),
        (&["project.clj"], "project.clj"),
        (&["Makefile", "README.md"], "Makefile"),
        (&["scripts/deploy.sh"], "scripts/deploy.sh"),
    ] {
        assert_detected(paths, "tickets,trail", because);
    }
}

#[test]
fn chapters_are_recognised_in_several_languages_and_named_by_the_first() {
    for (paths, because) in [
        (
            &["Chapter 10.md", "Chapter 2.md", "Chapter 1.md"][..],
            "Chapter 1.md",
        ),
        (&["Глава 2.txt"], "Глава 2.txt"),
        (&["Глава первая.md"], "Глава первая.md"),
        (&["Kapitel 1.md"], "Kapitel 1.md"),
        (&["Chapitre 1.md"], "Chapitre 1.md"),
        (&["chapter01.docx"], "chapter01.docx"),
        (&["Рукопись/Глава 1.md"], "Рукопись/"),
        (
            &["Salt/Chapter 2.md", "Salt/Chapter 1.md", "tools/count.py"],
            "Salt/Chapter 1.md",
        ),
        (&["book.docx"], "book.docx"),
        (&["Рукопись.docx", "README.md"], "Рукопись.docx"),
        (&["novel.odt"], "novel.odt"),
    ] {
        assert_detected(paths, "story", because);
    }
}

#[test]
fn names_that_say_nothing_leave_the_default() {
    for paths in [
        &[][..],
        &[".git/", "README.md", "LICENSE", ".sh"],
        &["notes/", "chapters-of-accounts.md", "chapter.md"],
    ] {
        assert_detected(paths, "story", "");
    }
}

#[test]
fn a_manuscript_is_named_as_the_import_takes_it() {
    for (paths, manuscript) in [
        (&["manuscript/chapter-01.md"][..], Some("manuscript")),
        (&["manuscript/book.docx"], Some("manuscript/book.docx")),
        (&["manuscript/"], None),
        (&["Novel.scriv/Files/1.rtf"], Some("Novel.scriv")),
        (&["nwProject.nwx"], Some("nwProject.nwx")),
        (&["Chapter 1.md"], Some(".")),
        (&["Salt/Chapter 1.md"], Some("Salt")),
        (&["book.docx"], Some("book.docx")),
        (&["play.fountain"], None),
        (&["Cargo.toml", "notes/a.docx"], None),
    ] {
        let kind = detect_project_kind(&list(paths));
        assert_eq!(kind.manuscript.as_deref(), manuscript, "{paths:?}");
    }
}

#[test]
fn a_planning_tool_is_found_once_and_by_more_than_a_common_name() {
    let find = |paths: &[&str], profiles: &[Profile]| {
        let found = find_planning_tools(&list(paths), profiles);
        let folders: Vec<&str> = found.iter().map(|tool| tool.folder).collect();
        folders.join(",")
    };
    assert_eq!(
        find(&[".specify/", "specs/", ".beads/", "src/"], &[]),
        ".specify,.beads"
    );
    assert_eq!(find(&["specs/001-login/spec.md"], &[]), "specs");
    assert_eq!(
        find(&["specs/cart.spec.js", "package.json", "backlog/"], &[]),
        ""
    );
    let text = "name = \"kit\"\n[[level]]\nname = \"spec\"\nroot = true\nalias = \"{name}\"\nfile = \"specs/{alias}/spec.md\"\n";
    let covers = parse_profile("kit.toml", text).expect("a profile");
    assert_eq!(
        find(&[".specify/", "specs/001-login/spec.md"], &[covers]),
        ""
    );
}
