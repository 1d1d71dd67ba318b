// rope_turn in f32, small configuration, for gfx942: 256 x 1 x 1 threads, 0 bytes of dynamic local memory
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
extern "C" __global__ void __launch_bounds__(256) rope_turn(float_4 * const __restrict__ v0, float_4 const* const __restrict__ v1, info_st const* const __restrict__ v2) {
uint32_t const* const dynamic_meta_v83 = reinterpret_cast<uint32_t const*>(v2 + 1);
const info_st& info_v82 = *v2;bool inv_return_flag_v89_store = true;
bool * inv_return_flag_v89 = &inv_return_flag_v89_store;uint32_t const v3 = info_v82.scalars_u32[0];
uint32_t const v4 = info_v82.scalars_u32[1];
uint32_t const v5 = blockIdx.z;
uint32_t const v6 = uint32_t(v5);
uint32_t const v7 = gridDim.y;
uint32_t const v8 = uint32_t(v7);
uint32_t const v9 = v6 * v8;
uint32_t const v10 = gridDim.x;
uint32_t const v11 = uint32_t(v10);
uint32_t const v12 = v9 * v11;
uint32_t const v13 = blockIdx.y;
uint32_t const v14 = uint32_t(v13);
uint32_t const v15 = v14 * v11;
uint32_t const v16 = v12 + v15;
uint32_t const v17 = blockIdx.x;
uint32_t const v18 = uint32_t(v17);
uint32_t const v19 = v16 + v18;
uint32_t const v20 = 256;
uint32_t const v21 = v19 * v20;
uint32_t const v22 = threadIdx.x;
uint32_t const v23 = uint32_t(v22);
uint32_t const v24 = v21 + v23;
uint32_t const v25 = uint32_t(v3);
bool const v26 = v24 >= v25;
if(v26) {
bool const v27 = false;
*inv_return_flag_v89 = v27;
}
bool const v28 = *inv_return_flag_v89;
if(v28) {
uint32_t const v29 = 192;
uint32_t const v30 = v24 % v29;
uint32_t const v31 = v24 / v29;
uint32_t const v32 = uint32_t(v4);
uint32_t const v33 = v31 % v32;
uint32_t const v34 = v31 * v20;
uint32_t const v35 = v34 + v30;
uint32_t const v36 = 16;
uint32_t const v37 = v33 * v36;
uint32_t const v38 = v30 % v36;
uint32_t const v39 = v37 + v38;
float_4 const* const v40 = &v1[v39];
float_4 const v41 = *v40;
float_4 * const v42 = &v0[v35];
float_4 const v43 = *v42;
float const v44 = 0;
float_4 const v45 = float_4{v44, v44, v44, v44};
float const v46 = v41.i_0;
float const v47 = v41.i_1;
float const v48 = v43.i_0;
float const v49 = v43.i_1;
float const v50 = v49 * v47;
float const v51 = -v50;
float const v52 = fma(v48, v46, v51);
float_4 const v53 = {v52, v45.i_1, v45.i_2, v45.i_3};
float const v54 = v49 * v46;
float const v55 = fma(v48, v47, v54);
float_4 const v56 = {v53.i_0, v55, v53.i_2, v53.i_3};
float const v57 = v41.i_2;
float const v58 = v41.i_3;
float const v59 = v43.i_2;
float const v60 = v43.i_3;
float const v61 = v60 * v58;
float const v62 = -v61;
float const v63 = fma(v59, v57, v62);
float_4 const v64 = {v56.i_0, v56.i_1, v63, v56.i_3};
float const v65 = v60 * v57;
float const v66 = fma(v59, v58, v65);
float_4 const v67 = {v64.i_0, v64.i_1, v64.i_2, v66};
*v42 = v67;
}
return;
}
