// swiglu_backward in f32, small configuration, for gfx942: 256 x 1 x 1 threads, 0 bytes of dynamic local memory
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
extern "C" __global__ void __launch_bounds__(256) swiglu_backward(float_4 const* const __restrict__ v0, float_4 const* const __restrict__ v1, float_4 * const __restrict__ v2, info_st const* const __restrict__ v3) {
uint32_t const* const dynamic_meta_v77 = reinterpret_cast<uint32_t const*>(v3 + 1);
const info_st& info_v76 = *v3;bool inv_return_flag_v84_store = true;
bool * inv_return_flag_v84 = &inv_return_flag_v84_store;uint32_t const v4 = info_v76.scalars_u32[0];
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
uint32_t const v25 = uint32_t(v4);
bool const v26 = v24 >= v25;
if(v26) {
bool const v27 = false;
*inv_return_flag_v84 = v27;
}
bool const v28 = *inv_return_flag_v84;
if(v28) {
uint32_t const v29 = 512;
uint32_t const v30 = v24 / v29;
uint32_t const v31 = 1024;
uint32_t const v32 = v30 * v31;
uint32_t const v33 = v24 % v29;
uint32_t const v34 = v32 + v33;
float_4 const* const v35 = &v0[v34];
float_4 const v36 = *v35;
uint32_t const v37 = v34 + v29;
float_4 const* const v38 = &v0[v37];
float_4 const v39 = *v38;
float_4 const* const v40 = &v1[v24];
float_4 const v41 = *v40;
float const v42 = 1;
float const v43 = v36.i_0;
float const v44 = -v43;
float const v45 = v36.i_1;
float const v46 = -v45;
float const v47 = v36.i_2;
float const v48 = -v47;
float const v49 = v36.i_3;
float const v50 = -v49;
float const v51 = exp(v44);float const v52 = exp(v46);float const v53 = exp(v48);float const v54 = exp(v50);float const v55 = v42 + v51;
float const v56 = v42 + v52;
float const v57 = v42 + v53;
float const v58 = v42 + v54;
float const v59 = v42 / v55;
float const v60 = v42 / v56;
float const v61 = v42 / v57;
float const v62 = v42 / v58;
float const v63 = v41.i_0;
float const v64 = v39.i_0;
float const v65 = v63 * v64;
float const v66 = v41.i_1;
float const v67 = v39.i_1;
float const v68 = v66 * v67;
float const v69 = v41.i_2;
float const v70 = v39.i_2;
float const v71 = v69 * v70;
float const v72 = v41.i_3;
float const v73 = v39.i_3;
float const v74 = v72 * v73;
float const v75 = v65 * v59;
float const v76 = v68 * v60;
float const v77 = v71 * v61;
float const v78 = v74 * v62;
float const v79 = v42 - v59;
float const v80 = v42 - v60;
float const v81 = v42 - v61;
float const v82 = v42 - v62;
float const v83 = v43 * v79;
float const v84 = v45 * v80;
float const v85 = v47 * v81;
float const v86 = v49 * v82;
float const v87 = v42 + v83;
float const v88 = v42 + v84;
float const v89 = v42 + v85;
float const v90 = v42 + v86;
float const v91 = v75 * v87;
float const v92 = v76 * v88;
float const v93 = v77 * v89;
float const v94 = v78 * v90;
float_4 const v95 = float_4{v91, v92, v93, v94};
float_4 * const v96 = &v2[v34];
*v96 = v95;
float const v97 = v63 * v43;
float const v98 = v66 * v45;
float const v99 = v69 * v47;
float const v100 = v72 * v49;
float const v101 = v97 * v59;
float const v102 = v98 * v60;
float const v103 = v99 * v61;
float const v104 = v100 * v62;
float_4 const v105 = float_4{v101, v102, v103, v104};
float_4 * const v106 = &v2[v37];
*v106 = v105;
}
return;
}
