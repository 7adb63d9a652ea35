//! The functions a hook runs, for the linker to lay side by side (`crates/cli/build.rs`).
//!
//! The program is run under valgrind's callgrind for one event of each kind and the commands that are
//! typed most, and the names it met are written to
//! the list of the profile ([`list_of_profile`]). Names have a star for the hash, which changes with the compiler;
//! generic functions of which little is run have the hashes too ([`render_list`]).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::bench::story::write_file;
use crate::bench::{hooks, work};
use crate::workspace::{cargo, command, root, run, target_directory};
use crate::{Outcome, say, say_error};

/// Returns the list that `crates/cli/build.rs` reads for a profile. Inlining decides which copies of a generic
/// function exist, so the levels of optimisation have a list each.
fn list_of_profile(profile: &str) -> &'static str {
    match profile {
        "dist" => "crates/cli/hook-path-dist.txt",
        _ => "crates/cli/hook-path.txt",
    }
}

/// Builds a profile with names, runs every event, writes the list.
pub(crate) fn order(profile: &str) -> Outcome {
    say_error(&format!("building ({profile}, with symbols)"));
    run(cargo()
        .args(["build", "--profile", profile, "--package", "throughline"])
        .args(["--package", "xtask", "--bins"])
        .env("THROUGHLINE_SYMBOLS", "keep"))?;
    let release = target_directory()?.join(profile);
    let folder = tempfile::tempdir().map_err(|error| format!("no directory: {error}"))?;
    let (through, profiles) = (folder.path().join("tl"), folder.path().join("profiles"));
    let script = format!(
        "#!/bin/sh\nTHROUGHLINE_HOOK_DEADLINE_MS=60000 exec valgrind --quiet --tool=callgrind --demangle=no \
         --callgrind-out-file='{}/%p' '{}' \"$@\"\n",
        profiles.display(),
        release.join("tl").display()
    );
    write_file(&through, &script)?;
    let made = std::fs::create_dir(&profiles)
        .and_then(|()| std::fs::set_permissions(&through, PermissionsExt::from_mode(0o755)));
    made.map_err(|error| format!("cannot write: {error}"))?;
    say_error("running every hook under valgrind");
    hooks::once(&release, &through, &folder.path().join("stories"))?;
    work::twice(&release, &through, &folder.path().join("work"))?;
    let mut runs: Vec<BTreeSet<String>> = Vec::new();
    for profile in std::fs::read_dir(&profiles).into_iter().flatten().flatten() {
        let text = std::fs::read_to_string(profile.path())
            .map_err(|error| format!("no profile: {error}"))?;
        runs.push(text.lines().filter_map(met).map(str::to_owned).collect());
    }
    if runs.is_empty() {
        return Err("valgrind wrote nothing: is it installed?".to_owned());
    }
    let members = library_members(&runs)?;
    let ordered = render_list(&runs, &function_symbols(&release.join("tl"))?);
    let text = format!("{}\n{ordered}", members.join("\n"));
    let list = list_of_profile(profile);
    write_file(&root().join(list), &text)?;
    say(&format!(
        "{} names in {list}; build again to use them",
        text.lines().filter(|line| !line.is_empty()).count()
    ));
    Ok(())
}

/// Returns the symbols of the functions of a program, each with its address.
///
/// Equal functions are one: it has several names, of which a profile has any and its section another.
fn function_symbols(program: &Path) -> Result<BTreeMap<String, u64>, String> {
    let output = command("nm")
        .arg("--print-size")
        .arg(program)
        .output()
        .map_err(|error| format!("cannot run nm: {error}"))?;
    let mut symbols = BTreeMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        // `0000000000e34c80 00000000000000d5 t _ZN5store4open4open17h…E`
        if let [address, _, "t" | "T" | "w" | "W", name] = *line.split(' ').collect::<Vec<_>>()
            && let Ok(address) = u64::from_str_radix(address, 16)
        {
            symbols.insert(name.to_owned(), address);
        }
    }
    Ok(symbols)
}

