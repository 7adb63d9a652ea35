//! Files of package registries that point at a release: Homebrew, Nix, the MCP registry.

use serde_json::json;

use super::{Release, TARGET, write_file};
use crate::Outcome;

/// The server's name in the MCP registry; npm's package repeats it as proof.
pub(super) const MCP_NAME: &str = "io.github.throughline/throughline";
const RELEASES: &str = "https://github.com/throughline/throughline/releases/download";

pub(super) fn write_manifests(release: &Release, tarball_hash: &str) -> Outcome {
    let version = &release.version;
    let url = format!("{RELEASES}/v{version}/throughline-{version}-{TARGET}.tar.gz");
    write_file(
        &release.out.join("throughline.rb"),
        &render_formula(version, &url, tarball_hash),
    )?;
    write_file(
        &release.out.join("flake.nix"),
        &render_flake(version, &url, tarball_hash),
    )?;
    let server = json!({
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-10-17/server.schema.json",
        "name": MCP_NAME,
        "description": "Keeps an AI agent's long work on its plan: approvals bound to content, gates, context",
        "version": version,
        "packages": [{
            "registryType": "npm",
            "identifier": "throughline",
            "version": version,
            "transport": { "type": "stdio" },
            "packageArguments": [{ "type": "positional", "value": "mcp" }],
        }],
    });
    write_file(&release.out.join("server.json"), &format!("{server:#}\n"))
}

fn render_formula(version: &str, url: &str, hash: &str) -> String {
    format!(
        r#"class Throughline < Formula
  desc "Keeps an AI agent's long work on its plan"
  homepage "https://github.com/throughline/throughline"
  version "{version}"
  license any_of: ["MIT", "Apache-2.0"]

  on_linux do
    url "{url}"
    sha256 "{hash}"
  end

  def install
    bin.install "bin/tl"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/tl"
    zsh_completion.install "completions/_tl"
    fish_completion.install "completions/tl.fish"
  end

  test do
    system bin/"tl", "demo", testpath/"demo"
  end
end
"#
    )
}

fn render_flake(version: &str, url: &str, hash: &str) -> String {
    format!(
        r#"{{
  description = "Keeps an AI agent's long work on its plan";
  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";
  outputs = {{ nixpkgs, ... }}:
    let
      system = "x86_64-linux";
      pkgs = nixpkgs.legacyPackages.${{system}};
    in {{
      packages.${{system}}.default = pkgs.stdenv.mkDerivation {{
        pname = "throughline";
        version = "{version}";
        src = pkgs.fetchurl {{
          url = "{url}";
          sha256 = "{hash}";
        }};
        nativeBuildInputs = [ pkgs.installShellFiles ];
        installPhase = ''
          install -Dm755 bin/tl $out/bin/tl
          installManPage man/*.1
          installShellCompletion --bash --name tl completions/tl
          installShellCompletion --zsh completions/_tl
          installShellCompletion --fish completions/tl.fish
        '';
      }};
    }};
}}
"#
    )
}
