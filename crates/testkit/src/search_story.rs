//! What every search index has to return; the same for each implementation.

use std::collections::BTreeMap;

use domain::ports::SearchIndex;
use domain::search::MatchMode;
use domain::search::documents::{
    DocumentKey, DocumentKind, FilteredQuery, IndexedDocument, SearchDocument,
};
use domain::search::expansion::expand_query;

fn document(kind: DocumentKind, key: &str, title: &str, body: &str) -> SearchDocument {
    SearchDocument {
        id: DocumentKey {
            kind,
            key: key.to_owned(),
        },
        mark: format!("{title} {body}"),
        prose_path: matches!(kind, DocumentKind::Plan | DocumentKind::Prose)
            .then(|| format!("content/{}/{key}.md", key.len())),
        title: title.to_owned(),
        body: body.to_owned(),
    }
}

fn find(index: &dyn SearchIndex, text: &str) -> Vec<String> {
    let query = FilteredQuery::parse_query(text).expect("a query");
    let expanded = expand_query(&query.words, index).expect("expanded");
    let kinds = if query.kinds.is_empty() {
        DocumentKind::ALL.to_vec()
    } else {
        query.kinds
    };
    let found = index
        .rank_documents(&expanded, MatchMode::AllElseAny, &kinds, 20)
        .expect("ranked");
    found.into_iter().map(|id| id.key).collect()
}

/// Runs the story; `reopen` returns the same index again, empty at first.
///
/// # Panics
/// When the index returns something else.
pub fn tell_search_story(reopen: &dyn Fn() -> Box<dyn SearchIndex>) {
    use DocumentKind::{Comment, Log, Memory, Plan, Prose};
    let index = reopen();
    assert_eq!(index.load_position().expect("readable"), None);
    assert!(find(&*index, "anything").is_empty());
    let filler = "and many other words that make this a long text about the sea ".repeat(4);
    let documents = [
        document(
            Plan,
            "1",
            "act-1 The Lighthouse",
            &format!("The keeper waits. {filler}"),
        ),
        document(
            Plan,
            "2",
            "chapter-01 Arrival",
            &format!("She sees the lighthouse once. {filler}"),
        ),
        document(
            Plan,
            "10",
            "scene-0101",
            "Рейн ждёт в медпалате, потом уходит из медпалаты.",
        ),
        document(Plan, "11", "scene-0102", "東京タワーの塔"),
        document(Prose, "10", "", "The old mill stands by the salt gardens."),
        document(Comment, "comment:10/5", "", "Where is the mill?"),
        document(Memory, "character:C0", "Rein", "A doctor of the lighthouse"),
        document(Comment, "comment:20/6", "", "A storm"),
        document(Prose, "20", "", "A storm"),
        document(Log, "7", "", "approve act-1/chapter-01"),
    ];
    index
        .update_documents(&documents, &[], Some("one"))
        .expect("written");
    drop(index);
    let index = reopen();
    assert_eq!(
        index.load_position().expect("readable").as_deref(),
        Some("one")
    );
    check_results(&*index);
    check_prose_folders(&*index);

    let changed = [document(
        Plan,
        "2",
        "chapter-01 Arrival",
        "She sees nothing at all.",
    )];
    let removed = [documents[6].id.clone(), documents[6].id.clone()];
    index
        .update_documents(&changed, &removed, None)
        .expect("written");
    assert_eq!(index.load_position().expect("readable"), None);
    assert_eq!(find(&*index, "lighthouse"), ["1"]);
    assert_eq!(find(&*index, "nothing"), ["2"]);
    // A word of the vocabulary whose documents are gone is corrected as any other.
    assert!(find(&*index, "doctor").is_empty());
    let kept = index.list_documents(&[Plan]).expect("listed");
    let marks: Vec<(String, String)> = kept
        .into_iter()
        .map(|IndexedDocument { id, mark, .. }| (id.key, mark))
        .filter(|(key, _)| key == "2")
        .collect();
    assert_eq!(marks, [("2".to_owned(), changed[0].mark.clone())]);
}

fn check_results(index: &dyn SearchIndex) {
    // Short texts count more than long ones, titles more than texts; ties are sorted by kind.
    let cases: &[(&str, &[&str])] = &[
        ("lighthouse", &["character:C0", "1", "2"]),
        ("LIGHTH", &["character:C0", "1", "2"]),
        ("storm", &["20", "comment:20/6"]),
        ("s", &[]),
        ("mill", &["comment:10/5", "10"]),
        ("kind:prose mill", &["10"]),
        ("kind:plan,log chapter", &["7", "2"]),
        ("\"salt gardens\"", &["10"]),
        ("\"gardens salt\"", &[]),
        ("\"salt gard\"", &[]),
        ("salt gard", &["10"]),
        // Grammatical forms, a transposition, a missing and a wrong letter.
        ("медпалата", &["10"]),
        ("медпалатой", &["10"]),
        ("lihgthouse", &["character:C0", "1", "2"]),
        ("lighthose", &["character:C0", "1", "2"]),
        ("медпалвта", &["10"]),
        ("xyzzy", &[]),
        ("東京", &["11"]),
        ("京東", &[]),
        // When nothing has all of it, what has some.
        ("keeper xyzzy", &["1"]),
        ("\" OR title:x * (", &[]),
    ];
    for (query, expected) in cases {
        assert_eq!(find(index, query), *expected, "{query}");
    }
}

fn check_prose_folders(index: &dyn SearchIndex) {
    let folders = |after: &str, most: usize| -> Vec<(String, Vec<String>)> {
        let folders = index.list_prose_folders(after, most).expect("listed");
        let keys = |marks: BTreeMap<String, String>| marks.into_keys().collect();
        folders
            .into_iter()
            .map(|(folder, marks)| (folder, keys(marks)))
            .collect()
    };
    let plans = |folder: &str| -> Vec<String> {
        let plans = index.plans_of_prose_folder(folder).expect("listed");
        plans.into_iter().map(|document| document.id.key).collect()
    };
    let all = folders("", 5);
    assert_eq!(all.len(), 2, "{all:?}");
    assert_eq!(folders("", 1), all[..1]);
    assert_eq!(folders("content/1", 5), all[1..]);
    assert_eq!(folders("content/2", 5), []);
    assert_eq!(plans("content/1"), ["1", "2"]);
    assert_eq!(plans("content/2"), ["10", "11"]);
    assert!(plans("content").is_empty());
    // The prose that is in the index, by its plans.
    let prose = index
        .list_documents(&[DocumentKind::Prose])
        .expect("listed");
    let prose: Vec<String> = prose.into_iter().map(|document| document.id.key).collect();
    let by_folder: Vec<String> = all.into_iter().flat_map(|(_, keys)| keys).collect();
    assert_eq!(by_folder, prose);
    assert!(!prose.is_empty());
}