/// Returns the members of the C library that hold what was run, as `libc.a:malloc.o`. The library has no section for each function.
///
/// Functions on memory exist once per kind of processor, and valgrind has not the newest: those of its successor come too.
fn library_members(runs: &[BTreeSet<String>]) -> Result<Vec<String>, String> {
    const LIBRARY: &str = "libc.a";
    let output = command("cc")
        .arg(format!("-print-file-name={LIBRARY}"))
        .output()
        .map_err(|error| format!("cannot run cc: {error}"))?;
    let archive = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let output = command("nm")
        .args(["--print-file-name", "--defined-only", &archive])
        .output()
        .map_err(|error| format!("cannot run nm: {error}"))?;
    let mut members = BTreeSet::new();
    let mut all = BTreeSet::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        // `/usr/lib/…/libc.a:malloc.o:0000000000003a10 T __libc_malloc`
        let Some((member, name)) = line
            .strip_prefix(&format!("{archive}:"))
            .and_then(|rest| rest.split_once(':'))
            .and_then(|(member, symbol)| Some((member, symbol.rsplit(' ').next()?)))
        else {
            continue;
        };
        all.insert(member.to_owned());
        if runs.iter().any(|run| run.contains(name)) {
            members.insert(member.to_owned());
        }
    }
    let newer: Vec<String> = members
        .iter()
        .filter(|member| member.contains("avx2"))
        .flat_map(|member| {
            [
                member.replace("avx2", "evex"),
                member.replace("avx2", "evex512"),
            ]
        })
        .chain(
            members
                .iter()
                .filter(|member| member.contains("-avx-"))
                .map(|member| member.replace("-avx-", "-evex-")),
        )
        .filter(|member| all.contains(member))
        .collect();
    members.extend(newer);
    Ok(members
        .iter()
        .map(|member| format!("{LIBRARY}:{member}"))
        .collect())
}

/// Which kinds of runs ran a function, a bit for each.
type Kinds = u64;

/// Assigns each run to a kind: runs of one kind share most of their functions.
fn find_kinds(runs: &[BTreeSet<String>]) -> Vec<u32> {
    /// How much of what two runs ran both must have run.
    const SHARED_PERCENT: usize = 80;
    let mut firsts: Vec<&BTreeSet<String>> = Vec::new();
    let mut kinds = Vec::new();
    for run in runs {
        let alike = |first: &&BTreeSet<String>| {
            let shared = first.intersection(run).count();
            shared * 100 >= SHARED_PERCENT * (first.len() + run.len() - shared)
        };
        let kind = firsts.iter().position(alike).unwrap_or_else(|| {
            firsts.push(run);
            firsts.len() - 1
        });
        kinds.push(u32::try_from(kind).unwrap_or_default() % Kinds::BITS);
    }
    kinds
}

/// Functions whose symbols differ only in the hash: the copies of one generic function.
#[derive(Default)]
struct Copies<'s> {
    count: usize,
    /// By which kinds of runs each copy was run, with its hash.
    runs: Vec<(Kinds, Option<&'s str>)>,
}

/// A part of the list with fewer functions is one with the others that as many kinds of runs run.
const MIN_PART: usize = 20;

