"""The autonomous loop with a real model: what must hold whatever the model says. See README.md."""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

SCENE_WORDS = 60
USUAL = ["http://127.0.0.1:8080/v1", "http://127.0.0.1:11434/v1"]
# What the author has approved before the model writes: no accepted scene may say otherwise.
EYES = "green"
COLOURS = ("blue", "brown", "grey", "gray", "hazel", "black", "amber")
REFUSALS = (
    "i'm sorry, but i", "i am sorry, but i", "i cannot help with", "i can't help with", "i cannot assist", "i can't assist",
    "i'm unable to", "i am unable to", "as an ai",
)
TOOLS = {
    "memory.search", "character.generate", "location.generate", "relationship.create", "relationship.update",
    "relationship.query", "loop.open", "loop.close", "scene.query", "node.next", "node.query", "node.show", "node.add",
    "node.edit",
}


def models(base_url):
    """Returns the names of the models a server has, or None where none answers."""
    key = os.environ.get("THROUGHLINE_LLM_API_KEY")
    request = urllib.request.Request(f"{base_url.rstrip('/')}/models", headers={"authorization": f"Bearer {key}"} if key else {})
    try:
        with urllib.request.urlopen(request, timeout=3) as answer:
            return [model["id"] for model in json.load(answer).get("data", [])]
    except (OSError, ValueError, KeyError):
        return None


def configured():
    """Returns the environment that selects the model; None if none is configured and none answers at the usual places."""
    provider = os.environ.get("THROUGHLINE_LLM_PROVIDER")
    if provider == "offline":
        return None
    # A provider of the user's own choice, with whatever else it needs, is taken as it is.
    if provider and provider != "openai-compatible":
        return {}
    given = os.environ.get("THROUGHLINE_LLM_BASE_URL")
    for base_url in [given] if given else USUAL:
        names = models(base_url)
        model = os.environ.get("THROUGHLINE_LLM_MODEL") or (names or [None])[0]
        if names is not None and model:
            return {
                "THROUGHLINE_LLM_PROVIDER": "openai-compatible",
                "THROUGHLINE_LLM_BASE_URL": base_url,
                "THROUGHLINE_LLM_MODEL": model,
            }
    # Chosen and not there is a failure: skipping it would look like success.
    expect(not given, f"no model answers at {given} (THROUGHLINE_LLM_BASE_URL)")
    return None


class Story:
    def __init__(self, tl, folder, model):
        self.tl, self.root = tl, Path(folder) / "book"
        self.environment = {**os.environ, "THROUGHLINE_HOME": str(Path(folder) / "home"), **model}

    def run(self, *arguments, directory=None):
        return subprocess.run(
            [self.tl, *arguments], cwd=directory or self.root, env=self.environment, capture_output=True, text=True,
            stdin=subprocess.DEVNULL, check=False,
        )

    def ok(self, *arguments, directory=None):
        done = self.run(*arguments, directory=directory)
        expect(done.returncode == 0, f"tl {' '.join(arguments)} ends with {done.returncode}: {done.stderr[-400:]}")
        return done.stdout

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def expect(holds, what):
    if not holds:
        print(f"FAILED: {what}")
        sys.exit(1)


def ticks(story):
    done = story.run("--json", "story", "tick", "--count", "2")
    outcomes = json.loads(done.stdout)
    settled = {it["tick"] for it in outcomes if it["status"] == "done"}
    for it in outcomes:
        number = it["tick"]
        print(f"  tick {number}: {it['status']}, {len(it['plan']['actions'])} actions {it['errors'][:1]}")
        expect(it["status"] in ("done", "failed", "parked"), f"tick {number} is {it['status']}")
        if it["status"] == "done":
            expect({action["tool"] for action in it["plan"]["actions"]} <= TOOLS, f"tick {number} calls an unknown tool")
            expect(json.loads((story.root / it["plan_file"]).read_text())["tick"] == number, "the plan's file is another one")
        else:
            expect((story.root / it["error_file"]).exists(), f"tick {number} failed without a file")
    lost = {it["tick"] for it in outcomes} - settled
    expect(done.returncode == (1 if lost else 0), f"the exit code is {done.returncode}, and {lost} are not done")


def scene(story):
    done = story.run("--json", "story", "write", "--next")
    outcome = json.loads(done.stdout)
    print(f"  scene: {outcome['status']}, {outcome['words']} words, {outcome['revisions']} revisions, {len(outcome['findings'])} findings")
    musts = [it["check"] for it in outcome["findings"] if it["severity"] == "must"]
    expect(not (outcome["status"] == "complete" and musts), f"a scene with {musts} was accepted")
    text = story.root / "acts/act-1/chapters/chapter-01/content/scene-0101.md"
    if outcome["status"] == "complete":
        floors(text.read_text(encoding="utf-8"))
    else:
        expect(outcome["status"] in ("held", "failed") and done.returncode == 1, f"the scene is {outcome['status']}")
        expect(outcome["error"] or outcome["findings"], "nobody says why")
        expect(not text.exists(), "a scene that is not accepted is in the book")
        memory = json.loads(story.ok("--json", "story", "memory", "show"))
        expect(memory["counts"]["scenes"] == 0, "a scene that is not accepted is in the memory")


