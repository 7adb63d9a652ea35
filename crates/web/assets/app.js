// What the browser adds to pages that work without it: live updates, kept drafts, and a tree of any length.
import "./live.js";
import "./tree.js";
