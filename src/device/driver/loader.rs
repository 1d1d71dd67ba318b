//! Finding the vendors' shared libraries and the functions in them.

use std::ffi::{CStr, c_char, c_int};
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};

use libloading::Library;

use super::{DriverError, Result, Vendor};

/// A loaded library, and the name it was found under.
///
/// It is never unloaded: threads of the vendors' own may still be in it.
pub(super) struct SharedLibrary {
    library: ManuallyDrop<Library>,
    pub found_as: PathBuf,
}

/// A function and the name it has in its library, which errors show.
#[derive(Clone, Copy)]
pub(super) struct Function<F> {
    pub name: &'static str,
    pub call: F,
}

impl SharedLibrary {
    /// Loads the first of `names` that is there; the first is the one shown where none is.
    ///
    /// Looked for in the toolkit the environment names, then where the loader looks, then in the toolkit's usual place.
    pub fn load(vendor: Vendor, names: &[&'static str]) -> Result<Self> {
        Self::load_also_from(vendor, names, &[])
    }

    /// The same, and after that looked for in `folders`.
    pub fn load_also_from(
        vendor: Vendor,
        names: &[&'static str],
        folders: &[PathBuf],
    ) -> Result<Self> {
        let mut details = Vec::new();
        let more = folders
            .iter()
            .flat_map(|folder| names.iter().map(move |name| folder.join(name)));
        for candidate in candidates(vendor, names).into_iter().chain(more) {
            // SAFETY: loading runs the initialisers of the vendor's own library.
            match unsafe { Library::new(&candidate) } {
                Ok(found) => {
                    return Ok(SharedLibrary {
                        library: ManuallyDrop::new(found),
                        found_as: candidate,
                    });
                }
                // A file that is there and does not load says more than one that is not.
                Err(error) if candidate.is_absolute() && candidate.exists() => {
                    details.insert(0, explain(&error));
                }
                Err(error) => details.push(explain(&error)),
            }
        }
        Err(DriverError::LibraryMissing {
            vendor,
            library: names.first().copied().unwrap_or_default(),
            detail: details.into_iter().next().unwrap_or_default(),
        })
    }

    /// The file `function` of this library was loaded from.
    pub fn file<F: Copy>(&self, function: Function<F>) -> Option<PathBuf> {
        let mut info = libc::Dl_info {
            dli_fname: std::ptr::null(),
            dli_fbase: std::ptr::null_mut(),
            dli_sname: std::ptr::null(),
            dli_saddr: std::ptr::null_mut(),
        };
        // SAFETY: a function pointer is as large as an address, and any address may be asked for.
        unsafe {
            let address: *const libc::c_void = std::mem::transmute_copy(&function.call);
            if libc::dladdr(address, &mut info) == 0 {
                return None;
            }
            text(info.dli_fname).map(PathBuf::from)
        }
    }

    /// The function that goes by one of `names`: the vendor's, or the only one.
    ///
    /// # Safety
    /// `F` is the function pointer type the library declares for it.
    pub unsafe fn function<F: Copy>(
        &self,
        vendor: Vendor,
        names: &[&'static str],
    ) -> Result<Function<F>> {
        let name = names[(vendor as usize).min(names.len() - 1)];
        // SAFETY: the type is the caller's promise. The pointer stays valid because the library is never unloaded.
        match unsafe { self.library.get::<F>(name.as_bytes()) } {
            Ok(symbol) => Ok(Function {
                name,
                call: *symbol,
            }),
            Err(_) => Err(DriverError::SymbolMissing {
                library: self.found_as.display().to_string(),
                symbol: name.to_owned(),
            }),
        }
    }
}

/// The loader's own words, which the error's first line leaves out.
pub(in crate::device) fn explain(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

/// Where a library of the vendor's may be, the toolkits that the environment names first.
pub(in crate::device) fn candidates(vendor: Vendor, names: &[&str]) -> Vec<PathBuf> {
    let in_folder = |folder: PathBuf| names.iter().map(move |name| folder.join(name));
    let named = toolkits_named(vendor)
        .flat_map(|toolkit| library_folders(&toolkit))
        .flat_map(in_folder);
    let usual = library_folders(Path::new(usual_toolkit(vendor)))
        .into_iter()
        .flat_map(in_folder);
    named
        .chain(names.iter().map(PathBuf::from))
        .chain(usual)
        .collect()
}

fn library_folders(toolkit: &Path) -> [PathBuf; 2] {
    [toolkit.join("lib64"), toolkit.join("lib")]
}

/// The toolkits the environment names.
pub(in crate::device) fn toolkits_named(vendor: Vendor) -> impl Iterator<Item = PathBuf> {
    let variables = match vendor {
        Vendor::Nvidia => ["CUDA_HOME", "CUDA_PATH"],
        Vendor::Amd => ["ROCM_PATH", "HIP_PATH"],
    };
    variables
        .into_iter()
        .filter_map(std::env::var_os)
        .map(PathBuf::from)
}

/// Where the vendor's installer puts the toolkit.
pub(super) fn usual_toolkit(vendor: Vendor) -> &'static str {
    match vendor {
        Vendor::Nvidia => "/usr/local/cuda",
        Vendor::Amd => "/opt/rocm",
    }
}

/// A C string of a library's, where it is one.
///
/// # Safety
/// `text` is null or points to a string that ends in a zero and stays.
pub(super) unsafe fn text(text: *const c_char) -> Option<String> {
    // SAFETY: the caller's promise.
    (!text.is_null()).then(|| {
        unsafe { CStr::from_ptr(text) }
            .to_string_lossy()
            .into_owned()
    })
}

/// Declares a table of functions by their names: `"cuda" | "hip"` where both vendors have one of the same signature, one
/// name where the library is of one vendor only. They return a status unless an arrow says otherwise.
macro_rules! interface {
    (@returned) => { std::ffi::c_int };
    (@returned $result:ty) => { $result };
    ($(#[$doc:meta])* $table:ident {
        $($field:ident($($argument:ty),* $(,)?) $(-> $result:ty)? = $name:literal $(| $hip:literal)?;)+
    }) => {
        $(#[$doc])*
        pub(super) struct $table {
            $(pub $field: $crate::device::driver::loader::Function<
                unsafe extern "C" fn($($argument),*) -> $crate::device::driver::loader::interface!(@returned $($result)?)>,)+
        }

        impl $table {
            pub fn load(
                vendor: $crate::device::driver::Vendor,
                library: &$crate::device::driver::loader::SharedLibrary,
            ) -> $crate::device::driver::Result<Self> {
                // SAFETY: the signatures are those of the vendors' headers, which are named at the table.
                unsafe { Ok($table { $($field: library.function(vendor, &[$name $(, $hip)?])?,)+ }) }
            }
        }
    };
}
pub(super) use interface;

/// Calls a function of a table and lets `owner` turn the status into a result. The table is a field of the owner's, or is
/// named before the comma.
macro_rules! call {
    ($owner:expr, $table:ident.$function:ident($($argument:expr),* $(,)?)) => {
        $crate::device::driver::loader::call!($owner => $owner.$table, $function($($argument),*))
    };
    ($owner:expr => $table:expr, $function:ident($($argument:expr),* $(,)?)) => {{
        let function = $table.$function;
        $owner.check(function.name, (function.call)($($argument),*))
    }};
}
pub(super) use call;

/// A status as a result. `name` gives the library's own name of a code.
pub(super) fn check(
    vendor: Vendor,
    call: &'static str,
    code: c_int,
    name: impl FnOnce(c_int) -> Option<String>,
) -> Result<()> {
    if code == 0 {
        return Ok(());
    }
    Err(DriverError::Call {
        vendor,
        call,
        code,
        name: name(code).unwrap_or_else(|| "unknown error".into()),
        detail: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_not_there_is_named_with_a_remedy() {
        let names = ["libcublasLt.so.99", "libnone.so.13"];
        let error = SharedLibrary::load(Vendor::Nvidia, &names).err().unwrap();
        let DriverError::LibraryMissing {
            library, detail, ..
        } = &error
        else {
            panic!("{error}");
        };
        assert_eq!(*library, "libcublasLt.so.99");
        assert!(detail.contains("libcublasLt.so.99"), "{detail}");
        assert!(error.remedy().contains("CUDA_HOME"));
    }

    #[test]
    fn a_function_that_is_not_there_names_the_library() {
        let library = SharedLibrary::load(Vendor::Nvidia, &["libc.so.6"]).unwrap();
        let names = ["cuNothing", "hipNothing"];
        // SAFETY: it is not called.
        let error = unsafe { library.function::<unsafe extern "C" fn()>(Vendor::Nvidia, &names) };
        assert_eq!(
            error.err().unwrap().to_string(),
            "libc.so.6 has no function cuNothing: it is too old"
        );
    }
}
