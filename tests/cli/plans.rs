//! `wgreduce plan`: drawn for people, written for programs, made without an adapter.

use super::{Folder, assert_has, rows, text};

#[test]
fn a_plan_draws_who_reads_what() {
    let folder = Folder::new();
    let line = "plan argmin --shape 4,16777216 --dtype float32 --axis 1";
    let plan = folder.cpu(line);
    let words = [
        "8 dispatches: 268443680 bytes read and written, 1024 bytes of scratch",
        "canonical: 4 kept, 16777216 reduced",
        "tuned as integrated: workgroup ",
        "on paper: 128-byte lines used 1.00 at once, 1.00 cached; by subgroups of 64 1.00, 1.00",
        "  128 bytes in flight by each of 32768 invocations; partials 0.00 %; dispatches 8, barriers 56",
        "[input 0]\n    |  pass 0: rows, 128 workgroups of 256 invocations\n",
        "256 invocations (four are drawn) share one of 128 slices of a row",
        "each reads 8 vec4 of it, 4096 bytes apart, before it uses one",
        "[partials: ",
        "finish",
        "    v\n  [output 0]\n",
        "how they walk",
    ];
    assert_has(&plan, &words);
    assert!(plan.lines().all(|line| line.len() <= 100), "{plan}");
    let table = "
        argmax --shape 9,9 --values | [output 1]
        min --shape 9 --shape 1 | [input 0] [input 1]
        reduce-max --shape 8,16,8,16,64 --axes 0,2,4 | in runs of/64 in memory
        reduce-max --shape 8,16,8,16 --axes 0,2 | scattered in/memory
    ";
    // A slash is the end of a line.
    for (line, words) in rows(table) {
        let plan = folder.cpu(&format!("plan {line} --dtype int8"));
        assert_has(&plan, &[&words.replace('/', "\n")]);
        assert!(plan.lines().all(|line| line.len() <= 100), "{plan}");
    }
    // What is dispatched comes first, and what tunes it last.
    let places = [
        "dispatches: ",
        "Segments: ",
        "who reads",
        "pass  kernel",
        "on paper: ",
        "tuned as",
    ];
    let places = places.map(|words| plan.find(words).expect(words));
    assert!(places.is_sorted(), "{plan}");
}

#[test]
fn plans_are_made_without_an_adapter() {
    let folder = Folder::new();
    let line = "plan argmin --shape 64,512,512 --dtype float32 --axis -1";
    let plan = folder.cpu(line);
    assert!(plan.contains("ArgMin float32 [64, 512, 512] axes [2]"));
    let json = folder.cpu(&format!("{line} --json"));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["outputs"][0]["shape"], serde_json::json!([64, 512, 1]));
    assert!(!json["passes"].as_array().unwrap().is_empty());
    assert_eq!(json["on_paper"]["bytes_in_flight"], 128);
    let moved = json["bytes_moved"].as_u64();
    assert!(moved >= Some(64 * 512 * 512 * 4), "{json}");
}

