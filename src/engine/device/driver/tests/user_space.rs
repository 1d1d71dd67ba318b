//! Compares this layer's assumptions about AMD's libraries with AMD's own files: headers through a C++ compiler,
//! symbols through the lists of the libraries. `tests/rocm-gate/user-space` prepares both in the folder that
//! `ROCM_USER_SPACE` names. Without that folder the test checks nothing.

use std::fmt::Write as _;
use std::fs;
use std::mem::offset_of;
use std::path::Path;
use std::process::Command;

use crate::device::driver::calls::HIP_STATUS_TEXT;
use crate::device::driver::interface::{self, function_attribute, node_type};
use crate::device::driver::lt_numbers::HIPBLAS;
use crate::device::driver::{Vendor, collective, lt, properties, rocblas, rtc};
use crate::device::ranges;

/// A function's name and the bytes of each argument.
type Declared = (&'static str, &'static [usize]);

/// A number or size: its expression in the headers, and its value in this layer.
type DeclaredNumber = (String, i64);

const HEADERS: &str = "
#define __HIP_PLATFORM_AMD__
#define __HIP_DISABLE_CPP_FUNCTIONS__
#include <cstddef>
#include <initializer_list>
#include <hip/hip_runtime_api.h>
#include <hip/hiprtc.h>
#include <hipblaslt/hipblaslt.h>
#include <rocblas/rocblas.h>
#include <rccl/rccl.h>
#include <roctracer/roctx.h>
template <class R, class... A>
constexpr bool takes(R (*)(A...), std::initializer_list<std::size_t> sizes) {
    const std::size_t own[] = {sizeof(A)..., 0};
    if (sizes.size() != sizeof...(A)) return false;
    std::size_t at = 0;
    for (std::size_t size : sizes)
        if (own[at++] != size) return false;
    return true;
}
";

/// Returns the functions of each library, by the file in `symbols` that lists its definitions.
fn functions() -> Vec<(&'static str, Vec<Declared>)> {
    const STATUS: &[usize] = &[size_of::<i32>()];
    let status = |name| [(name, STATUS)];
    let ranges = ranges::LIBRARIES
        .iter()
        .filter(|(vendor, ..)| *vendor == Vendor::Amd)
        .flat_map(|(_, _, [push, pop])| {
            let name = |name: &'static std::ffi::CStr| name.to_str().unwrap();
            [
                (name(push), &[size_of::<*const u8>()] as &[_]),
                (name(pop), &[]),
            ]
        });
    let hip = [
        interface::DriverInterface::FUNCTIONS,
        interface::HipInterface::FUNCTIONS,
        interface::GraphClock::FUNCTIONS,
        &status(HIP_STATUS_TEXT),
    ];
    let [_, hiprtc_status] = rtc::STATUS_TEXT;
    let hiprtc = [rtc::CompilerInterface::FUNCTIONS, &status(hiprtc_status)];
    let rocblas = [
        rocblas::RocBlasInterface::FUNCTIONS,
        &status(rocblas::STATUS_TEXT),
    ];
    let rccl = [
        collective::CollectiveInterface::FUNCTIONS,
        &status(collective::STATUS_TEXT),
    ];
    let hipblaslt = [lt::LtInterface::FUNCTIONS, lt::HipVersion::FUNCTIONS];
    vec![
        ("amdhip64", hip.concat()),
        ("hiprtc", hiprtc.concat()),
        ("hipblaslt", hipblaslt.concat()),
        ("rocblas", rocblas.concat()),
        ("rccl", rccl.concat()),
        ("roctx64", ranges.collect()),
    ]
}

/// Converts a constant of HIP.
fn int(value: i32) -> i64 {
    value.into()
}

