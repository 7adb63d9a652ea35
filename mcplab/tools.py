"""The programs of others that hold the server to the protocol, and their installation into a cache."""
import os
import shutil
import subprocess
import sys

# Exact versions: another one is another test. A new one is a new number here and a run of the lane.
NODE = "22.23.3"
NPM = {
    "node": NODE,
    "@modelcontextprotocol/conformance": "0.2.0-alpha.12",
    "@modelcontextprotocol/inspector": "2.12.0",
    "@modelcontextprotocol/client": "2.4.0",
    "@modelcontextprotocol/sdk": "1.32.2",
}
PIP = {"mcp": "2.3.0"}


class NoRegistry(Exception):
    """The tools are not here and cannot be fetched."""


def run(command, what, **options):
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=900, check=False, **options)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoRegistry("%s: %s" % (what, error)) from None
    if done.returncode:
        said = [line.strip() for line in done.stdout.splitlines() if line.strip()]
        errors = [line for line in said if "error" in line.lower() and "errno" not in line.lower().split()]
        raise NoRegistry("%s: %s" % (what, (errors or said or ["it ended with %d" % done.returncode])[0]))


class Tools:
    """Where the tools are."""

    def __init__(self, cache):
        self.cache = os.path.abspath(cache)
        self.npm, self.venv = os.path.join(self.cache, "npm"), os.path.join(self.cache, "venv")
        self.bin = os.path.join(self.npm, "node_modules", ".bin")
        self.node = os.path.join(self.bin, "node")
        self.python = os.path.join(self.venv, "bin", "python")

    def environment(self):
        """Ours, with this node first: the tools need a newer one than most machines have."""
        path = os.pathsep.join([self.bin, os.environ.get("PATH", "/usr/bin:/bin")])
        return dict(os.environ, PATH=path, NO_COLOR="1", FORCE_COLOR="0", CI="1")

    def program(self, name):
        return os.path.join(self.bin, name)

    def install(self):
        """Installs what is missing. What is there stays as it is."""
        self._once("npm", "\n".join("%s %s" % pair for pair in NPM.items()), self._install_npm)
        self._once("venv", "\n".join(["%d.%d" % sys.version_info[:2]] + ["%s %s" % pair for pair in PIP.items()]),
                   self._install_pip)

    def _once(self, folder, wanted, install):
        note = os.path.join(self.cache, folder + ".installed")
        if os.path.exists(note):
            with open(note, encoding="utf-8") as f:
                if f.read() == wanted:
                    return
        print("note: installing %s (once)" % wanted.replace("\n", ", "), flush=True)
        shutil.rmtree(os.path.join(self.cache, folder), ignore_errors=True)
        os.makedirs(os.path.join(self.cache, folder))
        install()
        with open(note, "w", encoding="utf-8") as f:
            f.write(wanted)

    def _install_npm(self):
        with open(os.path.join(self.npm, "package.json"), "w", encoding="utf-8") as f:
            f.write('{"private": true}\n')
        packages = ["%s@%s" % pair for pair in NPM.items()]
        run(["npm", "install", "--no-audit", "--no-fund", "--save-exact", *packages], "npm", cwd=self.npm)
        run([self.node, "--version"], "node %s" % NODE)

    def _install_pip(self):
        run([sys.executable, "-m", "venv", self.venv], "venv")
        packages = ["%s==%s" % pair for pair in PIP.items()]
        run([self.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages], "pip")
