//! CSV in the columns of rocprofv3 7.0, whatever the profile was read from: what is written here can be imported again.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use csv::Writer;

use crate::profiler::model::{Interval, LaneId, Profile, Variant, VariantId};

/// Writes one file for each kind of record the profile has into `folder`; the files written.
pub fn write(profile: &Profile, folder: &Path) -> Result<Vec<PathBuf>, csv::Error> {
    std::fs::create_dir_all(folder)?;
    let mut written = Vec::new();
    let mut file =
        |name: &str,
         is_empty: bool,
         write: fn(&Profile, &mut dyn Write) -> Result<(), csv::Error>| {
            if is_empty {
                return Ok(());
            }
            let path = folder.join(name);
            let mut output = BufWriter::new(File::create(&path)?);
            write(profile, &mut output)?;
            output.flush()?;
            written.push(path);
            Ok::<_, csv::Error>(())
        };
    file(
        "kernel_trace.csv",
        profile.dispatches.is_empty(),
        kernel_trace,
    )?;
    file("memory_copy_trace.csv", profile.copies.is_empty(), copies)?;
    file("api_trace.csv", profile.calls.is_empty(), calls)?;
    file(
        "counter_collection.csv",
        profile.counters.is_empty(),
        counters,
    )?;
    Ok(written)
}

fn kernel_trace(profile: &Profile, output: &mut dyn Write) -> Result<(), csv::Error> {
    let mut table = Writer::from_writer(output);
    table.write_record([
        "Kind",
        "Agent_Id",
        "Queue_Id",
        "Stream_Id",
        "Thread_Id",
        "Dispatch_Id",
        "Kernel_Name",
        "Correlation_Id",
        "Start_Timestamp",
        "End_Timestamp",
        "LDS_Block_Size",
        "Scratch_Size",
        "VGPR_Count",
        "Accum_VGPR_Count",
        "SGPR_Count",
        "Workgroup_Size_X",
        "Workgroup_Size_Y",
        "Workgroup_Size_Z",
        "Grid_Size_X",
        "Grid_Size_Y",
        "Grid_Size_Z",
    ])?;
    for dispatch in &profile.dispatches {
        // The columns of rocprofv3 have no way to say that a time is not known.
        let Some(time) = dispatch.time else { continue };
        let lane = profile.lane(dispatch.lane);
        let variant = profile.variant(dispatch.variant);
        let mut row = vec!["KERNEL_DISPATCH".to_owned()];
        row.extend(
            [
                lane.agent,
                lane.queue,
                lane.stream,
                lane.thread,
                dispatch.id,
            ]
            .map(cell),
        );
        row.push(profile.name(variant.kernel).to_owned());
        row.push(cell(dispatch.correlation));
        row.extend(times(time));
        row.extend(resources(variant));
        row.extend(axes(variant.workgroup.map(|axes| axes.map(u64::from))));
        row.extend(axes(variant.grid));
        table.write_record(&row)?;
    }
    Ok(table.flush()?)
}

fn copies(profile: &Profile, output: &mut dyn Write) -> Result<(), csv::Error> {
    let mut table = Writer::from_writer(output);
    table.write_record([
        "Kind",
        "Direction",
        "Stream_Id",
        "Source_Agent_Id",
        "Destination_Agent_Id",
        "Correlation_Id",
        "Bytes",
        "Start_Timestamp",
        "End_Timestamp",
    ])?;
    for copy in &profile.copies {
        let mut row = vec![
            "MEMORY_COPY".to_owned(),
            profile.name(copy.direction).to_owned(),
        ];
        let stream = profile.lane(copy.lane).stream;
        row.extend(
            [
                stream,
                copy.source,
                copy.destination,
                copy.correlation,
                copy.bytes,
            ]
            .map(cell),
        );
        row.extend(times(copy.time));
        table.write_record(&row)?;
    }
    Ok(table.flush()?)
}

fn calls(profile: &Profile, output: &mut dyn Write) -> Result<(), csv::Error> {
    let mut table = Writer::from_writer(output);
    table.write_record([
        "Domain",
        "Function",
        "Process",
        "Thread_Id",
        "Correlation_Id",
        "Start_Timestamp",
        "End_Timestamp",
    ])?;
    for call in &profile.calls {
        let lane = profile.lane(call.lane);
        let mut row = vec![
            profile.name(call.domain).to_owned(),
            profile.name(call.function).to_owned(),
            profile.process(lane.process).label.clone(),
        ];
        row.extend([lane.thread, call.correlation].map(cell));
        row.extend(times(call.time));
        table.write_record(&row)?;
    }
    Ok(table.flush()?)
}

fn counters(profile: &Profile, output: &mut dyn Write) -> Result<(), csv::Error> {
    let mut table = Writer::from_writer(output);
    let has_times = profile.counters.iter().all(|sample| sample.time.is_some());
    let mut header = vec![
        "Dispatch_Id",
        "Agent_Id",
        "Queue_Id",
        "Thread_Id",
        "Grid_Size",
        "Kernel_Name",
        "Workgroup_Size",
        "LDS_Block_Size",
        "Scratch_Size",
        "VGPR_Count",
        "Accum_VGPR_Count",
        "SGPR_Count",
        "Counter_Name",
        "Counter_Value",
    ];
    if has_times {
        header.extend(["Start_Timestamp", "End_Timestamp"]);
    }
    table.write_record(&header)?;
    for sample in &profile.counters {
        let mut row = launch(profile, sample.dispatch, sample.lane, sample.variant);
        row.push(profile.name(sample.counter).to_owned());
        row.push(sample.value.to_string());
        if let Some(time) = sample.time.filter(|_| has_times) {
            row.extend(times(time));
        }
        table.write_record(&row)?;
    }
    Ok(table.flush()?)
}

fn launch(
    profile: &Profile,
    dispatch: Option<u64>,
    lane: LaneId,
    variant: VariantId,
) -> Vec<String> {
    let lane = profile.lane(lane);
    let variant = profile.variant(variant);
    let mut row: Vec<String> = [dispatch, lane.agent, lane.queue, lane.thread]
        .map(cell)
        .to_vec();
    let items = variant.grid.map(|grid| grid.iter().product::<u64>());
    row.push(cell(items));
    row.push(profile.name(variant.kernel).to_owned());
    row.push(cell(variant.workgroup_size()));
    row.extend(resources(variant));
    row
}

fn resources(variant: &Variant) -> [String; 5] {
    [
        variant.lds,
        variant.scratch,
        variant.vgpr,
        variant.accum_vgpr,
        variant.sgpr,
    ]
    .map(|figure| cell(figure.map(u64::from)))
}

fn axes(axes: Option<[u64; 3]>) -> [String; 3] {
    match axes {
        Some(axes) => axes.map(|axis| axis.to_string()),
        None => Default::default(),
    }
}

fn times(time: Interval) -> [String; 2] {
    [time.start.to_string(), time.end.to_string()]
}

/// An empty cell for what is not known.
fn cell(figure: Option<u64>) -> String {
    figure.map(|figure| figure.to_string()).unwrap_or_default()
}
