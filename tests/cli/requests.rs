//! Requests that cannot be met: each is refused with a line that names the fault.

use super::{Folder, adapters, assert_has, floats, npy, rows, text};

#[test]
fn wrong_requests_name_what_is_wrong_with_them() {
    let folder = Folder::new();
    folder.write("f.npy", &floats("(2, 3)", &[0.0; 6]));
    folder.write("four.npy", &floats("(4,)", &[0.0; 4]));
    folder.write("i.npy", &npy("<i4", false, "(2, 3)", &[0; 24]));
    folder.write("empty.npy", &floats("(2, 0)", &[]));
    folder.write("none.npy", &npy("<i2", false, "(2, 0)", &[]));
    folder.write("bool.npy", &npy("|b1", false, "(2,)", &[0, 1]));
    let table = "
        argmin f.npy --axis 5 | f.npy: axis 5
        argmin f.npy --axis -3 | axis -3
        argmin f.npy --axis one | an axis is a whole number
        argmin f.npy --axs 1 | '--axs'
        argmin f.npy --memory 1G | a whole number of MiB
        argmin empty.npy --axis -1 | axis -1
        reduce-min f.npy --axes 0,-2 | axis -2
        reduce-min f.npy --axes 0,x | 'x' is not an axis
        reduce-min f.npy --axes [0,1] | is written like 0,-1
        reduce-min f.npy --keepdims maybe | 'maybe'
        reduce-sum f.npy --axes 2 | f.npy: axis 2
        reduce-mean f.npy --axes 1,-1 | axis -1 names the same
        reduce-l1 f.npy --axis 1 | no option --axis
        reduce-l2 f.npy --values out.npy | no option --values
        reduce-sum bool.npy | bool.npy: ReduceSum takes no bool: truth values have no sum
        reduce-sum-square bool.npy | ReduceSumSquare takes no bool
        reduce-mean none.npy --axes -1 | none.npy: ReduceMean over axis -1 of shape [2, 0]: the axis has no element to average
        reduce-mean none.npy | none.npy: ReduceMean over axis 1 of shape [2, 0]: the axis has no element to average
        plan reduce-l1 --shape 2 --dtype bool | takes no bool
        plan reduce-l2 --shape 2 --dtype int8 --axis 0 | --axis
        argmin f.npy --index-type int8 | 'int8'
        argmin f.npy --nan sometimes | 'sometimes'
        argmin f.npy --dtype float99 | 'float99'
        argmin f.npy --dtype float64 | f.npy: holds float32, not float64
        argmin f.npy --dtype bfloat16 | not bfloat16
        argmin f.npy --axes 0 | no option --axes
        argmin f.npy --check --device cpu | --check
        argmin f.npy --device 999 | 999
        argmin f.npy --device 999999999999999999999 | --device 999999999999999999999: no adapter of so large a number;
        argmin f.npy --device NoSuchDevice | NoSuchDevice
        min f.npy four.npy | four.npy: input 1 of shape [4]
        min f.npy i.npy | i.npy: holds int32, but f.npy holds float32
        min f.npy --frobnicate | --frobnicate
        argmin f.npy -o out.npy --values out.npy | out.npy
        argmin f.npy -o ./out.npy --values out.npy | out.npy
        min f.npy -o none/out.npy | none/out.npy: cannot be written: there is no folder none
        min f.npy -o f.npy/out.npy | f.npy/out.npy: cannot be written
        min f.npy -o . | .: cannot be written: is a directory
        onnx f.npy | f.npy: is a file, no test case
        plan argmin --shape 2,3 | --dtype
        plan argmin --shape 2,3 --dtype int8 --axis 2 | axis 2
        plan argmin --shape 2,3 --dtype int8 --axes 0 | --axes
        plan argmin --shape 2,-3 --dtype int8 | '-3'
        plan argmin --shape 2x3 --dtype int8 | is written like 64,512
        plan sum --shape 2,3 --dtype int8 | 'sum'
        frobnicate f.npy | 'frobnicate'
        --quiet | subcommand
    ";
    for (line, named) in rows(table) {
        // If the test is not about a device, none is opened.
        let line = match line.contains("--device") || line == "--quiet" {
            true => line.to_string(),
            false => format!("--device cpu {line}"),
        };
        let error = folder.refused(&line);
        assert!(error.contains(named), "{line}: {error}");
    }
    let inputs = "bool.npy empty.npy f.npy four.npy i.npy none.npy";
    assert_eq!(folder.names().join(" "), inputs);
}

#[test]
fn a_result_too_large_for_memory_is_refused_instead_of_ending_the_process() {
    let folder = Folder::new();
    folder.write("a.npy", &npy("|u1", false, "(16777216, 1)", &[0; 1 << 24]));
    folder.write("b.npy", &npy("|u1", false, "(1, 16777216)", &[0; 1 << 24]));
    let line = "min a.npy b.npy --device cpu";
    folder.refuses(&format!("{line} | exceeds a quarter of --memory"));
    // More memory than there can be, so that the inputs are not streamed.
    let line = format!("{line} --memory 9999999999");
    folder.refuses(&format!("{line} | does not fit in memory"));
}

#[test]
fn a_device_that_is_not_there_is_never_another_one() {
    let folder = Folder::new();
    let adapters = adapters(&folder);
    // A backend that this platform cannot have, and a name that nobody has.
    let backend = if cfg!(windows) { "metal" } else { "dx12" };
    for device in [backend, "unheard", "4711"] {
        let line = format!("plan argmin --shape 3 --dtype int8 --device {device}");
        let refused = folder.refused(&line);
        assert!(refused.contains(device), "{refused}");
        // The error names those that exist.
        assert_eq!(refused.contains("there are: none"), adapters.is_empty());
    }
}

#[test]
fn a_misspelt_name_is_answered_with_the_one_that_was_meant() {
    let folder = Folder::new();
    let table = "
        argmx f.npy | 'argmax'
        argmax f.npy --axs 1 | '--axis'
        reduce-max f.npy --axis 1 | '--axes'
        reduce-summ f.npy | 'reduce-sum'
        plan reduce-squaresum --shape 3 --dtype int8 | 'reduce-su
        argmax f.npy --dtype flot32 | 'float32'
        argmax f.npy --dtype float17 | 'float1
        plan argmin --shape 3 --dtype uint | 'uint
        plan argmx --shape 3 --dtype int8 | 'argmax'
        completions bsh | 'bash'
    ";
    for (line, meant) in rows(table) {
        folder.refused(line);
        let stderr = text(&folder.run(line).stderr);
        let tip = stderr.lines().find(|line| line.contains("tip: "));
        assert_has(tip.unwrap_or_default(), &[meant]);
    }
}