/// Renders the list of what was run. A part has what the same kinds of runs run, and those of most kinds come first: a run touches
/// few pages that others need. Parts end with an empty line; within a part the linker keeps its own order.
///
/// A name stands for all copies of a generic function. Where not all of them are run, the hashes of
/// those that are follow: `Vec::from_iter` has 1,100 copies, of which hooks run 120, and ten copies of
/// the parser of facts have 35 KB each.
fn render_list(runs: &[BTreeSet<String>], symbols: &BTreeMap<String, u64>) -> String {
    let mut kinds_at: BTreeMap<u64, Kinds> = BTreeMap::new();
    for (run, kind) in runs.iter().zip(find_kinds(runs)) {
        for address in run.iter().filter_map(|symbol| symbols.get(symbol)) {
            *kinds_at.entry(*address).or_default() |= 1 << kind;
        }
    }
    let mut part_sizes: BTreeMap<Kinds, usize> = BTreeMap::new();
    for kinds in kinds_at.values() {
        *part_sizes.entry(*kinds).or_default() += 1;
    }
    let part_of = |kinds: Kinds| {
        let large = part_sizes.get(&kinds).is_some_and(|size| *size >= MIN_PART);
        (Reverse(kinds.count_ones()), if large { kinds } else { 0 })
    };
    let mut groups: BTreeMap<String, Copies<'_>> = BTreeMap::new();
    for (symbol, address) in symbols {
        let (name, hash) = split_hash(symbol);
        let copies = groups.entry(name).or_default();
        copies.count += 1;
        if let Some(kinds) = kinds_at.get(address) {
            copies.runs.push((*kinds, hash));
        }
    }
    let mut lines: BTreeMap<_, BTreeSet<&str>> = BTreeMap::new();
    for (name, copies) in groups.iter().filter(|(_, copies)| !copies.runs.is_empty()) {
        if copies.runs.len() == copies.count {
            let first = copies.runs.iter().map(|(kinds, _)| part_of(*kinds)).min();
            lines.extend(first.map(|part| ((part, name), BTreeSet::new())));
            continue;
        }
        for (kinds, hash) in &copies.runs {
            let hashes = lines.entry((part_of(*kinds), name)).or_default();
            hashes.extend(hash);
        }
    }
    let mut text = String::new();
    let mut before = None;
    for ((part, name), hashes) in lines {
        if before.replace(part).is_some_and(|before| before != part) {
            text.push('\n');
        }
        text.push_str(name);
        for hash in hashes {
            text.push(' ');
            text.push_str(hash);
        }
        text.push('\n');
    }
    text
}

/// Returns the function a line of the profile names.
fn met(line: &str) -> Option<&str> {
    let (_, name) = line
        .strip_prefix("fn=")
        .or_else(|| line.strip_prefix("cfn="))?
        .split_once(") ")?;
    let name = name.split('\'').next().unwrap_or(name);
    // The standard library has the newer names, `_R…`.
    let is_rust = name.starts_with("_ZN") || name.starts_with("_R");
    (is_rust || name.starts_with(|first: char| first.is_ascii_alphabetic())).then_some(name)
}

/// Splits a mangled name at its hash, for which it gets a star.
fn split_hash(name: &str) -> (String, Option<&str>) {
    let parts = name
        .strip_suffix('E')
        .and_then(|name| name.rsplit_once("17h"))
        .filter(|(_, hash)| name.starts_with("_ZN") && hash.len() == 16);
    match parts {
        Some((head, hash)) => (format!("{head}17h*"), Some(hash)),
        None => (name.to_owned(), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_most_events_run_is_first_and_a_rarely_run_generic_has_its_hashes() {
        let symbol =
            |name: &str, digit: char| format!("_ZN{name}17h{}E", digit.to_string().repeat(16));
        let symbols = BTreeMap::from([
            (symbol("4rare", '1'), 1),
            (symbol("4rare", '2'), 2),
            (symbol("4full", '3'), 3),
            (symbol("5never", '4'), 4),
            (symbol("5equal", '5'), 3),
            ("sqlite3_step".to_owned(), 5),
        ]);
        let run = |symbols: &[String]| symbols.iter().cloned().collect::<BTreeSet<_>>();
        let step = "sqlite3_step".to_owned();
        let runs = [
            run(std::slice::from_ref(&step)),
            run(&[symbol("4rare", '1'), symbol("4full", '3'), step]),
        ];
        assert_eq!(
            render_list(&runs, &symbols),
            "sqlite3_step\n\n_ZN4full17h*\n_ZN4rare17h* 1111111111111111\n_ZN5equal17h*\n"
        );
    }
}
