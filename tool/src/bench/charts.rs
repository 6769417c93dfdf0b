//! Charts as SVG: bars, a matrix of shares, lines over sizes. Knows only numbers and labels.
//! Colours are readable on black and on white; text and lines take theirs from the page.

use std::ops::Range;

use plotters::backend::SVGBackend;
use plotters::chart::{ChartBuilder, SeriesLabelPosition};
use plotters::coord::Shift;
use plotters::coord::combinators::IntoLogRange;
use plotters::drawing::{DrawingArea, IntoDrawingArea};
use plotters::element::{Circle, PathElement, Rectangle, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{BLACK, Color, IntoFont, RGBColor, TRANSPARENT, TextStyle};

const WIDTH: u32 = 900;
const ROW_HEIGHT: u32 = 20;
/// Width for names, at the left, and for figures, at the right.
const NAMES: u32 = 250;
const FIGURES: i32 = 180;
/// Size of text, as plotters counts it: 13 pixels.
const TEXT: u32 = 16;
/// Room for the axis beside the plot.
const AXIS: u32 = 30;
const LINES_HEIGHT: u32 = 380;

pub const COLOURS: [RGBColor; 6] = [
    RGBColor(0x3b, 0x82, 0xc4),
    RGBColor(0xd9, 0x7a, 0x2b),
    RGBColor(0x3f, 0x9d, 0x6b),
    RGBColor(0xa4, 0x68, 0xc9),
    RGBColor(0x9a, 0x8a, 0x2f),
    RGBColor(0xc4, 0x5b, 0x86),
];
pub const CEILING: RGBColor = RGBColor(0xd9, 0x4f, 0x3d);

type Error = Box<dyn std::error::Error>;
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

fn svg(height: u32, draw: impl FnOnce(&Area) -> Result<(), Error>) -> Result<String, Error> {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, (WIDTH, height)).into_drawing_area();
        draw(&root)?;
        root.present()?;
    }
    Ok(svg)
}

/// What is too wide for the page scrolls.
fn figure(svg: String) -> String {
    format!("<figure>{svg}</figure>\n")
}

/// A bar of a chart; none where there is no value.
pub struct Bar {
    pub name: String,
    pub value: f64,
    pub figures: String,
    pub colour: RGBColor,
}

/// Horizontal bars, one under the other, and a line at `mark`.
pub fn bars(bars: &[Bar], mark: Option<f64>, unit: &str) -> Result<String, Error> {
    let height = AXIS + 20 + ROW_HEIGHT * bars.len() as u32;
    let least = mark.unwrap_or(f64::MIN_POSITIVE);
    let most = bars.iter().map(|bar| bar.value).fold(least, f64::max);
    let bottom = bars.len() as f64;
    // The axis points up, the rows go down.
    let rows = || {
        bars.iter()
            .enumerate()
            .map(|(i, bar)| (bottom - i as f64 - 0.5, bar))
    };
    let svg = svg(height, |root| {
        let mut chart = ChartBuilder::on(root)
            .margin(10)
            .margin_right(FIGURES)
            .top_x_label_area_size(AXIS)
            .y_label_area_size(NAMES)
            .build_cartesian_2d(0.0..most, 0.0..bottom)?;
        chart
            .configure_mesh()
            .disable_y_mesh()
            .disable_y_axis()
            .x_labels(8)
            .x_label_formatter(&|value| format!("{}{unit}", short(*value)))
            .label_style(("sans-serif", TEXT))
            .light_line_style(TRANSPARENT)
            .draw()?;
        chart.draw_series(rows().map(|(middle, bar)| {
            let corners = [(0.0, middle - 0.35), (bar.value, middle + 0.35)];
            Rectangle::new(corners, bar.colour.filled())
        }))?;
        if let Some(mark) = mark {
            let line = vec![(mark, 0.0), (mark, bottom)];
            chart.draw_series([PathElement::new(line, CEILING.stroke_width(2))])?;
        }
        chart.draw_series(rows().map(|(middle, bar)| {
            let text = format!("{}\u{a0}", bar.name);
            Text::new(text, (0.0, middle), anchored(HPos::Right))
        }))?;
        chart.draw_series(rows().map(|(middle, bar)| {
            let text = format!("\u{a0}{}", bar.figures);
            Text::new(text, (most, middle), anchored(HPos::Left))
        }))?;
        Ok(())
    })?;
    Ok(figure(svg))
}

