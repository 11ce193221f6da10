//! Exporting processes that do not end as they should.

use std::fs;
use std::path::Path;
use std::time::Duration;

use export::{Model, Request};

use crate::scratch::{Scratch, eventually, exists, recipe};

#[test]
fn a_process_that_hangs_is_killed_with_all_that_it_started() {
    let scratch = Scratch::new();
    let pids = scratch.path("pids");
    let plant = scratch.plant(&format!(
        "import os, subprocess, time\nchild = subprocess.Popen(['sleep', '1000'])\nwith open({pids:?}, 'w') as file:\n    \
         file.write(f'{{os.getpid()}}\\n{{child.pid}}')\ntime.sleep(1000)\n"
    ));
    let limit = Duration::from_secs(8);
    let config = Request::Config {
        model: Model::Add,
        config: export::ExecutorchBackendConfig::default(),
    };
    let error = scratch
        .exporter()
        .plant(plant)
        .timeout(limit)
        .all(&[config])
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "starting Python: no answer in 8 s, so the exporting process was killed; GUIDE_EXPORT_TIMEOUT=<seconds> allows more"
    );
    let pids = fs::read_to_string(pids).unwrap();
    let (python, sleep) = pids.split_once('\n').unwrap();
    assert!(
        !exists(python),
        "Python is gone and reaped when the error is returned"
    );
    assert!(eventually(|| !exists(sleep)), "what Python started is gone");
}

#[test]
fn killed_in_the_middle_it_leaves_nothing_half_written() {
    let scratch = Scratch::new();
    scratch.listing("hangs", &recipe("return x + x"));
    // Where it hangs, its output is half written.
    let pid = scratch.path("pid");
    let plant = scratch.plant(&format!(
        "import os, time\nwith open('0/program.pte', 'w') as file:\n    file.write('half')\n\
         with open({pid:?}, 'w') as file:\n    file.write(str(os.getpid()))\ntime.sleep(1000)\n"
    ));
    let mut building = scratch
        .command(&["show", "hangs/program"])
        .env("GUIDE_EXPORT_PLANT", &plant)
        .spawn()
        .unwrap();
    let started = || fs::read_to_string(&pid).is_ok_and(|text| !text.is_empty());
    assert!(eventually(started), "it never got that far");
    building.kill().unwrap();
    building.wait().unwrap();
    let python = fs::read_to_string(&pid).unwrap();
    assert!(
        eventually(|| !exists(&python)),
        "Python outlived the process that asked"
    );

    let cache = scratch.path("target/exports");
    let names = || contents_of(&cache);
    assert_eq!(names(), [".lock", ".staging"]);
    assert_eq!(
        fs::read(cache.join(".staging/0/program.pte")).unwrap(),
        b"half"
    );

    // The next one finds a free lock, and clears up.
    let plant = scratch.plant("raise RuntimeError('planted')\n");
    let exporter = scratch.exporter().plant(plant);
    let error = exporter
        .all(&["hangs/program".into()])
        .unwrap()
        .remove(0)
        .unwrap_err();
    assert_eq!(error.to_string(), "hangs/program: RuntimeError: planted");
    assert_eq!(names(), [".lock"]);
}

fn contents_of(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let mut names: Vec<_> = entries
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}
