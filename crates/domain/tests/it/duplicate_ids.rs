//! Laws of the labels of plans that share an id.

use std::collections::{BTreeMap, HashSet};

use domain::duplicate_ids::{SharedIdFile, id_of_alias, label_alias, label_files, split_label};
use proptest::prelude::*;

fn labels_by_path(files: &[(String, bool)]) -> BTreeMap<String, String> {
    let shared: Vec<SharedIdFile<'_>> = files
        .iter()
        .map(|(path, is_recorded)| SharedIdFile {
            path,
            is_recorded: *is_recorded,
        })
        .collect();
    let labels = label_files("002", &shared, &HashSet::new());
    let paths = files.iter().map(|(path, _)| path.clone());
    paths.zip(labels).collect()
}

proptest! {
    #[test]
    fn every_clone_labels_alike_whatever_it_noticed_first(
        paths in prop::collection::btree_map("[a-z]{1,6}", any::<bool>(), 1..8),
        others in prop::collection::vec(any::<bool>(), 8),
    ) {
        let here: Vec<(String, bool)> = paths.into_iter().collect();
        let mut there: Vec<(String, bool)> = here
            .iter()
            .zip(others)
            .map(|((path, _), is_recorded)| (path.clone(), is_recorded))
            .collect();
        there.reverse();
        let labels = labels_by_path(&here);
        prop_assert_eq!(&labels, &labels_by_path(&there));
        // The first by path has the id, and no two have one label.
        let given: Vec<&String> = labels.values().collect();
        let expected: Vec<String> = (0..given.len()).map(|index| label_alias("002", index)).collect();
        prop_assert_eq!(given, expected.iter().collect::<Vec<_>>());
    }

    #[test]
    fn a_label_gives_its_id_and_position_back(id in "[a-z0-9]{1,8}", position in 1usize..100) {
        let label = label_alias(&id, position);
        prop_assert_eq!(split_label(&label), Some((id.as_str(), position + 1)));
        prop_assert_eq!(id_of_alias(&label), id.as_str());
        prop_assert_eq!(split_label(&id), None);
    }
}
