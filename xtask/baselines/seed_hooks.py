"""The four hooks of the first design, as one would write them: a process each, the state in SQLite.

Only a yardstick for `cargo xtask bench`: usage `seed_hooks.py HOOK DATABASE < event.json`, or
`seed_hooks.py make DATABASE CHILDREN`.
"""
import hashlib
import json
import os
import re
import sqlite3
import sys


def make(path, children):
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE entity (id TEXT PRIMARY KEY, parent TEXT, status TEXT, hash TEXT, path TEXT)")
    db.execute("INSERT INTO entity VALUES ('act-1', NULL, 'approved', '', 'act-1.md')")
    db.executemany("INSERT INTO entity VALUES (?, 'act-1', 'approved', '', ?)",
                   [(f"node-{n}", f"node-{n}.md") for n in range(children)])
    db.commit()


def main():
    hook, path = sys.argv[1], sys.argv[2]
    if hook == "make":
        return make(path, int(sys.argv[3]))
    event = json.load(sys.stdin)
    file = event["tool_input"]["file_path"]
    db = sqlite3.connect(path, timeout=5)
    db.execute("PRAGMA journal_mode=WAL")
    if hook == "hierarchy_validation":
        row = db.execute("SELECT status FROM entity WHERE id = 'act-1'").fetchone()
        if row is None or row[0] != "approved":
            print(json.dumps({"decision": "block"}))
        return None
    text = event["tool_input"].get("content", "")
    if hook == "state_sync":
        digest = hashlib.sha256(text.encode()).hexdigest()
        db.execute("UPDATE entity SET hash = ? WHERE id = 'act-1'", (digest,))
    elif hook == "consistency_check":
        names = set(re.findall(r"^- (\w+)", text, re.M))
        db.execute("SELECT hash FROM entity WHERE id = 'act-1'").fetchone()
        if len(names) > 1000:
            print(os.path.basename(file))
    elif hook == "invalidation_cascade":
        db.execute("UPDATE entity SET status = 'requires-revalidation' WHERE parent = 'act-1'")
    db.commit()
    return None


main()
