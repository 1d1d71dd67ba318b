//! Shows when each activity ran: one row per queue, copy lane and host thread, with visible gaps.

use std::sync::Arc;

use ratatui::text::{Line, Span as Styled};

use crate::tui::{Pane, Panel, PanelCommand, Theme, cut, paragraph, width};
use tinyllama_base::{Share, percent, time};
use tinyllama_profile::model::Profile;
use tinyllama_profile::read::Import;
use tinyllama_profile::show::timeline::{
    Activity, TimelineRow, TimelineSpan, activity, device_label, rows,
};
use tinyllama_tutor_core::PanelAction;

/// Columns of a row's label at most.
const LABEL: usize = 22;

/// The closest zoom: nanoseconds that the width of a screen shows.
pub(super) const CLOSEST: f64 = 1000.0;

/// An interval in which something of the lane ran without a pause.
#[derive(Clone, Copy, Debug)]
struct BusySpan {
    /// Nanoseconds of the profiler's clock.
    start: i64,
    end: i64,
    /// Nanoseconds that the lane was busy before this interval. This sum makes a column of the picture cost two
    /// searches, however many kernels it covers.
    before: i64,
}

#[derive(Debug)]
pub(super) struct TimelineLane {
    pub(super) row: TimelineRow,
    busy: Vec<BusySpan>,
}

impl TimelineLane {
    /// `spans` must be sorted by their start; they may overlap.
    fn new(row: TimelineRow, spans: &[TimelineSpan]) -> Self {
        let mut busy: Vec<BusySpan> = Vec::new();
        for span in spans {
            // A span of zero length at the clock's resolution did run, so it counts as one nanosecond.
            let end = span.time.end.max(span.time.start.saturating_add(1));
            match busy.last_mut() {
                Some(last) if span.time.start <= last.end => last.end = last.end.max(end),
                last => {
                    let before = last.map_or(0, |last| last.before + (last.end - last.start));
                    busy.push(BusySpan {
                        start: span.time.start,
                        end,
                        before,
                    });
                }
            }
        }
        TimelineLane { row, busy }
    }
}

#[derive(Debug)]
pub struct Timeline {
    import: Arc<Import>,
    pub(super) lanes: Vec<TimelineLane>,
    pub(super) activities: Vec<Activity>,
    /// The earliest time of all, in nanoseconds of the profiler's clock. Other times count from it, because
    /// nanoseconds since 1970 have more digits than a floating-point number.
    start: i64,
    /// Nanoseconds from the earliest to the latest time.
    whole: f64,
    /// The visible interval, in nanoseconds since `start`.
    pub(super) from: f64,
    pub(super) span: f64,
}

impl Timeline {
    pub fn new(import: Arc<Import>) -> Self {
        let profile = &import.profile;
        let lanes: Vec<TimelineLane> = rows(profile)
            .into_iter()
            .map(|(row, spans)| TimelineLane::new(row, &spans))
            .collect();
        let busy = || lanes.iter().flat_map(|lane| &lane.busy);
        let start = busy().map(|busy| busy.start).min().unwrap_or(0);
        let end = busy().map(|busy| busy.end).max().unwrap_or(0);
        let whole = (end.abs_diff(start) as f64).max(1.0);
        Timeline {
            activities: activity(profile),
            import,
            lanes,
            start,
            whole,
            from: 0.0,
            span: whole,
        }
    }

    /// Nanoseconds since `start`.
    fn ms_since_start(&self, moment: i64) -> f64 {
        moment.saturating_sub(self.start) as f64
    }

