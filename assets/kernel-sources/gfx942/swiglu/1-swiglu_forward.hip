// swiglu_forward in f32, small configuration, for gfx942: 256 x 1 x 1 threads, 0 bytes of dynamic local memory
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
extern "C" __global__ void __launch_bounds__(256) swiglu_forward(float_4 const* const __restrict__ v0, float_4 * const __restrict__ v1, info_st const* const __restrict__ v2) {
uint32_t const* const dynamic_meta_v51 = reinterpret_cast<uint32_t const*>(v2 + 1);
const info_st& info_v50 = *v2;bool inv_return_flag_v56_store = true;
bool * inv_return_flag_v56 = &inv_return_flag_v56_store;uint32_t const v3 = info_v50.scalars_u32[0];
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
*inv_return_flag_v56 = v26;
}
bool const v27 = *inv_return_flag_v56;
if(v27) {
uint32_t const v28 = 512;
uint32_t const v29 = v23 / v28;
uint32_t const v30 = 1024;
uint32_t const v31 = v29 * v30;
uint32_t const v32 = v23 % v28;
uint32_t const v33 = v31 + v32;
float_4 const* const v34 = &v0[v33];
float_4 const v35 = *v34;
uint32_t const v36 = v33 + v28;
float_4 const* const v37 = &v0[v36];
float_4 const v38 = *v37;
float const v39 = 1;
float const v40 = v35.i_0;
float const v41 = -v40;
float const v42 = v35.i_1;
float const v43 = -v42;
float const v44 = v35.i_2;
float const v45 = -v44;
float const v46 = v35.i_3;
float const v47 = -v46;
float const v48 = exp(v41);float const v49 = exp(v43);float const v50 = exp(v45);float const v51 = exp(v47);float const v52 = v39 + v48;
float const v53 = v39 + v49;
float const v54 = v39 + v50;
float const v55 = v39 + v51;
float const v56 = v39 / v52;
float const v57 = v39 / v53;
float const v58 = v39 / v54;
float const v59 = v39 / v55;
float const v60 = v40 * v56;
float const v61 = v42 * v57;
float const v62 = v44 * v58;
float const v63 = v46 * v59;
float const v64 = v38.i_0;
float const v65 = v60 * v64;
float const v66 = v38.i_1;
float const v67 = v61 * v66;
float const v68 = v38.i_2;
float const v69 = v62 * v68;
float const v70 = v38.i_3;
float const v71 = v63 * v70;
float_4 const v72 = float_4{v65, v67, v69, v71};
float_4 * const v73 = &v1[v23];
*v73 = v72;
}
return;
}
