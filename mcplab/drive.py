"""What every SDK client must be able to do, in both eras and over both transports."""
import json
import os
import traceback

from clients import Refused, SdkClient
from project import ACT, CHAPTER, Project

ACT_TEXT = "# Act 1\n\nThe keeper leaves the island before the storm.\n"
CHAPTER_TEXT = "# Chapter 1\n\nThe boat is ready.\n"

# The Python SDK and the TypeScript SDK; v1 of the latter knows only the older era.
SDKS = [("py", "python-sdk", ("legacy", "modern")), ("v2", "ts-sdk-v2", ("legacy", "modern")),
        ("v1", "ts-sdk-v1", ("legacy",))]


def expect(holds, what, found=""):
    if not holds:
        raise AssertionError("%s; found %s" % (what, json.dumps(found, ensure_ascii=False)[:600]))


class Driving:
    """One client, one era, one transport."""

    def __init__(self, client, project, sdk):
        self.client, self.project, self.sdk = client, project, sdk
        self.called, self.prompted = set(), set()

    def call(self, name, **arguments):
        """Calls a tool and returns its structured content; the SDK has checked it against the tool's schema."""
        result = self.client.do("call", name=name, arguments=arguments)
        return self.checked(name, result)

    def checked(self, name, result):
        self.called.add(name)
        expect(not result.get("isError"), "%s succeeds" % name, result)
        texts = [part["text"] for part in result["content"] if part["type"] == "text"]
        expect("structuredContent" in result, "%s has structured content" % name, result)
        expect(len(texts) == 1 and json.loads(texts[0]) == result["structuredContent"],
               "the text of %s says the same as its structured content" % name, result)
        return result["structuredContent"]

    def refused(self, name, **arguments):
        """Calls a tool that has to fail; returns kind, message and next steps."""
        result = self.client.do("call", name=name, arguments=arguments)
        self.called.add(name)
        expect(result.get("isError") is True, "%s fails with isError" % name, result)
        error = json.loads(result["content"][0]["text"])["error"]
        expect({"kind", "message", "next_steps"} <= set(error), "the failure has kind, message and next steps", error)
        return error

    def prompt(self, name, **arguments):
        result = self.client.do("prompt", name=name, arguments=arguments)
        self.prompted.add(name)
        return result["messages"][0]["content"]["text"]

    def not_prompted(self, name, **arguments):
        try:
            text = self.prompt(name, **arguments)
        except Refused as refused:
            expect(refused.code is not None, "the prompt is refused by the server", refused.message)
            return refused.message
        raise AssertionError("the prompt %s is refused; found %r" % (name, text[:200]))

    def status(self, level, node):
        return self.call("get_entity_state", entity_type=level, entity_id=node)["status"]

    # -- the checks -----------------------------------------------------------
    def negotiated(self, era):
        about = self.client.do("about")
        version = about["version"]
        expect(version is None or (version >= "2026-07-28") == (era == "modern"), "the era is the wanted one", about)
        expect("Throughline" in (about["instructions"] or ""), "the instructions arrive", about)
        self.client.do("list", what="tools")

    def workflow(self, _era):
        """The seed's story: plan, refuse, approve, plan, cascade, restore."""
        put = self.project.put
        expect("act" in self.prompt("plan_act", id="1"), "plan_act tells how to plan an act")
        put(ACT % 1, ACT_TEXT)
        expect(self.status("act", "act-1") == "draft", "a new act is a draft")
        said = self.not_prompted("plan_chapter", id="1", under="act-1")
        expect("approved" in said or "act-1" in said, "the refusal says why", said)
        expect(self.call("approve_entity", entity_type="act", entity_id="act-1")["success"] is True, "the act is approved")
        expect("before the storm" in self.prompt("plan_chapter", id="1", under="act-1"), "the chapter's prompt has the act")
        put(CHAPTER % (1, 1), CHAPTER_TEXT)
        state = self.call("get_entity_state", entity_type="chapter", entity_id="act-1/chapter-01")
        expect(state["status"] == "draft" and state["parent_id"], "the chapter is a draft below the act", state)
        state = self.call("update_entity_state", entity_type="chapter", entity_id="act-1/chapter-01", status="approved",
                          version_hash=state["version_hash"])
        expect(state["entity"]["status"] == "approved", "the chapter is approved", state)
        expect("boat" in self.prompt("plan_scene", id="0101", under="act-1/chapter-01"), "the scene's prompt has its chapter")

        # The act changes: what is below it is stale.
        put(ACT % 1, ACT_TEXT.replace("before", "after"))
        expect(self.status("act", "act-1") == "draft", "the changed act is a draft")
        expect(self.status("chapter", "act-1/chapter-01") == "requires-revalidation", "the chapter is stale")
        why = self.call("why", node="act-1/chapter-01")
        expect(why["status"] == "requires-revalidation" and why["chain"], "`why` has the chain", why)
        expect("storm" in self.prompt("revalidate", node="act-1/chapter-01"), "revalidate shows what changed")
        self.prompt("approve", node="act-1")
        expect("plan" in self.prompt("resume"), "resume tells where the work stands")

        # And back: the earlier text is restored from its version.
        versions = self.call("list_backups", entity_type="act", entity_id="act-1")["versions"]
        expect(len(versions) == 2, "both versions are listed", versions)
        diff = self.call("get_backup_diff", entity_type="act", entity_id="act-1")
        expect("after" in diff["unified"], "the diff shows the change", diff)
        restored = self.call("restore_backup", entity_type="act", entity_id="act-1", version="-1")
        with open(os.path.join(self.project.directory, ACT % 1), encoding="utf-8") as f:
            expect(f.read() == ACT_TEXT, "the file has the earlier text", restored)
        self.call("approve_entity", entity_type="act", entity_id="act-1")
        cascade = self.call("cascade_invalidate", entity_type="act", entity_id="act-1", reason="the storm never comes")
        expect(cascade["success"] is True, "the cascade is done", cascade)
        expect(self.status("act", "act-1") == "approved", "the act itself stays approved")
        expect(self.status("chapter", "chapter-01") == "requires-revalidation", "what is below it has to be revalidated")

    def tools(self, _era):
        listed = {tool["name"]: tool for tool in self.client.do("list", what="tools")}
        expect(all("outputSchema" in tool for tool in listed.values()), "every tool has an output schema")
        # What the list has is called by its name, what it does not have through `call_tool`, and the earlier names are accepted.
        expect(self.call("work_where")["nodes"] >= 2, "`work_where` counts the plans")
        self.call("work_next", limit=5)
        expect(self.call("work_search", query="keeper")["hits"], "`work_search` finds a word of the act")
        expect("plan" in self.call("more_tools")["sets"], "`more_tools` names the sets")
        log = self.call("call_tool", tool="work_log", arguments={"limit": 1})
        expect(len(log["operations"]) == 1, "`call_tool` calls what is not listed", log)
        expect(self.call("brief")["text"], "`brief` has a text")
        plan = self.call("plan_read", node="act-1")
        expect(plan["text"] and plan["sections"], "a plan is read with its text", plan)
        written = self.call("plan_write", node="act-1", text=plan["text"] + "\nOne more line.\n", expected_version=plan["version_hash"])
        expect(written["status"] == "draft", "a written plan is a draft", written)
        self.call("plan_prompt", node="act-1")
        self.call("plan_progress", node="act-1", progress="active")
        self.call("plan_approve", node="act-1")
        self.call("plan_wait", node="act-1", timeout_seconds=1)
        self.call("plan_write", node="act-1", text=plan["text"], expected_version=self.call("plan_state", node="act-1")["version_hash"])
        expect(self.call("get_hierarchy_tree", depth=2)["nodes"] >= 2, "the tree is there")
        expect(self.call("get_children_status", entity_type="act", entity_id="act-1")["total_children"] == 1, "one child")
        expect(self.call("create_backup", entity_type="act", entity_id="act-1")["success"] is True, "a copy is made")
        expect(self.call("wait", node="act-1", until="changed", status="approved", timeout_seconds=1)["done"] is True,
               "`wait` returns at once when the status is not the known one any more")
        expect(self.call("wait", node="act-1", until="changed", status="draft", timeout_seconds=1)["done"] is False,
               "`wait` waits while the status is the known one")
        self.refused("get_entity_state", entity_type="act", entity_id="act-77")
        self.refused("get_entity_state", entity_type="act")
        self.refused("get_entity_state", entity_type="act", entity_id="act-1", colour="red")
        self.refused("update_entity_state", entity_type="act", entity_id="act-1", status="approved", version_hash="0" * 64)
        left = set(listed) - self.called
        expect(not left, "every tool was called", sorted(left))
        try:
            self.client.do("call", name="get_entity_stat", arguments={})
        except Refused as refused:
            expect(refused.code == -32602 and "get_entity_state" in refused.message, "an unknown tool is named",
                   [refused.code, refused.message])
        else:
            raise AssertionError("an unknown tool is an error of the protocol")

    def unreadable(self, uri):
        try:
            self.client.do("read", uri=uri)
        except Refused as refused:
            expect(refused.message, "why it cannot be read is said", uri)
        else:
            raise AssertionError("%s cannot be read" % uri)

    def resources(self, era):
        resources = self.client.do("list", what="resources")
        expect(len(resources) >= 3, "the briefing and the plans are listed", resources)
        for resource in resources:
            read = self.client.do("read", uri=resource["uri"])["contents"]
            expect(read and read[0]["text"] and read[0]["mimeType"] == resource["mimeType"], "it can be read", resource)
        uris = {"entity_state": "state://planning/chapter/act-1/chapter-01", "hierarchy": "state://planning/hierarchy/act-1",
                "plan_text": "plan://node/act-1/chapter-01"}
        for template in self.client.do("list", what="resourceTemplates"):
            if template["name"] == "generation_state":
                # Nothing was written here yet, and a chapter is no scene: that is said, not made up.
                self.unreadable("state://generation/act-1/chapter-01")
                continue
            read = self.client.do("read", uri=uris[template["name"]])["contents"]
            expect(read[0]["text"], "a resource of the template can be read", template)
            for variable in variables(template["uriTemplate"]):
                found = self.complete({"type": "ref/resource", "uri": template["uriTemplate"]}, variable,
                                      "cha" if variable == "entity_type" else "act")
                expect(found, "%s of %s is completed" % (variable, template["name"]), found)
        try:
            self.client.do("read", uri="plan://node/act-77")
        except Refused as refused:
            # Version 2 of the TypeScript SDK makes the newer code of the older one by itself.
            wanted = -32602 if era == "modern" or self.sdk == "v2" else -32002
            expect(refused.code == wanted, "a missing resource has the era's code %d" % wanted, refused.code)
        else:
            raise AssertionError("a missing resource is an error")

    def complete(self, reference, name, value):
        return self.client.do("complete", ref=reference, argument={"name": name, "value": value})["completion"]["values"]

    def prompts(self, _era):
        listed = self.client.do("list", what="prompts")
        for prompt in listed:
            for argument in prompt.get("arguments", []):
                found = self.complete({"type": "ref/prompt", "name": prompt["name"]}, argument["name"], "act-")
                expect("act-1" in found, "%s of %s is completed" % (argument["name"], prompt["name"]), found)
        left = {prompt["name"] for prompt in listed} - self.prompted
        expect(not left, "every prompt was used", sorted(left))
        expect(self.complete({"type": "ref/prompt", "name": "nonsense"}, "x", "") == [], "unknown ones complete to nothing")

    def events(self, _era):
        """Changes that another process makes are told, and `wait` wakes up."""
        self.project.put(ACT % 2, "# Act 2\n\nThe keeper comes home.\n")
        self.project.must("status")
        uris = ["state://planning/act/act-2", "plan://node/act-2"]
        self.client.do("subscribe", uris=uris)
        waiting = self.client.begin("call", name="wait", arguments={"node": "act-2", "timeout_seconds": 30})
        self.project.must("approve", "act-2")
        self.client.event("updated", uri=uris[0])
        woken = self.checked("wait", self.client.end(waiting))
        expect(woken["done"] is True and woken["status"] == "approved", "`wait` wakes up", woken)
        self.project.put(ACT % 2, "# Act 2\n\nThe keeper stays away.\n")
        self.project.must("status")
        self.client.event("updated", uri=uris[1])
        self.project.put(ACT % 3, "# Act 3\n\nNobody knows.\n")
        self.project.must("status")
        self.client.event("list_changed")

    def asks(self, _era):
        """Only people approve: the client's person is asked."""
        arguments = {"entity_type": "act", "entity_id": "act-1"}
        version = self.call("get_entity_state", **arguments)["version_hash"]
        for answer in ({"action": "decline"}, {"action": "cancel"}, {"action": "accept", "content": {}}):
            self.client.do("answer", answer=answer)
            result = self.call("approve_entity", **arguments)
            question = self.client.event("asked")["params"]
            expect("act-1" in question["message"], "the question names the plan", question)
            expect(result["success"] is False and self.status("act", "act-1") == "draft", "no yes, no approval",
                   [answer, result])
        self.client.do("answer", answer={"action": "decline"})
        result = self.call("update_entity_state", status="approved", version_hash=version, **arguments)
        self.client.event("asked")
        expect(result["decision"] == "declined" and self.status("act", "act-1") == "draft",
               "the other tool asks as well", result)
        self.client.do("answer", answer={"action": "accept", "content": {"decision": "approve"}})
        result = self.call("approve_entity", **arguments)
        self.client.event("asked")
        expect(result["success"] is True and self.status("act", "act-1") == "approved", "a yes approves", result)
        log = json.loads(self.project.must("log", "--json"))
        approval = [one for one in log if one["verb"] == "approve"]
        expect(approval and not approval[0]["by"].startswith("agent"), "the approval is the person's", log[:2])

    def cannot_ask(self, _era):
        """Only people approve, and the client cannot show a question."""
        arguments = {"entity_type": "act", "entity_id": "act-1"}
        result = self.call("approve_entity", **arguments)
        expect(result["success"] is False and result["waiting_for"] == "a person" and result["next_steps"],
               "it waits for a person and says how to decide", result)
        expect(self.status("act", "act-1") == "draft", "nothing is approved")
        # From the operation of the question on: over HTTP the wait may arrive after the person's answer.
        waiting = self.client.begin("call", name="wait", arguments={"node": "act-1", "timeout_seconds": 60, "since": result["operation"]})
        code, said = self.project.in_terminal("approve", "act-1", asked="[y/N]", answer="n")
        expect(code == 1 and self.status("act", "act-1") == "draft", "a no in the terminal approves nothing", said)
        woken = self.checked("wait", self.client.end(waiting))
        expect(woken["done"] is True and woken["decision"]["kind"] == "declined", "`wait` returns with the person's no", woken)
        waiting = self.client.begin("call", name="wait", arguments={"node": "act-1", "timeout_seconds": 60, "since": woken["operation"]})
        code, said = self.project.in_terminal("approve", "act-1", asked="[y/N]", answer="y")
        expect(code == 0, "the person approves in a terminal", said)
        woken = self.checked("wait", self.client.end(waiting))
        expect(woken["done"] is True and woken["status"] == "approved", "`wait` returns with the person's word", woken)


