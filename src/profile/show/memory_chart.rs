//! The memory hierarchy of a GPU with the traffic and hit rates of a kernel, and the level nearest to its limit.
//!
//! `assets/memory-levels.yaml` has the formulas, which ROCm publishes. A figure is shown with its formula, and without a
//! counter of the formula it is not reported.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::counters::{KernelCounters, counters};
use super::roofline::measured;
use crate::model::Profile;
use crate::name;
use tinyllama_base::Expression;
use tinyllama_base::table::{TableColumns, TextTable};
use tinyllama_base::units::{
    NOT_REPORTED, Percentage, bytes, figure, or_not_reported, percent, time,
};

/// A family of GPUs with its levels.
#[derive(Deserialize)]
struct Family {
    gpus: Vec<String>,
    counters: Vec<String>,
    levels: Vec<Definition>,
}

/// A level as the definitions describe it. Formulas that can replace each other are separated by `|`.
#[derive(Deserialize)]
struct Definition {
    name: String,
    /// Bytes a launch into or out of the level; their sum is the traffic.
    traffic: BTreeMap<String, String>,
    /// Per cents.
    share: BTreeMap<String, String>,
    /// The measured ceiling's name, and the formula of the computed one in GB/s.
    #[serde(default)]
    ceiling: BTreeMap<String, String>,
}

static FAMILIES: LazyLock<Vec<Family>> = LazyLock::new(|| {
    serde_yaml::from_str(include_str!("../../../assets/memory-levels.yaml")).unwrap_or_default()
});

/// From this share of a ceiling on, the level nearest to it is called the limit. A rule of thumb.
const LIMITS: Percentage = Percentage(60.0);

/// What a share above 100 % of a ceiling means that a benchmark reached.
pub(super) const ABOVE_MEASURED: &str = "the benchmark that measured it reached less than the GPU can do, or counters and times are \
     of different launches";

/// Why no rate is reported that the GPU cannot reach.
const OTHER_LAUNCHES: &str = "they are of different launches, so the rate is not reported";

/// A figure with its formula.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryFigure {
    pub name: &'static str,
    pub formula: String,
    /// `None` if a counter is missing, or the formula divides by 0.
    pub value: Option<f64>,
    /// Counters of the formula that the profile lacks.
    pub missing: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct MemoryLevel {
    pub name: &'static str,
    /// Bytes a launch.
    pub traffic: Vec<MemoryFigure>,
    /// Per cents.
    pub shares: Vec<MemoryFigure>,
    /// GB/s; `None` without all counters or the time of a launch, or if the GPU cannot do it.
    pub rate: Option<f64>,
    /// GB/s, and where the figure comes from.
    pub ceiling: Option<(f64, String)>,
    /// What a rate above the ceiling means.
    pub above: Option<String>,
    /// Of the ceiling.
    pub used: Option<Percentage>,
}

/// The hierarchy with the figures of one kernel.
#[derive(Clone, Debug)]
pub struct MemoryChart {
    /// The kernel, its launches, their mean time, and the GPU.
    pub title: String,
    pub levels: Vec<MemoryLevel>,
    /// The level with the greatest share of its ceiling.
    pub nearest: Option<usize>,
}

/// Charts of the first `limit` kernels with counters of a memory level.
pub fn charts(profile: &Profile, limit: usize) -> Vec<MemoryChart> {
    let kernels = counters(profile);
    let names: Vec<&str> = kernels.iter().map(|it| it.kernel.as_str()).collect();
    let named = kernels.iter().zip(name::distinct_names(&names));
    let charts = named
        .take(limit)
        .map(|(kernel, name)| chart(profile, kernel, name));
    charts.filter(MemoryChart::has_traffic).collect()
}

fn chart(profile: &Profile, kernel: &KernelCounters, name: &str) -> MemoryChart {
    let mut gpus = profile.agents.iter().filter(|agent| agent.gpu);
    let gpu = gpus.next().map_or("", |gpu| gpu.name.as_str());
    let levels = definitions(gpu, kernel).iter();
    let levels: Vec<_> = levels.map(|it| level(it, profile, kernel)).collect();
    let used = levels.iter().enumerate();
    let used = used.filter_map(|(at, level)| Some((at, level.used.filter(|used| used.0 > 0.0)?)));
    let launches = kernel.launches;
    let each = kernel
        .mean_ns
        .map_or("a time that is not reported".into(), time);
    let gpu = if gpu.is_empty() { "a GPU" } else { gpu };
    MemoryChart {
        title: format!("{name} on {gpu}: {launches} launches of {each}"),
        nearest: used
            .max_by(|a, b| a.1.0.total_cmp(&b.1.0))
            .map(|(at, _)| at),
        levels,
    }
}

