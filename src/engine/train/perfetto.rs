//! Writes a profile pass in Perfetto's own format: protobuf messages, of which a timeline needs few fields.
//!
//! Numbers of fields are those of `trace_packet.proto`, `track_descriptor.proto` and `track_event.proto` in
//! <https://github.com/google/perfetto>.

use std::io::{self, Write};

use super::kernel_table::short_name;
use crate::train::Trace;

const PACKET: u64 = 1;
const PACKET_TIMESTAMP: u64 = 8;
const PACKET_SEQUENCE: u64 = 10;
const PACKET_TRACK_EVENT: u64 = 11;
const PACKET_TRACK: u64 = 60;
const TRACK_UUID: u64 = 1;
const TRACK_NAME: u64 = 2;
const EVENT_TYPE: u64 = 9;
const EVENT_TRACK_UUID: u64 = 11;
const EVENT_CATEGORY: u64 = 22;
const EVENT_NAME: u64 = 23;
const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;

/// A named interval on one track, in nanoseconds.
struct Slice {
    category: &'static str,
    name: String,
    start: u64,
    end: u64,
}

/// Writes the host's phases and the device's kernels. Kernels without time stamps are left out.
///
/// # Errors
/// Fails if `out` cannot be written.
pub fn write(out: &mut dyn Write, trace: &Trace) -> io::Result<()> {
    let host = trace.host.iter().map(|span| Slice {
        category: "host",
        name: span.name.clone(),
        start: nanoseconds(span.start),
        end: nanoseconds(span.end),
    });
    let kernels = trace.launches.iter().filter_map(|launch| {
        let (start, end) = launch.device?;
        Some(Slice {
            category: "kernel",
            name: short_name(launch.kernel),
            start: nanoseconds(start),
            end: nanoseconds(end),
        })
    });
    let tracks = [
        ("host", host.collect()),
        ("device kernels", kernels.collect()),
    ];
    let mut uuid = 0;
    for (title, slices) in tracks {
        for row in rows(slices) {
            uuid += 1;
            let mut track = Message::default();
            track.number(TRACK_UUID, uuid).text(TRACK_NAME, title);
            packet(out, None, PACKET_TRACK, &track)?;
            for slice in &row {
                let mut begin = event(SLICE_BEGIN, uuid);
                begin.text(EVENT_CATEGORY, slice.category);
                begin.text(EVENT_NAME, &slice.name);
                packet(out, Some(slice.start), PACKET_TRACK_EVENT, &begin)?;
                let end = event(SLICE_END, uuid);
                packet(out, Some(slice.end), PACKET_TRACK_EVENT, &end)?;
            }
        }
    }
    Ok(())
}

fn nanoseconds(seconds: f64) -> u64 {
    (seconds.max(0.0) * 1e9).round() as u64
}

/// Rows in which no slice begins before the one before it ended, as Perfetto takes a later one for a part of it.
fn rows(mut slices: Vec<Slice>) -> Vec<Vec<Slice>> {
    slices.sort_by_key(|slice| slice.start);
    let mut rows: Vec<Vec<Slice>> = Vec::new();
    for slice in slices {
        let is_free = |row: &&mut Vec<Slice>| row.last().is_none_or(|it| it.end <= slice.start);
        match rows.iter_mut().find(is_free) {
            Some(row) => row.push(slice),
            None => rows.push(vec![slice]),
        }
    }
    rows
}

fn event(kind: u64, track: u64) -> Message {
    let mut event = Message::default();
    event.number(EVENT_TYPE, kind);
    event.number(EVENT_TRACK_UUID, track);
    event
}

fn packet(
    out: &mut dyn Write,
    timestamp: Option<u64>,
    field: u64,
    content: &Message,
) -> io::Result<()> {
    let mut packet = Message::default();
    if let Some(timestamp) = timestamp {
        packet.number(PACKET_TIMESTAMP, timestamp);
    }
    packet.number(PACKET_SEQUENCE, 1);
    packet.bytes(field, &content.0);
    let mut framed = Message::default();
    framed.bytes(PACKET, &packet.0);
    out.write_all(&framed.0)
}

