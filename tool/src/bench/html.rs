//! The results as a self-contained page: charts and tables, no external files.

use super::Part;
use super::catalogue::Case;
use super::charts::{self, Bar, COLOURS, Matrix, Series, bars, lines, short};
use super::peers::Figure;
use super::report::{HEADER, Report, Row, cells, digits, or_dash, percent, time};
use crate::device::driver;

/// Text and lines take their colour from the page, light or dark.
const STYLE: &str = "
:root { color-scheme: light dark; --ink: #1b1b1f; --paper: #ffffff; --faint: #8884; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6ea; --paper: #16161a; } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  color: var(--ink); background: var(--paper); }
h1, h2 { line-height: 1.2; }
h2 { margin: 2.5rem 0 .5rem; font-size: 1.25rem; }
svg { max-width: 100%; min-width: 40rem; height: auto; }
figure { margin: 0; overflow-x: auto; }
svg text { fill: var(--ink); }
svg line, svg polyline[stroke='#000000'] { stroke: var(--faint); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; white-space: nowrap;
  font-size: .9em; }
th, td { text-align: left; padding: .15rem .6rem; border-bottom: 1px solid var(--faint); }
:is(th, td):nth-child(n+5):not(:nth-child(12)) { text-align: right; }
";

/// The page, or why it could not be drawn.
pub fn page(report: &Report, peers: &[Figure]) -> Result<String, String> {
    sections(report, peers).map_err(|e| format!("drawing a chart: {e}"))
}

type Error = Box<dyn std::error::Error>;

fn sections(report: &Report, peers: &[Figure]) -> Result<String, Error> {
    let info = &report.info;
    let title = escaped(&format!("wgreduce on {} ({})", info.name, info.backend));
    let driver = escaped(&driver(info));
    let version = env!("CARGO_PKG_VERSION");
    let commit = option_env!("WGREDUCE_COMMIT").map_or(String::new(), |c| format!(" ({c})"));
    let measured = match report.saved {
        // The date and the processor were not saved.
        true => format!("Drawn from a saved measurement; driver: {driver}."),
        false => format!(
            "{}; wgreduce {version}{commit} on wgpu 30; driver: {driver}; CPU: {}.",
            jiff::Timestamp::now().strftime("%Y-%m-%d"),
            escaped(&processor()),
        ),
    };
    let letters = LETTERS.map(|(letter, words)| format!("{letter} is {words}"));
    let letters = letters.join(", ");
    let mut page = format!(
        "<!DOCTYPE html>
<html lang=\"en\">
<meta charset=\"utf-8\">
<meta name=\"viewport\" content=\"width=device-width\">
<title>{title}</title>
<style>{STYLE}</style>
<h1>{title}</h1>
<p>{measured}</p>
<p>Every result was verified, byte for byte, before it was timed; <em>verified</em> says how. Bandwidth counts
inputs and outputs once. The ceiling is what the fastest of several plain kernels reaches in turns
with each case, over as many bytes as A, which it only reads, or for Min only copies. What fits a cache, and so is
read faster than memory, can pass 100%. GPU is the time of one among many in a row, alone and wall are a single call's.</p>
<p>{letters}. Every case has its shape at the end.</p>
"
    );
    page += &share_section(report)?;
    page += &growth_section(report)?;
    page += &peers_section(report, peers)?;
    page += "<h2>Notes</h2>\n<ul>\n";
    for note in report.notes() {
        let note = note.lines().map(str::trim).collect::<Vec<_>>().join("; ");
        page += &format!("<li>{}</li>\n", escaped(&note));
    }
    page += "</ul>\n<h2>All cases</h2>\n<div class=\"scroll\">\n";
    page += &table(&report.rows);
    Ok(page + "</div>\n</html>\n")
}

/// The shapes that are there for several types as a matrix, the others as bars.
fn share_section(report: &Report) -> Result<String, Error> {
    let cases: Vec<&Row> = report.rows(Part::Catalogue).collect();
    let alike = |row: &Row| {
        let same =
            |other: &&&Row| (&other.case.name, other.case.op) == (&row.case.name, row.case.op);
        cases.iter().filter(same).count()
    };
    let (several, single): (Vec<&Row>, Vec<&Row>) = cases.iter().partition(|row| alike(row) > 1);
    let mut text = String::new();
    for command in distinct(several.iter().map(|row| row.case.command())) {
        let rows: Vec<&Row> = of_command(&several, command).collect();
        let title = format!("Share of the ceiling: {command}, by shape and type");
        let shares = shares(title, &rows);
        text += &section(&shares.title, shares.figure()?);
    }
    if !single.is_empty() {
        let bar = |row: &&Row| Bar {
            name: row.case.to_string(),
            value: 100.0 * row.ratio().unwrap_or(0.0),
            figures: figures(row),
            colour: COLOURS[0],
        };
        let chart: Vec<Bar> = single.iter().map(bar).collect();
        let title = "Share of the ceiling: more shapes";
        text += &section(title, bars(&chart, Some(100.0), "%")?);
    }
    Ok(text)
}

/// A heading, and a chart with the heading as its label for screen readers.
fn section(title: &str, chart: String) -> String {
    let title = escaped(title);
    let named = format!("<svg role=\"img\" aria-label=\"{title}\" ");
    format!("<h2>{title}</h2>\n{}", chart.replacen("<svg ", &named, 1))
}

/// The shares of an operator's rows by shape and type.
fn shares(title: String, rows: &[&Row]) -> Matrix {
    let names = distinct(rows.iter().map(|row| row.case.name.to_string()));
    let dtypes = distinct(rows.iter().map(|row| row.case.dtype.to_string()));
    let share = |name: &str, dtype: &str| {
        let is = |r: &&&Row| (&*r.case.name, r.case.dtype.name()) == (name, dtype);
        rows.iter().find(is).and_then(|row| row.ratio())
    };
    let of_row = |name: &String| -> Vec<_> { dtypes.iter().map(|t| share(name, t)).collect() };
    Matrix {
        title,
        shares: names.iter().flat_map(of_row).collect(),
        rows: names,
        columns: dtypes,
    }
}

/// What the shapes that have a letter are.
const LETTERS: [(&str, &str); 6] = [
    ("A", "one long row"),
    ("B", "many long rows"),
    ("C", "a matrix reduced along its columns"),
    ("D", "many rows of sixteen"),
    ("E", "the middle axis of three"),
    ("F", "three long columns"),
];

/// The shares of all cases as a picture of its own, whose colours follow the reader's, light or dark.
pub fn picture(report: &Report) -> Result<String, String> {
    let info = &report.info;
    let head = [
        format!(
            "Share of the ceiling that wgreduce {} reaches, by shape and type",
            env!("CARGO_PKG_VERSION")
        ),
        format!("{} ({}), driver {}", info.name, info.backend, driver(info)),
    ];
    let rows: Vec<&Row> = report.rows(Part::Catalogue).collect();
    let commands = distinct(rows.iter().map(|row| row.case.command()));
    let matrices = commands.into_iter().map(|command| {
        let rows: Vec<&Row> = of_command(&rows, command).collect();
        shares(command.into(), &rows)
    });
    let legend = distinct(rows.iter().map(|row| &row.case.name)).into_iter();
    let legend = legend.filter_map(|name| {
        let case = &rows.iter().find(|row| row.case.name == *name)?.case;
        let letter = LETTERS.iter().find(|(letter, _)| letter == name);
        let words = letter.map_or(String::new(), |(_, words)| format!("{words}: "));
        Some(format!("{name}: {words}{} {}", case.dtype, inputs(case)))
    });
    let matrices: Vec<Matrix> = matrices.collect();
    let legend: Vec<String> = legend.chain(report.above_note()).collect();
    let svg = charts::picture(&head, &matrices, &legend);
    let svg = svg.map_err(|e| format!("drawing a chart: {e}"))?;
    let style = "<style>text { fill: #1b1b1f; } @media (prefers-color-scheme: dark) \
        { text { fill: #e6e6ea; } }</style>\n";
    Ok(match svg.find('>') {
        Some(end) => [&svg[..=end], "\n", style, &svg[end + 1..], "\n"].concat(),
        None => svg,
    })
}

/// The name of this machine's processor, if the system tells.
fn processor() -> String {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let told = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let mut lines = told.lines();
    let name = lines.find_map(|line| line.strip_prefix("model name"));
    let name = name.map(|name| name.trim_start_matches([' ', '\t', ':']));
    format!("{cores} x {}", name.unwrap_or(std::env::consts::ARCH))
}

/// Bandwidth and time against size.
fn growth_section(report: &Report) -> Result<String, Error> {
    let sizes: Vec<&Row> = report.rows(Part::Size).collect();
    if sizes.len() < 2 {
        return Ok(String::new());
    }
    let (mut bandwidth, mut times) = (Vec::new(), Vec::new());
    let commands = distinct(sizes.iter().map(|row| row.case.command()));
    for (command, colour) in commands.into_iter().zip(COLOURS) {
        let points = |of: &dyn Fn(&Row) -> Option<f64>| -> Vec<(f64, f64)> {
            let rows = of_command(&sizes, command);
            let points = rows.filter_map(|row| Some((row.bytes as f64, of(row)?)));
            points.collect()
        };
        let series = |name: String, points, dots, colour| Series {
            name,
            points,
            colour,
            dots,
        };
        bandwidth.push(series(command.into(), points(&Row::gbps), true, colour));
        let wall = |row: &Row| Some(row.measured.as_ref().ok()?.wall_ns as f64);
        times.push(series(command.into(), points(&wall), true, colour));
        if let Some(fit) = report.fit(command) {
            let fitted = points(&|row| Some(fit.ns(row.bytes).max(1.0)));
            let name = format!("{command}, fitted");
            times.push(series(name, fitted, false, colour));
        }
    }
    let first = sizes[0].case.command();
    let ceiling =
        of_command(&sizes, first).filter_map(|row| Some((row.bytes as f64, row.ceiling_gbps?)));
    bandwidth.push(Series {
        name: "read ceiling".into(),
        points: ceiling.collect(),
        colour: charts::CEILING,
        dots: false,
    });
    let gbps = |value: f64| format!("{} GB/s", short(value));
    let bandwidth = lines(&bandwidth, false, &gbps)?;
    let times = lines(&times, true, &tick)?;
    let bandwidth = section("Bandwidth against size: one flat row, float32", bandwidth);
    Ok(bandwidth + &section("Wall time against size", times))
}

/// A power of ten of nanoseconds.
fn tick(ns: f64) -> String {
    match ns {
        ..1e6 => format!("{} us", short(ns / 1e3)),
        ..1e9 => format!("{} ms", short(ns / 1e6)),
        _ => format!("{} s", short(ns / 1e9)),
    }
}

/// One chart for each operator and type that peers were measured with.
fn peers_section(report: &Report, peers: &[Figure]) -> Result<String, Error> {
    let mut text = String::new();
    let names = distinct(peers.iter().map(|figure| figure.peer.as_str()));
    let kinds = peers
        .iter()
        .map(|figure| (figure.op.as_str(), figure.dtype.as_str()));
    for (op, dtype) in distinct(kinds) {
        let ours = report.rows(Part::Catalogue);
        let ours = ours.filter(|row| (row.case.command(), row.case.dtype.name()) == (op, dtype));
        let mut chart = Vec::new();
        for row in ours {
            let of_case = |figure: &&Figure| {
                (&*figure.case, &*figure.op, &*figure.dtype) == (&*row.case.name, op, dtype)
            };
            let mut theirs = peers.iter().filter(of_case).peekable();
            if theirs.peek().is_none() {
                continue;
            }
            let gbps = |ns: u64| row.bytes as f64 / ns as f64;
            let bar = |name: &str, ns: u64, is_wall, colour| Bar {
                name: format!("{} {name}", row.case.name),
                value: gbps(ns),
                figures: {
                    let clock = if is_wall { " (wall)" } else { "" };
                    format!("{} GB/s, {}{clock}", digits(gbps(ns)), time(ns))
                },
                colour,
            };
            let own = row.measured.as_ref().ok();
            let own = own.map(|t| bar("wgreduce", t.ns(), t.gpu_ns.is_none(), COLOURS[0]));
            chart.extend(own);
            chart.extend(theirs.map(|figure| {
                let which = names.iter().position(|name| *name == figure.peer);
                let colour = COLOURS[1 + which.unwrap_or(0) % (COLOURS.len() - 1)];
                bar(&figure.peer, figure.ns, figure.is_wall, colour)
            }));
        }
        if !chart.is_empty() {
            let title = format!("Beside others: {op} {dtype}");
            text += &section(&title, bars(&chart, None, " GB/s")?);
            let with_note = peers
                .iter()
                .filter(|figure| (&*figure.op, &*figure.dtype) == (op, dtype));
            let notes = with_note.filter_map(|figure| Some((&figure.peer, figure.note.as_ref()?)));
            for (peer, note) in distinct(notes) {
                text += &format!("<p>{}</p>\n", escaped(&format!("{peer}: {note}.")));
            }
        }
    }
    Ok(text)
}

fn of_command<'a>(rows: &[&'a Row], command: &str) -> impl Iterator<Item = &'a Row> {
    let rows = rows.iter().copied();
    rows.filter(move |row| row.case.command() == command)
}

