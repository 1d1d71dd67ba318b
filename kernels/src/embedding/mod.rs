//! The lookup of embeddings. It is burn's, but for its gradient on a GPU: burn adds up the tokens of a whole batch one after the
//! other in one unit for each feature, which took 0.2 of the 4.3 ms of a step of V3 (`docs/measurements/training.md`).

mod binding;
#[cfg(feature = "gpu")]
mod kernels;
#[cfg(feature = "gpu")]
mod launch;

pub use binding::{embedding_gradient, look_up};

#[cfg(feature = "gpu")]
const NAME: &str = "embedding";
