"""The real agent hosts, one class each: how it is installed, pointed at the scripted model and started, and how its
model asks for a file to be written and a command to be run.

Hooks are not written here: `tl init --host` does that. Nothing here reads any configuration of the machine; every
session has a home of its own.
"""
import json
import os
import shutil
import subprocess

# What npm says when there is no way to the registry.
NO_NETWORK = ("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ENETUNREACH", "EHOSTUNREACH",
              "ERR_SOCKET_TIMEOUT", "network")


class NoRegistry(Exception):
    """The npm registry cannot be reached."""


def write_json(path, value):
    write_text(path, json.dumps(value, indent=1))


def write_text(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


class Host:
    name = ""  # the word Throughline has for it
    beside = ()  # other hosts the project is connected to
    binary = ""  # the program
    package, version = "", ""

    # A compaction: what makes the host take a conversation for a long one, from how many tokens on, and whether it waits
    # for the next prompt.
    compaction_arguments = ()
    compaction_environment = {}
    too_long = 195000
    compacts_at_prompts_only = False

    takes_context_before_tools = True  # else a guide comes with a block, once
    resume_arguments = ()  # what continues the last session with another prompt

    def folder(self, cache):
        return os.path.join(cache, "%s-%s" % (self.binary, self.version))

    def program(self, cache):
        return os.path.join(self.folder(cache), "node_modules", ".bin", self.binary)

    def install(self, cache):
        """Installs with npm, in one step: a copy that was not finished is never taken for a whole one. The version is
        explicit, because with an old node npm silently picks an older release."""
        if os.path.exists(self.program(cache)):
            return
        partial = self.folder(cache) + ".partial"
        shutil.rmtree(partial, ignore_errors=True)
        os.makedirs(partial)
        done = subprocess.run(
            ["npm", "install", "--prefix", partial, "--no-audit", "--no-fund", "--loglevel=error", "--fetch-retries=1",
             "--fetch-timeout=60000", "%s@%s" % (self.package, self.version)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            shutil.rmtree(partial, ignore_errors=True)
            if any(word in done.stdout for word in NO_NETWORK):
                raise NoRegistry("the npm registry cannot be reached")
            raise RuntimeError("npm install %s@%s failed: %s" % (self.package, self.version, done.stdout.strip()))
        shutil.rmtree(self.folder(cache), ignore_errors=True)
        os.rename(partial, self.folder(cache))

    def shell(self, command):
        """A tool call that runs a command."""
        return {"name": "bash", "input": {"command": command, "description": "run a command"}}

    def write(self, session, path, text):
        """A tool call that writes a file; `path` is relative to the project."""
        raise NotImplementedError

    def mcp(self, tool):
        """The model's call of a tool of our MCP server, as the host names it."""
        raise NotImplementedError

    def subagent(self, prompt):
        """A tool call that hands a task to a subagent."""
        raise NotImplementedError

    def prepare(self, session):
        """Writes the host's own settings into the session's home."""

    def command(self, session):
        """Returns the command line of a headless session and what its environment needs."""
        raise NotImplementedError


class ClaudeCode(Host):
    name, binary = "claude-code", "claude"
    package, version = "@anthropic-ai/claude-code", "2.1.325"
    compaction_environment = {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000"}
    resume_arguments = ("--continue",)

    def shell(self, command):
        return {"name": "Bash", "input": {"command": command, "description": "run a command"}}

    def mcp(self, tool):
        return {"name": "mcp__throughline__" + tool, "input": {}}

    def subagent(self, prompt):
        return {"name": "Agent", "input": {"description": "plan", "prompt": prompt, "subagent_type": "general-purpose"}}

    def write(self, session, path, text):
        return {"name": "Write", "input": {"file_path": os.path.join(session.project, path), "content": text}}

    def command(self, session):
        return [session.program, "-p", session.prompt, "--output-format", "stream-json", "--verbose",
                "--model", "claude-sonnet-4-5", "--permission-mode", "acceptEdits", "--allowedTools",
                "Bash,mcp__throughline__work_where", "--debug-file", os.path.join(session.work, "host-debug.log"),
                *session.arguments], {
            "CLAUDE_CONFIG_DIR": os.path.join(session.home, "claude-config"),
            "ANTHROPIC_BASE_URL": session.model, "ANTHROPIC_API_KEY": "dummy",
            "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1", "DISABLE_ERROR_REPORTING": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}


class Codex(Host):
    name = binary = "codex"
    package, version = "@openai/codex", "0.166.0"
    compaction_arguments = ("-c", "model_auto_compact_token_limit=1000")
    resume_arguments = ("resume", "--last")

    def shell(self, command):
        return {"name": "exec_command", "input": {"cmd": command}}

    def mcp(self, tool):
        return {"name": tool, "namespace": "mcp__throughline", "input": {}}

    def subagent(self, prompt):
        return {"name": "spawn_agent", "namespace": "multi_agent_v1", "input": {"message": prompt}}

    def write(self, session, path, text):
        added = "".join("+%s\n" % line for line in text.splitlines())
        return {"name": "apply_patch", "input": "*** Begin Patch\n*** Add File: %s\n%s*** End Patch\n" % (path, added)}

    def prepare(self, session):
        write_text(os.path.join(session.home, ".codex", "config.toml"), "\n".join([
            'model = "gpt-5.5"', 'model_provider = "lab"', 'approval_policy = "never"',
            'sandbox_mode = "danger-full-access"', 'check_for_update_on_startup = false',
            '[analytics]', 'enabled = false', '[feedback]', 'enabled = false',
            '[model_providers.lab]', 'name = "lab"', 'base_url = "%s/v1"' % session.model,
            'wire_api = "responses"', 'env_key = "LAB_KEY"',
            '[projects."%s"]' % session.project, 'trust_level = "trusted"', ""]))

    def command(self, session):
        # Without --dangerously-bypass-hook-trust: hooks run because `tl host doctor --trust codex` was asked to trust them.
        return [session.program, "exec", "--json", "--skip-git-repo-check"] + session.arguments + [session.prompt], {
            "CODEX_HOME": os.path.join(session.home, ".codex"), "LAB_KEY": "dummy"}


class Gemini(Host):
    name = binary = "gemini"
    package, version = "@google/gemini-cli", "0.61.0"
    too_long = 900000
    compacts_at_prompts_only = True
    takes_context_before_tools = False
    resume_arguments = ("--resume", "latest")

    def shell(self, command):
        return {"name": "run_shell_command", "input": {"command": command, "description": "run a command"}}

    def mcp(self, tool):
        return {"name": "mcp_throughline_" + tool, "input": {}}

    def subagent(self, prompt):
        return {"name": "invoke_agent", "input": {"agent_name": "generalist", "prompt": prompt}}

    def write(self, session, path, text):
        return {"name": "write_file", "input": {"file_path": os.path.join(session.project, path), "content": text}}

    def prepare(self, session):
        write_json(os.path.join(session.home, ".gemini", "settings.json"), {
            "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
            "privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False},
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
            "hooks": {"AfterAgent": [{"hooks": [self.second_prompt(session)]}]} if session.has_second_prompt else {}})

    def second_prompt(self, session):
        """A headless session has one prompt. A hook that does not let the agent stop, once, stands for another."""
        script = os.path.join(session.work, "second-prompt")
        answer = json.dumps({"decision": "deny", "reason": "go on"})
        write_text(script, "mkdir '%s.done' 2>/dev/null && echo '%s' || echo '{}'\n" % (script, answer))
        return {"name": "second-prompt", "type": "command", "command": "sh '%s'" % script, "timeout": 10000}

    def command(self, session):
        return [session.program, "-p", session.prompt, "--approval-mode", "yolo", "--output-format", "stream-json",
                "-m", "gemini-2.5-pro"] + session.arguments, {
            "GEMINI_API_KEY": "dummy", "GOOGLE_GEMINI_BASE_URL": session.model, "GEMINI_TELEMETRY_ENABLED": "false"}


class Copilot(Host):
    name = binary = "copilot"
    package, version = "@github/copilot", "1.0.102"
    compaction_environment = {"COPILOT_PROVIDER_MAX_PROMPT_TOKENS": "128000"}
    resume_arguments = ("--continue",)

    def mcp(self, tool):
        return {"name": "throughline-" + tool, "input": {}}

    def subagent(self, prompt):
        return {"name": "task", "input": {"agent_type": "explore", "description": "plan", "name": "plan", "prompt": prompt,
                                          "mode": "sync"}}

    def write(self, session, path, text):
        # It creates files only in folders that are there.
        os.makedirs(os.path.dirname(os.path.join(session.project, path)), exist_ok=True)
        return {"name": "create", "input": {"path": os.path.join(session.project, path), "file_text": text}}

    def command(self, session):
        # It refuses --trust-folder for a session that is continued; the folder was trusted at its start.
        trust = [] if "--continue" in session.arguments else ["--trust-folder"]
        return [session.program, "-p", session.prompt, "--allow-all-tools", "--disable-client-telemetry",
                "--output-format", "json", "--log-dir", os.path.join(session.work, "host-logs"), *trust,
                *session.arguments], {
            "COPILOT_AUTO_UPDATE": "false", "COPILOT_OFFLINE": "true", "COPILOT_PROVIDER_TYPE": "openai",
            "COPILOT_PROVIDER_BASE_URL": session.model + "/v1", "COPILOT_PROVIDER_API_KEY": "dummy",
            "COPILOT_MODEL": "gpt-5", "GITHUB_COPILOT_PROMPT_MODE_REPO_HOOKS": "true"}


class CopilotBesideClaudeCode(Copilot):
    """Copilot CLI also runs the hooks it finds in Claude Code's settings. In a project of both there are no others."""
    beside = ("claude-code",)


class OpenCode(Host):
    name = binary = "opencode"
    package, version = "opencode-ai", "1.18.33"
    takes_context_before_tools = False
    resume_arguments = ("--continue",)

    def mcp(self, tool):
        return {"name": "throughline_" + tool, "input": {}}

    def subagent(self, prompt):
        return {"name": "task", "input": {"description": "plan", "prompt": prompt, "subagent_type": "general"}}

    def write(self, session, path, text):
        return {"name": "write", "input": {"filePath": os.path.join(session.project, path), "content": text}}

    def prepare(self, session):
        # At start it installs something with npm and waits for it; without a network, for over a minute of retries.
        write_text(os.path.join(session.home, ".npmrc"), "fetch-retries=0\nregistry=http://127.0.0.1:9/\n")

    def command(self, session):
        model = {"name": "lab", "tool_call": True, "limit": {"context": 200000, "output": 8000}}
        provider = {"npm": "@ai-sdk/openai-compatible", "name": "Lab", "models": {"lab-model": model},
                    "options": {"baseURL": session.model + "/v1", "apiKey": "dummy"}}
        settings = {"autoupdate": False, "share": "disabled", "model": "lab/lab-model", "small_model": "lab/lab-model",
                    "permission": {"*": "allow"}, "provider": {"lab": provider}}
        home = session.home
        return [session.program, "run", "--format", "json"] + session.arguments + session.prompt.split(" "), {
            "OPENCODE_CONFIG_CONTENT": json.dumps(settings), "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "XDG_CONFIG_HOME": os.path.join(home, ".config"), "XDG_DATA_HOME": os.path.join(home, ".local", "share"),
            "XDG_STATE_HOME": os.path.join(home, ".local", "state"), "XDG_CACHE_HOME": os.path.join(home, ".cache")}


HOSTS = [ClaudeCode(), Codex(), Gemini(), Copilot(), CopilotBesideClaudeCode(), OpenCode()]
