// swiglu_naive_forward in f32, small configuration, for gfx942: 256 x 1 x 1 threads, 0 bytes of dynamic local memory
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
    uint32_t scalars_u32[4];uint32_t static_meta[6];
};
extern "C" __global__ void __launch_bounds__(256) swiglu_naive_forward(float const* const __restrict__ v0, float const* const __restrict__ v1, float const* const __restrict__ v2, float * const __restrict__ v3, float * const __restrict__ v4, float * const __restrict__ v5, info_st const* const __restrict__ v6) {
uint32_t const* const dynamic_meta_v99 = reinterpret_cast<uint32_t const*>(v6 + 1);
const info_st& info_v98 = *v6;bool inv_return_flag_v109_store = true;
bool * inv_return_flag_v109 = &inv_return_flag_v109_store;uint32_t const v7 = 0;
uint32_t const v8 = info_v98.scalars_u32[0];
uint32_t const v9 = info_v98.scalars_u32[1];
uint32_t const v10 = info_v98.scalars_u32[2];
uint32_t const v11 = blockIdx.z;
uint32_t const v12 = uint32_t(v11);
uint32_t const v13 = gridDim.y;
uint32_t const v14 = uint32_t(v13);
uint32_t const v15 = v12 * v14;
uint32_t const v16 = gridDim.x;
uint32_t const v17 = uint32_t(v16);
uint32_t const v18 = v15 * v17;
uint32_t const v19 = blockIdx.y;
uint32_t const v20 = uint32_t(v19);
uint32_t const v21 = v20 * v17;
uint32_t const v22 = v18 + v21;
uint32_t const v23 = blockIdx.x;
uint32_t const v24 = uint32_t(v23);
uint32_t const v25 = v22 + v24;
uint32_t const v26 = 256;
uint32_t const v27 = v25 * v26;
uint32_t const v28 = threadIdx.x;
uint32_t const v29 = uint32_t(v28);
uint32_t const v30 = v27 + v29;
uint32_t const v31 = uint32_t(v8);
bool const v32 = v30 >= v31;
if(v32) {
bool const v33 = false;
*inv_return_flag_v109 = v33;
}
bool const v34 = *inv_return_flag_v109;
if(v34) {
uint32_t const v35 = uint32_t(v9);
uint32_t const v36 = uint32_t(v10);
uint32_t const v37 = v30 / v36;
uint32_t const v38 = v30 % v36;
float const v39 = 0;
float v110_store;
float * v40 = &v110_store;*v40 = v39;
float v111_store;
float * v41 = &v111_store;*v41 = v39;
uint32_t const v42 = 1;
for(uint32_t v43 = v7; v43 < v35; v43 += v42) {
uint32_t const v44 = v37 * v35;
uint32_t const v45 = v44 + v43;
float const* const v46 = &v0[v45];
float const v47 = *v46;
uint32_t const v48 = v43 * v36;
uint32_t const v49 = v48 + v38;
float const* const v50 = &v1[v49];
float const v51 = *v50;
float const v52 = *v40;
float const v53 = fma(v47, v51, v52);
*v40 = v53;
float const* const v54 = &v2[v49];
float const v55 = *v54;
float const v56 = *v41;
float const v57 = fma(v47, v55, v56);
*v41 = v57;
}
float const v58 = *v40;
float * const v59 = &v3[v30];
*v59 = v58;
float const v60 = *v41;
float * const v61 = &v4[v30];
*v61 = v60;
float const v62 = -v58;
float const v63 = exp(v62);float const v64 = 1;
float const v65 = v64 + v63;
float const v66 = v58 / v65;
float const v67 = v66 * v60;
float * const v68 = &v5[v30];
*v68 = v67;
}
return;
}
