//! Presets of test runners: which one a project uses, and its command for one test.
//!
//! Recognised by files in the project's root alone. Pure: nothing is run here, and a proposal counts
//! only once a user declares it as evidence.

/// A test runner of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestRunner {
    /// Its name for people.
    pub name: &'static str,
    /// The command that runs every test.
    pub command: Vec<String>,
    filter: TestFilter,
    /// Whether its output or its report names every test in a form that is read
    /// ([`super::test_report`]).
    pub names_tests: bool,
    /// Where it writes JUnit reports, if its output has no results of single tests.
    pub report: Option<&'static str>,
}

/// How a runner is told to run one test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TestFilter {
    /// Appended, as a function name.
    Function,
    /// After an option, as a function name.
    FunctionOption(&'static str),
    /// After an option, as words.
    WordsOption(&'static str),
    /// After an option, as `TestUpperCamelCase`.
    GoOption(&'static str),
    /// Within one argument, around a function name.
    Around(&'static str, &'static str),
    /// It runs all tests.
    None,
}

/// What the root of a project has: names of files and folders, and the text of a file.
pub struct ProjectRoot<'p> {
    pub names: &'p [String],
    pub read_file: &'p dyn Fn(&str) -> Option<String>,
}

impl ProjectRoot<'_> {
    fn has(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }

    fn has_extension(&self, extension: &str) -> bool {
        self.names.iter().any(|name| name.ends_with(extension))
    }

    /// Whether there are modules that Python's own `unittest` finds: `test*.py`, or the package `tests`.
    fn has_test_modules(&self) -> bool {
        let is_module = |name: &String| name.starts_with("test") && name.ends_with(".py");
        self.names.iter().any(is_module)
            || (self.has("tests") && (self.read_file)("tests/__init__.py").is_some())
    }

    fn has_make_target(&self, target: &str) -> bool {
        let is_rule = |line: &str| {
            line.strip_prefix(target)
                .is_some_and(|rest| rest.trim_start().starts_with(':'))
        };
        ["GNUmakefile", "makefile", "Makefile"]
            .iter()
            .find(|file| self.has(file))
            .and_then(|file| (self.read_file)(file))
            .is_some_and(|text| text.lines().any(is_rule))
    }

    fn mentions(&self, file: &str, word: &str) -> bool {
        self.has(file) && (self.read_file)(file).is_some_and(|text| text.contains(word))
    }
}

/// Returns the test runners of a project, the most likely one first.
#[must_use]
pub fn detect_test_runners(root: &ProjectRoot<'_>) -> Vec<TestRunner> {
    let mut found = Vec::new();
    let mut add = |name, command: &str, filter, report| {
        found.push(TestRunner {
            name,
            // Arguments, never a shell line: evidence is run without a shell.
            command: command.split(' ').map(str::to_owned).collect(),
            filter,
            // One that cannot run a single test is a script of the project's own.
            names_tests: filter != TestFilter::None || name == "mix test",
            report,
        });
    };
    if root.has("Cargo.toml") {
        // A project that configures nextest uses it; whether the program is installed cannot be
        // known here.
        let has_nextest = (root.read_file)(".config/nextest.toml").is_some();
        if has_nextest {
            add(
                "cargo-nextest",
                "cargo nextest run",
                TestFilter::Function,
                None,
            );
        }
        add("cargo test", "cargo test", TestFilter::Function, None);
    }
    if root.has("go.mod") {
        add(
            "go test",
            "go test -v ./...",
            TestFilter::GoOption("-run"),
            None,
        );
    }
    let is_python = root.has("pytest.ini")
        || root.has("conftest.py")
        || [
            "pyproject.toml",
            "setup.cfg",
            "tox.ini",
            "requirements.txt",
            "requirements-dev.txt",
        ]
        .iter()
        .any(|file| root.mentions(file, "pytest"));
    if is_python {
        add(
            "pytest",
            // Verbose, because only then the output has a line for each test.
            "pytest -v",
            TestFilter::FunctionOption("-k"),
            None,
        );
    } else if root.has("pyproject.toml") || root.has("setup.py") || root.has_test_modules() {
        add(
            "unittest",
            "python -m unittest -v",
            TestFilter::FunctionOption("-k"),
            None,
        );
    }
    detect_node_runner(root, &mut add);
    detect_jvm_runner(root, &mut add);
    if root.has_extension(".sln") || root.has_extension(".csproj") || root.has_extension(".fsproj")
    {
        let filter = TestFilter::Around("DisplayName~", "");
        let command = "dotnet test --logger junit;LogFilePath=TestResults/junit.xml --filter";
        add("dotnet test", command, filter, Some("TestResults"));
    }
    if root.has("mix.exs") {
        add("mix test", "mix test --trace", TestFilter::None, None);
    }
    if root.mentions("Gemfile", "rspec") || root.has(".rspec") {
        add(
            "rspec",
            // Of the formats it has itself, this one names the tests that pass.
            "bundle exec rspec --format json",
            TestFilter::WordsOption("-e"),
            None,
        );
    }
    // Only as a last resort: its output has no known form and it cannot run one test.
    if found.is_empty() && root.has_make_target("test") {
        found.push(TestRunner {
            name: "make",
            command: vec!["make".to_owned(), "test".to_owned()],
            filter: TestFilter::None,
            names_tests: false,
            report: None,
        });
    }
    found
}

