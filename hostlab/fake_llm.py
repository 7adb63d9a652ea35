"""A scripted language model on loopback: what it answers is written beforehand, what it was told is kept.

It speaks the wire protocols of the hosts well enough for a whole headless session:

  Anthropic Messages   POST /v1/messages, /v1/messages/count_tokens
  OpenAI Chat          POST /v1/chat/completions
  OpenAI Responses     POST /v1/responses
  Gemini               POST /v1beta/models/<m>:generateContent, :streamGenerateContent, :countTokens
  and GET /v1/models

The script is an object:

  {"steps": [{"tools": [{"name": "Write", "input": {...}}]}, {"text": "done"}],
   "lanes": [{"match": "regular expression", "steps": [...]}],
   "side": {"text": "ok"}}

A request that offers tools takes the next of "steps"; after the last one, the last answer without tools is repeated. A
request whose conversation matches a lane takes the next step of that lane (summaries for a compaction). A request
without tools (titles, classifiers) is answered with "side". A step may also have

  "usage": {"input": 190000}   the token counts it reports, to force a compaction
  "before": function           called before it answers: the world may change between two turns of an agent

Every request is one JSON line of the log: {"n", "t_ms", "protocol", "lane", "step", "path", "tools", "body"}.
Headers are never written.
"""
import gzip
import json
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Script:
    def __init__(self, data):
        self.steps = data.get("steps", [])
        self.lanes = data.get("lanes", [])
        self.side = data.get("side", {"text": "ok"})
        self.cursor = {}
        self.lock = threading.Lock()

    def pick(self, has_tools, haystack):
        with self.lock:
            for i, lane in enumerate(self.lanes):
                if re.search(lane["match"], haystack, re.S):
                    return self._advance("lane%d" % i, lane["steps"])
            if not has_tools:
                return "side", 0, self.side
            return self._advance("main", self.steps)

    def _advance(self, name, steps):
        i = self.cursor.get(name, 0)
        self.cursor[name] = i + 1
        if i < len(steps):
            return name, i, steps[i]
        tail = {"text": "done"}
        for step in steps:
            if not step.get("tools"):
                tail = step
        return name, i, tail


class State:
    def __init__(self, script, log_path):
        self.script = script
        self.log_path = log_path
        self.lock = threading.Lock()
        self.n = 0
        self.ids = 0
        self.t0 = time.time()

    def next_id(self, prefix):
        with self.lock:
            self.ids += 1
            return "%s%08d" % (prefix, self.ids)

    def log(self, entry):
        with self.lock:
            self.n += 1
            entry = dict({"n": self.n, "t_ms": int((time.time() - self.t0) * 1000)}, **entry)
            with open(self.log_path, "a", encoding="utf-8") as f:
                f.write(json.dumps(entry, ensure_ascii=False) + "\n")


def tool_names(protocol, body):
    out = []
    if protocol == "gemini":
        for group in body.get("tools") or []:
            for decl in group.get("functionDeclarations") or []:
                out.append(decl.get("name"))
        return out
    listed = list(body.get("tools") or [])
    if protocol == "responses":
        # newer Codex models receive their tools as an item of the conversation
        for item in body.get("input") or []:
            if isinstance(item, dict) and item.get("type") == "additional_tools":
                listed += item.get("tools") or []
    for t in listed:
        if protocol == "chat":
            fn = t.get("function") or t.get("custom") or {}
            out.append(fn.get("name") or t.get("type"))
        elif t.get("type") == "namespace":
            for sub in t.get("tools") or []:
                out.append("%s/%s" % (t.get("name"), sub.get("name")))
        else:
            out.append(t.get("name") or t.get("type"))
    return out


