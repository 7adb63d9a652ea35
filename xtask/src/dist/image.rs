//! The container image, in the OCI layout: one layer with the program and the certificates of the
//! system. Written directly, because a layer of two files needs no daemon to be made.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{
    Release, cannot, copy_file, format_hash, make_archive, make_directory, read_output, write_file,
};
use crate::Outcome;
use crate::workspace::{command, run};

/// Where distributions keep the certificates of authorities, for servers elsewhere.
const CERTIFICATES: [&str; 3] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
];

/// The empty directories of the image.
const FOLDERS: [&str; 3] = ["project", "home", "tmp"];

const ENTRY_POINT: [&str; 1] = ["/usr/bin/tl"];
const SERVER_COMMAND: [&str; 3] = ["serve", "--listen", "0.0.0.0"];
const ENVIRONMENT: [&str; 3] = [
    "HOME=/home",
    "USER=server",
    "THROUGHLINE_HOME=/home/throughline",
];

/// Returns the archive of the image, which `docker load`, `podman load` and `skopeo` read.
pub(super) fn make_image(release: &Release) -> Result<PathBuf, String> {
    let work = release.out.join("build/image");
    let files = work.join("files");
    copy_file(&release.stage.join("bin/tl"), &files.join("usr/bin/tl"))?;
    if let Some(certificates) = CERTIFICATES
        .iter()
        .map(Path::new)
        .find(|path| path.is_file())
    {
        copy_file(
            certificates,
            &files.join("etc/ssl/certs/ca-certificates.crt"),
        )?;
        copy_file(certificates, &release.stage.join("ca-certificates.crt"))?;
    }
    for folder in FOLDERS {
        make_directory(&files.join(folder))?;
    }
    let layer = work.join("layer.tar.gz");
    make_archive(release, &layer, &files, &["."])?;
    let layout = work.join("layout");
    // The configuration names the layer by its content before compression.
    let plain = work.join("layer.tar");
    write_output(&plain, &layer)?;
    let plain_hash = format_hash(&read_bytes(&plain)?);
    let time = read_output(command("date").args([
        "-u",
        "-d",
        &format!("@{}", release.time),
        "+%Y-%m-%dT%H:%M:%SZ",
    ]))?;
    let configuration = json!({
        "created": time.trim(),
        "architecture": "amd64",
        "os": "linux",
        "config": {
            "Entrypoint": ENTRY_POINT,
            "Cmd": SERVER_COMMAND,
            "WorkingDir": "/project",
            "Env": ENVIRONMENT,
            "Volumes": { "/project": {}, "/home": {} },
            "ExposedPorts": { "7070/tcp": {} },
            "Labels": { "org.opencontainers.image.version": release.version },
        },
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{plain_hash}")] },
    });
    let media = |kind: &str| format!("application/vnd.oci.image.{kind}");
    let configuration = add_blob(
        &layout,
        &media("config.v1+json"),
        configuration.to_string().as_bytes(),
    )?;
    let layer = add_blob(&layout, &media("layer.v1.tar+gzip"), &read_bytes(&layer)?)?;
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": media("manifest.v1+json"),
        "config": configuration,
        "layers": [layer],
    });
    let mut manifest = add_blob(
        &layout,
        &media("manifest.v1+json"),
        manifest.to_string().as_bytes(),
    )?;
    manifest["annotations"] = json!({
        "org.opencontainers.image.ref.name": release.version,
        "io.containerd.image.name": format!("throughline:{}", release.version),
    });
    let index = json!({
        "schemaVersion": 2,
        "mediaType": media("index.v1+json"),
        "manifests": [manifest],
    });
    write_file(&layout.join("index.json"), &index.to_string())?;
    write_file(
        &layout.join("oci-layout"),
        r#"{"imageLayoutVersion":"1.0.0"}"#,
    )?;
    let archive = release
        .out
        .join(format!("throughline-{}-image.tar", release.version));
    run(command("tar")
        .current_dir(&layout)
        .args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner"])
        .arg(format!("--mtime=@{}", release.time))
        .arg("-cf")
        .arg(&archive)
        .args(["blobs", "index.json", "oci-layout"]))?;
    Ok(archive)
}

/// Adds content under its hash, and returns its descriptor.
fn add_blob(layout: &Path, media_type: &str, bytes: &[u8]) -> Result<Value, String> {
    let hash = format_hash(bytes);
    let path = layout.join("blobs/sha256").join(&hash);
    make_directory(path.parent().unwrap_or(layout))?;
    write_bytes(&path, bytes)?;
    Ok(json!({
        "mediaType": media_type,
        "digest": format!("sha256:{hash}"),
        "size": bytes.len(),
    }))
}

fn write_output(plain: &Path, compressed: &Path) -> Outcome {
    let file = std::fs::File::create(plain).map_err(|error| cannot("write", plain, &error))?;
    run(command("gzip").arg("-dc").arg(compressed).stdout(file))
}

fn read_bytes(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| cannot("read", path, &error))
}

#[expect(clippy::disallowed_methods, reason = "a file of the build's own")]
fn write_bytes(path: &Path, bytes: &[u8]) -> Outcome {
    std::fs::write(path, bytes).map_err(|error| cannot("write", path, &error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::root;

    /// No lane has a daemon to build the Dockerfile with, so its text is compared.
    #[test]
    fn the_dockerfile_describes_this_image() {
        let text = std::fs::read_to_string(root().join("packaging/Dockerfile")).unwrap();
        let values_of = |instruction: &str| -> Vec<&str> {
            text.lines()
                .filter_map(|line| line.strip_prefix(instruction)?.strip_prefix(' '))
                .collect()
        };
        let list_of = |instruction: &str| -> Vec<String> {
            serde_json::from_str(values_of(instruction)[0]).unwrap()
        };
        assert_eq!(list_of("ENTRYPOINT"), ENTRY_POINT);
        assert_eq!(list_of("CMD"), SERVER_COMMAND);
        assert_eq!(values_of("ENV"), [ENVIRONMENT.join(" ")]);
        let folders = values_of("WORKDIR");
        let volumes = list_of("VOLUME");
        for folder in FOLDERS.map(|folder| format!("/{folder}")) {
            assert!(
                folders.contains(&folder.as_str()) || volumes.contains(&folder),
                "{folder}"
            );
        }
        assert_eq!(folders.last(), Some(&"/project"));
    }
}
