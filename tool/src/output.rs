//! Result files, and standard output for the path `-`. Files are written to a temporary file next to the target and renamed, so that a failure leaves the old
//! file. The temporary file is removed when the process ends, also when it is interrupted.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;
use twox_hash::xxhash3_128::Hasher;
use wgreduce::Output;

use crate::failure::Failure;
use crate::{interrupt, npy};

/// A result and the path it was asked for at.
pub struct Target<'a> {
    pub path: &'a Path,
    pub content: Content<'a>,
}

impl<'a> Target<'a> {
    /// A text that is printed.
    pub fn print(text: &'a str) -> Target<'a> {
        Target {
            path: Path::new("-"),
            content: Content::Bytes(text.as_bytes()),
        }
    }
}

pub enum Content<'a> {
    /// An .npy file of the tensor.
    Tensor(&'a Output, &'a [u8]),
    /// An .npy file of the tensor, whose data lies in a file, in Fortran order or not.
    Spooled(&'a Output, bool, &'a File),
    Bytes(&'a [u8]),
    /// A part: bytes, then ranges of files, then the checksum of all these.
    Part(&'a [u8], &'a [Piece<'a>]),
}

/// Bytes of a file, from one on.
pub struct Piece<'a> {
    pub file: &'a File,
    pub start: u64,
    pub bytes: u64,
}

impl Content<'_> {
    fn write(&self, mut to: impl Write) -> io::Result<()> {
        match self {
            Content::Tensor(tensor, data) => npy::write(to, tensor, data),
            &Content::Spooled(tensor, fortran, mut file) => {
                npy::write_header(&mut to, tensor, fortran)?;
                file.seek(SeekFrom::Start(0))?;
                io::copy(&mut file, &mut to)?;
                to.flush()
            }
            Content::Bytes(bytes) => to.write_all(bytes).and_then(|()| to.flush()),
            Content::Part(begin, pieces) => {
                let mut to = Summed::new(to);
                to.write_all(begin)?;
                for piece in *pieces {
                    piece.copy(&mut to)?;
                }
                to.end()
            }
        }
    }
}

impl Piece<'_> {
    /// Appends the bytes to a writer.
    pub fn copy(&self, to: &mut impl Write) -> io::Result<()> {
        let mut file = self.file;
        file.seek(SeekFrom::Start(self.start))?;
        let copied = io::copy(&mut file.take(self.bytes), to)?;
        match copied == self.bytes {
            true => Ok(()),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// Writes all targets; none is changed unless all could be written.
pub fn write(targets: &[Target]) -> Result<(), Failure> {
    let stage = |target: &Target| stage(target).map_err(|e| not_writable(target.path, &e));
    let staged: Vec<Staged> = targets.iter().map(stage).collect::<Result<_, _>>()?;
    // Standard output, a device or a pipe may still fail, a file that is ready does not.
    let mut staged: Vec<_> = staged.into_iter().zip(targets).collect();
    staged.sort_by_key(|(staged, _)| matches!(staged, Staged::Beside(..)));
    for (staged, target) in staged {
        match commit(staged, target) {
            // Nobody reads the rest of this one, which is no failure.
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe => {}
            done => done.map_err(|e| not_writable(target.path, &e))?,
        }
    }
    Ok(())
}

/// The same of one target.
pub fn write_one(path: &Path, content: Content<'_>) -> Result<(), Failure> {
    write(&[Target { path, content }])
}

/// A file without a name, on the disk of `path`, for what will be written there.
pub fn spool(path: &Path) -> Result<File, Failure> {
    interrupt::watch();
    let place = place_of(path);
    // What is a device or a pipe needs no room beside it.
    let file = match is_special(path) {
        true => temporary(),
        false => tempfile::tempfile_in(folder(&place)),
    };
    file.map_err(|e| not_writable(path, &e))
}

/// A file without a name, wherever the system keeps such files.
pub fn temporary() -> io::Result<File> {
    interrupt::watch();
    tempfile::tempfile()
}

/// A file beside `path` that other processes can write to by its name. It goes with the process, or
/// when it is dropped.
pub fn shared(path: &Path) -> Result<Shared, Failure> {
    let place = place_of(path);
    let file = create_in(folder(&place)).map_err(|e| not_writable(path, &e))?;
    Ok(Shared(Some(file)))
}

/// See [`shared`].
pub struct Shared(Option<NamedTempFile>);

impl Shared {
    pub fn path(&self) -> &Path {
        self.0.as_ref().map_or(Path::new(""), NamedTempFile::path)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Some(file) = self.0.take() {
            let path = file.path().to_path_buf();
            interrupt::gone(&path, || drop(file));
        }
    }
}

/// Refuses a path that could not be written to, before work is done for it.
pub fn check_writable(path: &Path) -> Result<(), Failure> {
    // Do not open a pipe here: its reader would see the end of the result.
    if is_special(path) {
        return Ok(());
    }
    let content = Content::Bytes(&[]);
    let staged = stage(&Target { path, content });
    // Dropping the staged file removes it.
    staged.map(drop).map_err(|e| not_writable(path, &e))
}

/// Whether a path names what is neither a file nor a folder: standard output, a device or a pipe.
pub fn is_special(path: &Path) -> bool {
    let special = |about: fs::Metadata| !about.is_file() && !about.is_dir();
    is_stdout(path) || fs::metadata(path).is_ok_and(special)
}

/// Whether a path is `-`.
pub fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// Whether a name is one of a part.
pub fn is_part(path: &Path) -> bool {
    path.extension() == Some(OsStr::new("part"))
}

/// Whether two paths name one file: results must not overwrite each other.
pub fn is_same(a: &Path, b: &Path) -> bool {
    let folder = |path: &Path| fs::canonicalize(folder(path)).ok();
    let whole = |path: &Path| fs::canonicalize(path).ok();
    a == b
        || (a.file_name() == b.file_name() && folder(a).is_some() && folder(a) == folder(b))
        || (whole(a).is_some() && whole(a) == whole(b))
}

/// Writes through, and at the end the checksum of all that was written.
pub struct Summed<W> {
    to: W,
    hasher: Hasher,
}

impl<W: Write> Summed<W> {
    pub fn new(to: W) -> Summed<W> {
        let hasher = Hasher::new();
        Summed { to, hasher }
    }

    /// Of what was written until now: XXH3 of 128 bits.
    pub fn checksum(&self) -> u128 {
        self.hasher.finish_128()
    }

    pub fn end(mut self) -> io::Result<()> {
        let checksum = self.checksum().to_le_bytes();
        self.to.write_all(&checksum)?;
        self.to.flush()
    }
}

impl<W: Write> Write for Summed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.hasher.write(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

enum Staged {
    /// Written beside its place.
    Beside(NamedTempFile, PathBuf),
    /// A device or a pipe: written to when everything else is ready, never replaced.
    Special(File),
    Stdout,
}

fn stage(target: &Target) -> io::Result<Staged> {
    if is_stdout(target.path) {
        return Ok(Staged::Stdout);
    }
    let place = place_of(target.path);
    let existing = fs::metadata(&place).ok();
    match &existing {
        Some(about) if about.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
        Some(about) if !about.is_file() => {
            return Ok(Staged::Special(File::options().write(true).open(&place)?));
        }
        Some(about) if about.permissions().readonly() => {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        _ => {}
    }
    let file = create_in(folder(&place))?;
    target.content.write(BufWriter::new(file.as_file()))?;
    if let Some(about) = existing {
        file.as_file().set_permissions(about.permissions())?;
    }
    Ok(Staged::Beside(file, place))
}

fn create_in(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".wgreduce-").suffix(".npy");
    #[cfg(unix)]
    {
        // Permissions of a new file under the umask, instead of readable by its owner only.
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    interrupt::created(|| {
        let file = builder.tempfile_in(folder)?;
        let path = file.path().to_path_buf();
        Ok((file, path))
    })
}

fn commit(staged: Staged, target: &Target) -> io::Result<()> {
    match staged {
        Staged::Beside(file, place) => {
            let beside = file.path().to_path_buf();
            let renamed = || file.persist(place).map(drop).map_err(|e| e.error);
            interrupt::gone(&beside, renamed)
        }
        Staged::Special(file) => target.content.write(BufWriter::new(file)),
        Staged::Stdout => target.content.write(BufWriter::new(io::stdout().lock())),
    }
}

/// Where a path leads. A link stays a link: what it points to is replaced, or made.
fn place_of(path: &Path) -> PathBuf {
    if let Ok(place) = fs::canonicalize(path) {
        return place;
    }
    match fs::read_link(path) {
        Ok(to) => folder(path).join(to),
        Err(_) => path.to_path_buf(),
    }
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn not_writable(path: &Path, error: &io::Error) -> Failure {
    let folder = folder(path);
    let why = match error.kind() {
        io::ErrorKind::NotFound if !folder.is_dir() => {
            format!("there is no folder {}", folder.display())
        }
        // Leave out the name of the temporary file, which the user does not know.
        kind if error.raw_os_error().is_none() => kind.to_string(),
        _ => error.to_string(),
    };
    Failure::output(path, format_args!("cannot be written: {why}"))
}
