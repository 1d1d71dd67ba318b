//! A driver for tests: it keeps its memory on the host, records what it is asked, and notices what a real one would
//! suffer in silence (a handle given back twice or never, a buffer freed while a graph uses it, an address out of range).

mod api;
mod state;

use std::cell::RefCell;
use std::rc::Rc;

use super::{Driver, GemmSpec, Launch, ModuleCache, Properties, Vendor};
use state::State;

/// What a kernel does here: it gets the memory, and its arguments as 8-byte words (a structure is several).
pub type HostKernel = Rc<dyn Fn(&mut HostMemory, &Launch, &[u64])>;

pub use state::HostMemory;

/// The other end of a recording driver: what was asked of it, and what it is to do.
#[derive(Clone)]
pub struct Recording {
    state: Rc<RefCell<State>>,
}

impl Recording {
    /// A driver, and its recording. Modules are not cached.
    pub fn open() -> (Driver, Recording) {
        Recording::open_with_cache(None)
    }

    pub fn open_with_cache(cache: Option<ModuleCache>) -> (Driver, Recording) {
        let recording = Recording {
            state: Rc::new(RefCell::new(State::new())),
        };
        let api = api::RecordingApi {
            state: Rc::clone(&recording.state),
            properties: properties(),
        };
        (Driver::new(Box::new(api), cache), recording)
    }

    /// Gives kernel `name` something to do; others do nothing.
    pub fn define_kernel(
        &self,
        name: &str,
        kernel: impl Fn(&mut HostMemory, &Launch, &[u64]) + 'static,
    ) {
        let mut state = self.state.borrow_mut();
        state.kernels.insert(name.to_owned(), Rc::new(kernel));
    }

    /// Lets `call` fail, after it has succeeded `successes` more times, with the driver's error `name`.
    pub fn fail(&self, call: &'static str, successes: usize, name: &'static str) {
        let mut state = self.state.borrow_mut();
        state.failures.insert(call, (successes, name));
    }

    /// The milliseconds the library's algorithms take, in the order in which it offers them.
    pub fn set_gemm_costs(&self, milliseconds: &[f32]) {
        self.state.borrow_mut().gemm_costs = milliseconds.to_vec();
    }

    /// Lets the library offer nothing for products that `unsupported` says so of.
    pub fn refuse_gemms(&self, unsupported: impl Fn(&GemmSpec) -> bool + 'static) {
        self.state.borrow_mut().unsupported = Some(Rc::new(unsupported));
    }

    /// The calls so far, by name.
    pub fn calls(&self) -> Vec<String> {
        self.state.borrow().calls.clone()
    }

    /// How often `call` was asked for.
    pub fn count(&self, call: &str) -> usize {
        let state = self.state.borrow();
        state.calls.iter().filter(|made| *made == call).count()
    }

    /// Handles that were created and not given back, by kind.
    pub fn alive(&self) -> Vec<String> {
        self.state.borrow().alive()
    }

    /// What was done wrong.
    pub fn problems(&self) -> Vec<String> {
        self.state.borrow().problems.clone()
    }

    /// Fails the test where anything is left over or was done wrong.
    pub fn assert_clean(&self) {
        assert_eq!(self.problems(), Vec::<String>::new());
        assert_eq!(self.alive(), Vec::<String>::new());
    }
}

fn properties() -> Properties {
    Properties {
        vendor: Vendor::Nvidia,
        name: "recording double".into(),
        arch: "sm_90".into(),
        driver: "13.0".into(),
        plane_size: 32,
        compute_units: 4,
        max_threads_per_block: 1024,
        max_threads_per_unit: 2048,
        registers_per_block: 65_536,
        shared_per_block: 48 << 10,
        shared_per_block_most: 227 << 10,
        shared_per_unit: Some(228 << 10),
        l2_bytes: None,
        memory: 1 << 30,
        clock_khz: None,
        cooperative: true,
        overlapping: true,
    }
}