type AddRunner<'a> = &'a mut dyn FnMut(&'static str, &str, TestFilter, Option<&'static str>);

fn detect_node_runner(root: &ProjectRoot<'_>, add: AddRunner<'_>) {
    if !root.has("package.json") {
        return;
    }
    let package = (root.read_file)("package.json").unwrap_or_default();
    // A damaged file has no script, so no runner is proposed.
    let value: serde_json::Value = serde_json::from_str(&package).unwrap_or_default();
    let script = value["scripts"]["test"].as_str().unwrap_or_default();
    // The placeholder that `npm init` writes.
    if script.is_empty() || script.contains("no test specified") {
        return;
    }
    let has = |word: &str| script.contains(word);
    // With the option by which it names every test, where it does not do so anyway.
    let (verbose, filter) = match () {
        () if has("vitest") => (" --reporter=verbose", TestFilter::WordsOption("-t")),
        () if has("jest") => (" --verbose", TestFilter::WordsOption("-t")),
        () if has("bun test") => ("", TestFilter::WordsOption("-t")),
        () if has("mocha") => ("", TestFilter::WordsOption("--grep")),
        () if has("node --test") || has("node:test") => {
            ("", TestFilter::WordsOption("--test-name-pattern"))
        }
        () => ("", TestFilter::None),
    };
    let (name, command) = match () {
        () if root.has("pnpm-lock.yaml") => ("pnpm test", "pnpm test"),
        () if root.has("yarn.lock") => ("yarn test", "yarn test"),
        () if root.has("bun.lockb") || root.has("bun.lock") => ("bun", "bun run test"),
        // npm keeps arguments before `--` for itself; the others pass them on.
        () => ("npm test", "npm test --"),
    };
    add(name, &format!("{command}{verbose}"), filter, None);
}

fn detect_jvm_runner(root: &ProjectRoot<'_>, add: AddRunner<'_>) {
    if root.has("build.gradle") || root.has("build.gradle.kts") {
        let command = match root.has("gradlew") {
            true => "./gradlew test",
            false => "gradle test",
        };
        let filter = TestFilter::FunctionOption("--tests");
        add("gradle", command, filter, Some("build/test-results/test"));
    } else if root.has("pom.xml") {
        let filter = TestFilter::Around("-Dtest=*#", "*");
        add(
            "maven",
            "mvn -q test",
            filter,
            Some("target/surefire-reports"),
        );
    }
}

