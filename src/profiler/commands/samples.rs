//! What a tool's output looks like, for machines that lack the tool.

use super::Tool;

/// A few lines of published output, with where they come from.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    pub from: &'static str,
    pub text: &'static str,
}

pub fn sample(tool: Tool) -> Sample {
    match tool {
        Tool::RocprofV3 => Sample {
            from: "kernel statistics of a Jacobi solver, published in AMD's HPCTrainingExamples; not measured here",
            text: "kernel                 calls      total       mean   share\n\
                   JacobiIterationKernel   1000  517.65 ms  517.65 us   42.6%\n\
                   NormKernel1             1001  412.89 ms  412.48 us   34.0%\n\
                   LocalLaplacianKernel    1000  269.62 ms  269.62 us   22.2%\n\
                   HaloLaplacianKernel     1000   13.30 ms   13.30 us    1.1%\n\
                   NormKernel2             1001    2.87 ms    2.87 us    0.2%\n",
        },
        Tool::RocprofSys => Sample {
            from: "the call tree of a conjugate gradient solver, published in AMD's documentation; not measured here",
            text: "region                       thread  calls     total    self\n\
                   main                              0      1  13.360 s   18.2%\n\
                   ompt_thread_initial               0      1  10.924 s    0.0%\n\
                   ompt_parallel                     0      1  10.915 s    0.0%\n\
                   conj_grad                         0     76  10.641 s    1.0%\n",
        },
        Tool::RocprofCompute => Sample {
            from: "ceilings of an MI200 as the tool measured them, published with its tests; not measured here",
            text: "ceiling        measured\n\
                   HBM            1388.9 GB/s\n\
                   L2             5018.3 GB/s\n\
                   LDS           17717.8 GB/s\n\
                   FP32          20942.0 GFLOP/s\n\
                   MFMA BF16    170483.2 GFLOP/s\n",
        },
    }
}
