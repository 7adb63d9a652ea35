//! Installs each package into an empty directory, as its users do, and runs the demo there.

mod image_root;
mod launcher;

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Release, cannot, make_directory, read_output, write_file};
use crate::tidy::workflows::{ACTION_FILE, WORKFLOW_FOLDER};
use crate::workspace::{cargo, command, files_below, root, run};
use crate::{Outcome, say};

/// Tries every package. One whose installer is missing on this machine is named as skipped.
pub(super) fn check_packages(release: &Release, packages: &[PathBuf]) -> Outcome {
    let folder = tempfile::tempdir().map_err(|error| format!("no directory: {error}"))?;
    let named = |ending: &str| {
        let name = |path: &&PathBuf| path.to_string_lossy().ends_with(ending);
        packages.iter().find(name).map(PathBuf::as_path)
    };
    let missing = |what: &str| format!("there is no {what} among the packages");
    let tarball = named(".tar.gz").ok_or_else(|| missing("tarball"))?;
    let debian = named(".deb").ok_or_else(|| missing("Debian package"))?;
    let wheel = named(".whl").ok_or_else(|| missing("wheel"))?;
    let image = named("-image.tar").ok_or_else(|| missing("image"))?;
    let npm: Vec<&Path> = packages
        .iter()
        .map(PathBuf::as_path)
        .filter(|path| path.extension().is_some_and(|ending| ending == "tgz"))
        .collect();
    let place = |name: &str| -> Result<PathBuf, String> {
        let path = folder.path().join(name);
        make_directory(&path)?;
        Ok(path)
    };
    check_tarball(release, tarball, &place("tarball")?)?;
    check_debian(release, debian, &place("deb")?)?;
    check_npm(release, &npm, &place("npm")?)?;
    check_wheel(release, wheel, &place("wheel")?)?;
    image_root::check_image(image, &place("image")?)?;
    check_crates()?;
    check_registry_files(release)?;
    check_workflows(&place("workflows")?)
}

/// Validates the workflows and the action with the schemas of GitHub that the validator brings.
fn check_workflows(place: &Path) -> Outcome {
    let environment = place.join("environment");
    run(command("python3").args(["-m", "venv"]).arg(&environment))?;
    let installed = command(environment.join("bin/pip"))
        .args(["install", "--quiet", "check-jsonschema==0.39.0"])
        .output();
    if !installed.is_ok_and(|output| output.status.success()) {
        return skip("workflows", "check-jsonschema from PyPI");
    }
    let action = vec![root().join(ACTION_FILE)];
    let workflows = files_below(&root().join(WORKFLOW_FOLDER), ".yml");
    for (schema, files) in [
        ("vendor.github-workflows", workflows),
        ("vendor.github-actions", action),
    ] {
        run(command(environment.join("bin/check-jsonschema"))
            .args(["--builtin-schema", schema])
            .args(files)
            .stdout(std::process::Stdio::null()))?;
    }
    say("ok: workflows and action");
    Ok(())
}

fn check_tarball(release: &Release, tarball: &Path, place: &Path) -> Outcome {
    run(command("tar").current_dir(place).arg("-xzf").arg(tarball))?;
    let name = tarball.file_name().unwrap_or_default().to_string_lossy();
    let folder = place.join(name.trim_end_matches(".tar.gz"));
    for file in ["man/tl.1", "completions/_tl", "LICENSE-MIT", "README.md"] {
        require_file(&folder.join(file))?;
    }
    let program = folder.join("bin/tl");
    require_static(&program)?;
    try_program(release, "tarball", place, || command(&program))
}

fn check_debian(release: &Release, package: &Path, place: &Path) -> Outcome {
    if !is_installed("dpkg-deb") {
        return skip("deb", "dpkg-deb");
    }
    run(command("dpkg-deb")
        .arg("--info")
        .arg(package)
        .stdout(std::process::Stdio::null()))?;
    run(command("dpkg-deb").arg("-x").arg(package).arg(place))?;
    for file in [
        "usr/share/man/man1/tl.1",
        "usr/share/doc/throughline/copyright",
    ] {
        require_file(&place.join(file))?;
    }
    let program = place.join("usr/bin/tl");
    try_program(release, "deb", place, || command(&program))
}

