//! A real, headless browser. The DevTools protocol makes it open pages, click and type, as a person would.
//!
//! Chromium reads the protocol's messages from file descriptor 3 and answers on file descriptor 4; each message ends with a
//! NUL (`--remote-debugging-pipe`). This needs neither a port nor a library.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// The maximum time for one action.
const PATIENCE: Duration = Duration::from_secs(60);

/// A browser with one page.
pub struct Browser {
    process: Child,
    commands: File,
    answers: Receiver<Value>,
    last_id: u64,
    /// The page's session.
    session: String,
    loaded: bool,
    /// The page's error messages: script errors and violations of its policy.
    pub errors: Vec<String>,
    /// A folder for the browser's own files and for pages.
    pub folder: tempfile::TempDir,
}

impl Browser {
    /// Starts Chromium with a window of this size, in pixels.
    pub fn start(width: u32, height: u32) -> Browser {
        let folder = tempfile::tempdir().unwrap();
        let pipes = ["commands", "answers"].map(|name| folder.path().join(name));
        let made = Command::new("mkfifo").args(&pipes).status().unwrap();
        assert!(made.success(), "mkfifo");
        // Opening for both reading and writing does not block.
        let open = |path: &Path| OpenOptions::new().read(true).write(true).open(path);
        let [commands, answers] = [&pipes[0], &pipes[1]].map(|path| open(path).unwrap());
        let process = needs::command("bash")
            .arg("-c")
            .arg(r#"exec chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$3" --window-size="$4" --remote-debugging-pipe about:blank 3<"$1" 4>"$2""#)
            .arg("chromium")
            .args(&pipes)
            .arg(folder.path().join("profile"))
            .arg(format!("{width},{height}"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            let mut answers = BufReader::new(answers);
            let mut message = Vec::new();
            while answers
                .read_until(0, &mut message)
                .is_ok_and(|read| read > 0)
            {
                message.pop();
                let value = serde_json::from_slice(&message);
                message.clear();
                if value.is_ok_and(|value| sender.send(value).is_err()) {
                    return;
                }
            }
        });
        let mut browser = Browser {
            process,
            commands,
            answers: receiver,
            last_id: 0,
            session: String::new(),
            loaded: false,
            errors: Vec::new(),
            folder,
        };
        let target = browser.call("", "Target.createTarget", json!({"url": "about:blank"}));
        let target = json!({"targetId": target["targetId"], "flatten": true});
        let attached = browser.call("", "Target.attachToTarget", target);
        browser.session = attached["sessionId"].as_str().unwrap().to_owned();
        let session = browser.session.clone();
        for domain in ["Page", "Runtime", "Log"] {
            browser.call(&session, &format!("{domain}.enable"), json!({}));
        }
        browser
    }

    /// Opens a file and waits until the page is loaded.
    pub fn open(&mut self, path: &Path) {
        self.errors.clear();
        self.loaded = false;
        let session = self.session.clone();
        let url = json!({"url": format!("file://{}", path.display())});
        self.call(&session, "Page.navigate", url);
        let start = Instant::now();
        while !self.loaded {
            assert!(start.elapsed() < PATIENCE, "the page does not load");
            let message = self.answers.recv_timeout(PATIENCE).unwrap();
            self.note(&message);
        }
    }

    /// Evaluates an expression in the page.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let session = self.session.clone();
        let arguments =
            json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let answer = self.call(&session, "Runtime.evaluate", arguments);
        assert!(
            answer.get("exceptionDetails").is_none(),
            "{expression}: {answer}"
        );
        answer["result"]["value"].clone()
    }

