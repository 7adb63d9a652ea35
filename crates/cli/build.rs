//! Links the program statically where that is possible without asking anything of the user, and what a hook runs in one place.
//!
//! A hook starts the program before and after every tool call, and loading shared libraries is a quarter of
//! what such a start costs (docs/benchmarks.md). Rust's own switch for it, `crt-static`, can only be given for
//! the whole build, moves the built program to another directory, and fails where the C library has no
//! static form. So the linker is told here, for this program alone, and only where the C compiler knows the
//! static libraries; everywhere else, and with `THROUGHLINE_LINK=dynamic`, the build stays as it was.
#![allow(clippy::disallowed_methods)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The shared libraries Rust asks for, and the static ones that stand in for them.
const LIBRARIES: [(&str, &str); 3] = [
    ("libc.so", "libc.a"),
    ("libm.so", "libm.a"),
    ("libgcc_s.so", "libgcc_eh.a"),
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=THROUGHLINE_LINK");
    let asked = |name: &str| env::var(name).unwrap_or_default();
    let native = asked("HOST") == asked("TARGET");
    let glibc = asked("CARGO_CFG_TARGET_OS") == "linux" && asked("CARGO_CFG_TARGET_ENV") == "gnu";
    let out = asked("OUT_DIR");
    if native && glibc && asked("THROUGHLINE_LINK") != "dynamic" {
        link_statically(Path::new(&out));
    }
    name_version(asked("PROFILE") == "release");
    println!("cargo::rerun-if-changed=hook-path.txt");
    println!("cargo::rerun-if-changed=hook-path-dist.txt");
    // Linkers that know no scripts are named in the flags of a build: it stays as it was then.
    let understood = !["mold", "wild"]
        .iter()
        .any(|linker| asked("CARGO_ENCODED_RUSTFLAGS").contains(linker));
    let optimised = asked("PROFILE") == "release" && asked("CARGO_CFG_TARGET_OS") == "linux";
    // Symbols are stripped here and not by the profile, because only this link has to be repeated
    // when `cargo xtask order` needs their names.
    println!("cargo::rerun-if-env-changed=THROUGHLINE_SYMBOLS");
    if optimised && asked("THROUGHLINE_SYMBOLS") != "keep" {
        println!("cargo::rustc-link-arg-bin=tl=-Wl,--strip-all");
    }
    if optimised && understood && asked("THROUGHLINE_LINK") != "dynamic" {
        // Inlining decides which copies of a generic function exist, so each level has its own list.
        let list = match asked("OPT_LEVEL").as_str() {
            "3" => "hook-path-dist.txt",
            _ => "hook-path.txt",
        };
        order_hook_path(list, Path::new(&out));
    }
}

/// Sets what `tl --version` prints. An optimised build from a repository names the commit and its date; another build would be linked
/// again with every commit.
fn name_version(optimised: bool) {
    let mut version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    // A package from a registry may be unpacked inside a repository that is not ours.
    let ours = Path::new("../../.git");
    if optimised && ours.exists() {
        let asked = |arguments: &[&str]| -> Option<String> {
            let output = Command::new("git").args(arguments).output().ok()?;
            let text = String::from_utf8(output.stdout).ok()?;
            output.status.success().then(|| text.trim().to_owned())
        };
        if let Some(log) = asked(&["rev-parse", "--git-path", "logs/HEAD"]) {
            println!("cargo::rerun-if-changed={log}");
        }
        if let Some(commit) = asked(&["log", "-1", "--format=%h %cs"]) {
            version = format!("{version} ({commit})");
        }
    }
    println!("cargo::rustc-env=THROUGHLINE_VERSION={version}");
}

/// Lays the functions a hook runs side by side. A hook runs for milliseconds, and every stretch of the program it touches first
/// costs a page fault: scattered over all of it, they were a third of what a hook costs (docs/benchmarks.md).
///
/// The names come from `cargo xtask order`. One that is not there any more changes nothing.
fn order_hook_path(list: &str, directory: &Path) {
    let list = fs::read_to_string(list).expect("a file of this repository");
    let mut parts = String::new();
    let mut others = String::new();
    let mut unlikely = String::new();
    for part in list.split("\n\n") {
        // One statement for all names of a part: the linker goes through its 170,000 sections once per
        // statement, and one for each name took 80 seconds.
        let (members, names): (Vec<&str>, Vec<&str>) =
            part.lines().partition(|line| line.contains(".a:"));
        for member in members {
            // The C library has no section for each function.
            parts.push_str(&format!("*{member}(.text .text.*)\n"));
        }
        parts.push_str("*(\n");
        for line in names {
            let mut words = line.split(' ').peekable();
            let name = words.next().unwrap_or_default();
            if words.peek().is_none() {
                parts.push_str(&format!(".text.{name}\n"));
                unlikely.push_str(&format!(".text.unlikely.{name}\n"));
                continue;
            }
            // A generic function of which hooks run few copies: those, by their hashes. A compiler with
            // other hashes has all copies together at the end.
            for hash in words {
                let exact = name.replace("17h*", &format!("17h{hash}E"));
                parts.push_str(&format!(".text.{exact}\n"));
                unlikely.push_str(&format!(".text.unlikely.{exact}\n"));
            }
            others.push_str(&format!(".text.{name}\n"));
        }
        parts.push_str(")\n");
    }
    // What a compiler takes for unlikely, such as the growth of a vector, has sections of its own; every hook runs some.
    let parts = format!("*(\n{unlikely})\n{parts}");
    let script = directory.join("hook-path.ld");
    fs::write(
        &script,
        format!("SECTIONS {{ .text.hook : {{\n{parts}*(\n{others})\n}} }} INSERT BEFORE .text;\n"),
    )
    .expect("the build's own directory is writable");
    println!("cargo::rustc-link-arg-bin=tl=-Wl,-T,{}", script.display());
}

/// Puts linker scripts that name the static libraries where the linker looks first.
fn link_statically(directory: &Path) {
    let Some(found) = LIBRARIES
        .map(|(_, archive)| find(archive))
        .into_iter()
        .collect::<Option<Vec<_>>>()
    else {
        return;
    };
    for ((shared, _), archive) in LIBRARIES.iter().zip(found) {
        let script = format!("INPUT(\"{}\")\n", archive.display());
        fs::write(directory.join(shared), script).expect("the build's own directory is writable");
    }
    // As arguments of this program's own link: tests are linked as ever.
    for argument in [&format!("-L{}", directory.display()), "-static", "-no-pie"] {
        println!("cargo::rustc-link-arg-bin=tl={argument}");
    }
}

/// Asks the C compiler where a library is; it repeats the bare name when it does not know.
fn find(archive: &str) -> Option<PathBuf> {
    let compiler = env::var_os("CC").unwrap_or_else(|| "cc".into());
    let answer = Command::new(compiler)
        .arg(format!("-print-file-name={archive}"))
        .output()
        .ok()?;
    let path = PathBuf::from(String::from_utf8(answer.stdout).ok()?.trim());
    (path.is_absolute() && path.is_file()).then_some(path)
}