/// Both npm packages are installed, as the registry would, and the launcher starts the program.
fn check_npm(release: &Release, packages: &[&Path], place: &Path) -> Outcome {
    if !is_installed("npm") {
        return skip("npm", "npm");
    }
    write_file(&place.join("package.json"), "{\"private\":true}\n")?;
    // The platform's package is not in a registry yet, so it is installed by its file, together
    // with the one that asks for it.
    run(command("npm")
        .current_dir(place)
        .args([
            "install",
            "--silent",
            "--no-audit",
            "--no-fund",
            "--offline",
            "--omit=optional",
        ])
        .args(packages))?;
    let launch = || {
        let mut npx = command("npx");
        npx.current_dir(place).args(["--no-install", "throughline"]);
        npx
    };
    try_program(release, "npm", place, launch)?;
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"check","version":"1"}}}"#;
    let shell = format!(
        "cd '{}/demo' && printf '%s\\n' '{hello}' | '{}/node_modules/.bin/throughline' mcp",
        place.display(),
        place.display()
    );
    // The home the demo was made with: a state of another user would have to be adopted.
    let answer = read_output(
        command("sh")
            .arg("-c")
            .arg(&shell)
            .env("HOME", place.join("home")),
    )?;
    if !answer.contains("serverInfo") {
        return Err(format!("`npx throughline mcp` answered: {answer}"));
    }
    launcher::check_launcher(
        &place.join("node_modules/throughline/bin/throughline.js"),
        &place.join("launcher"),
    )
}

/// Every crate would be accepted by the registry, with the dependencies that are published with it.
fn check_crates() -> Outcome {
    // Not verified: each would be built alone, and the release builds the same sources.
    run(cargo().args([
        "publish",
        "--workspace",
        "--dry-run",
        "--no-verify",
        "--allow-dirty",
        "--quiet",
    ]))?;
    say("ok: crates");
    Ok(())
}

fn check_wheel(release: &Release, wheel: &Path, place: &Path) -> Outcome {
    let environment = place.join("environment");
    run(command("python3").args(["-m", "venv"]).arg(&environment))?;
    run(command(environment.join("bin/pip"))
        .args(["install", "--quiet", "--no-index", "--no-deps"])
        .arg(wheel))?;
    let program = environment.join("bin/tl");
    try_program(release, "wheel", place, || command(&program))
}

fn check_registry_files(release: &Release) -> Outcome {
    let text = std::fs::read_to_string(release.out.join("server.json"))
        .map_err(|error| cannot("read", &release.out.join("server.json"), &error))?;
    parse(&text)?;
    for file in ["throughline.rb", "flake.nix", "SHA256SUMS"] {
        require_file(&release.out.join(file))?;
    }
    run(command("sha256sum")
        .current_dir(&release.out)
        .args(["--check", "--quiet", "SHA256SUMS"]))?;
    say("ok: checksums and manifests");
    Ok(())
}

/// Runs the version and both demos with a home of their own.
fn try_program(
    release: &Release,
    name: &str,
    place: &Path,
    program: impl Fn() -> Command,
) -> Outcome {
    let home = place.join("home");
    make_directory(&home)?;
    let shown = read_output(program().arg("--version").env("HOME", &home))?;
    if !shown.starts_with(&format!("tl {}", release.version)) {
        return Err(format!("{name}: `tl --version` prints {shown}"));
    }
    for words in [&["demo", "demo"][..], &["demo", "code", "demo-code"]] {
        read_output(program().current_dir(place).args(words).env("HOME", &home))?;
    }
    say(&format!("ok: {name}"));
    Ok(())
}

fn require_static(program: &Path) -> Outcome {
    let said = read_output(
        command("sh")
            .arg("-c")
            .arg(format!("ldd '{}' 2>&1 || true", program.display())),
    )?;
    if said.contains("not a dynamic executable") || said.contains("statically linked") {
        Ok(())
    } else {
        Err(format!("{} needs libraries: {said}", program.display()))
    }
}

fn require_file(path: &Path) -> Outcome {
    if path.is_file() {
        Ok(())
    } else {
        Err(format!("{} is missing", path.display()))
    }
}

fn is_installed(program: &str) -> bool {
    command(program)
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success())
}

fn skip(package: &str, needs: &str) -> Outcome {
    say(&format!("skipped: {package} needs {needs}"));
    Ok(())
}

fn parse(text: &str) -> Result<serde_json::Value, String> {
    serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))
}
