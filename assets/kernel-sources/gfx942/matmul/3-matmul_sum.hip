// matmul_sum in f32, small configuration, for gfx942: 256 x 1 x 1 threads, 0 bytes of dynamic local memory
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

struct alignas(16) float_4 { float i_0; float i_1; float i_2; float i_3; };

struct info_st {
    uint32_t scalars_u32[2];uint32_t static_meta[2];
};
extern "C" __global__ void __launch_bounds__(256) matmul_sum(float_4 const* const __restrict__ v0, float_4 * const __restrict__ v1, info_st const* const __restrict__ v2) {
uint32_t const* const dynamic_meta_v61 = reinterpret_cast<uint32_t const*>(v2 + 1);
const info_st& info_v60 = *v2;bool inv_return_flag_v65_store = true;
bool * inv_return_flag_v65 = &inv_return_flag_v65_store;uint32_t const v3 = info_v60.scalars_u32[0];
uint32_t const v4 = blockIdx.z;
uint32_t const v5 = uint32_t(v4);
uint32_t const v6 = gridDim.y;
uint32_t const v7 = uint32_t(v6);
uint32_t const v8 = v5 * v7;
uint32_t const v9 = gridDim.x;
uint32_t const v10 = uint32_t(v9);
uint32_t const v11 = v8 * v10;
uint32_t const v12 = blockIdx.y;
uint32_t const v13 = uint32_t(v12);
uint32_t const v14 = v13 * v10;
uint32_t const v15 = v11 + v14;
uint32_t const v16 = blockIdx.x;
uint32_t const v17 = uint32_t(v16);
uint32_t const v18 = v15 + v17;
uint32_t const v19 = 256;
uint32_t const v20 = v18 * v19;
uint32_t const v21 = threadIdx.x;
uint32_t const v22 = uint32_t(v21);
uint32_t const v23 = v20 + v22;
uint32_t const v24 = uint32_t(v3);
bool const v25 = v23 >= v24;
if(v25) {
bool const v26 = false;
*inv_return_flag_v65 = v26;
}
bool const v27 = *inv_return_flag_v65;
if(v27) {
float_4 const* const v28 = &v0[v23];
float_4 const v29 = *v28;
uint32_t const v30 = v24 + v23;
float_4 const* const v31 = &v0[v30];
float_4 const v32 = *v31;
float const v33 = v29.i_0;
float const v34 = v32.i_0;
float const v35 = v33 + v34;
float const v36 = v29.i_1;
float const v37 = v32.i_1;
float const v38 = v36 + v37;
float const v39 = v29.i_2;
float const v40 = v32.i_2;
float const v41 = v39 + v40;
float const v42 = v29.i_3;
float const v43 = v32.i_3;
float const v44 = v42 + v43;
uint32_t const v45 = 2;
uint32_t const v46 = v45 * v24;
uint32_t const v47 = v46 + v23;
float_4 const* const v48 = &v0[v47];
float_4 const v49 = *v48;
float const v50 = v49.i_0;
float const v51 = v35 + v50;
float const v52 = v49.i_1;
float const v53 = v38 + v52;
float const v54 = v49.i_2;
float const v55 = v41 + v54;
float const v56 = v49.i_3;
float const v57 = v44 + v56;
uint32_t const v58 = 3;
uint32_t const v59 = v58 * v24;
uint32_t const v60 = v59 + v23;
float_4 const* const v61 = &v0[v60];
float_4 const v62 = *v61;
float const v63 = v62.i_0;
float const v64 = v51 + v63;
float const v65 = v62.i_1;
float const v66 = v53 + v65;
float const v67 = v62.i_2;
float const v68 = v55 + v67;
float const v69 = v62.i_3;
float const v70 = v57 + v69;
float_4 const v71 = float_4{v64, v66, v68, v70};
float_4 * const v72 = &v1[v23];
*v72 = v71;
}
return;
}
