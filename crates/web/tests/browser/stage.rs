//! A project, its server and a browser on it, all real.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fantoccini::key::Key;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::Project;

/// Nothing here takes longer, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Returns a variable that `./test --web` sets.
pub(crate) fn setting(name: &str) -> PathBuf {
    std::env::var_os(name)
        .map(PathBuf::from)
        .unwrap_or_else(|| panic!("{name} is not set: run ./test --web"))
}

/// Returns a story: an approved act with an approved chapter, and a scene nobody has decided about.
pub(crate) fn story() -> Project {
    let project = Project::story(&setting("THROUGHLINE_TL"));
    project.plan_story();
    project.write(
        Project::SCENE,
        "# Scene 1.1\n\n## Characters\n- Mara\n\n## Beats\n\nThe lamp *goes out*.\n",
    );
    project
}

/// A plan whose last action cannot be run: the two have no relationship yet.
const FAILING_PLAN: &str = r#"{ "rationale": "The lamp has to go out first.", "scene_intention": "Mara and Teo quarrel", "actions": [
  { "tool": "character.generate", "args": { "name": "Mara", "role": "pilot", "description": "Tired." }, "reason": "the scene needs her" },
  { "tool": "character.generate", "args": { "name": "Teo", "role": "brother", "description": "Late." } },
  { "tool": "relationship.update", "args": { "character_a": "$0.id", "character_b": "$1.id", "event": "a quarrel" } } ] }"#;

/// Returns a story in which something is on every page: a failed tick, a written scene, ties, notes, a review that waits.
pub(crate) fn busy_story() -> Project {
    let project = story();
    project.ok(&["approve", "scene", "0101"]);
    project.ok(&["write", "scene", "0101"]);
    fail_a_tick(&project);
    project.ok(&[
        "memory",
        "edit",
        "--new",
        "character",
        "name=Doctor Iva",
        "role=friend",
    ]);
    for (other, kind) in [("C1", "siblings"), ("C2", "rivals")] {
        let (other, kind) = (
            format!("character_b={other}"),
            format!("relationship_type={kind}"),
        );
        project.ok(&[
            "memory",
            "edit",
            "--new",
            "relationship",
            "character_a=C0",
            &other,
            &kind,
            "intensity=6",
        ]);
    }
    project.ok(&[
        "review",
        "add",
        "--of",
        "act-1",
        "--check",
        "The point of view holds",
        "--severity",
        "MUST",
    ]);
    for line in 1.. {
        let finding = format!("it slips in line {line}");
        project.ok(&[
            "review",
            "verdict",
            "qa-001",
            "fail",
            "--finding",
            &finding,
            "--of",
            "act-1",
        ]);
        if project.json(&["review", "conclude", "--of", "act-1"])["outcome"] == "needs-person" {
            break;
        }
    }
    project
}

/// Returns a project in which an agent said what it is after, and then writes without having said what it does.
pub(crate) fn wandering() -> Project {
    let project =
        Project::empty(&setting("THROUGHLINE_TL")).with_environment("THROUGHLINE_SESSION", "s1");
    project.ok(&["init", "--profile", "trail"]);
    project.ok(&["intent", "Build the wander engine"]);
    project.write("src/wander.rs", "text");
    let input = json!({ "file_path": project.root().join("src/wander.rs"), "content": "text" });
    let _ = project.session("s1").after("Write", &input);
    project
}

/// Runs a tick whose plan cannot be run to its end.
pub(crate) fn fail_a_tick(project: &Project) {
    let plan = project.root().join("../plan.json");
    project.write("../plan.json", FAILING_PLAN);
    let mut tick = project.command(&["tick"]);
    tick.env("THROUGHLINE_LLM_PROVIDER", "command")
        .env("THROUGHLINE_LLM_COMMAND", format!("cat {}", plan.display()));
    let ticked = tick
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("a tick");
    assert!(!ticked.success(), "its plan cannot be run");
}

/// A process that ends with the test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `tl serve` on a project.
pub(crate) struct Server {
    _process: Ended,
    pub(crate) dashboard: String,
    pub(crate) port: u16,
}

impl Server {
    pub(crate) fn of(project: &Project) -> Self {
        Self::started_by(project.command(&["--json", "serve", "--port", "0"]))
    }