/// Each once, in the order of their first places.
fn distinct<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut distinct = Vec::new();
    for item in all {
        if !distinct.contains(&item) {
            distinct.push(item);
        }
    }
    distinct
}

fn figures(row: &Row) -> String {
    match (&row.measured, row.gbps()) {
        (Ok(timing), Some(gbps)) => format!("{} GB/s, {}", digits(gbps), time(timing.ns())),
        _ => "wrong".into(),
    }
}

fn table(rows: &[Row]) -> String {
    let mut text = "<table>\n<tr>".to_string();
    let with = |cells: &[String], [input, verified, clock]: [String; 3]| {
        let (names, figures) = cells.split_at(3);
        [names, &[input], figures, &[verified, clock]].concat()
    };
    let header = HEADER.map(str::to_owned);
    let more = ["inputs", "verified", "clock"].map(str::to_owned);
    text += &row_of("th", with(&header, more));
    for row in rows {
        text += "<tr>";
        let verified = match (&row.measured, row.how.as_str()) {
            (Err(_), _) => "NO",
            (Ok(_), "") => "yes",
            (Ok(_), how) => how,
        };
        let more = [
            inputs(&row.case),
            verified.into(),
            or_dash(row.clock.map(percent)),
        ];
        text += &row_of("td", with(&cells(row), more));
    }
    text + "</table>\n"
}

/// `[64, 512, 512], axis 1`.
fn inputs(case: &Case) -> String {
    let shapes = case.shapes.iter().map(|shape| format!("{shape:?}"));
    let shapes: Vec<String> = shapes.collect();
    let axes: Vec<String> = case.axes.iter().map(i64::to_string).collect();
    let axes = match axes.len() {
        0 => String::new(),
        1 => format!(", axis {}", axes[0]),
        _ => format!(", axes {}", axes.join(" ")),
    };
    shapes.join(" ") + &axes
}

fn row_of(tag: &str, cells: Vec<String>) -> String {
    let cell = |cell: &String| format!("<{tag}>{}</{tag}>", escaped(cell));
    cells.iter().map(cell).collect::<String>() + "</tr>\n"
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;");
    text.replace('<', "&lt;").replace('>', "&gt;")
}
