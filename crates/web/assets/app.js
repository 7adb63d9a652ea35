// What the browser adds to pages that work without it: live updates, kept drafts, keys, and a tree of any length.
// First: it decides whether a key or a form concerns the others.
import "./menus.js";
import "./comment.js";
import "./editor.js";
import "./live.js";
import "./review.js";
import "./sending.js";
import "./tree.js";
import "./board.js";
import "./palette.js";