/// The bytes of a protobuf message.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn number(&mut self, field: u64, value: u64) -> &mut Self {
        self.varint(field << 3);
        self.varint(value);
        self
    }

    fn text(&mut self, field: u64, text: &str) -> &mut Self {
        self.bytes(field, text.as_bytes())
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) -> &mut Self {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Part;
    use crate::train::telemetry::{HostSpan, KernelLaunch};

    /// A field of a decoded message.
    #[derive(Clone, Debug, PartialEq)]
    enum Field<'b> {
        Number(u64),
        Bytes(&'b [u8]),
    }

    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for shift in (0..).step_by(7) {
            let (byte, rest) = bytes.split_first().unwrap();
            *bytes = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        value
    }

    fn decode(mut bytes: &[u8]) -> Vec<(u64, Field<'_>)> {
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            let tag = varint(&mut bytes);
            let value = varint(&mut bytes);
            let field = match tag & 7 {
                0 => Field::Number(value),
                2 => {
                    let (content, rest) = bytes.split_at(value as usize);
                    bytes = rest;
                    Field::Bytes(content)
                }
                kind => panic!("wire type {kind}"),
            };
            fields.push((tag >> 3, field));
        }
        fields
    }

    fn get<'b>(message: &[(u64, Field<'b>)], number: u64) -> Option<Field<'b>> {
        let mut fields = message.iter().filter(|(field, _)| *field == number);
        fields.next().map(|(_, field)| field.clone())
    }

    #[test]
    fn a_written_trace_decodes_to_its_slices_and_overlapping_kernels_have_their_own_row() {
        let launch = |kernel, device| KernelLaunch {
            kernel,
            part: Part::Attention(3),
            within: None,
            fused_operations: None,
            work: None,
            device,
        };
        let trace = Trace {
            steps: 1,
            launches: vec![
                launch("a::matmul<f32>", Some((0.001, 0.0015))),
                launch("norm", Some((0.0012, 0.0013))),
                launch("unseen", None),
            ],
            host: vec![HostSpan {
                name: "forward".into(),
                start: 0.0,
                end: 0.002,
            }],
            ..Trace::default()
        };
        let mut written = Vec::new();
        write(&mut written, &trace).unwrap();
        let mut tracks = Vec::new();
        let mut slices = Vec::new();
        for (field, packet) in decode(&written) {
            let (PACKET, Field::Bytes(packet)) = (field, packet) else {
                panic!("{field}");
            };
            let packet = decode(packet);
            let at = get(&packet, PACKET_TIMESTAMP);
            if let Some(Field::Bytes(track)) = get(&packet, PACKET_TRACK) {
                tracks.push(get(&decode(track), TRACK_NAME).unwrap());
            }
            if let Some(Field::Bytes(event)) = get(&packet, PACKET_TRACK_EVENT) {
                let event = decode(event);
                let [kind, track] = [EVENT_TYPE, EVENT_TRACK_UUID].map(|it| get(&event, it));
                slices.push((at, kind, track, get(&event, EVENT_NAME)));
            }
        }
        let kernels = Field::Bytes(b"device kernels");
        assert_eq!(
            tracks,
            [Field::Bytes(b"host"), kernels.clone(), kernels.clone()]
        );
        let number = |value| Some(Field::Number(value));
        let name = |text: &'static str| Some(Field::Bytes(text.as_bytes()));
        assert_eq!(
            slices,
            [
                (number(0), number(1), number(1), name("forward")),
                (number(2_000_000), number(2), number(1), None),
                (number(1_000_000), number(1), number(2), name("matmul")),
                (number(1_500_000), number(2), number(2), None),
                (number(1_200_000), number(1), number(3), name("norm")),
                (number(1_300_000), number(2), number(3), None),
            ]
        );
    }
}
