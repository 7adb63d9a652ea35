//! What the program is made of, as a CycloneDX bill of materials, from `cargo metadata`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_json::{Value, json};

use super::{Release, TARGET, read_output, write_file};
use crate::workspace::cargo;

pub(super) fn write_sbom(release: &Release) -> Result<PathBuf, String> {
    let text = read_output(cargo().args([
        "metadata",
        "--format-version",
        "1",
        "--locked",
        "--filter-platform",
        TARGET,
    ]))?;
    let metadata: Value =
        serde_json::from_str(&text).map_err(|error| format!("cargo metadata: {error}"))?;
    let path = release
        .out
        .join(format!("throughline-{}.cdx.json", release.version));
    write_file(&path, &format!("{:#}\n", build_sbom(&metadata, release)))?;
    Ok(path)
}

fn build_sbom(metadata: &Value, release: &Release) -> Value {
    let packages: BTreeMap<&str, &Value> = list(&metadata["packages"])
        .iter()
        .filter_map(|package| Some((package["id"].as_str()?, package)))
        .collect();
    let program = packages
        .iter()
        .find(|(_, package)| package["name"] == "throughline")
        .map_or("", |(id, _)| *id);
    let needed = reachable_packages(metadata, program);
    let components: Vec<Value> = packages
        .iter()
        .filter(|(id, _)| needed.contains(**id) && **id != program)
        .map(|(_, package)| describe_package(package))
        .collect();
    json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "name": "throughline",
                "version": release.version,
                "purl": format!("pkg:cargo/throughline@{}", release.version),
            },
        },
        "components": components,
    })
}

/// The packages that end up in the program: what it needs to run, not to be built or tested.
fn reachable_packages<'m>(metadata: &'m Value, program: &'m str) -> BTreeSet<&'m str> {
    let needs: BTreeMap<&str, Vec<&str>> = list(&metadata["resolve"]["nodes"])
        .iter()
        .filter_map(|node| {
            let normal = list(&node["deps"]).iter().filter(|dependency| {
                list(&dependency["dep_kinds"])
                    .iter()
                    .any(|kind| kind["kind"].is_null())
            });
            let named = normal.filter_map(|dependency| dependency["pkg"].as_str());
            Some((node["id"].as_str()?, named.collect()))
        })
        .collect();
    let mut found = BTreeSet::new();
    let mut open = vec![program];
    while let Some(id) = open.pop() {
        if found.insert(id) {
            open.extend(needs.get(id).into_iter().flatten());
        }
    }
    found
}

fn describe_package(package: &Value) -> Value {
    let (name, version) = (text(&package["name"]), text(&package["version"]));
    let mut component = json!({
        "type": "library",
        "name": name,
        "version": version,
        "purl": format!("pkg:cargo/{name}@{version}"),
    });
    if let Some(license) = package["license"].as_str() {
        // Cargo's older form of a choice.
        let expression = license.replace('/', " OR ");
        component["licenses"] = json!([{ "expression": expression }]);
    }
    component
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
