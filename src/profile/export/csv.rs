//! Writes CSV in the columns of rocprofv3 7.0, from any profile. The files can be imported again.

use std::fs::File;
use std::path::{Path, PathBuf};

use csv::Writer;

use crate::model::{
    ApiCall, CounterSample, Dispatch, LaunchVariant, MemoryCopy, Profile, TimeSpan,
};
use tinyllama_base::table::TableColumns;

/// Writes one file for each kind of record in the profile into `folder`, and returns the files' paths.
///
/// # Errors
/// Fails if the folder or a file cannot be written.
pub fn write(profile: &Profile, folder: &Path) -> Result<Vec<PathBuf>, csv::Error> {
    std::fs::create_dir_all(folder)?;
    // The columns of rocprofv3 cannot express that a time is not known.
    let written = [
        table(folder, &kernel_trace(profile), |launch| {
            launch.time.is_some()
        })?,
        table(folder, &copies(profile), |_| true)?,
        table(folder, &calls(profile), |_| true)?,
        table(folder, &counters(profile), |_| true)?,
    ];
    Ok(written.into_iter().flatten().collect())
}

/// Writes the file that `columns` has as its title. Returns `None` if there is nothing to write.
fn table<T>(
    folder: &Path,
    columns: &TableColumns<'_, T>,
    keep: impl Fn(&T) -> bool,
) -> Result<Option<PathBuf>, csv::Error> {
    if columns.things.is_empty() {
        return Ok(None);
    }
    let path = folder.join(&columns.title);
    let mut table = Writer::from_writer(File::create(&path)?);
    table.write_record(columns.names())?;
    for thing in columns.things.iter().filter(|thing| keep(thing)) {
        // A value that is not known becomes an empty cell.
        table.write_record(columns.row(thing).map(Option::unwrap_or_default))?;
    }
    table.flush()?;
    Ok(Some(path))
}

fn kernel_trace(profile: &Profile) -> TableColumns<'_, Dispatch> {
    let lane = |launch: &Dispatch| profile.lane(launch.lane);
    let variant = |launch: &Dispatch| profile.variant(launch.variant);
    let workgroup =
        move |launch: &Dispatch| variant(launch).workgroup.map(|axes| axes.map(u64::from));
    let grid = move |launch: &Dispatch| variant(launch).grid;
    let columns = TableColumns::titled("kernel_trace.csv", &profile.dispatches)
        .left("Kind", |_| "KERNEL_DISPATCH".to_owned())
        .left("Agent_Id", move |launch| cell(lane(launch).agent))
        .left("Queue_Id", move |launch| cell(lane(launch).queue))
        .left("Stream_Id", move |launch| cell(lane(launch).stream))
        .left("Thread_Id", move |launch| cell(lane(launch).thread))
        .left("Dispatch_Id", |launch| cell(launch.id))
        .left("Kernel_Name", |launch| {
            profile.kernel_name(launch.variant).to_owned()
        })
        .left("Correlation_Id", |launch| cell(launch.correlation));
    let columns = times(columns, |launch| launch.time);
    resources(columns, variant)
        .left("Workgroup_Size_X", move |launch| axis(workgroup(launch), 0))
        .left("Workgroup_Size_Y", move |launch| axis(workgroup(launch), 1))
        .left("Workgroup_Size_Z", move |launch| axis(workgroup(launch), 2))
        .left("Grid_Size_X", move |launch| axis(grid(launch), 0))
        .left("Grid_Size_Y", move |launch| axis(grid(launch), 1))
        .left("Grid_Size_Z", move |launch| axis(grid(launch), 2))
}

