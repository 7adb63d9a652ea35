//! Options of `cargo xtask faults`.

use std::path::PathBuf;
use std::time::Duration;

/// Which system call of a write phase is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The N-th of all.
    Number(usize),
    /// The N-th of a name in its thread: random ids move pages of the database, so this is found again more often.
    Call(String, usize),
}

impl Place {
    fn parse(text: &str) -> Option<Self> {
        match text.split_once('#') {
            Some((name, nth)) => Some(Self::Call(name.to_owned(), nth.parse().ok()?)),
            None => Some(Self::Number(text.parse().ok()?)),
        }
    }
}

/// What is run, and how much of it.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// The program; without it the dev build.
    pub(crate) tl: Option<PathBuf>,
    pub(crate) scenario: Option<String>,
    /// Random points for about this long, instead of all.
    pub(crate) sample: Option<Duration>,
    pub(crate) seed: u64,
    /// One kill.
    pub(crate) kill: Option<Place>,
    /// One error at one call.
    pub(crate) error: Option<(String, Place)>,
    pub(crate) jobs: usize,
    /// Many processes at once instead of faults at calls.
    pub(crate) concurrent: bool,
}

pub(crate) const USAGE: &str = "\
usage: cargo xtask faults [--scenario NAME [--kill PLACE | --error ERRNO:PLACE]] [--sample SECONDS] [--seed N] [--jobs N] [--tl PROGRAM]
       cargo xtask faults --concurrent [--seed N] [--tl PROGRAM]
PLACE is the number of a system call in the write phase, or CALL#N: the N-th call of that name";

const WITH_VALUE: [&str; 7] = [
    "--tl",
    "--scenario",
    "--sample",
    "--seed",
    "--kill",
    "--jobs",
    "--error",
];

impl Options {
    /// Reads the words after `faults`.
    pub(crate) fn parse(words: &[&str]) -> Result<Self, String> {
        let mut options = Self {
            tl: None,
            scenario: None,
            sample: None,
            seed: fastrand::u64(..1_000_000),
            kill: None,
            error: None,
            jobs: 2,
            concurrent: false,
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if *word == "--concurrent" {
                options.concurrent = true;
                continue;
            }
            if !WITH_VALUE.contains(word) {
                return Err(format!("unexpected argument `{word}`\n{USAGE}"));
            }
            let value = words
                .next()
                .ok_or_else(|| format!("`{word}` has no value\n{USAGE}"))?;
            let number = || {
                value
                    .parse::<u64>()
                    .map_err(|_| format!("`{value}` is not a number\n{USAGE}"))
            };
            let count = || {
                value
                    .parse::<usize>()
                    .map_err(|_| format!("`{value}` is not a number\n{USAGE}"))
            };
            match *word {
                "--tl" => options.tl = Some(PathBuf::from(value)),
                "--scenario" => options.scenario = Some((*value).to_owned()),
                "--sample" => options.sample = Some(Duration::from_secs(number()?)),
                "--seed" => options.seed = number()?,
                "--kill" => {
                    let parsed = Place::parse(value);
                    options.kill = Some(
                        parsed.ok_or_else(|| format!("`{value}` is not N or CALL#N\n{USAGE}"))?,
                    );
                }
                "--jobs" => options.jobs = count()?.max(1),
                _ => {
                    let parsed = value
                        .split_once(':')
                        .and_then(|(errno, at)| Some((errno.to_owned(), Place::parse(at)?)));
                    options.error = Some(parsed.ok_or_else(|| {
                        format!("`{value}` is not ERRNO:N or ERRNO:CALL#N\n{USAGE}")
                    })?);
                }
            }
        }
        if options.scenario.is_none() && (options.kill.is_some() || options.error.is_some()) {
            return Err(format!("`--kill` and `--error` need a scenario\n{USAGE}"));
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::{Options, Place};

    #[test]
    fn one_point_is_named_by_scenario_and_number() {
        let options = Options::parse(&["--scenario", "restore", "--error", "ENOSPC:17"]).unwrap();
        assert_eq!(options.scenario.as_deref(), Some("restore"));
        assert_eq!(
            options.error,
            Some(("ENOSPC".to_owned(), Place::Number(17)))
        );
        let options = Options::parse(&["--scenario", "restore", "--kill", "pwrite64#3"]).unwrap();
        assert_eq!(options.kill, Some(Place::Call("pwrite64".to_owned(), 3)));
        for wrong in [
            &["--kill", "17"][..],
            &["--sample", "long"],
            &["--error", "17"],
            &["--all"],
            &["--seed"],
        ] {
            assert!(Options::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
