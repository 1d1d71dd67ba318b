typedef unsigned int uint32_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned long long int uint64_t;
typedef signed char int8_t;
typedef signed short int16_t;
typedef signed int int32_t;
typedef signed long long int int64_t;

template <typename T, size_t N>
struct array {
    T data[N];
    __device__ T& operator[](size_t i) { return data[i]; }
    __device__ const T& operator[](size_t i) const { return data[i]; }
};


struct info_st {
    uint32_t scalars_u32[2];uint32_t static_meta[2];
};
extern "C" __global__ void __launch_bounds__(256) swiglu_backward_f_f32_n_1_108b8e9b(float * const __restrict__ v1, float const* const __restrict__ v8, info_st const* const __restrict__ v72) {
uint32_t const* const dynamic_meta_v74 = reinterpret_cast<uint32_t const*>(v72 + 1);
const info_st& info_v73 = *v72;bool inv_return_flag_v81_store = true;
bool * inv_return_flag_v81 = &inv_return_flag_v81_store;uint32_t const v75 = info_v73.scalars_u32[0];
uint32_t const v82 = blockIdx.z;
uint32_t const v83 = uint32_t(v82);
uint32_t const v84 = gridDim.y;
uint32_t const v85 = uint32_t(v84);
uint32_t const v86 = v83 * v85;
uint32_t const v87 = gridDim.x;
uint32_t const v88 = uint32_t(v87);
uint32_t const v89 = v86 * v88;
uint32_t const v90 = blockIdx.y;
uint32_t const v91 = uint32_t(v90);
uint32_t const v94 = v91 * v88;
uint32_t const v95 = v89 + v94;
uint32_t const v96 = blockIdx.x;
uint32_t const v97 = uint32_t(v96);
uint32_t const v98 = v95 + v97;
uint32_t const v125 = 256;
uint32_t const v101 = v98 * v125;
uint32_t const v106 = threadIdx.x;
uint32_t const v103 = uint32_t(v106);
uint32_t const v104 = v101 + v103;
uint32_t const v20 = uint32_t(v75);
bool const v21 = v104 >= v20;
if(v21) {
bool const v22 = false;
*inv_return_flag_v81 = v22;
}
bool const v23 = *inv_return_flag_v81;
if(v23) {
uint32_t const v24 = 777;
uint32_t const v25 = v104 / v24;
uint32_t const v26 = 1554;
uint32_t const v27 = v25 * v26;
uint32_t const v29 = v104 % v24;
uint32_t const v30 = v27 + v29;
float * const v34 = &v1[v30];
float const v35 = *v34;
uint32_t const v37 = v30 + v24;
float * const v41 = &v1[v37];
float const v42 = *v41;
float const* const v46 = &v8[v104];
float const v47 = *v46;
float const v48 = 1;
float const v50 = -v35;
float const v51 = exp(v50);float const v52 = v48 + v51;
float const v53 = v48 / v52;
float const v54 = v47 * v42;
float const v55 = v54 * v53;
float const v56 = v48 - v53;
float const v126 = fma(v35, v56, v48);
float const v59 = v55 * v126;
*v34 = v59;
float const v64 = v47 * v35;
float const v65 = v64 * v53;
*v41 = v65;
}
return;
}
