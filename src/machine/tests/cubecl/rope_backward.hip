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
    uint32_t scalars_u32[2];uint32_t static_meta[4];
};
extern "C" __global__ void __launch_bounds__(256) rope_turn_f_f32_n_4_7b9dac4f(float_4 const* const __restrict__ v1, float_4 const* const __restrict__ v5, float_4 * const __restrict__ v9, info_st const* const __restrict__ v84) {
uint32_t const* const dynamic_meta_v86 = reinterpret_cast<uint32_t const*>(v84 + 1);
const info_st& info_v85 = *v84;bool inv_return_flag_v92_store = true;
bool * inv_return_flag_v92 = &inv_return_flag_v92_store;uint32_t const v87 = info_v85.scalars_u32[0];
uint32_t const v88 = info_v85.scalars_u32[1];
uint32_t const v94 = blockIdx.z;
uint32_t const v95 = uint32_t(v94);
uint32_t const v96 = gridDim.y;
uint32_t const v97 = uint32_t(v96);
uint32_t const v98 = v95 * v97;
uint32_t const v99 = gridDim.x;
uint32_t const v100 = uint32_t(v99);
uint32_t const v101 = v98 * v100;
uint32_t const v102 = blockIdx.y;
uint32_t const v103 = uint32_t(v102);
uint32_t const v106 = v103 * v100;
uint32_t const v107 = v101 + v106;
uint32_t const v108 = blockIdx.x;
uint32_t const v109 = uint32_t(v108);
uint32_t const v110 = v107 + v109;
uint32_t const v137 = 256;
uint32_t const v113 = v110 * v137;
uint32_t const v118 = threadIdx.x;
uint32_t const v115 = uint32_t(v118);
uint32_t const v116 = v113 + v115;
uint32_t const v16 = uint32_t(v87);
bool const v17 = v116 >= v16;
if(v17) {
bool const v18 = false;
*inv_return_flag_v92 = v18;
}
bool const v19 = *inv_return_flag_v92;
if(v19) {
uint32_t const v20 = 280;
uint32_t const v21 = v116 % v20;
uint32_t const v22 = 8;
uint32_t const v23 = v116 / v22;
uint32_t const v24 = uint32_t(v88);
uint32_t const v25 = v23 % v24;
uint32_t const v27 = v116 / v20;
uint32_t const v28 = 336;
uint32_t const v29 = v27 * v28;
uint32_t const v30 = v29 + v21;
uint32_t const v32 = v25 * v22;
uint32_t const v34 = v21 % v22;
uint32_t const v35 = v32 + v34;
float_4 const* const v39 = &v5[v35];
float_4 const v40 = *v39;
float_4 const* const v44 = &v1[v30];
float_4 const v45 = *v44;
float const v46 = 0;
float_4 const v47 = float_4{v46, v46, v46, v46};
float const v49 = v40.i_0;
float const v50 = v40.i_1;
float const v51 = -v50;
float const v52 = v45.i_0;
float const v53 = v45.i_1;
float const v55 = v53 * v51;
float const v138 = -v55;
float const v139 = fma(v52, v49, v138);
float_4 const v58 = {v139, v47.i_1, v47.i_2, v47.i_3};
float const v60 = v53 * v49;
float const v140 = fma(v52, v51, v60);
float_4 const v63 = {v58.i_0, v140, v58.i_2, v58.i_3};
float const v64 = v40.i_2;
float const v65 = v40.i_3;
float const v66 = -v65;
float const v67 = v45.i_2;
float const v68 = v45.i_3;
float const v70 = v68 * v66;
float const v141 = -v70;
float const v142 = fma(v67, v64, v141);
float_4 const v73 = {v63.i_0, v63.i_1, v142, v63.i_3};
float const v75 = v68 * v64;
float const v143 = fma(v67, v66, v75);
float_4 const v78 = {v73.i_0, v73.i_1, v73.i_2, v143};
float_4 * const v83 = &v9[v30];
*v83 = v78;
}
return;
}
