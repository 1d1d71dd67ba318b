//! Which part of the model a kernel works for, as the event stream of the same run told.

use std::collections::BTreeMap;

use crate::profiler::name;

/// Kernel names with the part of the model that issued them.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    by_name: BTreeMap<String, Vec<String>>,
}

impl Parts {
    /// Names are compared without what a profiler or compiler adds to them.
    pub fn add(&mut self, kernel: &str, part: &str) {
        let parts = self
            .by_name
            .entry(name::short(kernel).to_owned())
            .or_default();
        if !parts.iter().any(|known| known == part) {
            parts.push(part.to_owned());
        }
    }

    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// The parts that issued `kernel`; `None` when the run did not tell.
    pub fn of(&self, kernel: &str) -> Option<String> {
        const MOST_NAMED: usize = 3;
        let parts = self.by_name.get(name::short(kernel))?;
        let mut text = parts[..parts.len().min(MOST_NAMED)].join(", ");
        if parts.len() > MOST_NAMED {
            text.push_str(&format!(" and {} more", parts.len() - MOST_NAMED));
        }
        Some(text)
    }

    /// Of one run.
    pub fn from_events(stream: &str) -> Self {
        let mut parts = Parts::default();
        parts.add_events(stream);
        parts
    }

    /// Reads the `kernels` events of a run's stream; other lines are ignored.
    pub fn add_events(&mut self, stream: &str) {
        for line in stream.lines() {
            let Ok(event) = serde_json::from_str::<serde_json::Value>(line) else {
                continue;
            };
            if event.get("event").and_then(|kind| kind.as_str()) != Some("kernels") {
                continue;
            }
            let kernels = event.get("kernels").and_then(|kernels| kernels.as_array());
            for kernel in kernels.into_iter().flatten() {
                let text = |key: &str| kernel.get(key).and_then(|value| value.as_str());
                if let (Some(name), Some(part)) = (text("name"), text("part")) {
                    self.add(name, part);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_of_a_run_are_named_after_its_parts() {
        let stream = r#"not json
{"t":0.1,"event":"step","n":1}
{"t":9.0,"event":"kernels","kernels":[{"name":"rms_norm","part":"layer 0 attention"},{"name":"rms_norm","part":"layer 1 attention"}],"unknown":1}"#;
        let parts = Parts::from_events(stream);
        assert_eq!(
            parts.of("void rms_norm<float>(float*)").as_deref(),
            Some("layer 0 attention, layer 1 attention")
        );
        assert_eq!(parts.of("other"), None);
    }
}
