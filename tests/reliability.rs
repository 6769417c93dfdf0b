//! Checks what the repository says of itself: tests that docs/reliability.md names and files that documents name exist,
//! fragments are used, and faults can be planted.

use std::fs;
use support::root;

fn read(path: &str) -> String {
    fs::read_to_string(root(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// Finds `tests/api.rs::name` in backticks, as file and name.
fn named(text: &str) -> Vec<(String, String)> {
    let quoted = text.split('`').skip(1).step_by(2);
    let split = quoted.filter_map(|quoted| quoted.split_once(".rs::"));
    split
        .map(|(file, name)| (format!("{file}.rs"), name.to_owned()))
        .collect()
}

/// Whether a file has a test of that name, or a trial of that name in a harness of its own.
fn has_test(source: &str, name: &str) -> bool {
    let before = source.split(&format!("fn {name}(")).next();
    let attribute = before.filter(|before| before.len() < source.len());
    let attribute = attribute.is_some_and(|before| {
        // Only other attributes and comments stand between `#[test]` and the function.
        let lines = before.trim_end().lines().rev();
        let mut lines = lines.take_while(|line| line.trim().starts_with(['#', '/']));
        lines.any(|line| line.trim() == "#[test]")
    });
    attribute
        || source.contains(&format!("(\"{name}\","))
        || source.contains(&format!("\"{name}::"))
}

#[test]
fn every_failure_has_a_test_that_exists() {
    let text = read("docs/reliability.md");
    let table = text.split("\n|---|---|---|\n").nth(1).expect("a table");
    let rows: Vec<&str> = table.lines().take_while(|l| l.starts_with('|')).collect();
    assert!(rows.len() > 35, "{} rows", rows.len());
    for row in rows {
        let shown_by = row.trim_end_matches('|').rsplit('|').next().unwrap_or(row);
        let tests = named(shown_by);
        assert!(!tests.is_empty(), "no test shows: {row}");
        assert_eq!(2 * tests.len(), shown_by.matches('`').count(), "{row}");
        for (file, name) in tests {
            assert!(has_test(&read(&file), &name), "{file} has no test {name}");
        }
    }
}

#[test]
fn a_test_that_does_not_exist_is_missed() {
    let source = "#[test]\n// why\nfn here() {}\nfn helper() {}\n(\"trial\", f)";
    assert!(has_test(source, "here") && has_test(source, "trial"));
    assert!(!has_test(source, "helper") && !has_test(source, "gone"));
}

/// Finds paths in backticks that begin with a folder of this crate. Capitals stand for any name.
fn paths(text: &str) -> Vec<&str> {
    const FOLDERS: &str = "src/ tool/ tests/ shaders/ docs/ benches/ examples/ scripts/ fuzz/";
    let quoted = text.split('`').skip(1).step_by(2);
    let words = quoted.filter_map(|quoted| quoted.split([' ', ':']).next());
    let ours = words.filter(|word| FOLDERS.split(' ').any(|folder| word.starts_with(folder)));
    ours.filter(|word| !word.contains(|c: char| c.is_ascii_uppercase() || c == '*'))
        .collect()
}

#[test]
fn every_file_that_the_documents_name_exists() {
    let mut found = 0;
    let documents = fs::read_dir(root("docs")).expect("the documents").flatten();
    for document in documents.map(|file| file.path()).chain([root("README.md")]) {
        let text = fs::read_to_string(&document).expect("a document");
        for path in paths(&text) {
            assert!(root(path).exists(), "{} names {path}", document.display());
            found += 1;
        }
    }
    assert!(found > 60, "{found} paths");
}

#[test]
fn every_fragment_is_a_part_of_a_kernel() {
    let walks = fs::read_dir(root("src/walk")).expect("the walks");
    let walks = walks.flatten().map(|file| fs::read_to_string(file.path()));
    let walks: String = walks.map(|text| text.expect("a walk")).collect();
    let kernels = read("src/kernel/mod.rs") + &walks;
    let (mut folders, mut found) = (vec![root("shaders")], 0);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(root("shaders")).expect("a part");
            let name = name.with_extension("");
            let quoted = format!("\"{}\"", name.display());
            assert!(kernels.contains(&quoted), "{quoted} is never used");
            found += 1;
        }
    }
    assert!(found > 30, "{found} fragments");
}

#[test]
fn every_planted_fault_has_its_place_and_a_test() {
    let (faults, trials) = (read("tests/faults.toml"), read("tests/gpu/main.rs"));
    let trials: Vec<&str> = trials.split('"').skip(1).step_by(2).collect();
    let faults: Vec<&str> = faults.split("[[fault]]\n").skip(1).collect();
    assert!(faults.len() > 150, "{} faults", faults.len());
    for fault in faults {
        let field = |name: &str| {
            let (_, value) = fault.split_once(&format!("{name} = ")).expect(name);
            let mut quotes = ["'''", "'", "\""].into_iter();
            let quote = quotes.find(|quote| value.starts_with(quote));
            let value = value.split(quote.expect(name)).nth(1).expect(name);
            value.strip_prefix('\n').unwrap_or(value).to_owned()
        };
        let [file, test, old, new] = ["file", "test", "old", "new"].map(field);
        let places = read(&file).matches(&old).count();
        assert_eq!(places, 1, "{file}: places of {old:?}");
        assert!(old != new, "{file}: {old:?}");
        assert!(trials.iter().any(|trial| trial.contains(&test)), "{test}");
    }
}
