//! Packages of the program: tarball, Debian package, npm packages, Python wheel, container image, and
//! the manifests that point at them.
//!
//! Everything is made from one directory (`stage`): the program, its manual pages, completions,
//! licences. `cargo xtask dist --check` installs each package into an empty directory and runs the
//! demo there.

mod check;
mod image;
mod manifests;
mod sbom;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;
use sha2::{Digest, Sha256};

use crate::workspace::{cargo, command, metadata, root, run, target_directory};
use crate::{Outcome, say};

/// The target the packages are for. Others are built by their own machines (`.github/workflows`).
const TARGET: &str = "x86_64-unknown-linux-gnu";
const SHELLS: [(&str, &str); 3] = [("bash", "tl"), ("zsh", "_tl"), ("fish", "tl.fish")];

/// What every package needs to know.
pub(crate) struct Release {
    version: String,
    /// Seconds since 1970 of the commit: every file in a package has this time, so that the same
    /// commit makes the same package.
    time: u64,
    /// The directory all packages are made from.
    stage: PathBuf,
    /// Where the packages are written.
    out: PathBuf,
}

/// Which program is packed, and whether the packages are tried.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DistOptions<'o> {
    program: PackedProgram<'o>,
    check: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum PackedProgram<'o> {
    /// Built with this profile; what is shipped has `dist`.
    Built(&'o str),
    /// Built already, for a first look at the packages: its profile is whatever it was.
    Given(&'o str),
}

/// Parses the words after `dist`; `None` if they are not understood.
pub(crate) fn parse_options<'o>(words: &[&'o str]) -> Option<DistOptions<'o>> {
    let (check, words) = match words {
        ["--check", rest @ ..] => (true, rest),
        words => (false, words),
    };
    let program = match words {
        [] => PackedProgram::Built("dist"),
        ["--profile", name] => PackedProgram::Built(name),
        ["--program", path] => PackedProgram::Given(path),
        _ => return None,
    };
    Some(DistOptions { program, check })
}

/// Makes every package in `target/packages`, and with `check` installs and runs them.
pub(crate) fn dist(options: &DistOptions<'_>) -> Outcome {
    let release = prepare(&options.program)?;
    let tarball = make_tarball(&release)?;
    let packages = [
        tarball.clone(),
        make_debian_package(&release)?,
        make_npm_platform_package(&release)?,
        make_npm_package(&release)?,
        make_wheel(&release)?,
        image::make_image(&release)?,
        sbom::write_sbom(&release)?,
    ];
    let mut sums = String::new();
    for package in &packages {
        let name = package.file_name().unwrap_or_default().to_string_lossy();
        sums.push_str(&format!("{}  {name}\n", hash_file(package)?));
    }
    write_file(&release.out.join("SHA256SUMS"), &sums)?;
    manifests::write_manifests(&release, &hash_file(&tarball)?)?;
    say(&sums);
    if options.check {
        check::check_packages(&release, &packages)?;
    }
    match options.program {
        PackedProgram::Built("dist") => {}
        PackedProgram::Built(name) => say(&format!("profile {name}: not for a release")),
        PackedProgram::Given(path) => say(&format!("packed from {path}: not for a release")),
    }
    Ok(())
}

/// Builds the program, unless one is given, and returns its path.
fn find_program(program: &PackedProgram<'_>, target: &Path) -> Result<PathBuf, String> {
    let profile = match program {
        PackedProgram::Built(profile) => *profile,
        PackedProgram::Given(path) => {
            let path = root().join(path);
            return match path.is_file() {
                true => Ok(path),
                false => Err(format!("there is no program {}", path.display())),
            };
        }
    };
    run(cargo().args(["build", "--profile", profile, "--package", "throughline"]))?;
    // Cargo's name of the directory differs from that of the profile for `dev` alone.
    let folder = if profile == "dev" { "debug" } else { profile };
    Ok(target.join(folder).join("tl"))
}

/// Fills the directory the packages are made from.
fn prepare(packed: &PackedProgram<'_>) -> Result<Release, String> {
    let target = target_directory()?;
    let built = find_program(packed, &target)?;
    let out = target.join("packages");
    let stage = out.join("stage");
    remove_directory(&out)?;
    make_directory(&stage.join("bin"))?;
    let program = stage.join("bin/tl");
    run(command("strip").arg("-o").arg(&program).arg(built))?;
    set_mode(&program, 0o755)?;
    run(command(&program).arg("man").arg(stage.join("man")))?;
    make_directory(&stage.join("completions"))?;
    for (shell, file) in SHELLS {
        let script = read_output(command(&program).args(["completions", shell]))?;
        write_file(&stage.join("completions").join(file), &script)?;
    }
    for file in ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        copy_file(&root().join(file), &stage.join(file))?;
    }
    let time = read_output(
        command("git")
            .current_dir(root())
            .args(["log", "-1", "--format=%ct"]),
    )?;
    Ok(Release {
        version: workspace_version()?,
        time: time
            .trim()
            .parse()
            .map_err(|_| "git names no time".to_owned())?,
        stage,
        out,
    })
}