/// The levels of a GPU, by its name, or by names of counters that only one family has.
fn definitions(gpu: &str, kernel: &KernelCounters) -> &'static [Definition] {
    let has = |prefix: &String| kernel.counters.keys().any(|name| name.starts_with(prefix));
    let named = FAMILIES
        .iter()
        .find(|family| family.gpus.iter().any(|it| gpu.starts_with(it)));
    let found = named.or_else(|| {
        FAMILIES
            .iter()
            .find(|family| family.counters.iter().any(has))
    });
    found.map_or(&[], |family| &family.levels)
}

fn level(it: &'static Definition, profile: &Profile, kernel: &KernelCounters) -> MemoryLevel {
    let counter = |name: &str| kernel.mean(name);
    let figures = |formulas: &'static BTreeMap<String, String>| -> Vec<_> {
        let formulas = formulas.iter();
        formulas
            .map(|(name, text)| computed(name, text, profile, &counter))
            .collect()
    };
    let traffic = figures(&it.traffic);
    let time = kernel.mean_ns.filter(|ns| *ns > 0.0);
    let mut rate = time.and_then(|ns| Some(sum(&traffic)? / ns));
    let ceiling = it.ceiling.iter().find_map(|(name, formula)| {
        if let Some(found) = measured(profile).into_iter().find(|it| it.name == *name) {
            let source = format!("{name}, measured by rocprof-compute");
            return Some((found.value, source, true));
        }
        let value = computed(name, formula, profile, &|_| None).value?;
        Some((value, format!("computed: {formula}"), false))
    });
    let mut above = None;
    if let (Some(found), Some((most, _, is_measured))) = (rate, &ceiling)
        && found > *most
    {
        let (found, most) = (figure(found), figure(*most));
        above = Some(match is_measured {
            true => format!("more than 100 % of a measured ceiling: {ABOVE_MEASURED}"),
            false => format!(
                "counters and time give {found} GB/s, and the GPU can do {most} GB/s: {OTHER_LAUNCHES}"
            ),
        });
        rate = rate.filter(|_| *is_measured);
    }
    let ceiling = ceiling.map(|(most, source, _)| (most, source));
    MemoryLevel {
        above,
        name: &it.name,
        shares: figures(&it.share),
        used: rate
            .zip(ceiling.as_ref())
            .map(|(rate, (most, _))| Percentage(100.0 * rate / most)),
        traffic,
        rate,
        ceiling,
    }
}

/// Computes the first of the formulas whose counters were collected.
fn computed(
    name: &'static str,
    formulas: &str,
    profile: &Profile,
    counter: &dyn Fn(&str) -> Option<f64>,
) -> MemoryFigure {
    let one = |formula: &str| {
        // MI350 counts reads of 128 bytes under a name of their own and leaves this counter at 0.
        let formula = match counter("TCC_EA0_RDREQ_128B_sum") {
            Some(_) => formula.replace("TCC_BUBBLE_sum", "TCC_EA0_RDREQ_128B_sum"),
            None => formula.to_owned(),
        };
        let missing = RefCell::new(Vec::new());
        let value = Expression::from(formula.as_str()).evaluate(&|name| {
            let known = match name == name.to_lowercase() {
                true => profile.system.get(name).and_then(|text| text.parse().ok()),
                false => counter(name),
            };
            // All of AMD's GPUs have 32 banks in a compute unit's LDS where nothing says otherwise.
            let known = known.or((name == "lds_banks_per_cu").then_some(32.0));
            if known.is_none() {
                missing.borrow_mut().push(name.to_owned());
            }
            known.or(Some(0.0))
        });
        let mut missing: Vec<String> = missing.into_inner();
        missing.sort_by_key(|name| formula.find(name.as_str()));
        MemoryFigure {
            name,
            formula,
            value: value.ok().filter(|_| missing.is_empty()),
            missing,
        }
    };
    let mut all = formulas.split(" | ").map(one).collect::<Vec<_>>();
    let best = all.iter().position(|figure| figure.missing.is_empty());
    all.swap_remove(best.unwrap_or(0))
}

/// The sum of all figures; `None` if one is not reported.
fn sum(figures: &[MemoryFigure]) -> Option<f64> {
    figures.iter().map(|figure| figure.value).sum()
}

