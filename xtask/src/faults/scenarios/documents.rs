//! Scenarios with plan documents: changes, freezing, workflows, reviews.

use super::{Base, Scenario};

/// A document `add-search` that could be frozen.
static DOCUMENT: Base = Base {
    name: "document",
    script: "\
tl init
tl doc new 'Add search'
cat > batch.jsonl <<'END'
{\"do\":\"set\",\"id\":\"overview\",\"version\":1,\"fields\":{\"problem\":\"Nothing can be found.\",\"approach\":\"An index.\"}}
{\"do\":\"add-decision\",\"decision\":\"BM25\",\"reasoning\":\"needs no model\",\"as\":\"rank\"}
{\"do\":\"add-milestone\",\"name\":\"Index\",\"files\":[\"src/index.rs\"],\"acceptance_criteria\":[\"cargo test\"],\"tests\":{\"files\":[\"tests/index.rs\"]},\"as\":\"index\"}
{\"do\":\"add-intent\",\"milestone\":\"@index\",\"file\":\"src/index.rs\",\"behavior\":\"Maps words to places.\",\"decision_refs\":[\"@rank\"],\"as\":\"build\"}
{\"do\":\"add-change\",\"intent_ref\":\"@build\",\"diff\":\"@@ -0,0 +1 @@\\n+fn build() {}\\n\"}
END
tl doc apply batch.jsonl
printf '{\"do\":\"add-decision\",\"decision\":\"Cache\",\"reasoning\":\"fast\"}\\n{\"do\":\"add-risk\",\"risk\":\"big\",\"mitigation\":\"cut\"}\\n' > more.jsonl
tl status
",
};

/// A workflow on the document at its first step.
const STARTED: &str = "tl flow start planner\n";

/// A document that was frozen, in a repository.
const FROZEN: &str = "tl doc freeze\n";

/// A review of the document with one check.
const REVIEWED: &str = "tl review add --of add-search --check right --severity MUST\n";

pub(super) fn scenarios() -> Vec<Scenario> {
    let s = Scenario::new;
    vec![
        s("doc-new", &["doc-new"], &DOCUMENT, "", "tl doc new Cache"),
        s("doc-use", &["doc-use"], &DOCUMENT, "tl doc new Cache", "tl doc use add-search"),
        s("doc-set", &["doc-set"], &DOCUMENT, "", "tl doc set M-001 name=Words --version 1"),
        s(
            "doc-add-decision",
            &["doc-add-decision"],
            &DOCUMENT,
            "",
            "tl doc add-decision --decision Cache --reasoning fast",
        ),
        s(
            "doc-add-alternative",
            &["doc-add-alternative"],
            &DOCUMENT,
            "",
            "tl doc add-alternative --alternative grep --reason slow --decision-ref DL-001",
        ),
        s(
            "doc-add-constraint",
            &["doc-add-constraint"],
            &DOCUMENT,
            "",
            "tl doc add-constraint --type MUST --description offline --source user",
        ),
        s("doc-add-risk", &["doc-add-risk"], &DOCUMENT, "", "tl doc add-risk --risk big --mitigation cut"),
        s(
            "doc-add-milestone",
            &["doc-add-milestone"],
            &DOCUMENT,
            "",
            "tl doc add-milestone --name Query --needs M-001 --skip-tests none --documentation-only",
        ),
        s(
            "doc-add-intent",
            &["doc-add-intent"],
            &DOCUMENT,
            "",
            "tl doc add-intent --milestone M-001 --file src/index.rs --behavior finds",
        ),
        s(
            "doc-add-change",
            &["doc-add-change"],
            &DOCUMENT,
            "",
            "tl doc add-change --intent CI-001 --diff - --why order",
        )
        .with_input("@@ -1 +1 @@\n"),
        s(
            "doc-add-doc",
            &["doc-add-doc"],
            &DOCUMENT,
            "",
            "tl doc add-doc --milestone M-001 --place docstring --target f --text Maps.",
        ),
        s("doc-remove", &["doc-remove"], &DOCUMENT, "", "tl doc remove CC-001 --version 1"),
        s("doc-apply", &["doc-apply"], &DOCUMENT, "", "tl doc apply more.jsonl"),
        s("doc-render", &["doc-render"], &DOCUMENT, "", "tl doc render"),
        s("doc-freeze", &["doc-freeze"], &DOCUMENT, "", "tl doc freeze"),
        s("doc-revise", &["doc-revise"], &DOCUMENT, FROZEN, "tl doc revise"),
        s("doc-restore", &["doc-restore"], &DOCUMENT, EDITED_BY_HAND, "tl doc restore"),
        s("doc-accept", &["doc-validate"], &DOCUMENT, EDITED_BY_HAND, "tl doc validate --accept"),
        s("flow-start", &["flow-start"], &DOCUMENT, "", "tl flow start planner"),
        s("flow-start-new", &["flow-start"], &DOCUMENT, "", "tl flow start planner --new Gamma"),
        s("flow-done", &["flow-done"], &DOCUMENT, STARTED, "tl flow done"),
        s("flow-take", &["flow-take"], &DOCUMENT, TO_EXECUTE, "tl flow take"),
        s("flow-apply", &["flow-apply"], &DOCUMENT, TO_EXECUTE, "tl flow apply M-001"),
        s("flow-pass", &["flow-pass"], &DOCUMENT, TO_PASS, "tl flow pass"),
        s("flow-fail", &["flow-fail"], &DOCUMENT, TO_FAIL, "tl flow fail"),
        s("flow-abort", &["flow-abort"], &DOCUMENT, STARTED, "tl flow abort"),
        s("review-add", &["review-add"], &DOCUMENT, "", "tl review add --of add-search --check right --severity MUST"),
        s("review-verdict", &["review-verdict"], &DOCUMENT, REVIEWED, "tl review verdict qa-001 pass --of add-search"),
        s(
            "review-accept",
            &["review-accept"],
            &DOCUMENT,
            "tl review add --of add-search --check right --severity MUST\ntl review verdict qa-001 fail --finding no --of add-search\n",
            "tl review accept qa-001 --reason ships --of add-search",
        )
        .at_terminal(),
        s(
            "review-conclude",
            &["review-conclude"],
            &DOCUMENT,
            "tl review add --of add-search --check right --severity MUST\ntl review verdict qa-001 pass --of add-search\n",
            "tl review conclude --of add-search",
        ),
    ]
}

/// A frozen plan whose first wave can be worked on.
const TO_EXECUTE: &str = "tl doc freeze\ntl flow start executor\ntl flow done\ntl flow done\n";

/// The planner's first gate, with a review that passed.
const TO_PASS: &str = "\
tl flow start planner
tl flow done
printf '{\"task_spec\":[\"find words\"],\"user_quotes\":[\"quick\"]}' > .throughline/plans/add-search/context.json
tl flow done
THROUGHLINE_SESSION=author tl flow done
THROUGHLINE_SESSION=reviewer tl review add --check right --severity MUST
THROUGHLINE_SESSION=reviewer tl review verdict qa-001 pass
THROUGHLINE_SESSION=reviewer tl flow done
";

/// The same with a finding.
const TO_FAIL: &str = "\
tl flow start planner
tl flow done
printf '{\"task_spec\":[\"find words\"],\"user_quotes\":[\"quick\"]}' > .throughline/plans/add-search/context.json
tl flow done
THROUGHLINE_SESSION=author tl flow done
THROUGHLINE_SESSION=reviewer tl review add --check right --severity MUST
THROUGHLINE_SESSION=reviewer tl review verdict qa-001 fail --finding wrong
THROUGHLINE_SESSION=reviewer tl flow done
";

const EDITED_BY_HAND: &str = "sed -i s/BM25/TFIDF/ .throughline/plans/add-search/plan.json\n";