def chunks(text, size=24):
    return [text[i:i + size] for i in range(0, len(text), size)] or [""]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "hostlab"

    # -- plumbing ---------------------------------------------------------
    def log_message(self, *args):
        pass

    def _json(self, status, obj):
        data = json.dumps(obj).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _sse_begin(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True

    def _sse(self, obj, event=None):
        out = ""
        if event:
            out += "event: %s\n" % event
        out += "data: %s\n\n" % (obj if isinstance(obj, str) else json.dumps(obj))
        self.wfile.write(out.encode())
        self.wfile.flush()

    def do_HEAD(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self):
        path = self.path.split("?")[0]
        if path.endswith("/models"):
            m = {"id": "hostlab-model", "object": "model", "created": 0, "owned_by": "hostlab",
                 "type": "model", "display_name": "hostlab", "created_at": "2025-01-01T00:00:00Z"}
            return self._json(200, {"object": "list", "data": [m], "models": [], "has_more": False,
                                    "first_id": m["id"], "last_id": m["id"]})
        self.server.state.log({"protocol": "other", "path": self.path, "method": "GET"})
        self._json(404, {"error": {"type": "not_found_error", "message": "no such path"}})

    def do_POST(self):
        length = int(self.headers.get("Content-Length") or 0)
        if (self.headers.get("Transfer-Encoding") or "").lower() == "chunked":
            raw = b""
            while True:
                size = int(self.rfile.readline().split(b";")[0].strip() or b"0", 16)
                if size == 0:
                    self.rfile.readline()
                    break
                raw += self.rfile.read(size)
                self.rfile.readline()
        else:
            raw = self.rfile.read(length)
        if (self.headers.get("Content-Encoding") or "") == "gzip":
            raw = gzip.decompress(raw)
        try:
            body = json.loads(raw or b"{}")
        except ValueError:
            body = {"__raw": raw.decode("utf-8", "replace")}
        path = self.path.split("?")[0]
        if path.endswith("/messages/count_tokens"):
            return self._json(200, {"input_tokens": max(1, len(raw) // 4)})
        if path.endswith(":countTokens"):
            return self._json(200, {"totalTokens": max(1, len(raw) // 4)})
        if path.endswith("/messages"):
            return self._answer("anthropic", body, bool(body.get("stream")))
        if path.endswith("/chat/completions"):
            return self._answer("chat", body, bool(body.get("stream")))
        if path.endswith("/responses"):
            return self._answer("responses", body, bool(body.get("stream")))
        if path.endswith("/responses/compact"):
            self.server.state.log({"protocol": "responses-compact", "path": self.path, "body": body})
            return self._json(200, {"output": [{"type": "message", "role": "user", "content": [
                {"type": "input_text", "text": "summary of the conversation"}]}]})
        if path.endswith(":streamGenerateContent"):
            return self._answer("gemini", body, True)
        if path.endswith(":generateContent"):
            return self._answer("gemini", body, False)
        self.server.state.log({"protocol": "other", "path": self.path, "method": "POST", "body": body})
        self._json(404, {"error": {"type": "not_found_error", "message": "no such path"}})

    def _answer(self, protocol, body, stream):
        state = self.server.state
        names = tool_names(protocol, body)
        if protocol == "anthropic":
            hay = json.dumps([body.get("system"), body.get("messages")], ensure_ascii=False)
        elif protocol == "gemini":
            hay = json.dumps([body.get("systemInstruction"), body.get("contents")], ensure_ascii=False)
        elif protocol == "responses":
            hay = json.dumps([body.get("instructions"), body.get("input")], ensure_ascii=False)
        else:
            hay = json.dumps(body.get("messages"), ensure_ascii=False)
        lane, index, step = state.script.pick(bool(names), hay)
        state.log({"protocol": protocol, "lane": lane, "step": index, "path": self.path, "tools": names, "body": body})
        if step.get("before") and index < len(state.script.steps):
            step["before"]()
        usage = step.get("usage") or {}
        usage = {"input": usage.get("input", 120), "output": usage.get("output", 12)}
        try:
            getattr(self, "_" + protocol)(body, step, usage, stream)
        except (BrokenPipeError, ConnectionResetError):
            pass

    # -- Anthropic Messages ----------------------------------------------
    def _anthropic(self, body, step, usage, stream):
        st = self.server.state
        blocks = []
        if step.get("text") or not step.get("tools"):
            blocks.append({"type": "text", "text": step.get("text", "")})
        for t in step.get("tools") or []:
            blocks.append({"type": "tool_use", "id": t.get("id") or st.next_id("toolu_"),
                           "name": t["name"], "input": t.get("input", {})})
        stop = "tool_use" if step.get("tools") else "end_turn"
        msg = {"id": st.next_id("msg_"), "type": "message", "role": "assistant",
               "model": body.get("model", "hostlab-model"), "content": blocks, "stop_reason": stop,
               "stop_sequence": None,
               "usage": {"input_tokens": usage["input"], "output_tokens": usage["output"],
                         "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}}
        if not stream:
            return self._json(200, msg)
        self._sse_begin()
        head = dict(msg, content=[], stop_reason=None,
                    usage=dict(msg["usage"], output_tokens=1))
        self._sse({"type": "message_start", "message": head}, "message_start")
        for i, b in enumerate(blocks):
            if b["type"] == "text":
                self._sse({"type": "content_block_start", "index": i,
                           "content_block": {"type": "text", "text": ""}}, "content_block_start")
                for c in chunks(b["text"]):
                    self._sse({"type": "content_block_delta", "index": i,
                               "delta": {"type": "text_delta", "text": c}}, "content_block_delta")
            else:
                self._sse({"type": "content_block_start", "index": i, "content_block": {
                    "type": "tool_use", "id": b["id"], "name": b["name"], "input": {}}},
                    "content_block_start")
                for c in chunks(json.dumps(b["input"]), 64):
                    self._sse({"type": "content_block_delta", "index": i,
                               "delta": {"type": "input_json_delta", "partial_json": c}},
                              "content_block_delta")
            self._sse({"type": "content_block_stop", "index": i}, "content_block_stop")
        self._sse({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None},
                   "usage": {"output_tokens": usage["output"]}}, "message_delta")
        self._sse({"type": "message_stop"}, "message_stop")

    # -- OpenAI Chat Completions -----------------------------------------
    def _chat(self, body, step, usage, stream):
        st = self.server.state
        calls = []
        for i, t in enumerate(step.get("tools") or []):
            calls.append({"index": i, "id": t.get("id") or st.next_id("call_"), "type": "function",
                          "function": {"name": t["name"], "arguments": json.dumps(t.get("input", {}))}})
        finish = "tool_calls" if calls else "stop"
        u = {"prompt_tokens": usage["input"], "completion_tokens": usage["output"],
             "total_tokens": usage["input"] + usage["output"]}
        base = {"id": st.next_id("chatcmpl-"), "created": 1700000000,
                "model": body.get("model", "hostlab-model")}
        if not stream:
            message = {"role": "assistant", "content": step.get("text")}
            if calls:
                message["tool_calls"] = [{k: v for k, v in c.items() if k != "index"} for c in calls]
            return self._json(200, dict(base, object="chat.completion", usage=u, choices=[
                {"index": 0, "message": message, "finish_reason": finish}]))
        self._sse_begin()

        def send(delta, fin=None, extra=None):
            self._sse(dict(base, object="chat.completion.chunk", choices=[
                {"index": 0, "delta": delta, "finish_reason": fin}], **(extra or {})))
        send({"role": "assistant", "content": ""})
        for c in chunks(step.get("text") or "") if step.get("text") else []:
            send({"content": c})
        for c in calls:
            send({"tool_calls": [dict(c, function={"name": c["function"]["name"], "arguments": ""})]})
            send({"tool_calls": [{"index": c["index"],
                                  "function": {"arguments": c["function"]["arguments"]}}]})
        send({}, finish)
        self._sse(dict(base, object="chat.completion.chunk", choices=[], usage=u))
        self._sse("[DONE]")

    # -- OpenAI Responses -------------------------------------------------
    def _responses(self, body, step, usage, stream):
        st = self.server.state
        items = []
        if step.get("text") or not step.get("tools"):
            items.append({"type": "message", "id": st.next_id("msg_"), "role": "assistant",
                          "status": "completed", "content": [
                              {"type": "output_text", "text": step.get("text", ""), "annotations": []}]})
        for t in step.get("tools") or []:
            if isinstance(t.get("input"), str):
                item = {"type": "custom_tool_call", "id": st.next_id("ctc_"),
                        "call_id": t.get("id") or st.next_id("call_"), "name": t["name"],
                        "input": t["input"], "status": "completed"}
                if t.get("namespace"):
                    item["namespace"] = t["namespace"]
                items.append(item)
            else:
                item = {"type": "function_call", "id": st.next_id("fc_"),
                        "call_id": t.get("id") or st.next_id("call_"), "name": t["name"],
                        "arguments": json.dumps(t.get("input", {})), "status": "completed"}
                if t.get("namespace"):
                    item["namespace"] = t["namespace"]
                items.append(item)
        resp = {"id": st.next_id("resp_"), "object": "response", "created_at": 1700000000,
                "status": "completed", "model": body.get("model", "hostlab-model"), "output": items,
                "usage": {"input_tokens": usage["input"],
                          "input_tokens_details": {"cached_tokens": 0},
                          "output_tokens": usage["output"],
                          "output_tokens_details": {"reasoning_tokens": 0},
                          "total_tokens": usage["input"] + usage["output"]}}
        if not stream:
            return self._json(200, resp)
        self._sse_begin()
        seq = [0]

        def send(kind, obj):
            obj = dict({"type": kind, "sequence_number": seq[0]}, **obj)
            seq[0] += 1
            self._sse(obj, kind)
        send("response.created", {"response": dict(resp, status="in_progress", output=[], usage=None)})
        send("response.in_progress", {"response": dict(resp, status="in_progress", output=[], usage=None)})
        for i, item in enumerate(items):
            if item["type"] == "message":
                send("response.output_item.added", {"output_index": i, "item": dict(
                    item, status="in_progress", content=[])})
                part = {"type": "output_text", "text": "", "annotations": []}
                send("response.content_part.added", {"item_id": item["id"], "output_index": i,
                                                     "content_index": 0, "part": part})
                text = item["content"][0]["text"]
                for c in chunks(text):
                    send("response.output_text.delta", {"item_id": item["id"], "output_index": i,
                                                        "content_index": 0, "delta": c, "logprobs": []})
                send("response.output_text.done", {"item_id": item["id"], "output_index": i,
                                                   "content_index": 0, "text": text, "logprobs": []})
                send("response.content_part.done", {"item_id": item["id"], "output_index": i,
                                                    "content_index": 0, "part": dict(part, text=text)})
            elif item["type"] == "function_call":
                send("response.output_item.added", {"output_index": i, "item": dict(
                    item, status="in_progress", arguments="")})
                send("response.function_call_arguments.delta", {
                    "item_id": item["id"], "output_index": i, "delta": item["arguments"]})
                send("response.function_call_arguments.done", {
                    "item_id": item["id"], "output_index": i, "arguments": item["arguments"]})
            else:
                send("response.output_item.added", {"output_index": i, "item": dict(
                    item, status="in_progress", input="")})
            send("response.output_item.done", {"output_index": i, "item": item})
        send("response.completed", {"response": resp})

    # -- Gemini -------------------------------------------------------------
    def _gemini(self, body, step, usage, stream):
        parts = []
        if step.get("text") or not step.get("tools"):
            parts.append({"text": step.get("text", "")})
        for t in step.get("tools") or []:
            parts.append({"functionCall": {"name": t["name"], "args": t.get("input", {})}})
        meta = {"promptTokenCount": usage["input"], "candidatesTokenCount": usage["output"],
                "totalTokenCount": usage["input"] + usage["output"]}

        def reply(some, fin):
            cand = {"content": {"role": "model", "parts": some}, "index": 0}
            if fin:
                cand["finishReason"] = fin
            return {"candidates": [cand], "usageMetadata": meta, "modelVersion": "hostlab-model",
                    "responseId": self.server.state.next_id("resp-")}
        if not stream:
            return self._json(200, reply(parts, "STOP"))
        self._sse_begin()
        for i, part in enumerate(parts):
            self._sse(reply([part], "STOP" if i == len(parts) - 1 else None))


class Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True


def start(script, log_path):
    """Starts in a thread; returns the server and its address."""
    srv = Server(("127.0.0.1", 0), Handler)
    srv.state = State(Script(script), log_path)
    threading.Thread(target=srv.serve_forever, daemon=True).start()
    return srv, "http://127.0.0.1:%d" % srv.server_address[1]
