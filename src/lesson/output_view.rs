//! A part of a command's document that a step shows.

use super::figure::Path;

/// Most rows of one list, if the view names no number.
pub const MOST_ROWS: usize = 16;

/// A part of a document that a step shows, as it is written: `path`, or `8 of list by column: column, column`. A minus
/// sign before the sorting column puts the largest first. `label = ` may stand before a path.
#[derive(Clone, Debug)]
pub struct OutputView {
    pub label: String,
    pub path: Path,
    /// Most rows of a list.
    pub most: usize,
    /// The column that sorts the rows, and the sign of its values.
    pub order: Option<(Path, f64)>,
    /// The shown columns with their names; all of the document if there are none.
    pub columns: Vec<(String, Path)>,
}

impl OutputView {
    /// Parses a view.
    ///
    /// # Errors
    /// A message about the mistake in the text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let labelled = |text: &str| {
            let (name, path) = text.split_once(" = ").unwrap_or((text, text));
            Path::parse(path).map(|path| (name.to_string(), path))
        };
        let (list, columns) = text.split_once(": ").unwrap_or((text, ""));
        let (list, order) = list.split_once(" by ").unwrap_or((list, ""));
        let sign = if order.starts_with('-') { -1.0 } else { 1.0 };
        let order = match order.trim_start_matches('-') {
            "" => None,
            column => Some((Path::parse(column)?, sign)),
        };
        let most = list.split_once(" of ");
        let most = most.and_then(|(most, list)| Some((most.parse().ok()?, list)));
        let (most, list) = most.unwrap_or((MOST_ROWS, list));
        let (label, path) = labelled(list)?;
        let columns = columns.split(", ").filter(|column| !column.is_empty());
        let columns = columns.map(labelled).collect::<Result<_, _>>()?;
        Ok(Self {
            label,
            path,
            most,
            order,
            columns,
        })
    }
}