/// Shares by row and column, larger ones darker; a cell without a share is empty.
pub struct Matrix {
    pub title: String,
    pub rows: Vec<String>,
    pub columns: Vec<String>,
    /// Row by row.
    pub shares: Vec<Option<f64>>,
}

const CELL: (u32, u32) = (110, 28);

impl Matrix {
    /// For a page, which has the title above it.
    pub fn figure(&self) -> Result<String, Error> {
        Ok(figure(svg(self.height(), |root| self.draw(root))?))
    }

    fn height(&self) -> u32 {
        AXIS + 20 + CELL.1 * self.rows.len() as u32
    }

    fn draw(&self, root: &Area) -> Result<(), Error> {
        const NAMES: u32 = 120;
        let (rows, columns) = (self.rows.len(), self.columns.len());
        let (across, down) = (columns as f64, rows as f64);
        let cells = (0..rows).flat_map(|row| (0..columns).map(move |col| (row, col)));
        let shares = cells.zip(&self.shares);
        let filled: Vec<(usize, usize, f64)> = shares
            .filter_map(|((row, col), share)| Some((row, col, (*share)?)))
            .collect();
        let middle = |row: usize, col: usize| (col as f64 + 0.5, down - row as f64 - 0.5);
        // As wide as the page at most.
        let right = (WIDTH - NAMES - 20).saturating_sub(CELL.0 * columns as u32);
        let mut chart = ChartBuilder::on(root)
            .margin(10)
            .margin_left(NAMES + 10)
            .margin_right(right + 10)
            .margin_top(AXIS + 10)
            .build_cartesian_2d(0.0..across, 0.0..down)?;
        chart.draw_series(filled.iter().map(|&(row, col, share)| {
            let (x, y) = middle(row, col);
            let corners = [(x - 0.48, y - 0.44), (x + 0.48, y + 0.44)];
            // Pale enough for the page's ink.
            let strength = 0.7 * share.clamp(0.0, 1.0).powi(2) + 0.03;
            Rectangle::new(corners, COLOURS[0].mix(strength).filled())
        }))?;
        chart.draw_series(filled.iter().map(|&(row, col, share)| {
            let text = format!("{:.0}%", 100.0 * share);
            Text::new(text, middle(row, col), anchored(HPos::Center))
        }))?;
        let plot = chart.plotting_area();
        // The plot counts from the picture's top, the root from its own.
        let top = root.get_pixel_range().1.start;
        for (row, name) in self.rows.iter().enumerate() {
            let (_, y) = plot.map_coordinate(&middle(row, 0));
            let at = (NAMES as i32, y - top);
            root.draw(&Text::new(name.clone(), at, anchored(HPos::Right)))?;
        }
        for (col, name) in self.columns.iter().enumerate() {
            let (x, _) = plot.map_coordinate(&middle(0, col));
            let at = (x, AXIS as i32 / 2 + 5);
            root.draw(&Text::new(name.clone(), at, anchored(HPos::Center)))?;
        }
        Ok(())
    }
}

