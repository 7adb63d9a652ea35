// What the browser adds to pages that work without it: live updates, kept drafts, keys, and a tree of any length.
import "./comment.js";
import "./editor.js";
import "./live.js";
import "./review.js";
import "./sending.js";
import "./tree.js";
import "./board.js";
import "./palette.js";
