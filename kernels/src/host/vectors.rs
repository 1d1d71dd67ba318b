//! Sums over slices in vectors, and the widest vectors that this CPU has.

/// Values that are summed in parallel. They form vectors, and the sum has less rounding than one long chain.
const LANES: usize = 16;

/// Runs `work` compiled for 256-bit vectors if the CPU has them, because programs are built for the oldest CPU.
/// Functions that `work` calls have to be inlined for that. Both ways give the same bits.
#[inline(always)]
pub fn widest<R>(work: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2")]
        fn with_avx2<R>(work: impl FnOnce() -> R) -> R {
            work()
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the check above shows that the CPU has these instructions.
            return unsafe { with_avx2(work) };
        }
    }
    work()
}

#[inline(always)]
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0; LANES];
    let (a, a_rest) = a.as_chunks::<LANES>();
    let (b, b_rest) = b.as_chunks::<LANES>();
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f32>() + rest
}

#[inline(always)]
pub fn sum(values: &[f32]) -> f32 {
    let mut sums = [0.0; LANES];
    let (chunks, rest) = values.as_chunks::<LANES>();
    for chunk in chunks {
        for lane in 0..LANES {
            sums[lane] += chunk[lane];
        }
    }
    sums.iter().sum::<f32>() + rest.iter().sum::<f32>()
}

/// Returns the largest value and ignores NaN, as `f32::max` does; minus infinity for an empty slice.
#[inline(always)]
pub fn largest(values: &[f32]) -> f32 {
    let larger = |a: f32, b: f32| if b > a { b } else { a };
    let mut most = [f32::NEG_INFINITY; LANES];
    let (chunks, rest) = values.as_chunks::<LANES>();
    for chunk in chunks {
        for lane in 0..LANES {
            most[lane] = larger(most[lane], chunk[lane]);
        }
    }
    most.iter()
        .chain(rest)
        .copied()
        .fold(f32::NEG_INFINITY, larger)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_counts_whatever_the_length() {
        for length in [0, 1, 15, 16, 17, 40] {
            let values: Vec<f32> = (0..length).map(|i| (i * 7 % 13) as f32 - 20.0).collect();
            let exact: f32 = values.iter().sum();
            assert_eq!(widest(|| sum(&values)), exact);
            let squares: f32 = values.iter().map(|value| value * value).sum();
            assert_eq!(widest(|| dot(&values, &values)), squares);
            for at in 0..length {
                let mut peaked = values.clone();
                peaked[at] = -1.0;
                assert_eq!(widest(|| largest(&peaked)), -1.0);
            }
        }
        assert_eq!(largest(&[]), f32::NEG_INFINITY);
        assert!(sum(&[1.0, f32::NAN]).is_nan());
    }
}