/// A picture that stands alone: lines of text, matrices below their titles, and lines of text.
pub fn picture(head: &[String], matrices: &[Matrix], legend: &[String]) -> Result<String, Error> {
    const LINE: u32 = 22;
    let lines = |count: usize| 10 + LINE * count as u32;
    let heights = matrices.iter().map(|m| lines(1) + m.height());
    let height = lines(head.len()) + heights.sum::<u32>() + lines(legend.len());
    svg(height, |root| {
        let mut rest = root.clone();
        let mut take = |height: u32| {
            let (area, below) = rest.split_vertically(height);
            rest = below;
            area
        };
        let write = |area: &Area, texts: &[String]| -> Result<(), Error> {
            for (line, text) in texts.iter().enumerate() {
                let at = (10, (10 + LINE / 2) as i32 + LINE as i32 * line as i32);
                area.draw(&Text::new(text.clone(), at, anchored(HPos::Left)))?;
            }
            Ok(())
        };
        write(&take(lines(head.len())), head)?;
        for matrix in matrices {
            write(&take(lines(1)), std::slice::from_ref(&matrix.title))?;
            matrix.draw(&take(matrix.height()))?;
        }
        write(&take(lines(legend.len())), legend)
    })
}

/// Points of a chart over sizes, joined by a line, or a line alone.
pub struct Series {
    pub name: String,
    pub points: Vec<(f64, f64)>,
    pub colour: RGBColor,
    /// Whether points are marked; a line without is thinner.
    pub dots: bool,
}

/// Series over bytes on a logarithmic axis; `log`: the other axis is logarithmic, too.
pub fn lines(
    series: &[Series],
    log: bool,
    y_label: &dyn Fn(f64) -> String,
) -> Result<String, Error> {
    let all = || series.iter().flat_map(|s| &s.points);
    let x = span(all().map(|p| p.0));
    let y = span(all().map(|p| p.1));
    let svg = svg(LINES_HEIGHT, |root| {
        let mut builder = ChartBuilder::on(root);
        builder
            .margin(10)
            .margin_right(30)
            .x_label_area_size(AXIS)
            .y_label_area_size(80);
        let x = (x.start..x.end).log_scale().base(4.0);
        // The two kinds of axis have different types, so a macro draws both.
        macro_rules! draw {
            ($y:expr) => {{
                let mut chart = builder.build_cartesian_2d(x, $y)?;
                chart
                    .configure_mesh()
                    .x_label_formatter(&|bytes| size(*bytes))
                    .y_label_formatter(&|value| y_label(*value))
                    .y_labels(8)
                    .label_style(("sans-serif", TEXT))
                    .light_line_style(TRANSPARENT)
                    .draw()?;
                for s in series {
                    let (colour, style) = (s.colour, s.colour.stroke_width(1 + u32::from(s.dots)));
                    chart
                        .draw_series([PathElement::new(s.points.clone(), style)])?
                        .label(s.name.clone())
                        .legend(move |(x, y)| PathElement::new(vec![(x, y), (x + 18, y)], style));
                    let dots = s.points.iter().filter(|_| s.dots);
                    chart.draw_series(dots.map(|&p| Circle::new(p, 3, colour.filled())))?;
                }
                chart
                    .configure_series_labels()
                    .position(SeriesLabelPosition::UpperLeft)
                    .label_font(("sans-serif", TEXT))
                    .draw()?;
            }};
        }
        match log {
            // With room for the legend.
            true => draw!((y.start / 2.0..y.end * 4.0).log_scale().base(10.0)),
            false => draw!(0.0..y.end * 1.4),
        }
        Ok(())
    })?;
    Ok(figure(svg))
}

fn span(values: impl Iterator<Item = f64>) -> Range<f64> {
    let (least, most) = values.fold((f64::MAX, f64::MIN_POSITIVE), |(least, most), value| {
        (least.min(value), most.max(value))
    });
    least.min(most)..most
}

fn anchored(side: HPos) -> TextStyle<'static> {
    let style = TextStyle::from(("sans-serif", TEXT).into_font());
    style.pos(Pos::new(side, VPos::Center)).color(&BLACK)
}

/// `4 KiB`.
fn size(bytes: f64) -> String {
    let (value, unit) = match bytes {
        ..1024.0 => (bytes, "B"),
        ..1048576.0 => (bytes / 1024.0, "KiB"),
        ..1073741824.0 => (bytes / 1048576.0, "MiB"),
        _ => (bytes / 1073741824.0, "GiB"),
    };
    format!("{value:.0} {unit}")
}

/// Without the zeros at its end: ticks are round.
pub fn short(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').into()
}
