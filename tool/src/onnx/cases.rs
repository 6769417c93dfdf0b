//! Runs test cases in the layout of ONNX's node tests.
//!
//! Finds cases in folders and judges their results; the library knows what a model means.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use wgreduce::Problem;
use wgreduce::onnx::{Model, OnnxError, Tensor};

use crate::failure::Failure;

const MODEL: &str = "model.onnx";
const DATA_SET: &str = "test_data_set_";

/// A folder that may hold a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    name: String,
    path: PathBuf,
}

/// The outcome of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every output of every data set is as expected.
    Passed,
    /// An output differs or could not be computed; the first reason.
    Failed(String),
    /// The folder holds no case, or a model with an operator that is not ours: the reason.
    Skipped(String),
}

/// The result of one folder.
#[derive(Clone, Debug)]
pub struct CaseReport {
    /// The folder's name.
    pub name: String,
    pub outcome: Outcome,
    /// What was computed, also where it is not as expected; nothing of a case of which a data set
    /// could not be computed.
    pub computed: Vec<Computed>,
}

/// The computed outputs of one data set.
#[derive(Clone, Debug)]
pub struct Computed {
    /// The data set's folder: `test_data_set_0`.
    pub data_set: String,
    /// Names and tensors, in the graph's order.
    pub outputs: Vec<(String, Tensor)>,
}

/// The case in `path`, or the folders in it, by name.
///
/// # Errors
/// If `path` is no folder that can be read.
pub fn discover(path: &Path) -> Result<Vec<Folder>, Failure> {
    let folders = subfolders(path)?;
    let name = match path.file_name() {
        Some(_) => file_name(path),
        // `.` and `..` have a name only as a real path.
        None => file_name(&fs::canonicalize(path).map_err(|e| Failure::file(path, e))?),
    };
    let folder = Folder {
        name,
        path: path.into(),
    };
    match folder.is_case() {
        true => Ok(vec![folder]),
        false => Ok(folders),
    }
}

fn subfolders(path: &Path) -> Result<Vec<Folder>, Failure> {
    let unreadable = |e: io::Error| Failure::file(path, e);
    let mut folders = Vec::new();
    for entry in fs::read_dir(path).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.is_dir() {
            let name = file_name(&path);
            folders.push(Folder { name, path });
        }
    }
    folders.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(folders)
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

impl Folder {
    /// The folder's name, which is the case's.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it has a model or data sets: a case that lacks one of them is still a case.
    pub fn is_case(&self) -> bool {
        self.path.join(MODEL).exists() || self.data_sets().is_ok_and(|sets| !sets.is_empty())
    }

    /// Computes every data set with `evaluate` (see [`Model::run`]) and compares the outputs.
    pub fn run<E: Display>(
        &self,
        mut evaluate: impl FnMut(&Problem, &[&[u8]]) -> Result<Vec<Vec<u8>>, E>,
    ) -> CaseReport {
        let mut computed = Vec::new();
        let outcome = match self.is_case() {
            false => Outcome::Skipped(format!("no {MODEL} and no {DATA_SET}*")),
            true => match self.run_all(&mut evaluate, &mut computed) {
                Ok(()) => Outcome::Passed,
                Err(outcome) => outcome,
            },
        };
        CaseReport {
            name: self.name.clone(),
            outcome,
            computed,
        }
    }

    fn run_all<E: Display>(
        &self,
        evaluate: &mut impl FnMut(&Problem, &[&[u8]]) -> Result<Vec<Vec<u8>>, E>,
        computed: &mut Vec<Computed>,
    ) -> Result<(), Outcome> {
        let bytes = read(&self.path.join(MODEL)).map_err(Outcome::Failed)?;
        let model = Model::decode(&bytes).map_err(|e| match e {
            OnnxError::UnknownOperator { op_type, domain }
                if matches!(&domain[..], "" | "ai.onnx") =>
            {
                Outcome::Skipped(format!("operator {op_type}"))
            }
            OnnxError::UnknownOperator { op_type, domain } => {
                Outcome::Skipped(format!("operator {op_type} of domain {domain}"))
            }
            e => Outcome::Failed(format!("{MODEL}: {e}")),
        })?;
        self.run_sets(&model, evaluate, computed)
            .map_err(Outcome::Failed)
    }

