//! Groups the parameters into launches.

use cubecl::prelude::*;
use tinyllama_kernel_catalog::adamw::{AdamwBlock, STATE_ALIGNMENT};

use super::NAME;
use super::kernels::Segment;
use super::launch::BoundParameter;
use crate::{
    KernelError,
    launch::{CheckedBuffer, F32, vector_size},
};

/// Most buffers in one launch: not every driver supports more than 4 KiB of kernel arguments.
const MOST_BUFFERS: usize = 480;

/// One launch: its parameters, and how its cubes are divided among them.
pub(super) struct PlannedLaunch {
    pub vector: VectorSize,
    pub members: Vec<usize>,
    pub segments: Vec<Segment>,
    pub cubes: usize,
}

/// Plans as few launches as the device allows. Each binds both moments and `shared` further buffers.
pub(super) fn plan(
    client: &Client,
    parameters: &[BoundParameter<'_>],
    moments: [CheckedBuffer<'_>; 2],
    shared: usize,
    block: &AdamwBlock,
) -> Result<Vec<PlannedLaunch>, KernelError> {
    let bindable = client.properties().hardware.max_bindings as usize;
    let shared = moments.len() + shared;
    let room = bindable.min(MOST_BUFFERS).saturating_sub(shared);
    let widths: Vec<VectorSize> = parameters
        .iter()
        .map(|parameter| width(client, parameter, moments))
        .collect();
    let buffers: Vec<usize> = parameters
        .iter()
        .map(|parameter| 2 + usize::from(parameter.copy.is_some()))
        .collect();
    if buffers.iter().any(|buffers| *buffers > room) {
        return Err(KernelError::Block(
            NAME,
            format!(
                "one parameter needs {} buffers in a launch, this device binds {bindable}",
                shared + 3
            ),
        ));
    }

    let mut starts = Vec::with_capacity(parameters.len());
    let mut total = 0;
    for parameter in parameters {
        starts.push(total);
        total += parameter.elements.next_multiple_of(STATE_ALIGNMENT);
    }
    let per_cube = block.units.saturating_mul(block.vectors_per_unit);
    let launches = group(&widths, &buffers, room, block.parameters_per_launch)
        .into_iter()
        .map(|members| {
            let vector = widths[members[0]];
            let (mut cubes, mut copies) = (0, 0);
            let segments = members
                .iter()
                .map(|member| {
                    let vectors = parameters[*member].elements / vector;
                    let segment = Segment {
                        first_cube: cubes,
                        cubes: vectors.div_ceil(per_cube),
                        vectors,
                        state: starts[*member] / vector,
                        copy: parameters[*member].copy.map(|_| copies),
                    };
                    cubes += segment.cubes;
                    copies += usize::from(segment.copy.is_some());
                    segment
                })
                .collect();
            PlannedLaunch {
                vector,
                members,
                segments,
                cubes,
            }
        })
        .collect();
    Ok(launches)
}

/// Returns the widest vector in which a parameter, its gradient, copy and moments can all be read; 0 for an empty parameter.
fn width(
    client: &Client,
    parameter: &BoundParameter<'_>,
    [first, second]: [CheckedBuffer<'_>; 2],
) -> VectorSize {
    if parameter.elements == 0 {
        return 0;
    }
    let mut buffers = vec![parameter.value, parameter.gradient, first, second];
    buffers.extend(parameter.copy);
    // The moments are aligned to four elements, not to more.
    let length = match parameter.elements % STATE_ALIGNMENT {
        0 => STATE_ALIGNMENT,
        odd => odd,
    };
    vector_size(client, F32, length, &buffers)
}

/// Groups parameters of equal width into launches of at most `room` buffers and `most` parameters, in the given order.
/// Parameters of width 0 are left out.
fn group(widths: &[usize], buffers: &[usize], room: usize, most: usize) -> Vec<Vec<usize>> {
    let mut distinct: Vec<usize> = widths.to_vec();
    distinct.sort_unstable_by(|a, b| b.cmp(a));
    distinct.dedup();
    distinct.retain(|width| *width > 0);
    let mut launches = Vec::new();
    for width in distinct {
        let mut members = Vec::new();
        let mut used = 0;
        for index in (0..widths.len()).filter(|index| widths[*index] == width) {
            let full = used + buffers[index] > room || members.len() >= most;
            if full && !members.is_empty() {
                launches.push(std::mem::take(&mut members));
                used = 0;
            }
            members.push(index);
            used += buffers[index];
        }
        launches.push(members);
    }
    launches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_hold_equal_widths_and_no_more_than_fits() {
        let widths = [4, 1, 4, 4, 1];
        let buffers = [2, 2, 3, 2, 2];
        let all = group(&widths, &buffers, 100, usize::MAX);
        assert_eq!(all, [vec![0, 2, 3], vec![1, 4]]);
        let tight = group(&widths, &buffers, 5, usize::MAX);
        assert_eq!(tight, [vec![0, 2], vec![3], vec![1, 4]]);
        let single = group(&widths, &buffers, 100, 1);
        assert_eq!(single, [vec![0], vec![2], vec![3], vec![1], vec![4]]);
        let empty = group(&[4, 0], &[2, 2], 100, usize::MAX);
        assert_eq!(empty, [vec![0]]);
        assert!(group(&[], &[], 100, usize::MAX).is_empty());
    }
}
