//! Progress of tasks that run side by side: a line redrawn in place on a terminal, a line now and then elsewhere.

use std::io::Write;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::terminal::{self, INTERACTIVE, dim, green, red};

/// How often a log that is no terminal hears that a task still runs.
const REMINDER: Duration = Duration::from_secs(20);
/// A task that is mostly done already is worth a line only if it took this long.
const QUICK: Duration = Duration::from_secs(1);
/// What a terminal is sure to show on one line.
const WIDTH: usize = 79;

struct State {
    name: &'static str,
    started: Instant,
    said: String,
    reminded: Instant,
}

type Running = Arc<Mutex<Vec<State>>>;

fn running(tasks: &Running) -> MutexGuard<'_, Vec<State>> {
    tasks.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Shows the tasks that are running, until it is dropped.
pub struct Progress {
    tasks: Running,
    stop: Option<Sender<()>>,
    ticker: Option<JoinHandle<()>>,
}

impl Progress {
    /// Starts with no tasks.
    pub fn start() -> Self {
        let tasks = Running::default();
        let (stop, stopped) = mpsc::channel();
        let shown = Arc::clone(&tasks);
        let ticker = std::thread::spawn(move || {
            while let Err(RecvTimeoutError::Timeout) =
                stopped.recv_timeout(Duration::from_millis(200))
            {
                draw(&shown);
            }
        });
        Self {
            tasks,
            stop: Some(stop),
            ticker: Some(ticker),
        }
    }

    /// A new task. `about` says what to expect of it.
    pub fn task(&self, name: &'static str, about: &str) -> Task {
        if !*INTERACTIVE {
            eprintln!("{name}: {about}");
        }
        self.begin(name, about, false)
    }

    /// A task that usually has nothing to do, and then says nothing.
    pub fn quick_task(&self, name: &'static str, about: &str) -> Task {
        self.begin(name, about, true)
    }

    fn begin(&self, name: &'static str, about: &str, quick: bool) -> Task {
        let now = Instant::now();
        running(&self.tasks).push(State {
            name,
            started: now,
            said: about.to_owned(),
            reminded: now,
        });
        Task {
            name,
            tasks: Arc::clone(&self.tasks),
            quick,
            done: false,
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(ticker) = self.ticker.take() {
            let _ = ticker.join();
        }
    }
}

fn draw(tasks: &Running) {
    let mut tasks = running(tasks);
    if *INTERACTIVE {
        let line: Vec<_> = tasks
            .iter()
            .map(|task| {
                format!(
                    "{} {} s: {}",
                    task.name,
                    task.started.elapsed().as_secs(),
                    task.said
                )
            })
            .collect();
        if !line.is_empty() {
            // Every task gets its share of the line, so that none hides another.
            let share = WIDTH / line.len();
            let line: Vec<String> = line
                .iter()
                .map(|text| text.chars().take(share).collect())
                .collect();
            erase();
            eprint!("{}", dim(&line.join("  ")));
            let _ = std::io::stderr().flush();
        }
    } else {
        for task in tasks
            .iter_mut()
            .filter(|task| task.reminded.elapsed() >= REMINDER)
        {
            task.reminded = Instant::now();
            eprintln!(
                "{}: {}: {}",
                task.name,
                terminal::elapsed(task.started.elapsed()),
                task.said
            );
        }
    }
}

fn erase() {
    if *INTERACTIVE {
        eprint!("\r\x1b[2K");
    }
}

/// One task of a [`Progress`]. Dropped without [`Task::done`], it has failed.
pub struct Task {
    name: &'static str,
    tasks: Running,
    quick: bool,
    done: bool,
}

impl Task {
    /// What it is called.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What the task does right now.
    pub fn says(&self, line: &str) {
        if let Some(task) = running(&self.tasks)
            .iter_mut()
            .find(|task| task.name == self.name)
        {
            line.trim().clone_into(&mut task.said);
        }
    }

    /// The task ended well.
    pub fn done(mut self) {
        self.done = true;
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        let mut tasks = running(&self.tasks);
        let Some(index) = tasks.iter().position(|task| task.name == self.name) else {
            return;
        };
        let time = tasks.remove(index).started.elapsed();
        erase();
        if self.done && self.quick && time < QUICK {
            return;
        }
        let time = terminal::elapsed(time);
        if self.done {
            eprintln!(
                "{}: {} {}",
                self.name,
                green("done"),
                dim(&format!("in {time}"))
            );
        } else {
            eprintln!(
                "{}: {} {}",
                self.name,
                red("failed"),
                dim(&format!("after {time}"))
            );
        }
    }
}
