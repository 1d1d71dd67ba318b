//! Turns rows into records, equally for every tabular format.

use super::fields::{Field, FieldSource};
use super::guids::RunGuids;
use crate::model::{
    Agent, ApiCall, CounterSample, Dispatch, LaneId, LaunchVariant, MemoryAllocation, MemoryCopy,
    NameId, ProcessId, Profile, ProfilerStatistic, StatisticKind, VariantId, is_marker_domain,
};
use crate::name;
use serde::Deserialize;

/// Adds the rows of one table to a profile.
pub struct ProfileRowWriter<'a> {
    pub profile: &'a mut Profile,
    /// The process that the file describes.
    pub process: ProcessId,
    guids: &'a mut RunGuids,
    /// The process of the row before, by its id.
    guid: Option<(String, ProcessId)>,
    /// The name in the row before. Traces repeat names, and a comparison is cheaper than a look-up.
    kernel: Option<(String, NameId)>,
    variant: Option<(LaunchVariant, VariantId)>,
}

impl<'a> ProfileRowWriter<'a> {
    pub fn new(profile: &'a mut Profile, process: ProcessId, guids: &'a mut RunGuids) -> Self {
        ProfileRowWriter {
            profile,
            process,
            guids,
            guid: None,
            kernel: None,
            variant: None,
        }
    }

    /// Reads how and when a kernel was launched.
    pub fn launch<R: FieldSource>(&mut self, row: &R) -> Result<Dispatch, R::Problem> {
        use Field::{GridX, GridY, GridZ, WorkgroupX, WorkgroupY, WorkgroupZ};
        let kernel = match row.text(Field::Kernel)? {
            Some(kernel) => kernel,
            None => row.needed_text(Field::Name)?,
        };
        let variant = LaunchVariant {
            kernel: self.kernel(kernel),
            workgroup: row.axes([WorkgroupX, WorkgroupY, WorkgroupZ])?,
            grid: row.axes([GridX, GridY, GridZ])?,
            lds: row.small(Field::Lds)?,
            vgpr: row.small(Field::Vgpr)?,
            accum_vgpr: row.small(Field::AccumVgpr)?,
            sgpr: row.small(Field::Sgpr)?,
        };
        Ok(Dispatch {
            time: row.exact_time()?,
            lane: self.lane(row)?,
            id: row.unsigned(Field::Dispatch)?,
            correlation: row.unsigned(Field::Correlation)?,
            variant: self.variant(variant),
        })
    }

    fn kernel(&mut self, written: &str) -> NameId {
        match &self.kernel {
            Some((last, id)) if last == written => *id,
            _ => {
                let id = self.profile.name_id(name::strip_suffix(written));
                self.kernel = Some((written.to_owned(), id));
                id
            }
        }
    }

    fn variant(&mut self, variant: LaunchVariant) -> VariantId {
        match self.variant {
            Some((last, id)) if last == variant => id,
            _ => {
                let id = self.profile.variant_id(variant);
                self.variant = Some((variant, id));
                id
            }
        }
    }

    fn lane<R: FieldSource>(&mut self, row: &R) -> Result<LaneId, R::Problem> {
        let process = self.process_of(row)?;
        Ok(self.profile.lane_id(row.lane(process)?))
    }

    /// The process of a row. A file that was made of several databases has several.
    fn process_of<R: FieldSource>(&mut self, row: &R) -> Result<ProcessId, R::Problem> {
        let Some(guid) = row.text(Field::Guid)?.filter(|guid| !guid.is_empty()) else {
            return Ok(self.process);
        };
        match &self.guid {
            Some((last, process)) if last == guid => Ok(*process),
            _ => {
                let process = self.guids.process(guid, self.process, self.profile);
                self.guid = Some((guid.to_owned(), process));
                Ok(process)
            }
        }
    }

    pub fn dispatch<R: FieldSource>(&mut self, row: &R) -> Result<(), R::Problem> {
        let launch = self.launch(row)?;
        self.profile.dispatches.push(launch);
        Ok(())
    }