fn copies(profile: &Profile) -> TableColumns<'_, MemoryCopy> {
    let columns = TableColumns::titled("memory_copy_trace.csv", &profile.copies)
        .left("Kind", |_| "MEMORY_COPY".to_owned())
        .left("Direction", |copy| profile.name(copy.direction).to_owned())
        .left("Stream_Id", |copy| cell(profile.lane(copy.lane).stream))
        .left("Source_Agent_Id", |copy| cell(copy.source))
        .left("Destination_Agent_Id", |copy| cell(copy.destination))
        .left("Correlation_Id", |copy| cell(copy.correlation))
        .left("Bytes", |copy| cell(copy.bytes));
    times(columns, |copy| Some(copy.time))
}

fn calls(profile: &Profile) -> TableColumns<'_, ApiCall> {
    let lane = |call: &ApiCall| profile.lane(call.lane);
    let columns = TableColumns::titled("api_trace.csv", &profile.calls)
        .left("Domain", |call| profile.name(call.domain).to_owned())
        .left("Function", |call| profile.name(call.function).to_owned())
        .left("Process", move |call| {
            profile.process(lane(call).process).label.clone()
        })
        .left("Thread_Id", move |call| cell(lane(call).thread))
        .left("Correlation_Id", |call| cell(call.correlation));
    times(columns, |call| Some(call.time))
}

fn counters(profile: &Profile) -> TableColumns<'_, CounterSample> {
    let lane = |sample: &CounterSample| profile.lane(sample.lane);
    let variant = |sample: &CounterSample| profile.variant(sample.variant);
    let items = |grid: [u64; 3]| grid.iter().product();
    let columns = TableColumns::titled("counter_collection.csv", &profile.counters)
        .left("Dispatch_Id", |sample| cell(sample.dispatch))
        .left("Agent_Id", move |sample| cell(lane(sample).agent))
        .left("Queue_Id", move |sample| cell(lane(sample).queue))
        .left("Thread_Id", move |sample| cell(lane(sample).thread))
        .left("Grid_Size", move |sample| {
            cell(variant(sample).grid.map(items))
        })
        .left("Kernel_Name", |sample| {
            profile.kernel_name(sample.variant).to_owned()
        })
        .left("Workgroup_Size", move |sample| {
            cell(variant(sample).workgroup_size())
        });
    let columns = resources(columns, variant)
        .left("Counter_Name", |sample| {
            profile.name(sample.counter).to_owned()
        })
        .left("Counter_Value", |sample| sample.value.to_string());
    match profile.counters.iter().all(|sample| sample.time.is_some()) {
        true => times(columns, |sample| sample.time),
        false => columns,
    }
}

fn times<'a, T>(
    columns: TableColumns<'a, T>,
    time: fn(&T) -> Option<TimeSpan>,
) -> TableColumns<'a, T>
where
    T: 'a,
{
    let stamp = |stamp: Option<i64>| stamp.map(|stamp| stamp.to_string());
    columns
        .left("Start_Timestamp", move |thing| {
            stamp(time(thing).map(|time| time.start))
        })
        .left("End_Timestamp", move |thing| {
            stamp(time(thing).map(|time| time.end))
        })
}

fn resources<'a, T>(
    columns: TableColumns<'a, T>,
    variant: impl Fn(&T) -> &'a LaunchVariant + Copy + 'a,
) -> TableColumns<'a, T> {
    let figure = |figure: Option<u32>| cell(figure.map(u64::from));
    columns
        .left("LDS_Block_Size", move |thing| figure(variant(thing).lds))
        .left("Scratch_Size", move |thing| figure(variant(thing).scratch))
        .left("VGPR_Count", move |thing| figure(variant(thing).vgpr))
        .left("Accum_VGPR_Count", move |thing| {
            figure(variant(thing).accum_vgpr)
        })
        .left("SGPR_Count", move |thing| figure(variant(thing).sgpr))
}

fn axis(axes: Option<[u64; 3]>, axis: usize) -> Option<String> {
    cell(axes.map(|axes| axes[axis]))
}

fn cell(figure: Option<u64>) -> Option<String> {
    figure.map(|figure| figure.to_string())
}
