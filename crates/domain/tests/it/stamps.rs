//! Stamps: read in every form, written in one, never twice the same.

use domain::stamp::{Stamp, stamp_in_name};
use domain::time::Timestamp;
use proptest::prelude::*;

#[test]
fn all_forms_are_read() {
    let cases = [
        ("30141102026", Some("30141102026")),
        ("3014110226", Some("30141102026")),
        ("301411022026", Some("30141102026")),
        ("30141102026-2", Some("30141102026-2")),
        (" 30141102026 ", Some("30141102026")),
        ("30141102026-1", None),
        ("30141102026-02", None),
        ("30141102026-", None),
        ("60141102026", None),
        ("30241102026", None),
        ("30143002026", None),
        ("30141113026", None),
        ("301411020", None),
        ("3014110202600", None),
        ("３０１４１１０２０２６", None),
        ("", None),
    ];
    for (text, expected) in cases {
        assert_eq!(
            text.parse::<Stamp>()
                .ok()
                .map(|stamp| stamp.to_string())
                .as_deref(),
            expected,
            "{text}"
        );
    }
}

#[test]
fn the_example_of_the_design() {
    // No time zone is set in these tests: local time is UTC.
    let at = Timestamp::from_millis(1_770_820_200_000);
    assert_eq!(Stamp::from_timestamp(at).to_string(), "30141102026");
    assert_eq!(
        "30141102026".parse::<Stamp>().unwrap().to_timestamp(),
        Some(at)
    );
    assert_eq!(
        stamp_in_name("tc_30141102026-3").unwrap().to_string(),
        "30141102026-3"
    );
    assert_eq!(stamp_in_name("chapter-02"), None);
}

#[test]
fn a_first_stamp_finds_all_of_its_minute() {
    let read = |text: &str| text.parse::<Stamp>().unwrap();
    assert!(read("30141102026").matches_search(&read("30141102026-2")));
    assert!(read("30141102026-2").matches_search(&read("30141102026-2")));
    assert!(!read("30141102026-2").matches_search(&read("30141102026")));
    assert!(!read("30141102026").matches_search(&read("31141102026")));
}

proptest! {
    #[test]
    fn what_is_written_is_read(millis in 946_684_800_000_i64..4_102_444_800_000, taken in 0_u32..5) {
        let at = Timestamp::from_millis(millis);
        let mut given: Vec<Stamp> = Vec::new();
        for _ in 0..=taken {
            let stamp = Stamp::first_free_from(at, |stamp| given.contains(stamp));
            prop_assert!(!given.contains(&stamp));
            prop_assert_eq!(stamp.to_string().parse::<Stamp>(), Ok(stamp));
            let moment = stamp.to_timestamp().unwrap();
            prop_assert!(moment <= at && at.millis_since(moment) < 60_000);
            given.push(stamp);
        }
    }
}