    pub(crate) fn started_by(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("a start");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("an output"))
            .read_line(&mut line)
            .expect("a line");
        let ready: Value =
            serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let dashboard = ready["dashboard"].as_str().expect("an address").to_owned();
        let port = dashboard
            .split([':', '/'])
            .nth(4)
            .and_then(|port| port.parse().ok())
            .expect("a port");
        Self {
            _process: Ended(child),
            dashboard,
            port,
        }
    }

    pub(crate) fn at(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// The most memory it has used so far, in KiB.
    pub(crate) fn peak_memory(&self) -> Option<String> {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", self._process.0.id())).ok()?;
        status
            .lines()
            .find(|line| line.starts_with("VmHWM"))
            .map(str::to_owned)
    }
}

/// How a browser is set up.
#[derive(Clone, Copy, Default)]
pub(crate) struct Setup {
    pub(crate) dark: bool,
    pub(crate) phone: bool,
    pub(crate) without_scripts: bool,
    /// Twice as large as usual, in a window of 1280 pixels.
    pub(crate) zoomed: bool,
}

/// A browser, with the driver that steers it.
pub(crate) struct Browser {
    pub(crate) client: Client,
    /// Before the driver: a browser whose driver is gone goes on for ever.
    _session: WebSession,
    _driver: Ended,
    _profile: TempDir,
}

/// A session of the driver, which has one browser.
struct WebSession {
    port: String,
    id: String,
}

impl Drop for WebSession {
    fn drop(&mut self) {
        let Self { port, id } = self;
        // The driver ends the browser and then answers. A test that failed must not fail once more here.
        if let Ok(mut stream) = TcpStream::connect(format!("127.0.0.1:{port}")) {
            let asked = write!(
                stream,
                "DELETE /session/{id} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n\r\n"
            );
            let _ = asked.and_then(|()| stream.read(&mut [0; 64]));
        }
    }
}

/// Starts a driver and returns it with its port.
///
/// The driver takes a free port of IPv6 and ends when a program has the same port of IPv4: on a busy machine that
/// happens.
#[expect(clippy::disallowed_methods, reason = "the driver is a program")]
fn start_driver() -> (Ended, String) {
    for _ in 0..10 {
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver: run ./test --web");
        let output = BufReader::new(driver.stdout.take().expect("an output"));
        let driver = Ended(driver);
        let mut lines = output.lines().map_while(Result::ok);
        let port = lines.find_map(|line| {
            let (_, port) = line.split_once("started successfully on port ")?;
            Some(port.trim_end().trim_end_matches('.').to_owned())
        });
        if let Some(port) = port {
            // What it says later must not fill the pipe.
            std::thread::spawn(move || lines.for_each(drop));
            return (driver, port);
        }
    }
    panic!("chromedriver found no port");
}

impl Browser {
    /// Returns what axe finds wrong with the page.
    pub(crate) async fn violations(&self) -> Value {
        let axe = std::fs::read_to_string(setting("THROUGHLINE_AXE")).expect("axe");
        self.evaluate(&format!("{axe}; window.axe = axe; return 1"))
            .await;
        let run = "const done = arguments[arguments.length - 1]; axe.run().then(found => done(found.violations.map(one => \
                   `${one.id}: ${one.nodes.map(node => node.html).join(' ')}`)))";
        self.client
            .execute_async(run, Vec::new())
            .await
            .expect("axe")
    }