#[rustfmt::skip]
fn numbers() -> Vec<DeclaredNumber> {
    use properties as device;
    let attribute = |[_, hip]: properties::Attribute| i64::from(hip);
    let hip_properties = "((hipDeviceProp_t*)0)->gcnArchName";
    let mut numbers: Vec<(&str, i64)> = vec![
        ("hipStreamNonBlocking", interface::NON_BLOCKING.into()),
        ("hipEventDisableTiming", interface::WITHOUT_TIMING.into()),
        ("hipEventRecordExternal", interface::EACH_REPLAY.into()),
        ("hipStreamCaptureModeThreadLocal", int(interface::CAPTURE_THIS_THREAD)),
        ("HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK", int(function_attribute::MAX_THREADS)),
        ("HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES", int(function_attribute::STATIC_SHARED)),
        ("HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES", int(function_attribute::LOCAL)),
        ("HIP_FUNC_ATTRIBUTE_NUM_REGS", int(function_attribute::REGISTERS)),
        ("hipGraphNodeTypeKernel", int(node_type::KERNEL)),
        ("hipGraphNodeTypeMemcpy", int(node_type::COPY)),
        ("hipGraphNodeTypeMemset", int(node_type::FILL)),
        ("hipDeviceAttributeMaxThreadsPerBlock", attribute(device::MAX_THREADS_PER_BLOCK)),
        ("hipDeviceAttributeMaxSharedMemoryPerBlock", attribute(device::SHARED_PER_BLOCK)),
        ("hipDeviceAttributeWarpSize", attribute(device::PLANE_SIZE)),
        ("hipDeviceAttributeMultiprocessorCount", attribute(device::COMPUTE_UNITS)),
        ("hipDeviceAttributeL2CacheSize", attribute(device::L2_BYTES)),
        ("hipDeviceAttributeMaxThreadsPerMultiProcessor", attribute(device::MAX_THREADS_PER_UNIT)),
        ("hipDeviceAttributeSharedMemPerBlockOptin", attribute(device::SHARED_PER_BLOCK_MOST)),
        ("HIPBLAS_OP_N", int(HIPBLAS.operation_plain)),
        ("HIPBLAS_OP_T", int(HIPBLAS.operation_transposed)),
        ("HIPBLASLT_MATMUL_DESC_TRANSA", int(HIPBLAS.transpose_a)),
        ("HIPBLASLT_MATMUL_DESC_TRANSB", int(HIPBLAS.transpose_b)),
        ("HIPBLASLT_MATRIX_LAYOUT_BATCH_COUNT", int(HIPBLAS.batch_count)),
        ("HIPBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET", int(HIPBLAS.batch_stride)),
        ("HIPBLAS_COMPUTE_32F", int(HIPBLAS.compute_f32)),
        ("HIPBLAS_COMPUTE_32F_FAST_TF32", int(HIPBLAS.compute_tf32)),
        ("sizeof(hipblasLtMatmulAlgo_t)", HIPBLAS.algorithm_bytes as i64),
        ("sizeof(hipblasLtMatmulHeuristicResult_t)", HIPBLAS.result_bytes as i64),
        ("HIPBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES", int(lt::MAX_WORKSPACE)),
        ("HIP_R_32F", int(lt::TYPE_F32)),
        ("HIP_R_16BF", int(lt::TYPE_BF16)),
        ("rocblas_operation_none", int(rocblas::OPERATION_PLAIN)),
        ("rocblas_operation_transpose", int(rocblas::OPERATION_TRANSPOSED)),
        ("rocblas_datatype_f32_r", int(rocblas::TYPE_F32)),
        ("rocblas_datatype_bf16_r", int(rocblas::TYPE_BF16)),
        ("rocblas_gemm_algo_standard", int(rocblas::STANDARD_ALGORITHM)),
        ("ncclSum", int(collective::SUM)),
        ("ncclFloat32", int(collective::FLOAT32)),
        ("ncclBfloat16", int(collective::BFLOAT16)),
        ("sizeof(ncclUniqueId)", collective::UniqueId::BYTES as i64),
        ("offsetof(hipDeviceProp_t, gcnArchName)", offset_of!(interface::HipProperties, arch) as i64),
        ("offsetof(hipblasLtMatmulHeuristicResult_t, workspaceSize)", HIPBLAS.algorithm_bytes as i64),
    ];
    let arch = size_of::<interface::HipProperties>();
    let fits = format!("sizeof(hipDeviceProp_t) <= {arch}");
    numbers.push((&fits, 1));
    let name = format!("sizeof({hip_properties})");
    let bytes =
        offset_of!(interface::HipProperties, after) - offset_of!(interface::HipProperties, arch);
    numbers.push((&name, bytes as i64));
    let statuses = HIPBLAS.status_names.iter();
    let statuses = statuses.map(|(code, name)| (format!("HIPBLAS_STATUS_{name}"), int(*code)));
    let numbers = numbers
        .into_iter()
        .map(|(what, number)| (what.to_owned(), number));
    numbers.chain(statuses).collect()
}