/// `throughline-VERSION-TARGET.tar.gz`, with one directory of that name in it.
fn make_tarball(release: &Release) -> Result<PathBuf, String> {
    let name = format!("throughline-{}-{TARGET}", release.version);
    let folder = release.out.join("build/tarball").join(&name);
    copy_directory(&release.stage, &folder)?;
    let archive = release.out.join(format!("{name}.tar.gz"));
    make_archive(
        release,
        &archive,
        &release.out.join("build/tarball"),
        &[&name],
    )?;
    Ok(archive)
}

fn make_debian_package(release: &Release) -> Result<PathBuf, String> {
    let work = release.out.join("build/deb");
    let data = work.join("data");
    let share = data.join("usr/share");
    for (from, to) in [
        ("bin", data.join("usr/bin")),
        ("man", share.join("man/man1")),
    ] {
        copy_directory(&release.stage.join(from), &to)?;
    }
    for (file, place) in [
        ("completions/tl", "bash-completion/completions/tl"),
        ("completions/_tl", "zsh/vendor-completions/_tl"),
        ("completions/tl.fish", "fish/vendor_completions.d/tl.fish"),
        ("LICENSE-MIT", "doc/throughline/copyright"),
    ] {
        copy_file(&release.stage.join(file), &share.join(place))?;
    }
    let control = format!(
        "Package: throughline\nVersion: {}\nArchitecture: amd64\nSection: devel\nPriority: optional\n\
         Maintainer: Throughline <maintainers@throughline.invalid>\nRecommends: git\n\
         Description: keeps an AI agent's long work on its plan\n \
         Holds a tree of plans, binds approval to content, marks what went stale, and\n \
         blocks the step that must not happen through the hooks of agent hosts.\n",
        release.version
    );
    write_file(&work.join("control/control"), &control)?;
    write_file(&work.join("debian-binary"), "2.0\n")?;
    make_archive(
        release,
        &work.join("control.tar.gz"),
        &work.join("control"),
        &["."],
    )?;
    make_archive(release, &work.join("data.tar.gz"), &data, &["."])?;
    let package = release
        .out
        .join(format!("throughline_{}_amd64.deb", release.version));
    // The order is part of the format. `D` leaves out times and owners.
    run(command("ar")
        .current_dir(&work)
        .arg("rcD")
        .arg(&package)
        .args(["debian-binary", "control.tar.gz", "data.tar.gz"]))?;
    Ok(package)
}

/// The npm package with the program of this platform.
fn make_npm_platform_package(release: &Release) -> Result<PathBuf, String> {
    let name = "throughline-linux-x64";
    let manifest = json!({
        "name": name,
        "version": release.version,
        "description": "The program of throughline for Linux x64",
        "license": "MIT OR Apache-2.0",
        "os": ["linux"],
        "cpu": ["x64"],
        "files": ["bin/tl"],
    });
    make_npm_archive(
        release,
        name,
        &manifest,
        &[(release.stage.join("bin/tl"), "bin/tl", 0o755)],
    )
}

/// The npm package people install: it starts the program of the platform's package.
fn make_npm_package(release: &Release) -> Result<PathBuf, String> {
    let manifest = json!({
        "name": "throughline",
        "version": release.version,
        "description": "Keeps an AI agent's long work on its plan",
        "license": "MIT OR Apache-2.0",
        "mcpName": manifests::MCP_NAME,
        "bin": { "throughline": "bin/throughline.js", "tl": "bin/throughline.js" },
        "files": ["bin/throughline.js"],
        "engines": { "node": ">=18" },
        "optionalDependencies": { "throughline-linux-x64": release.version },
    });
    let launcher = root().join("packaging/npm/throughline.js");
    let files = [
        (launcher, "bin/throughline.js", 0o755),
        (root().join("README.md"), "README.md", 0o644),
    ];
    make_npm_archive(release, "throughline", &manifest, &files)
}

/// An npm package is a compressed tar archive of a directory named `package`.
fn make_npm_archive(
    release: &Release,
    name: &str,
    manifest: &serde_json::Value,
    files: &[(PathBuf, &str, u32)],
) -> Result<PathBuf, String> {
    let work = release.out.join("build/npm").join(name);
    let folder = work.join("package");
    write_file(&folder.join("package.json"), &format!("{manifest:#}\n"))?;
    for (from, to, mode) in files {
        copy_file(from, &folder.join(to))?;
        set_mode(&folder.join(to), *mode)?;
    }
    let package = release.out.join(format!("{name}-{}.tgz", release.version));
    make_archive(release, &package, &work, &["package"])?;
    Ok(package)
}

