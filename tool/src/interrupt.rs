//! Ctrl-C and its like. Files that are only half written are removed, and the process ends by the
//! signal, as if nothing had been caught: what called it must see that.
//!
//! On Windows, where such signals do not exist, an interrupted process may leave its half-written
//! file, under its own name, beside the place of the result.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Files to be removed. Locked while one is made or renamed, so that none is missed.
static FILES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Whether an interruption is told. The ranks of a job that is ended are interrupted all at once.
static TOLD: AtomicBool = AtomicBool::new(true);

/// From now on, an interruption ends the process without a word.
pub fn without_words() {
    TOLD.store(false, Relaxed);
}

fn files() -> MutexGuard<'static, Vec<PathBuf>> {
    FILES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on, signals are what this module says, and a file that may grow no more is an error.
pub fn watch() {
    #[cfg(unix)]
    unix::watch();
}

/// Makes a file that an interruption removes.
pub fn created<T>(create: impl FnOnce() -> io::Result<(T, PathBuf)>) -> io::Result<T> {
    watch();
    let mut files = files();
    let (file, path) = create()?;
    files.push(path);
    Ok(file)
}

/// Gives such a file its final name, or removes it.
pub fn gone<T>(path: &Path, act: impl FnOnce() -> T) -> T {
    let mut files = files();
    files.retain(|file| file != path);
    act()
}

#[cfg(unix)]
mod unix {
    use super::{TOLD, files};
    use crate::failure::say;
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;
    use std::fs;
    use std::io;
    use std::sync::atomic::Ordering::Relaxed;
    use std::sync::{Arc, Once};
    use std::thread;

    /// Starts to watch, once.
    pub fn watch() {
        static WATCHED: Once = Once::new();
        WATCHED.call_once(|| {
            if let Err(e) = start() {
                log::warn!("signals are not watched: {e}");
            }
        });
    }

    fn start() -> io::Result<()> {
        // A write past the limit on a file's size is then an error like that of a full disk.
        signal_hook::flag::register(SIGXFSZ, Arc::default())?;
        // Whoever had them ignored, like nohup, wants that.
        let ends = [SIGINT, SIGTERM, SIGHUP].into_iter();
        let mut signals = Signals::new(ends.filter(|&signal| !is_ignored(signal)))?;
        let watch = move || {
            for signal in signals.forever() {
                let mut files = files();
                // One that is already gone is no loss.
                files.drain(..).for_each(|file| drop(fs::remove_file(file)));
                if TOLD.load(Relaxed) {
                    say("error: interrupted");
                }
                // Ends the process, with the files still locked.
                drop(emulate_default_handler(signal));
            }
        };
        thread::Builder::new().name("signals".into()).spawn(watch)?;
        Ok(())
    }

    /// Whether the process was started with a signal ignored; known on Linux alone.
    fn is_ignored(signal: i32) -> bool {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mut lines = status.lines();
        let mask = lines.find_map(|line| line.strip_prefix("SigIgn:"));
        let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        mask.unwrap_or(0) >> (signal - 1) & 1 == 1
    }
}