    /// Waits until an expression is true.
    pub fn wait_for(&mut self, expression: &str) {
        let start = Instant::now();
        while self.evaluate(expression) != true {
            assert!(start.elapsed() < PATIENCE, "never true: {expression}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Makes [`Browser::main_thread`] measure CPU time, independent of the machine's other load.
    pub fn time_threads(&mut self) {
        self.send_command("Performance.enable", json!({"timeDomain": "threadTicks"}));
    }

    /// Returns the median CPU time of the page's thread over five runs of an action, in milliseconds. The time includes
    /// drawing. The action gets the number of the run as `time`.
    pub fn main_thread(&mut self, action: &str) -> f64 {
        let mut taken = Vec::new();
        for time in 0..5 {
            let before = self.worked();
            self.evaluate(&format!(
                "((time) => {{ {action} }})({time}); new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)))"
            ));
            taken.push(self.worked() - before);
        }
        taken.sort_by(f64::total_cmp);
        taken[2]
    }

    /// Returns the CPU time of the page's thread so far, in milliseconds.
    fn worked(&mut self) -> f64 {
        let metrics = self.send_command("Performance.getMetrics", json!({}));
        let metrics = metrics["metrics"].as_array().unwrap();
        let all = metrics.iter().find(|one| one["name"] == "TaskDuration");
        all.unwrap()["value"].as_f64().unwrap() * 1000.0
    }

    /// Clicks at a position of the window.
    pub fn click(&mut self, x: f64, y: f64) {
        let session = self.session.clone();
        for what in ["mousePressed", "mouseReleased"] {
            let event = json!({"type": what, "x": x, "y": y, "button": "left", "clickCount": 1});
            self.call(&session, "Input.dispatchMouseEvent", event);
        }
    }

    /// Scrolls to an element and clicks in its middle. New content on the screen can move the element, so this waits for two
    /// frames first.
    pub fn click_on(&mut self, element: &str) {
        let place = self.evaluate(&format!(
            "(async () => {{ const element = {element}; element.scrollIntoView({{block: 'center'}}); \
             for (const _ of [1, 2]) await new Promise((done) => requestAnimationFrame(done)); \
             element.scrollIntoView({{block: 'center'}}); const box = element.getBoundingClientRect(); \
             return [box.x + box.width / 2, box.y + box.height / 2]; }})()"
        ));
        self.click(place[0].as_f64().unwrap(), place[1].as_f64().unwrap());
    }

    /// Presses and releases a key.
    pub fn press(&mut self, key: &str, code: u32) {
        let session = self.session.clone();
        for what in ["rawKeyDown", "keyUp"] {
            let event = json!({"type": what, "key": key, "windowsVirtualKeyCode": code});
            self.call(&session, "Input.dispatchKeyEvent", event);
        }
    }

    /// Types words into the element with the focus.
    pub fn write(&mut self, words: &str) {
        let session = self.session.clone();
        self.call(&session, "Input.insertText", json!({"text": words}));
    }

    /// Sends a command to the page.
    pub fn send_command(&mut self, method: &str, arguments: Value) -> Value {
        let session = self.session.clone();
        self.call(&session, method, arguments)
    }

    fn call(&mut self, session: &str, method: &str, arguments: Value) -> Value {
        self.try_call(session, method, arguments)
            .unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    fn try_call(&mut self, session: &str, method: &str, arguments: Value) -> Result<Value, Value> {
        self.last_id += 1;
        let id = self.last_id;
        let mut message = json!({"id": id, "method": method, "params": arguments});
        if !session.is_empty() {
            message["sessionId"] = session.into();
        }
        self.commands
            .write_all(format!("{message}\0").as_bytes())
            .unwrap();
        loop {
            let answer = self
                .answers
                .recv_timeout(PATIENCE)
                .unwrap_or_else(|error| panic!("{method}: chromium does not answer: {error}"));
            if answer["id"] == id {
                return match answer.get("error") {
                    Some(error) => Err(error.clone()),
                    None => Ok(answer["result"].clone()),
                };
            }
            self.note(&answer);
        }
    }

    /// Records an event.
    fn note(&mut self, event: &Value) {
        let about = &event["params"];
        let session = event["sessionId"].as_str().unwrap_or_default().to_owned();
        match event["method"].as_str().unwrap_or_default() {
            "Page.loadEventFired" if session == self.session => self.loaded = true,
            "Runtime.exceptionThrown" => self.errors.push(about["exceptionDetails"].to_string()),
            "Log.entryAdded" if about["entry"]["level"] == "error" => {
                self.errors.push(about["entry"]["text"].to_string());
            }
            _ => {}
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
