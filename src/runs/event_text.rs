//! Formats what a run reports besides its steps: its data, tables of activations, and of a block in one launch.

use tinyllama_base::table::{TableColumns, TextTable};
use tinyllama_base::{Share, human_bytes, percent};
use tinyllama_contract::event::{Activations, Block, Body, DataSource};

/// The text of an event that is shown as text alone. `None` if every reader shows the event in its own way.
pub fn remark(body: &Body) -> Option<String> {
    Some(match body {
        Body::Activations(event) => activations(event),
        Body::Block(event) => block(event),
        Body::Sample(it) => format!("{:?} continued as {:?}", it.prompt, it.continuation),
        Body::Note(note) => note.message.clone(),
        Body::Hello(_) | Body::Phase(_) | Body::Step(_) | Body::Kernels(_) => return None,
        Body::Parts(_) | Body::Summary(_) | Body::Error(_) => return None,
    })
}

/// Describes the training data.
pub fn data_source(source: &DataSource) -> String {
    match source {
        DataSource::Synthetic => {
            "one batch of random tokens, repeated: it can only be memorised".to_owned()
        }
        DataSource::Text {
            path,
            bytes,
            order_0_entropy,
        } => format!(
            "{path}, {}; a model that ignores context can reach {order_0_entropy:.3} nats",
            human_bytes(*bytes)
        ),
    }
}

/// The table of activations, for people.
fn activations(event: &Activations) -> String {
    let number = |value: Option<f64>| value.map_or("not finite".into(), |v| format!("{v:.4}"));
    let bounds = format!("{} to {}", event.narrowest, event.widest);
    let title = "Numbers in every layer before the first step";
    let table = TableColumns::titled(title, &event.layers)
        .left("layer", |layer| layer.layer.clone())
        .right("mean", move |layer| number(layer.mean))
        .right("std", move |layer| number(layer.std))
        .right("min", move |layer| number(layer.min))
        .right("max", move |layer| number(layer.max))
        .left("", |layer| {
            let mark = if layer.within_bounds { "" } else { "!" };
            mark.to_owned()
        })
        .note(match &event.first_outside {
            Some(layer) => {
                format!("first layer with a standard deviation outside {bounds}: {layer}")
            }
            None => format!("every standard deviation lies within {bounds}"),
        });
    TextTable::from(table).render(80).trim_end().to_owned()
}

/// The table of both forms of a block with a conclusion, for people.
fn block(event: &Block) -> String {
    let row = |name: &str, single: String, schedule: String| {
        format!("  {name:<28} {single:>14} {schedule:>14}")
    };
    let mega = |value: f64| format!("{:.1} M", value / 1e6);
    let lines = [
        "The forward pass of one block".into(),
        row("", "in one launch".into(), "as scheduled".into()),
        row("launches", "1".into(), event.schedule_launches.to_string()),
        row(
            "time",
            format!("{:.1} us", event.single_ms * 1e3),
            format!("{:.1} us", event.schedule_ms * 1e3),
        ),
        row(
            "operations",
            mega(event.flops + event.recomputed_flops),
            mega(event.flops),
        ),
        row(
            "  of these done again",
            mega(event.recomputed_flops),
            mega(0.0),
        ),
        row(
            "bytes of weights read",
            mega(event.weight_bytes_read),
            mega(event.weight_bytes),
        ),
        format!("  the results differ by {:.1e}", event.difference),
        format!("  {}", verdict(event)),
    ];
    itertools::join(lines, "\n")
}

fn verdict(block: &Block) -> String {
    let ratio = block.single_ms / block.schedule_ms;
    let launches = block.schedule_launches;
    let speed = if ratio >= 1.0 {
        format!("takes {ratio:.1} times as long as the {launches} launches of the schedule")
    } else {
        let faster = 1.0 / ratio;
        format!("is {faster:.1} times as fast as the {launches} launches of the schedule")
    };
    let again = percent(Share(block.recomputed_flops / block.flops));
    let reads = block.weight_bytes_read / block.weight_bytes;
    let (working, units) = (
        block.thread_blocks.min(block.compute_units),
        block.compute_units,
    );
    let price = format!(
        "it computes {again} more, because thread blocks cannot share keys and values, fetches every weight {reads:.0} \
         times instead of once, and has work for {working} of {units} compute units"
    );
    let close = if ratio >= 1.0 {
        "A graph has made launches cheap already: what is left to save is far less than this costs."
    } else {
        "That holds for this size; at a larger one the price grows with it."
    };
    format!("One launch for the whole block {speed}: {price}. {close}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(single_ms: f64) -> Block {
        Block {
            single_ms,
            schedule_ms: 0.05,
            schedule_launches: 7,
            difference: 1e-3,
            flops: 8e9,
            recomputed_flops: 2e9,
            weight_bytes_read: 64e6,
            weight_bytes: 1e6,
            thread_blocks: 64,
            compute_units: 132,
        }
    }

    #[test]
    fn the_verdict_says_which_is_faster_and_why() {
        let slower = verdict(&measured(1.0));
        for part in [
            "20.0 times as long",
            "7 launches",
            "25.0 % more",
            "64 times",
            "64 of 132",
        ] {
            assert!(slower.contains(part), "{part} in {slower}");
        }
        let faster = verdict(&measured(0.025));
        insta::assert_snapshot!(format!("{slower}\n{faster}"));
    }
}
