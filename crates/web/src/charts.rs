//! Charts as SVG, drawn on the server: lines over days, and bars. Each has a table beside it, for
//! those who do not see the picture.

use domain::burn_up::DayTotals;
use maud::{Markup, html};

const WIDTH: i64 = 720;
const HEIGHT: i64 = 240;
/// Space left of the drawing, for numbers, and below it, for days.
const LEFT: i64 = 56;
const BOTTOM: i64 = 44;
/// Half a line of the largest axis text, which is drawn on a phone.
const TOP: i64 = 20;

/// Maps days and values to points.
struct Scale {
    steps: i64,
    top: i64,
}

impl Scale {
    fn new(count: usize, highest: i64) -> Self {
        Self {
            // A single day has no step; `x` divides by it.
            steps: i64::try_from(count.saturating_sub(1)).unwrap_or(1).max(1),
            top: round_up(highest),
        }
    }

    fn x(&self, index: usize) -> i64 {
        let index = i64::try_from(index).unwrap_or_default();
        LEFT + index * (WIDTH - LEFT - 8) / self.steps
    }

    fn y(&self, value: i64) -> i64 {
        let space = HEIGHT - TOP - BOTTOM;
        HEIGHT - BOTTOM - value.clamp(0, self.top) * space / self.top
    }

    fn points(&self, values: impl Iterator<Item = i64>) -> String {
        let points = values.enumerate();
        let points = points.map(|(index, value)| format!("{},{}", self.x(index), self.y(value)));
        points.collect::<Vec<_>>().join(" ")
    }
}

/// Returns the next number of the form 1, 2, 4 or 5 with zeros, so that a quarter of it is readable.
fn round_up(value: i64) -> i64 {
    let mut power = 1;
    loop {
        // Multiples of four: the grid divides the axis into quarters, which have to be whole
        // numbers.
        for step in [4, 8, 12, 20] {
            if power * step >= value {
                return power * step;
            }
        }
        power *= 10;
    }
}

/// Draws how many plans there were, were approved and complete, at the end of each day.
pub(crate) fn render_burn_up(name: &str, history: &[DayTotals]) -> Markup {
    let highest = history.iter().map(|day| day.totals.planned).max();
    let scale = Scale::new(history.len(), highest.unwrap_or(1));
    let complete = scale.points(history.iter().map(|day| day.totals.complete));
    let (first, last) = (scale.x(0), scale.x(history.len().saturating_sub(1)));
    html! {
        figure.chart {
            svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label={ "Burn-up of " (name) "; the table below has the same numbers" } {
                (render_grid(&scale, history.iter().map(|day| day.day.as_str())))
                polygon.area points={ (first) "," (scale.y(0)) " " (complete) " " (last) "," (scale.y(0)) } {}
                polyline.line.planned points=(scale.points(history.iter().map(|day| day.totals.planned))) {}
                polyline.line.approved points=(scale.points(history.iter().map(|day| day.totals.approved))) {}
                polyline.line.complete points=(complete) {}
            }
        }
    }
}

/// Draws a number for each day.
pub(crate) fn render_bars(label: &str, days: &[String], values: &[i64]) -> Markup {
    let highest = values.iter().copied().max().unwrap_or(1);
    let scale = Scale::new(days.len(), highest.max(1));
    // Three pixels of space between bars, and never so thin that a bar disappears.
    let width = ((WIDTH - LEFT) / (scale.steps + 1) - 3).max(2);
    html! {
        figure.chart {
            svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label={ (label) "; the table below has the same numbers" } {
                (render_grid(&scale, days.iter().map(String::as_str)))
                @for (index, value) in values.iter().enumerate().filter(|(_, value)| **value > 0) {
                    rect.bar x=(scale.x(index) - width / 2) y=(scale.y(*value)) width=(width) height=(scale.y(0) - scale.y(*value)) {
                        title { (days.get(index).map(String::as_str).unwrap_or_default()) ": " (value) }
                    }
                }
            }
        }
    }
}

fn render_grid<'d>(scale: &Scale, days: impl Iterator<Item = &'d str>) -> Markup {
    let days: Vec<&str> = days.collect();
    let last = days.len().saturating_sub(1);
    html! {
        @for quarter in 0..=4 {
            @let value = scale.top * quarter / 4;
            line.grid x1=(LEFT) x2=(WIDTH) y1=(scale.y(value)) y2=(scale.y(value)) {}
            text.axis x=(LEFT - 8) y=(scale.y(value) + 4) text-anchor="end" { (value) }
        }
        // Three days only: a label for each of ninety would overlap.
        @for (index, anchor) in [(0, "start"), (last / 2, "middle"), (last, "end")] {
            @if let Some(day) = days.get(index) {
                text.axis x=(scale.x(index)) y=(HEIGHT - 8) text-anchor=(anchor) { (day) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_top_of_a_chart_can_be_divided_by_four() {
        for (value, top) in [(0, 4), (4, 4), (5, 8), (13, 20), (21, 40), (129, 200)] {
            assert_eq!(round_up(value), top, "{value}");
            assert_eq!(top % 4, 0);
        }
    }

    #[test]
    fn values_stay_inside_the_drawing() {
        let scale = Scale::new(2, 10);
        assert_eq!(scale.y(0), HEIGHT - BOTTOM);
        assert_eq!(scale.y(1_000), TOP);
        assert_eq!(scale.y(-3), HEIGHT - BOTTOM);
        assert!(scale.x(1) <= WIDTH);
    }
}
