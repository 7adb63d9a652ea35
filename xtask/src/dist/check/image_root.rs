//! Runs the image's root directory without a container runtime, by `chroot`: the program has to work
//! with nothing else.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::{parse, skip};
use crate::dist::{cannot, make_directory, read_output};
use crate::workspace::{command, run};
use crate::{Outcome, say};

/// Where `chroot` is, without the rest of the environment.
const SYSTEM_PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// The unpacked image: its files, and how the program is started.
struct ImageRoot {
    files: PathBuf,
    config: Value,
}

/// Unpacks the image and runs its commands: those of a project, the demo, and the image's own.
pub(super) fn check_image(image: &Path, place: &Path) -> Outcome {
    let image = unpack_image(image, place)?;
    if read_output(command("id").arg("-u"))?.trim() != "0" {
        return skip("image", "root, for chroot");
    }
    image.add_runtime_files()?;
    for words in [
        &["--project", "/project", "init"][..],
        &["--project", "/project", "status"],
        &["--project", "/project", "check"],
        &["demo", "/home/demo"],
    ] {
        read_output(image.command()?.args(words))?;
    }
    image.check_server()?;
    say("ok: image");
    Ok(())
}

fn unpack_image(image: &Path, place: &Path) -> Result<ImageRoot, String> {
    run(command("tar").current_dir(place).arg("-xf").arg(image))?;
    let index = std::fs::read_to_string(place.join("index.json"))
        .map_err(|error| cannot("read", &place.join("index.json"), &error))?;
    let manifest = parse(&read_blob(place, &parse(&index)?["manifests"][0])?)?;
    let layer = blob_path(place, &manifest["layers"][0])?;
    let config = parse(&read_blob(place, &manifest["config"])?)?["config"].take();
    let files = place.join("files");
    make_directory(&files)?;
    run(command("tar").current_dir(&files).arg("-xzpf").arg(layer))?;
    Ok(ImageRoot { files, config })
}

impl ImageRoot {
    /// Adds what a runtime gives every container: the devices, and the link by which a program finds
    /// itself, which the demo needs to start a hook.
    fn add_runtime_files(&self) -> Outcome {
        let devices = self.files.join("dev");
        make_directory(&devices)?;
        for (device, number) in [("null", "3"), ("random", "8"), ("urandom", "9")] {
            run(command("mknod")
                .arg(devices.join(device))
                .args(["c", "1", number]))?;
        }
        let process = self.files.join("proc/self");
        make_directory(&process)?;
        let program = list_texts(&self.config["Entrypoint"]).next();
        let program = program.ok_or("the image has no entry point")?;
        std::os::unix::fs::symlink(program, process.join("exe"))
            .map_err(|error| cannot("link", &process.join("exe"), &error))
    }

    /// Returns the image's entry point in its environment.
    fn command(&self) -> Result<Command, String> {
        let mut command = command("chroot");
        command
            .arg(&self.files)
            .args(list_texts(&self.config["Entrypoint"]))
            .env_clear()
            .env("PATH", SYSTEM_PATH);
        for variable in list_texts(&self.config["Env"]) {
            let (name, value) = variable
                .split_once('=')
                .ok_or_else(|| format!("the image sets `{variable}`"))?;
            command.env(name, value);
        }
        Ok(command)
    }

    /// Runs the command of the image, asks the server, and ends it as a runtime does.
    fn check_server(&self) -> Outcome {
        let project = self.config["WorkingDir"].as_str().unwrap_or_default();
        let mut server = self
            .command()?
            .args(["--project", project])
            .args(list_texts(&self.config["Cmd"]))
            // Its own port may be taken on this machine.
            .args(["--port", "0"])
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot start the server: {error}"))?;
        let asked = ask_server(&mut server);
        let told = run(command("kill").args(["-TERM", &server.id().to_string()]));
        let ended = server
            .wait()
            .map_err(|error| format!("cannot wait for the server: {error}"))?;
        asked?;
        told?;
        match ended.success() {
            true => Ok(()),
            false => Err(format!("the image's server ended with {ended}")),
        }
    }
}

/// Reads the address that the server prints, and asks whether it is well.
fn ask_server(server: &mut Child) -> Outcome {
    let mut line = String::new();
    let output = server.stdout.as_mut().ok_or("no output of the server")?;
    BufReader::new(output)
        .read_line(&mut line)
        .map_err(|error| format!("cannot read what the server prints: {error}"))?;
    let port = line
        .split_once("://0.0.0.0:")
        .and_then(|(_, rest)| rest.split_once('/'))
        .and_then(|(port, _)| port.parse::<u16>().ok())
        .ok_or_else(|| format!("the image's server prints: {line}"))?;
    let ask = || {
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        let request =
            format!("GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    let answer =
        ask().map_err(|error: std::io::Error| format!("cannot ask the server: {error}"))?;
    match answer.starts_with("HTTP/1.1 200") {
        true => Ok(()),
        false => Err(format!("the image's server answers: {answer}")),
    }
}

fn list_texts(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

fn blob_path(place: &Path, descriptor: &Value) -> Result<PathBuf, String> {
    let digest = descriptor["digest"].as_str().unwrap_or_default();
    let hash = digest
        .strip_prefix("sha256:")
        .ok_or("a blob without a hash")?;
    Ok(place.join("blobs/sha256").join(hash))
}

fn read_blob(place: &Path, descriptor: &Value) -> Result<String, String> {
    let path = blob_path(place, descriptor)?;
    std::fs::read_to_string(&path).map_err(|error| cannot("read", &path, &error))
}
