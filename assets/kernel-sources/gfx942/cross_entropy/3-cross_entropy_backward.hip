// cross_entropy_backward in f32, small configuration, for gfx942: 256 x 1 x 1 threads, 0 bytes of dynamic local memory
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
    float scalars_f32[2];
uint32_t scalars_u32[2];uint32_t static_meta[6];
};
extern "C" __global__ void __launch_bounds__(256) cross_entropy_backward(float_4 const* const __restrict__ v0, int32_t const* const __restrict__ v1, float const* const __restrict__ v2, float const* const __restrict__ v3, float_4 * const __restrict__ v4, info_st const* const __restrict__ v5) {
uint32_t const* const dynamic_meta_v109 = reinterpret_cast<uint32_t const*>(v5 + 1);
const info_st& info_v108 = *v5;bool inv_return_flag_v117_store = true;
bool * inv_return_flag_v117 = &inv_return_flag_v117_store;uint32_t const v6 = 0;
uint32_t const v7 = info_v108.scalars_u32[0];
float const v8 = info_v108.scalars_f32[0];
uint32_t const v9 = blockIdx.z;
uint32_t const v10 = uint32_t(v9);
uint32_t const v11 = gridDim.y;
uint32_t const v12 = uint32_t(v11);
uint32_t const v13 = v10 * v12;
uint32_t const v14 = gridDim.x;
uint32_t const v15 = uint32_t(v14);
uint32_t const v16 = v13 * v15;
uint32_t const v17 = blockIdx.y;
uint32_t const v18 = uint32_t(v17);
uint32_t const v19 = v18 * v15;
uint32_t const v20 = v16 + v19;
uint32_t const v21 = blockIdx.x;
uint32_t const v22 = uint32_t(v21);
uint32_t const v23 = v20 + v22;
uint32_t const v24 = 256;
uint32_t const v25 = v23 * v24;
uint32_t const v26 = threadIdx.x;
uint32_t const v27 = uint32_t(v26);
uint32_t const v28 = v25 + v27;
uint32_t const v29 = uint32_t(v7);
bool const v30 = v28 >= v29;
if(v30) {
bool const v31 = false;
*inv_return_flag_v117 = v31;
}
bool const v32 = *inv_return_flag_v117;
if(v32) {
uint32_t const v33 = 250;
uint32_t const v34 = v28 / v33;
uint32_t const v35 = v28 % v33;
uint32_t const v36 = 4;
uint32_t const v37 = v35 * v36;
int32_t const* const v38 = &v1[v34];
int32_t const v39 = *v38;
uint32_t const v40 = uint32_t(v39);
uint32_t const v41 = uint32_t(v40);
float_4 const* const v42 = &v0[v28];
float_4 const v43 = *v42;
float const* const v44 = &v3[v6];
float const v45 = *v44;
float const v46 = v8 * v45;
float const* const v47 = &v2[v34];
float const v48 = *v47;
float const v49 = v43.i_0;
float const v50 = v49 - v48;
float const v51 = v43.i_1;
float const v52 = v51 - v48;
float const v53 = v43.i_2;
float const v54 = v53 - v48;
float const v55 = v43.i_3;
float const v56 = v55 - v48;
float const v57 = exp(v50);float const v58 = exp(v52);float const v59 = exp(v54);float const v60 = exp(v56);uint32_t const v61 = 1000;
bool const v62 = v41 < v61;
float const v63 = (0.0f/0.0f);
float const v64 = v62 ? v46 : v63;
float const v65 = v57 * v64;
float const v66 = v58 * v64;
float const v67 = v59 * v64;
float const v68 = v60 * v64;
float_4 const v69 = float_4{v65, v66, v67, v68};
float_4 v118_store;
float_4 * v70 = &v118_store;*v70 = v69;
bool const v71 = v37 == v41;
if(v71) {
float_4 const v72 = *v70;
float const v73 = v72.i_0;
float const v74 = v73 - v64;
float_4 const v75 = {v74, v72.i_1, v72.i_2, v72.i_3};
*v70 = v75;
}
uint32_t const v76 = 1;
uint32_t const v77 = v37 + v76;
bool const v78 = v77 == v41;
if(v78) {
float_4 const v79 = *v70;
float const v80 = v79.i_1;
float const v81 = v80 - v64;
float_4 const v82 = {v79.i_0, v81, v79.i_2, v79.i_3};
*v70 = v82;
}
uint32_t const v83 = 2;
uint32_t const v84 = v37 + v83;
bool const v85 = v84 == v41;
if(v85) {
float_4 const v86 = *v70;
float const v87 = v86.i_2;
float const v88 = v87 - v64;
float_4 const v89 = {v86.i_0, v86.i_1, v88, v86.i_3};
*v70 = v89;
}
uint32_t const v90 = 3;
uint32_t const v91 = v37 + v90;
bool const v92 = v91 == v41;
if(v92) {
float_4 const v93 = *v70;
float const v94 = v93.i_3;
float const v95 = v94 - v64;
float_4 const v96 = {v93.i_0, v93.i_1, v93.i_2, v95};
*v70 = v96;
}
float_4 const v97 = *v70;
float_4 * const v98 = &v4[v28];
*v98 = v97;
}
return;
}