impl TestRunner {
    /// Returns the command that runs one test, or every test.
    #[must_use]
    pub fn command_for_test(&self, test: Option<&str>) -> Vec<String> {
        let mut command = self.command.clone();
        let Some(test) = test else {
            // An option without its value would take the place of one.
            if command.last().is_some_and(|last| last == "--filter") {
                command.pop();
            }
            return command;
        };
        let words: Vec<&str> = test
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .collect();
        let function = words.join("_").to_lowercase();
        match self.filter {
            TestFilter::Function => command.push(function),
            TestFilter::FunctionOption(option) if option == "--tests" => {
                command.extend([option.to_owned(), format!("*{function}*")]);
            }
            TestFilter::FunctionOption(option) => command.extend([option.to_owned(), function]),
            TestFilter::WordsOption(option) => {
                command.extend([option.to_owned(), words.join(" ")]);
            }
            TestFilter::GoOption(option) => {
                let camel: String = words.iter().map(|word| capitalise(word)).collect();
                // Go names tests `TestUnknownCode`; subtests may have words with underscores.
                command.extend([option.to_owned(), format!("(?i){camel}|{function}")]);
            }
            TestFilter::Around(before, after) => {
                command.push(format!("{before}{function}{after}"));
            }
            TestFilter::None => {}
        }
        command
    }
}

fn capitalise(word: &str) -> String {
    let mut chars = word.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::{ProjectRoot, detect_test_runners};

    fn commands(files: &[(&str, &str)], test: Option<&str>) -> Vec<String> {
        let names: Vec<String> = files.iter().map(|(name, _)| (*name).to_owned()).collect();
        let read_file = |name: &str| {
            let found = files.iter().find(|(known, _)| *known == name);
            found.map(|(_, text)| (*text).to_owned())
        };
        let root = ProjectRoot {
            names: &names,
            read_file: &read_file,
        };
        detect_test_runners(&root)
            .iter()
            .map(|runner| runner.command_for_test(test).join(" "))
            .collect()
    }

    #[test]
    fn a_project_is_recognised_by_its_files() {
        for (files, all, one) in [
            (
                &[("Cargo.toml", "")][..],
                &["cargo test"][..],
                &["cargo test an_unknown_code"][..],
            ),
            (
                &[("Cargo.toml", ""), (".config/nextest.toml", "")],
                &["cargo nextest run", "cargo test"],
                &[
                    "cargo nextest run an_unknown_code",
                    "cargo test an_unknown_code",
                ],
            ),
            (
                &[("pyproject.toml", "[tool.pytest]")],
                &["pytest -v"],
                &["pytest -v -k an_unknown_code"],
            ),
            (
                &[
                    ("package.json", r#"{"scripts":{"test":"vitest run"}}"#),
                    ("pnpm-lock.yaml", ""),
                ],
                &["pnpm test --reporter=verbose"],
                &["pnpm test --reporter=verbose -t An unknown code"],
            ),
            (
                &[(
                    "package.json",
                    r#"{"scripts":{"test":"echo \"Error: no test specified\""}}"#,
                )],
                &[],
                &[],
            ),
            (
                &[("calc.py", ""), ("tests", ""), ("tests/__init__.py", "")],
                &["python -m unittest -v"],
                &["python -m unittest -v -k an_unknown_code"],
            ),
            (
                &[("Makefile", "test: build\n\tcc -o t t.c && ./t\n")],
                &["make test"],
                &["make test"],
            ),
            (&[("Makefile", "build:\n\ttest: no rule\n")], &[], &[]),
            (
                &[("go.mod", "")],
                &["go test -v ./..."],
                &["go test -v ./... -run (?i)AnUnknownCode|an_unknown_code"],
            ),
            (
                &[("build.gradle.kts", ""), ("gradlew", "")],
                &["./gradlew test"],
                &["./gradlew test --tests *an_unknown_code*"],
            ),
            (
                &[("app.csproj", "")],
                &["dotnet test --logger junit;LogFilePath=TestResults/junit.xml"],
                &[
                    "dotnet test --logger junit;LogFilePath=TestResults/junit.xml --filter DisplayName~an_unknown_code",
                ],
            ),
            (
                &[("pom.xml", "")],
                &["mvn -q test"],
                &["mvn -q test -Dtest=*#an_unknown_code*"],
            ),
            (
                &[("Makefile", "all:\n\ntest:\n\ttrue\n")],
                &["make test"],
                &["make test"],
            ),
            (&[("README.md", "")], &[], &[]),
        ] {
            assert_eq!(commands(files, None), all, "{files:?}");
            assert_eq!(commands(files, Some("An unknown code")), one, "{files:?}");
        }
    }
}