/// The wheel: the layout maturin gives a program (`bindings = "bin"` in `packaging/python`), packed
/// by PyPA's tool from the program built already. Maturin itself would build it a second time, with
/// other flags. The program is static, so it runs with either C library.
fn make_wheel(release: &Release) -> Result<PathBuf, String> {
    let version = &release.version;
    let tools = release.out.join("build/python");
    run(command("python3").args(["-m", "venv"]).arg(&tools))?;
    run(command(tools.join("bin/pip")).args(["install", "--quiet", "wheel==0.45.1"]))?;
    let name = format!("throughline_cli-{version}");
    let folder = release.out.join("build/wheel").join(&name);
    let program = folder.join(format!("{name}.data/scripts/tl"));
    copy_file(&release.stage.join("bin/tl"), &program)?;
    let about = folder.join(format!("{name}.dist-info"));
    let description = read_output(command("cat").arg(root().join("packaging/python/README.md")))?;
    write_file(
        &about.join("METADATA"),
        &format!(
            "Metadata-Version: 2.4\nName: throughline-cli\nVersion: {version}\n\
             Summary: Keeps an AI agent's long work on its plan\nLicense-Expression: MIT OR Apache-2.0\n\
             Requires-Python: >=3.8\nDescription-Content-Type: text/markdown\n\n{description}"
        ),
    )?;
    let mut wheel =
        String::from("Wheel-Version: 1.0\nGenerator: throughline\nRoot-Is-Purelib: false\n");
    for system in ["manylinux_2_17", "manylinux2014", "musllinux_1_1"] {
        wheel.push_str(&format!("Tag: py3-none-{system}_x86_64\n"));
    }
    write_file(&about.join("WHEEL"), &wheel)?;
    let made = release.out.join("build/wheels");
    make_directory(&made)?;
    run(command(tools.join("bin/wheel"))
        .args(["pack", "--dest-dir"])
        .arg(&made)
        .arg(&folder)
        .env("SOURCE_DATE_EPOCH", release.time.to_string())
        .stdout(std::process::Stdio::null()))?;
    let built = crate::workspace::files_below(&made, ".whl");
    let wheel = built.first().ok_or("no wheel was packed")?;
    let package = release.out.join(wheel.file_name().unwrap_or_default());
    copy_file(wheel, &package)?;
    Ok(package)
}

/// Archives names in a directory, the same bytes for the same files.
fn make_archive(release: &Release, archive: &Path, folder: &Path, names: &[&str]) -> Outcome {
    run(command("tar")
        .current_dir(folder)
        .args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner"])
        .arg(format!("--mtime=@{}", release.time))
        .args(["--use-compress-program", "gzip -n", "-cf"])
        .arg(archive)
        .args(names))
}

fn workspace_version() -> Result<String, String> {
    let metadata = metadata()?;
    let packages = metadata["packages"].as_array().cloned().unwrap_or_default();
    packages
        .iter()
        .find(|package| package["name"] == "throughline")
        .and_then(|package| package["version"].as_str())
        .map(str::to_owned)
        .ok_or_else(|| "cargo names no version of throughline".to_owned())
}

fn hash_file(path: &Path) -> Result<String, String> {
    let bytes = std::fs::read(path).map_err(|error| cannot("read", path, &error))?;
    Ok(format_hash(&bytes))
}

fn format_hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn read_output(command: &mut Command) -> Result<String, String> {
    let output = command
        .output()
        .map_err(|error| format!("cannot start {command:?}: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?} ended with {}: {said}", output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn copy_directory(from: &Path, to: &Path) -> Outcome {
    for file in crate::workspace::files_below(from, "") {
        let name = file.strip_prefix(from).unwrap_or(&file);
        copy_file(&file, &to.join(name))?;
    }
    Ok(())
}

fn copy_file(from: &Path, to: &Path) -> Outcome {
    make_directory(to.parent().unwrap_or(to))?;
    std::fs::copy(from, to)
        .map(drop)
        .map_err(|error| cannot("copy", from, &error))
}

fn write_file(path: &Path, text: &str) -> Outcome {
    make_directory(path.parent().unwrap_or(path))?;
    crate::bench::story::write_file(path, text)
}

fn make_directory(path: &Path) -> Outcome {
    std::fs::create_dir_all(path).map_err(|error| cannot("create", path, &error))
}

fn remove_directory(path: &Path) -> Outcome {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(cannot("remove", path, &error))
        }
        _ => Ok(()),
    }
}

fn set_mode(path: &Path, mode: u32) -> Outcome {
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode))
        .map_err(|error| cannot("change", path, &error))
}

fn cannot(action: &str, path: &Path, error: &std::io::Error) -> String {
    format!("cannot {action} {}: {error}", path.display())
}