impl MemoryFigure {
    /// The value, or why there is none.
    fn text(&self, shown: impl Fn(f64) -> String) -> String {
        match self.value {
            Some(value) => shown(value),
            None if self.missing.is_empty() => "-".into(),
            None => NOT_REPORTED.into(),
        }
    }
}

impl MemoryLevel {
    pub fn rate_text(&self) -> String {
        or_not_reported(self.rate.map(|rate| format!("{} GB/s", figure(rate))))
    }

    /// A text such as `62.2 % of 1389 GB/s`.
    pub fn used_text(&self) -> String {
        match (&self.ceiling, self.used) {
            (Some((most, _)), Some(used)) => {
                format!("{} of {} GB/s", percent(used), figure(*most))
            }
            (Some((most, _)), None) => format!("of {} GB/s", figure(*most)),
            (None, _) => "no ceiling reported".into(),
        }
    }

    /// A text such as `hits 50.0 %`.
    pub fn share_text(&self) -> String {
        let shares = self.shares.iter();
        itertools::join(
            shares.map(|it| format!("{} {}", it.name, it.text(|it| percent(Percentage(it))))),
            ", ",
        )
    }

    /// A text such as `16.0 MiB a launch`, with reads and writes apart where the counters tell them apart.
    pub fn traffic_text(&self) -> String {
        let all = or_not_reported(sum(&self.traffic).map(bytes));
        match self.traffic.as_slice() {
            [_] => format!("{all} a launch"),
            parts => {
                let parts = parts
                    .iter()
                    .map(|it| format!("{} {}", it.name, it.text(bytes)));
                format!("{all} a launch: {}", itertools::join(parts, ", "))
            }
        }
    }

    /// Each figure's formula with its counters, the missing ones, the ceiling's source, and what a rate above it means.
    pub fn sources(&self) -> Vec<String> {
        let figures = self.traffic.iter().chain(&self.shares);
        let formulas = figures.map(|it| {
            let missing = match it.missing.is_empty() {
                true => String::new(),
                false => format!("; not reported: {}", it.missing.join(", ")),
            };
            format!("{} {} = {}{missing}", self.name, it.name, it.formula)
        });
        let ceiling = self.ceiling.iter();
        let ceiling = ceiling.map(|(_, source)| format!("{} ceiling: {source}", self.name));
        let above = self
            .above
            .iter()
            .map(|above| format!("{} rate: {above}", self.name));
        formulas.chain(ceiling).chain(above).collect()
    }
}

impl MemoryChart {
    fn has_traffic(&self) -> bool {
        let mut figures = self.levels.iter().flat_map(|level| &level.traffic);
        figures.any(|figure| figure.value.is_some())
    }

