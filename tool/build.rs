//! Tells the tool which commit it was built from, for the benchmark's page. Without git or outside a
//! clone it stays unsaid.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=../.git/HEAD");
    println!("cargo::rerun-if-changed=../.git/logs/HEAD");
    let git = Command::new("git")
        .args(["rev-parse", "--short", "HEAD"])
        .output();
    if let Some(output) = git.ok().filter(|output| output.status.success()) {
        let commit = String::from_utf8_lossy(&output.stdout);
        println!("cargo::rustc-env=WGREDUCE_COMMIT={}", commit.trim());
    }
}