    fn run_sets<E: Display>(
        &self,
        model: &Model,
        evaluate: &mut impl FnMut(&Problem, &[&[u8]]) -> Result<Vec<Vec<u8>>, E>,
        computed: &mut Vec<Computed>,
    ) -> Result<(), String> {
        let data_sets = self.data_sets().map_err(|e| e.to_string())?;
        let mut result = match data_sets.is_empty() {
            true => Err(format!("no {DATA_SET}*")),
            false => Ok(()),
        };
        for set in data_sets.values() {
            let in_set = |reason| format!("{}/{reason}", set.name);
            let outputs = match set.compute(model, evaluate) {
                Ok(outputs) => outputs,
                Err(reason) => {
                    computed.clear();
                    return result.and(Err(in_set(reason)));
                }
            };
            // After a difference the others still run: what they compute can be saved.
            result = result.and(set.compare(model, &outputs).map_err(in_set));
            let names = model.outputs().map(str::to_owned);
            computed.push(Computed {
                data_set: set.name.clone(),
                outputs: names.zip(outputs).collect(),
            });
        }
        result
    }

    fn data_sets(&self) -> Result<BTreeMap<u64, Folder>, Failure> {
        let folders = subfolders(&self.path)?.into_iter();
        let numbered = |folder: Folder| Some((number(&folder.name, DATA_SET, "")?, folder));
        Ok(folders.filter_map(numbered).collect())
    }

    /// As a data set: the outputs for its inputs.
    fn compute<E: Display>(
        &self,
        model: &Model,
        evaluate: &mut impl FnMut(&Problem, &[&[u8]]) -> Result<Vec<Vec<u8>>, E>,
    ) -> Result<Vec<Tensor>, String> {
        let files = self.files("input_")?;
        check_last(&files, "input_", model.inputs().len())?;
        let count = files.keys().last().map_or(0, |&last| last + 1);
        let paths = (0..count).map(|number| files.get(&number));
        let inputs = paths.map(|path| path.map(|path| read_tensor(path)).transpose());
        let inputs: Vec<Option<Tensor>> = inputs.collect::<Result<_, _>>()?;
        let outputs = model.run(&inputs, evaluate);
        outputs.map_err(|e| format!("inputs: {e}"))
    }

    /// As a data set: whether the outputs are as expected.
    fn compare(&self, model: &Model, outputs: &[Tensor]) -> Result<(), String> {
        let files = self.files("output_")?;
        check_last(&files, "output_", outputs.len())?;
        for (number, actual) in outputs.iter().enumerate() {
            let file = format!("output_{number}.pb");
            let path = files.get(&number);
            let expected = read_tensor(path.ok_or_else(|| format!("{file} is missing"))?)?;
            let compared = model.compare(&expected, actual);
            compared.map_err(|difference| format!("{file}: {difference}"))?;
        }
        Ok(())
    }

    fn files(&self, prefix: &str) -> Result<BTreeMap<usize, PathBuf>, String> {
        let error = |e: io::Error| format!("{}: {e}", self.path.display());
        let mut files = BTreeMap::new();
        for entry in fs::read_dir(&self.path).map_err(error)? {
            let path = entry.map_err(error)?.path();
            if let Some(number) = number(&file_name(&path), prefix, ".pb") {
                files.insert(number, path);
            }
        }
        Ok(files)
    }
}

impl CaseReport {
    /// What was computed as files: `dir/<case>/<data set>/output_M.pb`, each with its bytes.
    pub fn files(&self, dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
        let mut files = Vec::new();
        for set in &self.computed {
            let folder = dir.join(&self.name).join(&set.data_set);
            let outputs = set.outputs.iter().enumerate();
            files.extend(outputs.map(|(number, (name, tensor))| {
                let path = folder.join(format!("output_{number}.pb"));
                (path, tensor.encode(name))
            }));
        }
        files
    }
}

/// A file beyond the graph's inputs or outputs would be a value that nothing looks at.
fn check_last(files: &BTreeMap<usize, PathBuf>, prefix: &str, count: usize) -> Result<(), String> {
    match files.keys().last() {
        Some(&last) if last >= count => Err(format!(
            "{prefix}{last}.pb: the model has only {count} of these"
        )),
        _ => Ok(()),
    }
}

/// The number in `prefix` number `suffix`, written the only way it can be.
fn number<T: std::str::FromStr + ToString>(name: &str, prefix: &str, suffix: &str) -> Option<T> {
    let text = name.strip_prefix(prefix)?.strip_suffix(suffix)?;
    text.parse()
        .ok()
        .filter(|number: &T| number.to_string() == text)
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|e| format!("{}: {e}", file_name(path)))
}

fn read_tensor(path: &Path) -> Result<Tensor, String> {
    Tensor::decode(&read(path)?).map_err(|e| format!("{}: {e}", file_name(path)))
}
