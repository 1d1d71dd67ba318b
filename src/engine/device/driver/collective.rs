//! NCCL and RCCL, which have one interface and the same names. They compute sums over the GPUs of several processes.

use std::ffi::{c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr;
use std::rc::Rc;

use super::handle::{DriverState, WorkKind};
use super::interface::Opaque;
use super::loader::{SharedLibrary, Statuses, interface};
use super::{Driver, GemmPrecision, Result, Slice, Stream, Vendor};

interface! {
    /// Signatures from `nccl.h` 2.28 and `rccl.h` of ROCm 6.2 to 7.14.
    CollectiveInterface {
        unique_id(*mut UniqueId) = "ncclGetUniqueId";
        join(*mut Opaque, c_int, UniqueId, c_int) = "ncclCommInitRank";
        leave(Opaque) = "ncclCommDestroy";
        abort(Opaque) = "ncclCommAbort";
        late_error(Opaque, *mut c_int) = "ncclCommGetAsyncError";
        all_reduce(*const c_void, *mut c_void, usize, c_int, c_int, Opaque, Opaque) = "ncclAllReduce";
        reduce_scatter(*const c_void, *mut c_void, usize, c_int, c_int, Opaque, Opaque) = "ncclReduceScatter";
        all_gather(*const c_void, *mut c_void, usize, c_int, Opaque, Opaque) = "ncclAllGather";
        start_group() = "ncclGroupStart";
        end_group() = "ncclGroupEnd";
    }
}

/// The library's function that returns the text of a status.
pub(super) const STATUS_TEXT: &str = "ncclGetErrorString";
/// `ncclSum`.
pub(super) const SUM: c_int = 0;
/// `ncclFloat32`.
pub(super) const FLOAT32: c_int = 7;
/// `ncclBfloat16`.
pub(super) const BFLOAT16: c_int = 9;
/// `ncclInProgress`: no error.
const IN_PROGRESS: c_int = 7;

/// The identifier by which ranks find each other. One rank creates it and sends it to the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct UniqueId([u8; UniqueId::BYTES]);

impl UniqueId {
    pub const BYTES: usize = 128;

    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(UniqueId)
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// What ranks do with an array that each of them has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exchange {
    /// Every rank gets the sum of all ranks' arrays.
    Sum,
    /// Every rank gets its own part of that sum. The rest of its array stays.
    ScatteredSum,
    /// Every rank gets the own parts of all ranks.
    Gather,
}

/// One rank's membership in the group of all ranks. It belongs to the device with which it was made.
pub struct Communicator {
    library: CollectiveInterface,
    handle: Opaque,
    rank: usize,
    ranks: usize,
    shared: Rc<DriverState>,
}

fn load(vendor: Vendor) -> Result<CollectiveInterface> {
    let names: &[&str] = match vendor {
        Vendor::Nvidia => &["libnccl.so.2", "libnccl.so"],
        Vendor::Amd => &["librccl.so.1", "librccl.so"],
    };
    let library = SharedLibrary::load(vendor, names, &folders(vendor))?;
    CollectiveInterface::load(&library, &Statuses::from_library(&library, &[STATUS_TEXT])?)
}

/// Returns further folders of the library: from `NCCL_PATH` or `RCCL_PATH`, and from Python's package managers. The
/// caller also searches toolkits and the loader's path.
fn folders(vendor: Vendor) -> Vec<PathBuf> {
    let (variable, packages): (_, &[&str]) = match vendor {
        Vendor::Nvidia => ("NCCL_PATH", &["nvidia/nccl"]),
        Vendor::Amd => (
            "RCCL_PATH",
            &["torch", "_rocm_sdk_libraries", "_rocm_sdk_core"],
        ),
    };
    let named = std::env::var_os(variable).map(PathBuf::from);
    let named = named
        .into_iter()
        .flat_map(|folder| [folder.join("lib"), folder]);
    let prefixes = ["VIRTUAL_ENV", "CONDA_PREFIX"].map(std::env::var_os);
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let programs = std::env::split_paths(&path).filter_map(|bin| Some(bin.parent()?.to_owned()));
    let mut pythons: Vec<PathBuf> = prefixes
        .into_iter()
        .flatten()
        .map(PathBuf::from)
        .chain(home)
        .chain(programs)
        .flat_map(|prefix| [prefix.join("lib"), prefix.join("lib64")])
        .flat_map(|folder| std::fs::read_dir(folder).into_iter().flatten().flatten())
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("python3"))
        .flat_map(|entry| ["site-packages", "dist-packages"].map(|name| entry.path().join(name)))
        .collect();
    pythons.dedup();
    let packages = pythons
        .iter()
        .flat_map(|python| {
            packages
                .iter()
                .flat_map(|package| folders_named(&python.join(package)))
        })
        .map(|folder| folder.join("lib"))
        .filter(|folder| folder.is_dir());
    named.chain(packages).collect()
}