    /// Adds a counter of one launch. Adds none if the hardware could not collect it.
    pub fn counter<R: FieldSource>(&mut self, row: &R) -> Result<(), R::Problem> {
        let launch = self.launch(row)?;
        let counter = row.needed_text(Field::Counter)?;
        if counter.is_empty() {
            let problem = "is empty; a counter's name is needed".to_owned();
            return Err(row.problem(Field::Counter, problem));
        }
        if let Some(value) = row.number(Field::Value)? {
            let counter = self.profile.name_id(counter);
            self.profile.counters.push(launch.sample(counter, value));
        }
        Ok(())
    }

    pub fn call<R: FieldSource>(&mut self, row: &R) -> Result<(), R::Problem> {
        let domain = row.text(Field::Domain)?.unwrap_or_default();
        self.call_in(domain, row)
    }

    /// Adds a call of a table that belongs to one domain.
    pub fn call_in<R: FieldSource>(&mut self, domain: &str, row: &R) -> Result<(), R::Problem> {
        let message = match is_marker_domain(domain) {
            true => message(row.text(Field::Extra)?.unwrap_or_default()),
            false => None,
        };
        let function = match &message {
            Some(message) => message,
            None => row.needed_text(Field::Function)?,
        };
        let call = ApiCall {
            time: row.needed(Field::Start, row.time()?)?,
            lane: self.lane(row)?,
            correlation: row.unsigned(Field::Correlation)?,
            domain: self.profile.name_id(domain),
            function: self.profile.name_id(function),
        };
        self.profile.calls.push(call);
        Ok(())
    }

    pub fn copy<R: FieldSource>(&mut self, row: &R) -> Result<(), R::Problem> {
        let copy = MemoryCopy {
            time: row.needed(Field::Start, row.time()?)?,
            lane: self.lane(row)?,
            source: row.unsigned(Field::Source)?,
            destination: row.unsigned(Field::Destination)?,
            bytes: row.unsigned(Field::Bytes)?,
            direction: self.profile.name_id(row.needed_text(Field::Direction)?),
        };
        self.profile.copies.push(copy);
        Ok(())
    }

    pub fn allocation<R: FieldSource>(&mut self, row: &R) -> Result<(), R::Problem> {
        let allocation = MemoryAllocation {
            time: row.needed(Field::Start, row.time()?)?,
            lane: self.lane(row)?,
            operation: self.profile.name_id(row.needed_text(Field::Operation)?),
        };
        self.profile.allocations.push(allocation);
        Ok(())
    }

    /// Adds a row of a summary. `name` returns its kind and name.
    pub fn statistic<R: FieldSource>(
        &mut self,
        row: &R,
        process: ProcessId,
        name: impl FnOnce(&str) -> (StatisticKind, &str),
    ) -> Result<(), R::Problem> {
        let (kind, name) = name(row.needed_text(Field::Name)?);
        let statistic = ProfilerStatistic {
            kind,
            process,
            calls: row.needed(Field::Calls, row.unsigned(Field::Calls)?)?,
            total_ns: row.amount(Field::Total)?,
            min_ns: row.number(Field::Least)?,
            max_ns: row.number(Field::Most)?,
            name: self.profile.name_id(name),
        };
        self.profile.statistics.push(statistic);
        Ok(())
    }

    /// Adds a processor or GPU. 0 compute units means that their number is not known.
    pub fn agent<R: FieldSource>(&mut self, row: &R, units: Option<u64>) -> Result<(), R::Problem> {
        let text = |field| Ok(row.text(field)?.unwrap_or_default().to_owned());
        let agent = Agent {
            number: row.unsigned(Field::Number)?,
            gpu: text(Field::Type)?.eq_ignore_ascii_case("gpu"),
            name: text(Field::Name)?,
            compute_units: units.filter(|&units| units > 0),
        };
        self.profile.add_agent(agent);
        Ok(())
    }
}

/// The text of a marker, which rocpd keeps apart from the function that set it.
fn message(properties: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Marker {
        message: String,
    }
    let marker: Marker = serde_json::from_str(properties).ok()?;
    Some(marker.message).filter(|message| !message.is_empty())
}

impl Dispatch {
    pub fn sample(&self, counter: NameId, value: f64) -> CounterSample {
        CounterSample {
            variant: self.variant,
            lane: self.lane,
            dispatch: self.id,
            counter,
            value,
            time: self.time,
        }
    }
}
