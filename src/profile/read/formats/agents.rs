//! Reads rocprofv3's `agent_info`: one row a processor or GPU.

use super::{FormatContent, ProfileFormat};

pub const FORMAT: ProfileFormat = ProfileFormat {
    name: "rocprofv3 agents (CSV)",
    recognises: |file| {
        file.has(&["agent_type", "name"]) && file.has_one_of(&["logical_node_id", "node_id"])
    },
    read: |reading| reading.rows(|records, row| records.agent(row, |figure| row.whole_of(figure))),
    content: FormatContent::Part,
};
