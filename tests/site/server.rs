//! The built book on a port of this machine.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Serves one folder until this process ends.
pub struct Server {
    origin: String,
    served: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Serves `folder` on a free port of the loopback.
    pub fn start(folder: &Path) -> Self {
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port on the loopback");
        let port = listener
            .local_addr()
            .expect("the listener has an address")
            .port();
        let folder = folder.to_owned();
        let served = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&served);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (folder, log) = (folder.clone(), Arc::clone(&log));
                // A browser may hang up whenever it likes.
                thread::spawn(move || answer(&folder, &stream, &log));
            }
        });
        Self {
            origin: format!("http://127.0.0.1:{port}"),
            served,
        }
    }

    /// What was asked for so far: `GET /index.html`.
    pub fn served(&self) -> Vec<String> {
        let served = self.served.lock();
        served.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Where the site is, without a slash at the end.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// The address of a file of the site.
    pub fn url(&self, file: &str) -> String {
        format!("{}/{file}", self.origin)
    }
}

fn answer(folder: &Path, stream: &TcpStream, log: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    for line in lines {
        if line?.is_empty() {
            break;
        }
    }
    let asked = request.rsplit_once(' ').map_or("", |(asked, _)| asked);
    let mut served = log.lock().unwrap_or_else(PoisonError::into_inner);
    served.push(asked.to_owned());
    drop(served);
    let path = request.split(' ').nth(1).unwrap_or("/");
    let found =
        file_of(folder, path).and_then(|file| Some((fs::read(&file).ok()?, media_type(&file))));
    let (status, (content, media_type)) = match found {
        Some(found) => ("200 OK", found),
        None => ("404 Not Found", (b"not found".to_vec(), "text/plain")),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        content.len()
    );
    let mut stream = stream;
    stream.write_all(head.as_bytes())?;
    stream.write_all(&content)
}

/// The file in `folder` that the path of an address names.
pub fn file_of(folder: &Path, path: &str) -> Option<PathBuf> {
    let path = path
        .split(['?', '#'])
        .next()
        .unwrap_or_default()
        .trim_start_matches('/');
    let inside = Path::new(path)
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    let file = folder.join(path);
    inside.then(|| {
        if file.is_dir() {
            file.join("index.html")
        } else {
            file
        }
    })
}

fn media_type(file: &Path) -> &'static str {
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("json") => "application/json",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("wasm") => "application/wasm",
        _ => "application/octet-stream",
    }
}
