//! Debian's Chromium, driven through its own protocol (CDP) over a pair of pipes: no port, no driver, no Node.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// How long the browser may take to answer, or a page to load. Generous: the test machine has two cores and other work.
const PATIENCE: Duration = Duration::from_secs(60);

/// One browser with one tab and a profile of its own. It ends when this is dropped, or when this process dies.
pub struct Browser {
    process: Child,
    commands: ChildStdin,
    messages: Receiver<Value>,
    events: Vec<Value>,
    sent: u64,
    session: Option<String>,
    scripts: bool,
    _profile: TempDir,
}

/// A colour scheme that a reader's system asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    Light,
    Dark,
}

impl Scheme {
    pub const BOTH: [Self; 2] = [Self::Light, Self::Dark];

    /// The value of `prefers-color-scheme`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }
}

/// What happened in the tab since the last look.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// Every address that was asked for, in order.
    pub requests: Vec<String>,
    /// Every error, exception and warning that a developer would see in the console.
    pub console: Vec<String>,
}

impl Browser {
    /// Starts Chromium.
    ///
    /// # Panics
    ///
    /// With one line that says what to install, when there is no Chromium.
    pub fn start() -> Self {
        let profile = tempfile::tempdir().expect("a temporary folder for the browser's profile");
        // The protocol's pipes are the file descriptors 3 and 4; the shell puts standard input and output there.
        let mut process = Command::new("sh")
            .args(["-c", r#"command -v "$0" >/dev/null || exit 127; exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null"#])
            .arg("chromium")
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--disable-dev-shm-usage",
                "--hide-scrollbars",
                // Whatever a page asks for, nothing leaves this machine.
                "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
                "--remote-debugging-pipe",
            ])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("`sh` starts");
        let commands = process.stdin.take().expect("standard input is piped");
        let answers = process.stdout.take().expect("standard output is piped");
        let (sender, messages) = channel();
        thread::spawn(move || {
            for message in BufReader::new(answers).split(0).map_while(Result::ok) {
                let Ok(message) = serde_json::from_slice(&message) else {
                    return;
                };
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let mut browser = Self {
            process,
            commands,
            messages,
            events: Vec::new(),
            sent: 0,
            session: None,
            scripts: true,
            _profile: profile,
        };
        browser.attach();
        browser
    }

    fn attach(&mut self) {
        let target = self.call("Target.createTarget", &json!({ "url": "about:blank" }));
        let session = self.call(
            "Target.attachToTarget",
            &json!({ "targetId": target["targetId"], "flatten": true }),
        );
        self.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Network", "Log"] {
            self.call(&format!("{domain}.enable"), &json!({}));
        }
        self.call(
            "Page.setLifecycleEventsEnabled",
            &json!({ "enabled": true }),
        );
        self.call(
            "Network.setCacheDisabled",
            &json!({ "cacheDisabled": true }),
        );
    }

    /// Gives one command of the protocol, waits for its answer, and keeps the events that come before it.
    pub fn call(&mut self, method: &str, parameters: &Value) -> Value {
        self.sent += 1;
        let id = self.sent;
        let mut command = json!({ "id": id, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            command["sessionId"] = json!(session);
        }
        let mut bytes = command.to_string().into_bytes();
        bytes.push(0);
        // A browser that is gone shows itself in the answer that does not come.
        let _ = self.commands.write_all(&bytes);
        let deadline = Instant::now() + PATIENCE;
        loop {
            let message = self.receive(deadline, method);
            if message["id"] == json!(id) {
                assert!(
                    message["error"].is_null(),
                    "chromium refuses {method}: {}",
                    message["error"]["message"]
                );
                return message["result"].clone();
            }
            self.events.push(message);
        }
    }

    fn receive(&mut self, deadline: Instant, waiting_for: &str) -> Value {
        let left = deadline.saturating_duration_since(Instant::now());
        match self.messages.recv_timeout(left) {
            Ok(message) => message,
            Err(RecvTimeoutError::Timeout) => {
                panic!("chromium did not answer {waiting_for} within {PATIENCE:?}")
            }
            Err(RecvTimeoutError::Disconnected) => match self.process.wait() {
                Ok(status) if status.code() == Some(127) => {
                    panic!(
                        "there is no `chromium`: install it with `sudo apt-get install chromium`"
                    )
                }
                status => panic!("chromium ended while {waiting_for} ran: {status:?}"),
            },
        }
    }

    /// Waits until a document has loaded with all that belongs to it: the one with this loader, or the next one.
    fn wait_for_load(&mut self, loader: Option<&Value>) {
        let deadline = Instant::now() + PATIENCE;
        let loaded = |event: &Value| {
            event["method"] == "Page.lifecycleEvent"
                && event["params"]["name"] == "load"
                && loader.is_none_or(|loader| event["params"]["loaderId"] == *loader)
        };
        while !self.events.iter().any(loaded) {
            let message = self.receive(deadline, "the load of a page");
            self.events.push(message);
        }
        self.settle();
    }

    /// Loads `url` as a first visit and waits until its last resource is there.
    pub fn open(&mut self, url: &str) {
        self.call(
            "Storage.clearDataForOrigin",
            &json!({ "origin": origin(url), "storageTypes": "local_storage" }),
        );
        self.visit(url);
    }

    /// Loads `url` as a later visit: what the site stored is still there.
    pub fn visit(&mut self, url: &str) {
        let blank = self.call("Page.navigate", &json!({ "url": "about:blank" }));
        self.wait_for_load(Some(&blank["loaderId"]));
        self.events.clear();
        let page = self.call("Page.navigate", &json!({ "url": url }));
        self.wait_for_load(Some(&page["loaderId"]));
    }

    /// Waits for a navigation that the page itself starts.
    pub fn wait_for_navigation(&mut self, action: impl FnOnce(&mut Self)) {
        self.events.clear();
        action(self);
        self.wait_for_load(None);
    }

    /// Lets the page's observers run that wait for the next frame.
    pub fn settle(&mut self) {
        if self.scripts {
            self.evaluate(
                "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))",
            );
        }
    }

    /// What happened since the last page was loaded.
    pub fn activity(&self) -> Activity {
        let mut activity = Activity::default();
        for event in &self.events {
            let parameters = &event["params"];
            match event["method"].as_str() {
                Some("Network.requestWillBeSent") => {
                    activity.requests.push(text(&parameters["request"]["url"]));
                }
                Some("Runtime.exceptionThrown") => {
                    let details = &parameters["exceptionDetails"];
                    let what = details["exception"]["description"]
                        .as_str()
                        .or(details["text"].as_str());
                    activity.console.push(
                        what.unwrap_or("exception")
                            .lines()
                            .next()
                            .unwrap_or_default()
                            .to_owned(),
                    );
                }
                Some("Runtime.consoleAPICalled")
                    if matches!(
                        parameters["type"].as_str(),
                        Some("error" | "warning" | "assert")
                    ) =>
                {
                    let words = parameters["args"].as_array().into_iter().flatten();
                    activity.console.push(
                        words
                            .map(|word| text(&word["value"]))
                            .collect::<Vec<_>>()
                            .join(" "),
                    );
                }
                Some("Log.entryAdded")
                    if matches!(
                        parameters["entry"]["level"].as_str(),
                        Some("error" | "warning")
                    ) =>
                {
                    let entry = &parameters["entry"];
                    activity.console.push(format!(
                        "{} {}",
                        text(&entry["text"]),
                        text(&entry["url"])
                    ));
                }
                _ => {}
            }
        }
        activity
    }

    /// The value of a JavaScript expression in the page; a promise is awaited.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let answer = self.call(
            "Runtime.evaluate",
            &json!({ "expression": expression, "awaitPromise": true, "returnByValue": true }),
        );
        let thrown = &answer["exceptionDetails"];
        assert!(
            thrown.is_null(),
            "`{}` throws {}",
            expression.chars().take(120).collect::<String>(),
            thrown["exception"]["description"],
        );
        answer["result"]["value"].clone()
    }

    /// Whether a JavaScript expression holds in the page.
    pub fn holds(&mut self, expression: &str) -> bool {
        self.evaluate(expression) == Value::Bool(true)
    }

    /// Waits until a JavaScript expression holds; false if it does not within ten seconds.
    pub fn comes_to_hold(&mut self, expression: &str) -> bool {
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            if self.holds(expression) {
                return true;
            }
            if Instant::now() > deadline {
                return false;
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// The reader's system: its colour scheme and the width of its window in CSS pixels. Nothing moves, so that what is
    /// looked at stands still.
    pub fn set_up(&mut self, scheme: Scheme, width: u32) {
        self.call(
            "Emulation.setDeviceMetricsOverride",
            &json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false }),
        );
        self.set_scheme(scheme);
    }

    /// Changes the colour scheme under an open page.
    pub fn set_scheme(&mut self, scheme: Scheme) {
        self.call(
            "Emulation.setEmulatedMedia",
            &json!({ "features": [
                { "name": "prefers-color-scheme", "value": scheme.name() },
                { "name": "prefers-reduced-motion", "value": "reduce" },
            ] }),
        );
    }

    /// Turns the page's own JavaScript on or off. What [`Browser::evaluate`] runs is not the page's own, but a promise
    /// or an event of it would be.
    pub fn set_scripts(&mut self, on: bool) {
        self.scripts = on;
        self.call(
            "Emulation.setScriptExecutionDisabled",
            &json!({ "value": !on }),
        );
    }

    /// Presses and releases one key: a character, or a key's name as in `KeyboardEvent.key`; `Shift+` may stand before it.
    pub fn press(&mut self, key: &str) {
        let (modifiers, key) = key.strip_prefix("Shift+").map_or((0, key), |key| (8, key));
        let (code, text) = match key {
            "Tab" => (9, ""),
            "Enter" => (13, "\r"),
            "Escape" => (27, ""),
            " " => (32, " "),
            "End" => (35, ""),
            "Home" => (36, ""),
            "ArrowLeft" => (37, ""),
            "ArrowUp" => (38, ""),
            "ArrowRight" => (39, ""),
            "ArrowDown" => (40, ""),
            // Letters and digits have their own number; another character's is some other key's.
            character => match character.as_bytes()[0].to_ascii_uppercase() {
                code if code.is_ascii_alphanumeric() => (u32::from(code), character),
                _ => (0, character),
            },
        };
        let mut event = json!({ "type": "keyDown", "key": key, "windowsVirtualKeyCode": code, "modifiers": modifiers });
        if !text.is_empty() {
            event["text"] = json!(text);
        }
        self.call("Input.dispatchKeyEvent", &event);
        event["type"] = json!("keyUp");
        self.call("Input.dispatchKeyEvent", &event);
    }

    /// Presses Tab, or Shift+Tab, until the focus is on an element that `selector` matches; false if it never is.
    pub fn tab_to(&mut self, key: &str, selector: &str) -> bool {
        (0..300).any(|_| {
            self.press(key);
            self.holds(&format!("document.activeElement.matches({selector:?})"))
        })
    }

    /// Types a text, key by key.
    pub fn type_text(&mut self, text: &str) {
        for character in text.chars() {
            self.press(character.encode_utf8(&mut [0; 4]));
        }
    }

    /// Pastes a text where the focus is.
    pub fn paste(&mut self, text: &str) {
        self.call("Input.insertText", &json!({ "text": text }));
    }

    /// A picture of the whole page, as PNG.
    pub fn picture(&mut self) -> Vec<u8> {
        let answer = self.call(
            "Page.captureScreenshot",
            &json!({ "captureBeyondViewport": true }),
        );
        from_base64(&text(&answer["data"]))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Asked to close, it ends its own children too, and nothing writes to the profile while that is removed.
        let _ = self
            .commands
            .write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        let deadline = Instant::now() + Duration::from_secs(5);
        while matches!(self.process.try_wait(), Ok(None)) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(10));
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn origin(url: &str) -> String {
    url.splitn(4, '/').take(3).collect::<Vec<_>>().join("/")
}

/// The bytes of a base64 text, which is how the protocol carries a picture.
fn from_base64(text: &str) -> Vec<u8> {
    const DIGITS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits: Vec<u32> = text
        .chars()
        .map_while(|digit| DIGITS.find(digit)?.try_into().ok())
        .collect();
    let mut bytes = Vec::with_capacity(digits.len() * 3 / 4);
    for four in digits.chunks(4) {
        let word = four
            .iter()
            .enumerate()
            .fold(0, |word, (place, digit)| word | digit << (18 - 6 * place));
        bytes.extend(word.to_be_bytes().into_iter().skip(1).take(four.len() - 1));
    }
    bytes
}
