// mean_of in f32, small configuration, for gfx942: 64 x 1 x 1 threads, 0 bytes of dynamic local memory
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
extern "C" __global__ void __launch_bounds__(64) mean_of(float const* const __restrict__ v0, float * const __restrict__ v1, info_st const* const __restrict__ v2) {
uint32_t const* const dynamic_meta_v40 = reinterpret_cast<uint32_t const*>(v2 + 1);
const info_st& info_v39 = *v2;uint32_t const v3 = 0;
uint32_t const v4 = info_v39.scalars_u32[0];
float const v5 = 0;
float v45_store;
float * v6 = &v45_store;*v6 = v5;
uint32_t const v7 = threadIdx.x;
uint32_t const v8 = uint32_t(v7);
uint32_t const v9 = uint32_t(v4);
uint32_t const v10 = 64;
for(uint32_t v11 = v8; v11 < v9; v11 += v10) {
float const* const v12 = &v0[v11];
float const v13 = *v12;
float const v14 = *v6;
float const v15 = v14 + v13;
*v6 = v15;
}
float const v16 = *v6;
uint32_t const v17 = warpSize;
uint32_t const v18 = 64;
uint32_t const v19 = min(v17, v18);
float v66_store;
float * v20 = &v66_store;*v20 = v16;
uint32_t const v21 = 1;
uint32_t v67_store;
uint32_t * v22 = &v67_store;*v22 = v21;
while([&]{
uint32_t const v23 = *v22;
bool const v24 = v23 < v19;
return v24;
}()) {
float const v25 = *v20;
uint32_t const v26 = *v22;
float const v27 = __shfl_xor(v25, v26);;
float const v28 = v25 + v27;
*v20 = v28;
uint32_t const v29 = 2;
uint32_t const v30 = v26 * v29;
*v22 = v30;
}
float const v31 = *v20;
uint32_t const v32 = 0;
bool const v33 = v7 == v32;
if(v33) {
float const v34 = float(v4);
float const v35 = v31 / v34;
float * const v36 = &v1[v3];
*v36 = v35;
}
return;
}
