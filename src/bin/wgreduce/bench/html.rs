//! The results as a page of its own: a chart of the shares, and the table.

use std::fmt::{Display, Write};

use plotters::backend::SVGBackend;
use plotters::chart::ChartBuilder;
use plotters::drawing::IntoDrawingArea;
use plotters::element::{PathElement, Rectangle, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{BLACK, Color, IntoFont, RGBColor, TextStyle};

use super::report::{HEADER, Report, Row, cells};

const WIDTH: u32 = 900;
const ROW_HEIGHT: u32 = 20;
/// For names, at the left, and for figures, at the right.
const NAMES: u32 = 240;
const FIGURES: i32 = 180;
/// Size of text, as plotters counts it: 13 pixels.
const TEXT: u32 = 16;
/// Above the bars, for the axis.
const AXIS: u32 = 30;

/// Readable on black and on white.
const BAR: RGBColor = RGBColor(0x3b, 0x82, 0xc4);
const CEILING: RGBColor = RGBColor(0xd9, 0x4f, 0x3d);

/// Text and lines take their colour from the page, light or dark.
const STYLE: &str = "
:root { color-scheme: light dark; --ink: #1b1b1f; --paper: #ffffff; --faint: #8884; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6ea; --paper: #16161a; } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  color: var(--ink); background: var(--paper); }
svg { max-width: 100%; height: auto; }
svg text { fill: var(--ink); }
svg line, svg polyline[stroke='#000000'] { stroke: var(--faint); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; white-space: nowrap; }
th, td { text-align: left; padding: .15rem .6rem; border-bottom: 1px solid var(--faint); }
";

/// The page, or why it could not be drawn.
pub fn page(report: &Report) -> Result<String, String> {
    let info = &report.info;
    let title = escaped(&format!("wgreduce on {} ({})", info.name, info.backend));
    let chart = chart(&report.rows).map_err(|e| format!("drawing the chart: {e}"))?;
    let notes: String = report
        .notes()
        .iter()
        .map(|note| format!("<li>{}</li>\n", escaped(note)))
        .collect();
    let driver = escaped(&report.driver());
    Ok(format!(
        "<!DOCTYPE html>
<html lang=\"en\">
<meta charset=\"utf-8\">
<meta name=\"viewport\" content=\"width=device-width\">
<title>{title}</title>
<style>{STYLE}</style>
<h1>{title}</h1>
<p>Driver: {driver}. Bandwidth of each case, inputs and outputs once, as a share of what a plain
kernel reaches on the same device at the same time: one that reads, or for Min one that copies.
</p>
{chart}
<ul>
{notes}</ul>
<div class=\"scroll\">
{table}</div>
</html>
",
        table = table(&report.rows),
    ))
}

fn chart(rows: &[Row]) -> Result<String, Box<dyn std::error::Error>> {
    let mut svg = String::new();
    let height = AXIS + 20 + ROW_HEIGHT * rows.len() as u32;
    let most = rows.iter().filter_map(Row::ratio).fold(1.0, f64::max);
    let bottom = rows.len() as f64;
    {
        let root = SVGBackend::with_string(&mut svg, (WIDTH, height)).into_drawing_area();
        let mut chart = ChartBuilder::on(&root)
            .margin(10)
            .margin_right(FIGURES)
            .top_x_label_area_size(AXIS)
            .y_label_area_size(NAMES)
            .build_cartesian_2d(0.0..100.0 * most, 0.0..bottom)?;
        chart
            .configure_mesh()
            .disable_y_mesh()
            .disable_y_axis()
            .x_labels(8)
            .x_label_formatter(&|share| format!("{share:.0}%"))
            .label_style(("sans-serif", TEXT))
            .light_line_style(BLACK.mix(0.0))
            .draw()?;
        // The axis points up, the rows go down.
        let middle = |i: usize| bottom - i as f64 - 0.5;
        let share = |row: &Row| 100.0 * row.ratio().unwrap_or(0.0);
        chart.draw_series(rows.iter().enumerate().map(|(i, row)| {
            let corners = [(0.0, middle(i) - 0.35), (share(row), middle(i) + 0.35)];
            Rectangle::new(corners, BAR.filled())
        }))?;
        let ceiling = vec![(100.0, 0.0), (100.0, bottom)];
        chart.draw_series([PathElement::new(ceiling, CEILING.stroke_width(2))])?;
        chart.draw_series(rows.iter().enumerate().map(|(i, row)| {
            let text = format!("{}\u{a0}", row.case);
            Text::new(text, (0.0, middle(i)), anchored(HPos::Right))
        }))?;
        chart.draw_series(rows.iter().enumerate().map(|(i, row)| {
            let at = share(row).max(100.0 * most);
            Text::new(figures(row), (at, middle(i)), anchored(HPos::Left))
        }))?;
        root.present()?;
    }
    Ok(svg)
}

fn anchored(side: HPos) -> TextStyle<'static> {
    let style = TextStyle::from(("sans-serif", TEXT).into_font());
    style.pos(Pos::new(side, VPos::Center))
}

fn figures(row: &Row) -> String {
    let [_, _, _, gpu, wall, gbps, ..] = cells(row);
    match (&row.measured, gpu.as_str()) {
        (Err(_), _) => "\u{a0}wrong".into(),
        (Ok(_), "-") => format!("\u{a0}{gbps} GB/s, {wall}"),
        (Ok(_), _) => format!("\u{a0}{gbps} GB/s, {gpu}"),
    }
}

fn table(rows: &[Row]) -> String {
    let mut text = "<table>\n<tr>".to_string();
    push_cells(&mut text, "th", HEADER);
    for row in rows {
        text += "<tr>";
        push_cells(&mut text, "td", cells(row));
    }
    text + "</table>\n"
}

fn push_cells(text: &mut String, tag: &str, cells: impl IntoIterator<Item = impl Display>) {
    for cell in cells {
        // Writing to a String does not fail.
        let _ = write!(text, "<{tag}>{}</{tag}>", escaped(&cell.to_string()));
    }
    *text += "</tr>\n";
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;");
    text.replace('<', "&lt;").replace('>', "&gt;")
}