    pub(crate) async fn start(setup: Setup) -> Self {
        let (driver, port) = start_driver();
        let profile = TempDir::new().expect("a folder");
        let mut arguments: Vec<String> = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--window-size=1280,900",
            "--host-resolver-rules=MAP evil.example 127.0.0.1",
            "--hide-scrollbars",
        ]
        .map(str::to_owned)
        .to_vec();
        arguments.push(format!("--user-data-dir={}", profile.path().display()));
        arguments.push(format!(
            "--blink-settings=preferredColorScheme={}",
            if setup.dark { 0 } else { 1 }
        ));
        let mut options = json!({ "args": arguments });
        if setup.phone {
            options["mobileEmulation"] =
                json!({ "deviceMetrics": { "width": 390, "height": 844, "pixelRatio": 1 } });
        }
        if setup.zoomed {
            options["mobileEmulation"] = json!({
                "deviceMetrics": { "width": 640, "height": 450, "pixelRatio": 2, "mobile": false, "touch": false }
            });
        }
        if setup.without_scripts {
            options["prefs"] = json!({ "profile.managed_default_content_settings.javascript": 2 });
        }
        let Value::Object(capabilities) =
            json!({ "browserName": "chrome", "goog:chromeOptions": options })
        else {
            unreachable!("an object")
        };
        let client = ClientBuilder::new(HttpConnector::new())
            .capabilities(capabilities)
            .connect(&format!("http://127.0.0.1:{port}"))
            .await
            .expect("a browser");
        let id = client
            .session_id()
            .await
            .expect("an answer")
            .expect("a session");
        Self {
            client,
            _session: WebSession { port, id },
            _driver: driver,
            _profile: profile,
        }
    }

    /// Opens the dashboard as a person does: the address `tl serve` printed.
    pub(crate) async fn open(server: &Server, setup: Setup) -> Self {
        let browser = Self::start(setup).await;
        browser
            .client
            .goto(&server.dashboard)
            .await
            .expect("the dashboard");
        browser
    }

    pub(crate) async fn goto(&self, server: &Server, path: &str) {
        self.client.goto(&server.at(path)).await.expect("a page");
    }

    /// Lets the pages show notifications, as a person does when the browser asks.
    pub(crate) async fn allow_notifications(&self) {
        let body = json!({ "descriptor": { "name": "notifications" }, "state": "granted" });
        self.command_driver("permissions", &body);
    }

    /// Shows the pages as they are printed.
    pub(crate) async fn show_as_printed(&self) {
        let body = json!({ "cmd": "Emulation.setEmulatedMedia", "params": { "media": "print" } });
        self.command_driver("goog/cdp/execute", &body);
    }

    /// Sends the driver a command that the client does not have.
    fn command_driver(&self, name: &str, body: &Value) {
        let WebSession { port, id } = &self._session;
        let body = body.to_string();
        let mut stream = TcpStream::connect(format!("127.0.0.1:{port}")).expect("a driver");
        let asked = write!(
            stream,
            "POST /session/{id}/{name} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n\
             content-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
        asked.expect("a request");
        // Its first bytes: the driver keeps the connection open.
        let mut answer = [0; 512];
        let length = stream.read(&mut answer).expect("an answer");
        let answer = String::from_utf8_lossy(answer.get(..length).unwrap_or_default());
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }

    /// Waits until the page's text has all of this.
    pub(crate) async fn sees(&self, css: &str, wanted: &str) {
        let begun = Instant::now();
        let mut seen = String::new();
        while begun.elapsed() < PATIENCE {
            let found = self.client.find(Locator::Css(css)).await;
            // A page that is being replaced has nothing to say for a moment.
            seen = match found {
                Ok(found) => found.text().await.unwrap_or_default(),
                Err(error) => error.to_string(),
            };
            if seen.contains(wanted) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{wanted:?} is not in {css}: {seen}");
    }

    /// Clicks what a selector finds. A live page replaces its sections, and a bar may lie over the
    /// element: then it is found again, in the middle of the window, as a person would scroll to it.
    pub(crate) async fn click(&self, css: &str) {
        let begun = Instant::now();
        loop {
            let clicked = match self.client.find(Locator::Css(css)).await {
                Ok(found) => found.click().await,
                Err(error) => Err(error),
            };
            let Err(error) = clicked else { return };
            assert!(begun.elapsed() < PATIENCE, "{css}: {error}");
            let script = "document.querySelector(arguments[0])?.scrollIntoView({ block: 'center' }); return 1";
            let _ = self.client.execute(script, vec![css.into()]).await;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Writes into a field.
    pub(crate) async fn type_into(&self, css: &str, text: &str) {
        let begun = Instant::now();
        loop {
            let typed = match self.client.find(Locator::Css(css)).await {
                Ok(found) => found.send_keys(text).await,
                Err(error) => Err(error),
            };
            let Err(error) = typed else { return };
            assert!(begun.elapsed() < PATIENCE, "{css}: {error}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Writes at the end of a field that has a text.
    pub(crate) async fn append_to(&self, css: &str, text: &str) {
        let end = format!("{}{}", Key::Control, Key::End);
        self.type_into(css, &end).await;
        self.type_into(css, text).await;
    }

    pub(crate) async fn evaluate(&self, script: &str) -> Value {
        self.client
            .execute(script, Vec::new())
            .await
            .unwrap_or_else(|error| panic!("{script}: {error}"))
    }

    /// Waits until a script returns this text.
    pub(crate) async fn until_script_gives(&self, script: &str, wanted: &str) {
        let begun = Instant::now();
        let mut given = Value::Null;
        while begun.elapsed() < PATIENCE {
            given = self.evaluate(script).await;
            if given == wanted {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{script} gives {given}, not {wanted}");
    }

    pub(crate) async fn picture(&self, to: &Path) {
        let bytes = self.client.screenshot().await.expect("a picture");
        let mut file = std::fs::File::create(to).expect("a file");
        std::io::Write::write_all(&mut file, &bytes).expect("a file that can be written");
    }
}

/// Runs a test that waits for a browser.
pub(crate) fn play(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
        .block_on(test);
}
