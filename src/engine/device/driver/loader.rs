//! Finds the vendors' shared libraries and the functions in them.

use std::ffi::{CStr, c_char, c_int};
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use libloading::Library;

use super::{DriverError, Result, Vendor};
use tinyllama_base::rocm;

/// A loaded library, and the name under which it was found.
///
/// It is never unloaded, because the vendor's threads may still run in it.
pub(super) struct SharedLibrary {
    vendor: Vendor,
    library: ManuallyDrop<Library>,
    pub found_as: PathBuf,
}

/// A function with its name in the library, for error messages.
#[derive(Clone, Copy)]
pub(super) struct Function<F> {
    pub name: &'static str,
    pub call: F,
}

impl SharedLibrary {
    /// Loads the first of `names` that exists. If none does, the error shows the first name.
    ///
    /// It searches the toolkit that the environment names, then the loader's path, then the toolkit's usual folder, then
    /// `folders`.
    pub fn load(vendor: Vendor, names: &[&'static str], folders: &[PathBuf]) -> Result<Self> {
        let mut details = Vec::new();
        let more = folders
            .iter()
            .flat_map(|folder| names.iter().map(move |name| folder.join(name)));
        for candidate in candidates(vendor, names).into_iter().chain(more) {
            // SAFETY: loading runs the initialisers of the vendor's own library.
            match unsafe { Library::new(&candidate) } {
                Ok(found) => {
                    return Ok(SharedLibrary {
                        vendor,
                        library: ManuallyDrop::new(found),
                        found_as: candidate,
                    });
                }
                // An existing file that does not load explains more than a missing one.
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

    /// Returns the file from which `function` of this library was loaded.
    pub fn file<F: Copy>(&self, function: Function<F>) -> Option<PathBuf> {
        let mut info = libc::Dl_info {
            dli_fname: std::ptr::null(),
            dli_fbase: std::ptr::null_mut(),
            dli_sname: std::ptr::null(),
            dli_saddr: std::ptr::null_mut(),
        };
        // SAFETY: a function pointer is as large as an address, and `dladdr` accepts any address.
        unsafe {
            let address: *const libc::c_void = std::mem::transmute_copy(&function.call);
            if libc::dladdr(address, &mut info) == 0 {
                return None;
            }
            text(info.dli_fname).map(PathBuf::from)
        }
    }

    /// Looks up a function. `names` has one name per vendor, or one name for both.
    ///
    /// # Safety
    /// `F` is the function pointer type that the library declares for it.
    pub unsafe fn function<F: Copy>(&self, names: &[&'static str]) -> Result<Function<F>> {
        let name = names[(self.vendor as usize).min(names.len() - 1)];
        // SAFETY: the caller guarantees the type. The pointer stays valid because the library is never unloaded.
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

/// Returns the loader's own message, which the error's first line leaves out.
pub(in crate::device) fn explain(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

/// Returns the paths where a vendor's library may be. Toolkits that the environment names come first.
pub(in crate::device) fn candidates(vendor: Vendor, names: &[&str]) -> Vec<PathBuf> {
    let in_folder = |folder: PathBuf| names.iter().map(move |name| folder.join(name));
    let named = toolkits_named(vendor)
        .into_iter()
        .flat_map(|toolkit| library_folders(&toolkit))
        .flat_map(in_folder);
    let usual = usual_toolkits(vendor).into_iter();
    let usual = usual
        .flat_map(|toolkit| library_folders(&toolkit))
        .flat_map(in_folder);
    named
        .chain(names.iter().map(PathBuf::from))
        .chain(usual)
        .collect()
}

fn library_folders(toolkit: &Path) -> [PathBuf; 2] {
    [toolkit.join("lib64"), toolkit.join("lib")]
}

/// Returns the toolkits that the environment names.
pub(in crate::device) fn toolkits_named(vendor: Vendor) -> Vec<PathBuf> {
    match vendor {
        Vendor::Nvidia => ["CUDA_HOME", "CUDA_PATH"]
            .into_iter()
            .filter_map(std::env::var_os)
            .map(PathBuf::from)
            .collect(),
        Vendor::Amd => rocm::named().collect(),
    }
}

/// Returns the folders into which installers put the toolkit.
pub(super) fn usual_toolkits(vendor: Vendor) -> Vec<PathBuf> {
    match vendor {
        Vendor::Nvidia => vec![PathBuf::from("/usr/local/cuda")],
        Vendor::Amd => rocm::usual(Path::new("/")),
    }
}

/// Copies a C string of a library; `None` for a null pointer.
///
/// # Safety
/// `text` is null or points to a string that ends in a zero and stays valid.
pub(super) unsafe fn text(text: *const c_char) -> Option<String> {
    (!text.is_null()).then(|| {
        // SAFETY: the caller guarantees it.
        unsafe { CStr::from_ptr(text) }
            .to_string_lossy()
            .into_owned()
    })
}

/// Translates a library's status codes into errors.
#[derive(Clone)]
pub(super) struct Statuses {
    vendor: Vendor,
    name: Rc<dyn Fn(c_int) -> Option<String>>,
}

impl Statuses {
    /// Creates it from a function that returns the library's name of a status.
    pub fn new(vendor: Vendor, name: impl Fn(c_int) -> Option<String> + 'static) -> Self {
        let name = Rc::new(name);
        Statuses { vendor, name }
    }

    /// Creates it from the function of `library` that returns a status's text. `names` is as for [`SharedLibrary::function`].
    pub fn from_library(library: &SharedLibrary, names: &[&'static str]) -> Result<Self> {
        // SAFETY: all these functions take a status and return a constant string, or null for an unknown status.
        unsafe {
            let name: Function<unsafe extern "C" fn(c_int) -> *const c_char> =
                library.function(names)?;
            Ok(Statuses::new(library.vendor, move |code| {
                text((name.call)(code))
            }))
        }
    }

    /// Turns the status that `call` returned into a result.
    pub fn check(&self, call: &'static str, code: c_int) -> Result<()> {
        if code == 0 {
            return Ok(());
        }
        Err(DriverError::Call {
            vendor: self.vendor,
            call,
            code,
            name: (self.name)(code).unwrap_or_else(|| "unknown error".into()),
            detail: None,
        })
    }
}

/// Declares a table of functions by their names: `"cuda" | "hip"` if both vendors have one of the same signature. A
/// library of only one vendor has one name. All functions return a status, which a method of the same name turns into a
/// result.
macro_rules! interface {
    (@method $function:ident [$($name:ident: $type:ty,)*] [$($unused:ident)*]) => {
        #[allow(dead_code, clippy::too_many_arguments, reason = "some are called by their pointer, and as the library has them")]
        pub unsafe fn $function(&self, $($name: $type),*) -> $crate::device::driver::Result<()> {
            // SAFETY: the caller guarantees it.
            let status = unsafe { (self.$function.call)($($name),*) };
            self.statuses.check(self.$function.name, status)
        }
    };
    (@method $function:ident [$($named:tt)*] [$name:ident $($unused:ident)*] $type:ty $(, $types:ty)*) => {
        $crate::device::driver::loader::interface!(
            @method $function [$($named)* $name: $type,] [$($unused)*] $($types),*
        );
    };
    ($(#[$doc:meta])* $table:ident {
        $($function:ident($($argument:ty),* $(,)?) = $name:literal $(| $hip:literal)?;)+
    }) => {
        $(#[$doc])*
        pub(super) struct $table {
            pub statuses: $crate::device::driver::loader::Statuses,
            $(pub $function: $crate::device::driver::loader::Function<
                unsafe extern "C" fn($($argument),*) -> std::ffi::c_int>,)+
        }

        impl $table {
            /// Lists the functions by AMD's names, each with the bytes of its arguments.
            #[cfg(test)]
            #[allow(dead_code, reason = "only tables of AMD's libraries are held against them")]
            pub const FUNCTIONS: &'static [(&'static str, &'static [usize])] = &[$((
                [$name $(, $hip)?][[$name $(, $hip)?].len() - 1],
                &[$(size_of::<$argument>()),*],
            )),+];

            pub fn load(
                library: &$crate::device::driver::loader::SharedLibrary,
                statuses: &$crate::device::driver::loader::Statuses,
            ) -> $crate::device::driver::Result<Self> {
                let statuses = statuses.clone();
                // SAFETY: the signatures are those of the vendors' headers, which are named at the table.
                unsafe { Ok($table { statuses, $($function: library.function(&[$name $(, $hip)?])?,)+ }) }
            }

            $($crate::device::driver::loader::interface!(
                @method $function [] [a b c d e f g h i j k l m n o p q r s t u v w x y z aa bb cc] $($argument),*
            );)+
        }
    };
}
pub(super) use interface;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_not_there_is_named_with_a_remedy() {
        let names = ["libcublasLt.so.99", "libnone.so.13"];
        let error = SharedLibrary::load(Vendor::Nvidia, &names, &[])
            .err()
            .unwrap();
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
        let library = SharedLibrary::load(Vendor::Nvidia, &["libc.so.6"], &[]).unwrap();
        let names = ["cuNothing", "hipNothing"];
        // SAFETY: the function is not called.
        let error = unsafe { library.function::<unsafe extern "C" fn()>(&names) };
        let error = error.err().unwrap();
        let expected = DriverError::SymbolMissing {
            library: "libc.so.6".into(),
            symbol: "cuNothing".into(),
        };
        assert_eq!(error, expected);
        let said = error.to_string();
        assert!(
            said.contains("libc.so.6") && said.contains("cuNothing"),
            "{said}"
        );
    }
}