    fn lane(&self, lane: &TimelineLane, columns: usize, theme: &Theme) -> Line<'static> {
        let several = self.activities.len() > 1;
        let label = cut(
            &label(lane.row, &self.import.profile, several),
            LABEL,
            theme,
        );
        let label = format!("{label}{} ", " ".repeat(LABEL - width(&label)));
        let series = match lane.row {
            TimelineRow::Kernels { .. } => 0,
            TimelineRow::Copies { .. } => 1,
            TimelineRow::Calls { .. } => 2,
        };
        let cells: String = self
            .busy_shares(lane, columns)
            .into_iter()
            .map(|share| level(share, theme))
            .collect();
        Line::from(vec![
            Styled::styled(label, theme.muted()),
            Styled::styled(cells, theme.series(series)),
        ])
    }

    /// Share of each column's time in which something of the lane ran.
    pub(super) fn busy_shares(&self, lane: &TimelineLane, columns: usize) -> Vec<f64> {
        let each = self.span / columns as f64;
        let edges = (0..=columns).map(|column| self.from + each * column as f64);
        let busy: Vec<f64> = edges.map(|edge| self.busy_until(lane, edge)).collect();
        busy.windows(2)
            .map(|pair| ((pair[1] - pair[0]) / each).max(0.0))
            .collect()
    }

    /// Nanoseconds that the lane was busy up to `moment`, which counts from `start`.
    fn busy_until(&self, lane: &TimelineLane, moment: f64) -> f64 {
        let after = lane
            .busy
            .partition_point(|busy| self.ms_since_start(busy.start) <= moment);
        let last = after.checked_sub(1).and_then(|at| lane.busy.get(at));
        last.map_or(0.0, |busy| {
            let (start, end) = (
                self.ms_since_start(busy.start),
                self.ms_since_start(busy.end),
            );
            busy.before as f64 + (moment.min(end) - start)
        })
    }

    fn axis(&self, columns: usize, theme: &Theme) -> Line<'static> {
        let marks = (columns / 16).clamp(1, 8);
        let mut text = " ".repeat(LABEL + 1);
        for mark in 0..marks {
            let at = self.from + self.span * mark as f64 / marks as f64;
            let goal = LABEL + 1 + columns * mark / marks;
            text.push_str(&" ".repeat(goal.saturating_sub(width(&text))));
            text.push_str(&format!("{} {}", theme.glyphs.vertical, time(at)));
        }
        Line::styled(text, theme.muted())
    }

    /// Idle share of each device.
    fn foot(&self, wide: u16, theme: &Theme) -> Vec<Line<'static>> {
        let profile = &self.import.profile;
        let mut lines = vec![Line::default()];
        for activity in &self.activities {
            let idle = activity
                .idle_share()
                .map_or_else(String::new, |share| percent(Share(share)));
            let text = format!(
                "{}: idle {idle} of {} between its first kernel and its last, in {} gaps",
                device_label(profile, activity.process, activity.agent),
                time(activity.span.duration() as f64),
                activity.gaps.len()
            );
            lines.extend(paragraph(&text, wide, theme.emphasis()));
        }
        lines
    }
}

impl Panel for Timeline {
    fn paint(&self, pane: &mut Pane) {
        let title = format!(
            "{} from {} on, of {} in all",
            time(self.span),
            time(self.from),
            time(self.whole),
        );
        let theme = pane.theme;
        pane.heading(&title);
        let foot = self.foot(pane.area.width, theme);
        let foot_height = foot.len().min(usize::from(pane.area.height / 2));
        let room = usize::from(pane.area.height).saturating_sub(foot_height + 1);
        let columns = pane.width().saturating_sub(LABEL + 1);
        if columns < 8 || room == 0 {
            return;
        }
        let lanes = self.lanes.iter().take(room);
        pane.put(lanes.map(|lane| self.lane(lane, columns, theme)));
        pane.put([self.axis(columns, theme)]);
        if self.lanes.len() > room {
            let text = format!("{} more rows do not fit", self.lanes.len() - room);
            pane.put([Line::styled(text, theme.muted())]);
        }
        pane.put(foot);
    }

    fn act(&mut self, action: PanelAction) -> bool {
        let before = (self.from, self.span);
        let whole = self.whole;
        let middle = self.from + self.span / 2.0;
        match action {
            PanelAction::Left => self.from -= self.span / 4.0,
            PanelAction::Right => self.from += self.span / 4.0,
            PanelAction::PageUp => self.from -= self.span,
            PanelAction::PageDown => self.from += self.span,
            PanelAction::Top => self.from = 0.0,
            PanelAction::Bottom => self.from = whole,
            PanelAction::Select | PanelAction::Up => {
                self.span = (self.span / 2.0).max(CLOSEST.min(whole));
                self.from = middle - self.span / 2.0;
            }
            PanelAction::Toggle | PanelAction::Down => {
                self.span = (self.span * 2.0).min(whole);
                self.from = middle - self.span / 2.0;
            }
            _ => return false,
        }
        self.from = self.from.clamp(0.0, whole - self.span);
        before != (self.from, self.span)
    }

    fn commands(&self) -> Vec<PanelCommand> {
        vec![
            (PanelAction::Select, "look closer"),
            (PanelAction::Toggle, "step back"),
            (PanelAction::Right, "later"),
        ]
    }
}

fn level(share: f64, theme: &Theme) -> &'static str {
    let levels = theme.glyphs.levels;
    if share <= 0.0 {
        return " ";
    }
    let at = (share * levels.len() as f64).ceil() as usize;
    levels[at.clamp(1, levels.len()) - 1]
}

fn label(row: TimelineRow, profile: &Profile, several: bool) -> String {
    match row {
        TimelineRow::Kernels(process, agent, queue) => {
            let device = device_label(profile, process, agent);
            match queue {
                Some(queue) if several => format!("queue {queue} of {device}"),
                Some(queue) => format!("queue {queue}"),
                None => device,
            }
        }
        TimelineRow::Copies { .. } => "copies".to_owned(),
        TimelineRow::Calls(_, Some(thread)) => format!("calls, thread {thread}"),
        TimelineRow::Calls(_, None) => "calls".to_owned(),
    }
}