    /// What is said of the level at this index: that it limits, or is the nearest to its ceiling.
    pub fn mark(&self, at: usize) -> &'static str {
        match self.levels.get(at).and_then(|level| level.used) {
            Some(used) if self.nearest == Some(at) && used >= LIMITS => "limits",
            Some(_) if self.nearest == Some(at) => "nearest to its ceiling",
            _ => "",
        }
    }

    /// The chart as sentences, one a level.
    pub fn lines(&self) -> Vec<String> {
        let levels = self.levels.iter().enumerate().map(|(at, level)| {
            let (rate, used, share) = (level.rate_text(), level.used_text(), level.share_text());
            let mark = Some(self.mark(at)).filter(|mark| !mark.is_empty());
            let mark = mark.map_or(String::new(), |mark| format!(" ({mark})"));
            format!("{}{mark}: {rate}, {used}, {share}", level.name)
        });
        let title = format!("Memory chart of {}", self.title);
        [title].into_iter().chain(levels).collect()
    }

    pub fn table(&self) -> TextTable {
        let levels: Vec<(usize, &MemoryLevel)> = self.levels.iter().enumerate().collect();
        let columns = TableColumns::titled(format!("Memory chart of {}", self.title), &levels)
            .left("level", |(_, it)| it.name.to_owned())
            .right("a launch", |(_, it)| {
                or_not_reported(sum(&it.traffic).map(bytes))
            })
            .right("rate", |(_, it)| it.rate_text())
            .right("of ceiling", |(_, it)| it.used.map(percent))
            .left("hits and more", |(_, it)| it.share_text())
            .left("", |(at, _)| {
                Some(self.mark(*at).to_owned()).filter(|mark| !mark.is_empty())
            });
        let mut table = TextTable::from(columns);
        table.notes.clear();
        let sources = self.levels.iter().flat_map(MemoryLevel::sources);
        sources.for_each(|source| table.note(source));
        table
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::read::import;

    fn first(path: &str) -> MemoryChart {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let profile = import(&root.join(path)).unwrap().profile;
        charts(&profile, 1).remove(0)
    }

    fn near(value: Option<f64>, expected: f64) {
        let value = value.unwrap();
        assert!(
            (value - expected).abs() < 5e-4 * expected,
            "{value} is not {expected}"
        );
    }

    /// Three launches of 20 480, 16 320 and 15 520 ns: 17 440 ns in the mean. Worked out by hand from pmc_perf.csv.
    #[test]
    fn the_courses_sample_is_limited_by_its_memory() {
        let chart = first("lessons/profiles/vcopy-mi200");
        let [lds, l1, l2, hbm] = chart.levels.as_slice() else {
            panic!("{chart:?}");
        };
        // 524 288 accesses of 64 bytes; half of them go on to L2.
        near(l1.rate, 33_554_432.0 / 17_440.0);
        near(l1.shares[0].value, 50.0);
        near(l1.used.map(|it| it.0), 100.0 * 1924.0 / 9226.73);
        near(l2.rate, 16_777_216.0 / 17_440.0);
        // Hits 72 935, 69 652, 70 029; misses 131 081, 131 083, 131 082.
        near(l2.shares[0].value, 100.0 * 70_872.0 / 201_954.0);
        // Reads 131 086, 131 086, 131 087 and writes 131 072, 91 072, 91 113, all of 64 bytes.
        near(hbm.traffic[0].value, 64.0 * 393_259.0 / 3.0);
        near(hbm.traffic[1].value, 64.0 * 313_257.0 / 3.0);
        near(hbm.rate, 864.3);
        near(hbm.used.map(|it| it.0), 62.23);
        near(hbm.shares[0].value, 99.997);
        assert_eq!((chart.nearest, chart.mark(3)), (Some(3), "limits"));
        // No lane used LDS, so its conflicts are 0 of 0.
        assert_eq!(
            (lds.rate, lds.share_text().as_str()),
            (Some(0.0), "bank conflicts -")
        );
    }

    /// The times of this table are cut to five digits, so bytes are known and rates are not.
    #[test]
    fn an_mi300_counts_reads_of_128_bytes_and_is_not_timed_here() {
        let chart = first("tests/fixtures/rocprof-compute/vcopy/MI300A_A1");
        let memory = &chart.levels[3];
        // Means of 65 586.33 reads, 65 536 of them of 128 bytes, and 131 072 writes of 64 bytes.
        near(
            memory.traffic[0].value,
            128.0 * 65_536.0 + 64.0 * 151.0 / 3.0,
        );
        near(memory.traffic[1].value, 64.0 * 131_072.0);
        near(chart.levels[1].shares[0].value, 62.5);
        assert_eq!((memory.rate, chart.nearest), (None, None));
        assert!(memory.rate_text() == NOT_REPORTED, "{memory:?}");
        // 5324.8 GB/s is in the description of the machine.
        near(memory.ceiling.as_ref().map(|it| it.0), 5324.8);
    }

    #[test]
    fn a_missing_counter_is_named_and_no_zero_stands_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let mut text = "Correlation_Id,Dispatch_Id,Agent_Id,Queue_Id,Process_Id,Thread_Id,Grid_Size,Kernel_Name,\
                        Workgroup_Size,LDS_Block_Size,Scratch_Size,VGPR_Count,SGPR_Count,Counter_Name,Counter_Value\n"
            .to_owned();
        for counter in ["GL2C_MC_WRREQ_sum", "GL2C_EA_WRREQ_64B_sum"] {
            text += &format!("1,1,4,1,12,12,1024,k,64,0,0,8,16,{counter},10\n");
        }
        std::fs::write(folder.path().join("1_counter_collection.csv"), text).unwrap();
        let profile = import(folder.path()).unwrap().profile;
        let chart = charts(&profile, 1).remove(0);
        let memory = &chart.levels[4];
        assert_eq!(memory.traffic[1].value, Some(640.0));
        assert_eq!((memory.traffic[0].value, memory.rate), (None, None));
        let text = chart.table().render(100);
        assert!(text.contains("not reported: TCP_REQ_sum"), "{text}");
    }
}