def variables(template):
    return [part.split("}")[0].lstrip("+") for part in template.split("{")[1:]]


STORY = [("negotiated", "connects, era and instructions"),
         ("workflow", "plan, refuse, approve, plan, cascade, restore"),
         ("tools", "every tool, structured content fits its schema"),
         ("resources", "every resource and template, completion"),
         ("prompts", "every prompt, completion"),
         ("events", "events and `wait` after `tl approve` in a shell")]


def drive(tools, tl, report, only=None):
    for sdk, name, eras in SDKS:
        for era in eras:
            for transport in ("stdio", "http"):
                if only and only not in (name, era, transport):
                    continue
                one(tools, tl, report, sdk, name, era, transport)


def one(tools, tl, report, sdk, name, era, transport):
    folder = report.folder("sdk", name, era, transport)
    human = {"approval": "human"}
    for part, policy, asks, steps in (
            ("story", None, True, STORY),
            ("asks", human, True, [("asks", "asked under policy human: decline, cancel, accept")]),
            ("cannot-ask", human, False, [("cannot_ask", "policy human without elicitation: waits for a person, who decides in a terminal")])):
        project = Project(tl, os.path.join(folder, part), policy)
        if policy:
            project.put(ACT % 1, ACT_TEXT)
            project.must("status")
        log = os.path.join(folder, part + ".log")
        server = project.serve() if transport == "http" else None
        try:
            if server:
                server.__enter__()
            with SdkClient(tools, sdk, era, project, log, server, asks) as client:
                driving = Driving(client, project, sdk)
                for step, what in steps:
                    try:
                        getattr(driving, step)(era)
                        report.ok(name, era, transport, what)
                    except (AssertionError, Refused, KeyError, TypeError, IndexError, RuntimeError) as problem:
                        with open(log, "a", encoding="utf-8") as f:
                            traceback.print_exc(file=f)
                        report.fail(name, era, transport, "%s: %s: %s" % (what, type(problem).__name__, problem), log)
        except Refused as problem:
            report.fail(name, era, transport, "%s: %s" % (part, problem), log)
        finally:
            if server:
                server.__exit__()
