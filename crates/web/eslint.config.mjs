// What eslint looks at in the dashboard's scripts; `./test --web` runs it. Rules of its core alone: nothing to install beside it.
const browser = [
  "CSS", "CustomEvent", "DOMParser", "EventSource", "FormData", "HTMLAnchorElement", "HTMLElement", "HTMLFormElement", "HTMLInputElement", "HTMLTextAreaElement", "Notification", "URL", "URLSearchParams",
  "addEventListener", "clearTimeout", "customElements", "document", "fetch", "getSelection", "history", "localStorage", "location", "performance", "scrollY", "sessionStorage", "setInterval", "setTimeout",
];

export default [
  {
    languageOptions: { ecmaVersion: 2024, sourceType: "module", globals: Object.fromEntries(browser.map((name) => [name, "readonly"])) },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "array-callback-return": "error",
      "consistent-return": "error",
      "default-case-last": "error",
      "eqeqeq": "error",
      "no-cond-assign": "error",
      "no-constant-condition": "error",
      "no-constructor-return": "error",
      "no-dupe-keys": "error",
      "no-else-return": "error",
      "no-eval": "error",
      "no-fallthrough": "error",
      "no-implied-eval": "error",
      "no-promise-executor-return": "error",
      "no-redeclare": "error",
      "no-self-compare": "error",
      "no-shadow": "error",
      "no-undef": "error",
      "no-unreachable": "error",
      "no-unused-private-class-members": "error",
      "no-unused-vars": "error",
      "no-use-before-define": ["error", { functions: false, classes: false }],
      "no-var": "error",
      "object-shorthand": "error",
      "prefer-const": "error",
      "require-atomic-updates": "error",
    },
  },
];
