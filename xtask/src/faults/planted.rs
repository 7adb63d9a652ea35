//! Planted faults: commands that do it wrong on purpose, each of which the lane has to find.
//!
//! A lane that finds nothing is either good news or blind. These scripts make the mistakes it exists for; they run before every
//! sweep, and a mistake that is not found fails the lane.

use super::judge::{judge, prepare};
use super::lab::Lab;
use super::scenarios::{Repeats, STORY, Scenario};
use super::trace::{Fault, Point};
use crate::{Outcome, say};

/// A wrong command and the kind of violation it must be reported as.
struct Planted {
    name: &'static str,
    script: &'static str,
    repeats: Repeats,
    found_as: &'static str,
}

const PLANTED: [Planted; 5] = [
    Planted {
        name: "file-before-operation",
        script: "printf '# Act 1\\n' > acts/act-1/strategic-plan.md\nexec tl comment act-1 -m planted\n",
        repeats: Repeats::Whole,
        found_as: "half state",
    },
    Planted {
        name: "acknowledged-before-commit",
        script: "echo done\nprintf x >> ../home/noise\nrm ../home/noise\nexec tl comment act-1 -m planted > /dev/null\n",
        repeats: Repeats::Whole,
        found_as: "false answer",
    },
    Planted {
        name: "state-removed-before-the-new-one",
        script: "\
mkdir ../home/old
mv .throughline/state.db* .throughline/journal.jsonl ../home/old/
printf x > .throughline/replacing
mv ../home/old/* .throughline/
rm -r ../home/old .throughline/replacing
exec tl comment act-1 -m planted
",
        repeats: Repeats::Whole,
        found_as: "lost",
    },
    Planted {
        name: "settings-rewritten-in-place",
        script: "\
cp .throughline/config.toml ../home/config
printf '[[' > .throughline/config.toml
printf x > ../home/noise
cp ../home/config .throughline/config.toml
rm ../home/config ../home/noise
exec tl comment act-1 -m planted
",
        repeats: Repeats::Whole,
        found_as: "stays broken",
    },
    Planted {
        name: "done-twice-when-repeated",
        script: "printf x > part-$(ls | wc -l).md\nexec tl comment act-1 -m planted\n",
        repeats: Repeats::Resume,
        found_as: "repeated",
    },
];

/// Kills each planted command at its calls until it is found out.
pub(crate) fn check(lab: &Lab) -> Outcome {
    for planted in &PLANTED {
        let scenario = Scenario::new(planted.name, &[], &STORY, "", "sh -c")
            .with_word(planted.script)
            .with(planted.repeats);
        let mut reference = prepare(lab, &scenario)
            .map_err(|error| format!("planted `{}`: {error}", planted.name))?;
        let mut is_found = false;
        for call in reference.calls.clone() {
            let point = Point {
                fault: Fault::Kill,
                call,
            };
            let verdict = judge(lab, &scenario, &mut reference, &point)?;
            if verdict
                .violations
                .iter()
                .any(|violation| violation.starts_with(planted.found_as))
            {
                is_found = true;
                break;
            }
        }
        if !is_found {
            let calls = reference.calls.len();
            return Err(format!(
                "the lane is blind: planted `{}` passed all {calls} kills",
                planted.name
            ));
        }
    }
    say(&format!(
        "faults: all {} planted faults were found",
        PLANTED.len()
    ));
    Ok(())
}