/// Returns the compiler's errors for `declared` and `numbers` together with the headers; empty if they agree.
fn disagreements(user_space: &Path, declared: &[Declared], numbers: &[DeclaredNumber]) -> String {
    let mut text = HEADERS.to_owned();
    for (name, sizes) in declared {
        let sizes = sizes
            .iter()
            .map(usize::to_string)
            .collect::<Vec<_>>()
            .join(", ");
        writeln!(
            text,
            "static_assert(takes(&{name}, {{{sizes}}}), \"{name}({sizes})\");"
        )
        .unwrap();
    }
    for (what, number) in numbers {
        writeln!(
            text,
            "static_assert(({what}) == {number}, \"{what} is not {number}\");"
        )
        .unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("agrees.cpp");
    fs::write(&source, text).unwrap();
    let said = Command::new("c++")
        .args(["-std=c++17", "-fsyntax-only", "-w", "-I"])
        .arg(user_space.join("usr/include"))
        .arg(&source)
        .output()
        .expect("a C++ compiler, which the build needs too");
    match said.status.success() {
        true => String::new(),
        false => format!(
            "not as the headers have it:\n{}",
            String::from_utf8_lossy(&said.stderr)
        ),
    }
}

/// Returns the functions that are missing from `listed`, the library's symbols.
fn missing<'a>(listed: &str, functions: &'a [Declared]) -> Vec<&'a str> {
    let names = functions.iter().map(|(name, _)| *name);
    names
        .filter(|name| !listed.lines().any(|line| line == *name))
        .collect()
}

#[test]
fn amds_headers_and_libraries_have_what_is_taken_for_granted() {
    let Some(user_space) = std::env::var_os("ROCM_USER_SPACE") else {
        return;
    };
    let user_space = Path::new(&user_space);
    let mut declared = vec![];
    for (library, functions) in functions() {
        let listed = user_space.join("symbols").join(library);
        let listed = fs::read_to_string(&listed)
            .unwrap_or_else(|error| panic!("{}: {error}", listed.display()));
        let missing = missing(&listed, &functions);
        assert!(
            missing.is_empty(),
            "lib{library} does not define {missing:?}"
        );
        declared.extend(functions);
    }
    declared.sort_unstable();
    declared.dedup();
    let said = disagreements(user_space, &declared, &numbers());
    assert!(said.is_empty(), "{said}");
    println!(
        "{} functions and {} numbers agree",
        declared.len(),
        numbers().len()
    );

    // The check notices a missing function, another argument type and another size.
    assert_eq!(
        missing("hipMalloc\n", &[("hipMalloc", &[]), ("hipMallocs", &[])]),
        ["hipMallocs"]
    );
    let said = disagreements(user_space, &[("hipMalloc", &[8, 4])], &[]);
    assert!(said.contains("hipMalloc(8, 4)"), "{said}");
    let size = ("sizeof(hipblasLtMatmulAlgo_t)".to_owned(), 32);
    let said = disagreements(user_space, &[], &[size]);
    assert!(
        said.contains("sizeof(hipblasLtMatmulAlgo_t) is not 32"),
        "{said}"
    );
}