#[test]
fn a_plan_is_made_for_a_typical_device_of_a_class() {
    let folder = Folder::new();
    let planned = |line: &str| -> serde_json::Value {
        let [json, _] = folder.done(&format!("plan {line} --json"));
        serde_json::from_str(&json).unwrap()
    };
    let line = "argmin --shape 4,1073741824 --dtype uint8 --axis 1 --class";
    let passes = |class: &str| {
        let json = planned(&format!("{line} {class}"));
        assert_eq!(json["device"], format!("a typical {class} device"));
        json["passes"].as_array().unwrap().len()
    };
    // Two bindings of 2^31 - 4 bytes hold it, or 32 of 128 MiB.
    assert!(passes("discrete") < passes("integrated"));
    assert!(passes("discrete") < passes("software"));
    let text = text(&folder.run(&format!("plan {line} software")).stdout);
    let words = ["on a typical software device\n", "\ntuned as software: "];
    assert_has(&text, &words);
    folder.write("my.json", br#"{"tuning": {"workgroup": 64}}"#);
    let tuned = planned(&format!("{line} discrete --tuning my.json"));
    assert_eq!(tuned["tuning"]["workgroup"], 64);
    let refused = folder.refused(&format!("plan {line} huge"));
    assert!(refused.contains("'huge'"), "{refused}");
}

/// Each once, in the order of the plan, as wgpu takes it.
#[test]
fn the_kernels_of_a_plan_are_printed() {
    let folder = Folder::new();
    for class in ["discrete", "integrated", "software"] {
        let line = "plan argmin --shape 4,16777216 --dtype float32 --axis 1";
        let line = format!("{line} --class {class}");
        let output = folder.run(&format!("{line} --json"));
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let mut labels: Vec<&str> = Vec::new();
        for pass in json["passes"].as_array().unwrap() {
            let label = pass["kernel"].as_str().unwrap();
            if !labels.contains(&label) {
                labels.push(label);
            }
        }
        let printed = text(&folder.run(&format!("{line} --wgsl")).stdout);
        let heads = printed.lines();
        let heads = heads.filter_map(|line| line.strip_prefix("// reduce/"));
        let heads: Vec<String> = heads.map(|head| format!("reduce/{head}")).collect();
        assert_eq!(heads, labels, "{class}");
        for kernel in printed.split("// reduce/").skip(1) {
            let mut lines = kernel.lines();
            let told = lines.nth(1).unwrap();
            let told = told.strip_prefix("// entry point ").unwrap();
            let (entry, overrides) = told.split_once(", overrides ").unwrap();
            let source = lines.collect::<Vec<_>>().join("\n");
            assert!(source.contains(&format!("fn {entry}(")), "{entry}");
            let lines = source.lines();
            let declared = lines.filter_map(|line| line.strip_prefix("override "));
            let declared: Vec<&str> = declared.filter_map(|line| line.split(':').next()).collect();
            for constant in overrides.split(", ") {
                let (name, value) = constant.split_once(" = ").unwrap();
                assert!(declared.contains(&name), "{name}");
                assert!(value.parse::<u32>().is_ok(), "{constant}");
            }
            assert_eq!(overrides.split(", ").count(), declared.len());
        }
    }
}

#[test]
fn a_tuning_is_read_from_a_file_field_by_field() {
    let folder = Folder::new();
    let line = "plan argmin --shape 4,16777216 --dtype float32 --axis 1 --tuning my.json";
    folder.write(
        "my.json",
        br#"{"device": "any", "tuning": {"workgroup": 64, "slices": 7}}"#,
    );
    let plan = folder.cpu(line);
    let words = "tuned as integrated: workgroup 64, row_lanes 256,";
    assert_has(&plan, &[words]);
    assert!(plan.contains(" slices 7,"), "{plan}");
    let json = folder.cpu(&format!("{line} --json"));
    assert!(json.contains("/wg64x"), "{json}");
    assert!(!json.contains("\"each\""), "{json}");
    let table = r#"
        # Not JSON | my.json: no JSON at line 1, column 1; name a file that `wgreduce tune -o FILE` writes
        {} | my.json: no object "tuning" in it; name a file that `wgreduce tune -o FILE` writes
        {"tuning": {"lanes": 1}} | my.json: no field of the tuning is called "lanes"; there are: workgroup,
        {"tuning": {"slices": "many"}} | my.json: slices is "many", which is no whole number below 2^64
        {"tuning": {"workgroup": 7}} | my.json: the tuning's workgroup is 7, which is no power of two
    "#;
    for (text, why) in rows(table) {
        folder.write("my.json", text.as_bytes());
        let refused = folder.refused(&format!("{line} --device cpu"));
        assert!(refused.contains(why), "{refused}");
    }
    folder.refuses("plan argmin --shape 9 --dtype int8 --device cpu --tuning no.json | no.json: ");
    folder.write("in.npy", &super::floats("(2,)", &[1.0, 2.0]));
    folder.refuses(
        "argmin in.npy --device cpu --tuning my.json | --tuning is for GPU adapters, and the device is cpu",
    );
}
