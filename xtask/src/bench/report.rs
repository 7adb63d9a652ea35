//! The benchmark's words: two Markdown tables.

use std::time::Duration;

use super::Case;
use super::measure::{Sample, percentile};

/// Returns what was measured, and how it stands against what was asked.
pub(crate) fn table(samples: &[Vec<Sample>], rounds: usize) -> String {
    let of = |case: Case| {
        let index = Case::ALL
            .iter()
            .position(|other| *other == case)
            .unwrap_or_default();
        samples.get(index).map(Vec::as_slice).unwrap_or_default()
    };
    let cpu = |case: Case, share| percentile(of(case).iter().map(|sample| sample.cpu), share);
    let wall = |case: Case, share| percentile(of(case).iter().map(|sample| sample.wall), share);
    let peak = |case: Case| {
        of(case)
            .iter()
            .map(|sample| sample.peak_bytes)
            .max()
            .unwrap_or_default()
    };

    let mut text = format!(
        "{rounds} interleaved rounds; milliseconds; × is the ratio of medians to the empty process.\n\n\
         | process | CPU median | CPU p90 | CPU × | wall median | wall p90 | wall × | peak MB |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n"
    );
    for case in Case::ALL {
        text.push_str(&format!(
            "| {} | {} | {} | {:.2} | {} | {} | {:.2} | {:.1} |\n",
            name(case),
            milliseconds(cpu(case, 50)),
            milliseconds(cpu(case, 90)),
            ratio(cpu(case, 50), cpu(Case::Empty, 50)),
            milliseconds(wall(case, 50)),
            milliseconds(wall(case, 90)),
            ratio(wall(case, 50), wall(Case::Empty, 50)),
            megabytes(peak(case)),
        ));
    }

    text.push_str("\n| asked | limit | measured | |\n| --- | ---: | ---: | --- |\n");
    let version_of_true = ratio(cpu(Case::Start, 50), cpu(Case::True, 50));
    let show_of_true = ratio(cpu(Case::ShowLarge, 50), cpu(Case::True, 50));
    let show = ratio(cpu(Case::ShowLarge, 50), cpu(Case::Empty, 50));
    let change = ratio(cpu(Case::ChangeLarge, 50), cpu(Case::Empty, 50));
    let flat_show = ratio(cpu(Case::ShowLarge, 50), cpu(Case::ShowSmall, 50));
    let flat_change = ratio(cpu(Case::ChangeLarge, 50), cpu(Case::ChangeSmall, 50));
    // What the program's own start costs, and what two syncs cost beside doing nothing.
    let syncs = wall(Case::TwoSyncs, 50).saturating_sub(wall(Case::Empty, 50));
    let floor = ratio(wall(Case::ChangeLarge, 50), wall(Case::Start, 50) + syncs);
    let reading = ratio(
        wall(Case::ChangeLarge, 50),
        wall(Case::ShowLarge, 50) + syncs,
    );
    let tree = cpu(Case::TreeLarge, 50).as_secs_f64() * 1e3;
    let memory = megabytes(peak(Case::ShowLarge));
    for (asked, limit, measured, unit) in [
        (
            "`tl --version`, CPU against `/bin/true`",
            2.0,
            version_of_true,
            " ×",
        ),
        (
            "`tl show` on 10,000 nodes, CPU against `/bin/true`",
            3.0,
            show_of_true,
            " ×",
        ),
        (
            "`tl show` on 10,000 nodes, CPU against an empty process",
            3.0,
            show,
            " ×",
        ),
        (
            "a one-node change on 10,000 nodes, CPU against an empty process",
            3.0,
            change,
            " ×",
        ),
        (
            "`tl show`, CPU on 10,000 nodes against 100",
            1.2,
            flat_show,
            " ×",
        ),
        (
            "a one-node change, CPU on 10,000 nodes against 100",
            1.2,
            flat_change,
            " ×",
        ),
        (
            "a one-node change, wall against the program's bare start and two syncs",
            1.5,
            floor,
            " ×",
        ),
        (
            "a one-node change, wall against reading the node and two syncs",
            1.5,
            reading,
            " ×",
        ),
        ("`tl tree --json` of 10,000 nodes, CPU", 80.0, tree, " ms"),
        ("`tl show`, peak memory", 15.0, memory, " MB"),
    ] {
        let verdict = if measured <= limit { "✓" } else { "over" };
        text.push_str(&format!(
            "| {asked} | ≤ {limit}{unit} | {measured:.2}{unit} | {verdict} |\n"
        ));
    }
    text
}

pub(super) fn name(case: Case) -> &'static str {
    match case {
        Case::Empty => "an empty process",
        Case::True => "`/bin/true`",
        Case::TwoSyncs => "two durable writes and nothing else",
        Case::Start => "`tl --version`: the program's start",
        Case::ShowSmall => "`tl show`, 100 nodes",
        Case::ShowLarge => "`tl show`, 10,000 nodes",
        Case::ChangeSmall => "`tl progress`, 100 nodes",
        Case::ChangeLarge => "`tl progress`, 10,000 nodes",
        Case::TreeLarge => "`tl tree --json`, 10,000 nodes",
    }
}

pub(super) fn ratio(value: Duration, to: Duration) -> f64 {
    if to.is_zero() {
        0.0
    } else {
        value.as_secs_f64() / to.as_secs_f64()
    }
}

pub(super) fn milliseconds(duration: Duration) -> String {
    format!("{:.2}", duration.as_secs_f64() * 1e3)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "megabytes are shown with one digit"
)]
pub(super) fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