def floors(text):
    """Asserts what every accepted scene has, whatever the model. Written apart from the product's own checks."""
    words = re.findall(r"\w+", text)
    expect(SCENE_WORDS * 2 // 5 <= len(words) <= SCENE_WORDS * 2, f"an accepted scene has {len(words)} words")
    expect("elena" in text.lower(), "an accepted scene has nobody of its blueprint")
    opening = text.lower().replace("\u2019", "'").lstrip(" \n\"'*_#>")
    expect(not opening.startswith(REFUSALS), "a refusal was accepted")
    for colour in COLOURS:
        told = re.search(rf"\bElena(?:'s eyes (?:are|were)| had| has) {colour}\b(?: eyes)?", text.replace("\u2019", "'"))
        expect(not told, f"a contradiction of an approved fact was accepted: {told and told[0]}")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    markup = [line for line in lines if line.startswith(("#", "|", "<", "`"))]
    expect(len(markup) * 2 <= len(lines), "markup was accepted")
    sentences = [" ".join(it.lower().split()) for it in re.split(r"[.!?…]+", text) if it.strip()]
    most = max(sentences.count(it) for it in sentences)
    expect(most == 1 or most * 2 <= len(sentences), "one sentence over and over was accepted")
    expect(re.search(r"[.!?…—][\s\"'”’»*_)]*$", text), "a scene that breaks off was accepted")
    expect(not re.search(r"\b(C|L|S|OL|F)\d+\b", text), "an id of the memory is in the prose")


def variants(story):
    """Two drafts: judged, none in the book, until one is chosen; the chosen one keeps the floors."""
    text = story.root / "acts/act-1/chapters/chapter-01/content/scene-0102.md"
    done = story.run("--json", "story", "write", "scene-0102", "--variants", "2")
    outcome = json.loads(done.stdout)
    print(f"  variants: {outcome['status']}, {[it['words'] for it in outcome.get('variants', [])]} words")
    expect(not text.exists(), "a scene that nobody chose is in the book")
    if outcome["step"] != "choose":
        expect(outcome["status"] == "failed" and outcome["error"], f"the variants are {outcome['status']}")
        return
    expect(done.returncode == 0 and len(outcome["variants"]) == 2, "the drafts are not there")
    chosen = json.loads(story.run("--json", "story", "generation", "choose", "scene-0102", "1").stdout)
    print(f"  chosen: {chosen['status']}, {chosen['revisions']} revisions")
    if chosen["status"] == "complete":
        floors(text.read_text(encoding="utf-8"))
    else:
        expect(not text.exists(), "a scene that is not accepted is in the book")


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--tl", required=True)
    tl = str(Path(arguments.parse_args().tl).resolve())
    model = configured()
    if model is None:
        where = " or ".join(USUAL)
        print(f"skipped: no model answers at {where}; start one (llmlab/README.md), or set THROUGHLINE_LLM_BASE_URL")
        return
    with tempfile.TemporaryDirectory(prefix="throughline-llm-") as folder:
        story = Story(tl, folder, model)
        story.ok("story", "new", "book", directory=folder)
        story.write(".throughline/config.toml", 'profiles = ["story"]\n\n[policy.generation]\nscene_words = ' + f"{SCENE_WORDS}\n")
        story.write("acts/act-1/strategic-plan.md", "# Act 1: The map\n\n## Characters\n- Elena\n- Marcus\n\n## Locations\n- The Archive\n")
        story.write("acts/act-1/chapters/chapter-01/plan.md", "# Chapter 1: Dust\n\n## Characters\n- Elena\n")
        story.write("acts/act-1/chapters/chapter-01/scenes/scene-0101-blueprint.md", "# The drawer\n\nPOV: Elena\n\n## Characters\n- Elena\n\n## Beats\nElena opens the drawer. The map is gone.\n")
        story.write("acts/act-1/chapters/chapter-01/scenes/scene-0102-blueprint.md", "# The stairs\n\nPOV: Elena\n\n## Characters\n- Elena\n\n## Beats\nElena runs down the stairs. The door is locked.\n")
        for node in ("act-1", "chapter-01", "scene-0101", "scene-0102"):
            story.ok("approve", node)
        person = json.loads(story.ok("--json", "story", "memory", "edit", "--new", "character", "name=Elena", "role=lead"))
        story.ok("story", "memory", "edit", "--new", "fact", f"subject={person['id']}", "predicate=eyes", f"object={EYES}")
        print(story.ok("story", "model", "check").rstrip())
        ticks(story)
        scene(story)
        variants(story)
        story.run("--json", "story", "memory", "reread", "--all")
        stats = json.loads(story.ok("--json", "story", "stats"))
        expect(stats["spending"]["calls"] >= 3, f"only {stats['spending']['calls']} calls are in the ledger")
        story.ok("check")
    print("the loop holds with this model")


if __name__ == "__main__":
    main()