/// Returns `path`, and its siblings whose names continue with a GPU type: `_rocm_sdk_libraries_gfx94X_dcgpu`.
fn folders_named(path: &Path) -> Vec<PathBuf> {
    let (Some(folder), Some(wanted)) = (path.parent(), path.file_name()) else {
        return vec![];
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let wanted = wanted.to_string_lossy();
    let mut found: Vec<PathBuf> = entries
        .filter(|entry| {
            let name = entry.file_name();
            let rest = name.to_str().and_then(|name| name.strip_prefix(&*wanted));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
        })
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found
}

impl Driver {
    /// Creates the identifier by which the ranks of a run find each other.
    ///
    /// # Errors
    /// Fails if the library is missing, and names the searched folders. Also returns the library's own errors.
    pub fn unique_id(&self) -> Result<UniqueId> {
        let library = load(self.properties().vendor)?;
        let mut id = UniqueId([0; UniqueId::BYTES]);
        // SAFETY: the pointer to the result is valid for writing.
        unsafe { library.unique_id(&mut id)? };
        Ok(id)
    }

    /// Joins the other ranks as `rank` of `ranks`; returns when all have joined.
    ///
    /// # Errors
    /// As for [`unique_id`](Self::unique_id).
    pub fn communicator(&self, id: &UniqueId, rank: usize, ranks: usize) -> Result<Communicator> {
        let library = load(self.properties().vendor)?;
        let number = |of: usize| c_int::try_from(of).unwrap_or(c_int::MAX);
        let mut handle = ptr::null_mut();
        // SAFETY: the pointer to the handle is valid for writing; this device is the thread's current one.
        unsafe { library.join(&mut handle, number(ranks), *id, number(rank))? };
        Ok(Communicator {
            library,
            handle,
            rank,
            ranks,
            shared: Rc::clone(&self.shared),
        })
    }
}

impl Communicator {
    /// Exchanges each of `arrays`, numbers in `precision`, with all ranks in place, in one group. A rank's own part is the
    /// one with its number if an array is divided evenly.
    ///
    /// # Safety
    /// The arrays stay allocated until the stream has passed (or, captured, while the graph is used). All ranks exchange
    /// arrays of the same sizes in the same order.
    pub unsafe fn exchange(
        &self,
        exchange: Exchange,
        stream: &Stream,
        arrays: &[Slice],
        precision: GemmPrecision,
    ) -> Result<()> {
        let (library, size) = (&self.library, precision.element_bytes());
        let kind = match precision {
            GemmPrecision::Bf16 => BFLOAT16,
            GemmPrecision::F32 | GemmPrecision::Tf32 => FLOAT32,
        };
        // SAFETY: the ranges have the given lengths; the caller guarantees the rest. Every started group is ended.
        let summed = unsafe {
            library.start_group()?;
            let summed = arrays.iter().try_for_each(|array| {
                let (all, count) = (array.address().0 as *mut c_void, array.bytes() / size);
                let part = count / self.ranks;
                let own = all.byte_add(self.rank * part * size);
                let (comm, stream) = (self.handle, stream.handle());
                match exchange {
                    Exchange::Sum => library.all_reduce(all, all, count, kind, SUM, comm, stream),
                    Exchange::ScatteredSum => {
                        library.reduce_scatter(all, own, part, kind, SUM, comm, stream)
                    }
                    Exchange::Gather => library.all_gather(own, all, part, kind, comm, stream),
                }
            });
            summed.and(library.end_group())
        };
        stream.count_work(WorkKind::Transfer, summed)
    }

    /// Reports an asynchronous failure since the last check.
    ///
    /// # Errors
    /// That failure, for example that a rank on another machine is gone.
    pub fn check_late(&self) -> Result<()> {
        let mut late = 0;
        // SAFETY: the pointer to the result is valid for writing.
        unsafe { self.library.late_error(self.handle, &mut late)? };
        match late {
            0 | IN_PROGRESS => Ok(()),
            late => self.library.statuses.check("ncclAllReduce", late),
        }
    }
}

impl Drop for Communicator {
    fn drop(&mut self) {
        // After a failure the other ranks may be gone, and an orderly exit would wait for them.
        // SAFETY: joined once and left only here.
        let left = unsafe {
            match self.check_late() {
                Ok(()) => self.library.leave(self.handle),
                Err(_) => self.library.abort(self.handle),
            }
        };
        self.shared.note(left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_survives_its_file() {
        let id = UniqueId(std::array::from_fn(|at| at as u8));
        assert_eq!(UniqueId::from_bytes(id.bytes()), Some(id));
        assert_eq!(UniqueId::from_bytes(&id.bytes()[1..]), None);
    }

    #[test]
    fn wheels_for_some_gpus_are_found_by_the_start_of_their_names() {
        let python = tempfile::tempdir().unwrap();
        for name in [
            "_rocm_sdk_libraries_gfx94X_dcgpu",
            "_rocm_sdk_core",
            "torchvision",
        ] {
            std::fs::create_dir(python.path().join(name)).unwrap();
        }
        let found = |package| folders_named(&python.path().join(package));
        assert_eq!(
            found("_rocm_sdk_libraries"),
            [python.path().join("_rocm_sdk_libraries_gfx94X_dcgpu")]
        );
        assert_eq!(found("torch"), Vec::<PathBuf>::new());
    }
}
