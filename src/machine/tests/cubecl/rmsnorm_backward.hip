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
extern "C" __global__ void __launch_bounds__(128) rmsnorm_backward_f_f32_w_f32_n_4_de53b77b(float_4 const* const __restrict__ v1, float_4 const* const __restrict__ v5, float_4 const* const __restrict__ v9, float_4 * const __restrict__ v16, float_4 * const __restrict__ v20, info_st const* const __restrict__ v338) {
uint32_t const* const dynamic_meta_v340 = reinterpret_cast<uint32_t const*>(v338 + 1);
const info_st& info_v339 = *v338;uint32_t const v3 = 0;
uint32_t const v341 = info_v339.scalars_u32[0];
float const v342 = info_v339.scalars_f32[0];
float const v576 = 96;
uint32_t const v30 = uint32_t(v341);
uint32_t const v547 = gridDim.x;
uint32_t const v548 = uint32_t(v547);
uint32_t const v549 = gridDim.y;
uint32_t const v550 = uint32_t(v549);
uint32_t const v551 = v548 * v550;
uint32_t const v552 = gridDim.z;
uint32_t const v553 = uint32_t(v552);
uint32_t const v554 = v551 * v553;
uint32_t const v32 = 2;
uint32_t const v33 = v554 * v32;
uint32_t const v555 = blockIdx.z;
uint32_t const v556 = uint32_t(v555);
uint32_t const v559 = v556 * v550;
uint32_t const v562 = v559 * v548;
uint32_t const v563 = blockIdx.y;
uint32_t const v564 = uint32_t(v563);
uint32_t const v567 = v564 * v548;
uint32_t const v568 = v562 + v567;
uint32_t const v569 = blockIdx.x;
uint32_t const v570 = uint32_t(v569);
uint32_t const v571 = v568 + v570;
uint32_t const v36 = v571 * v32;
uint32_t const v37 = threadIdx.y;
uint32_t const v38 = uint32_t(v37);
uint32_t const v39 = v36 + v38;
array<float_4, 1> v350_store = {};
array<float_4, 1> * v350 = &v350_store;uint32_t const v42 = 1;
uint32_t const v44 = threadIdx.x;
uint32_t const v45 = uint32_t(v44);
float const v48 = 0;
float_4 const v49 = float_4{v48, v48, v48, v48};
float_4 * const v54 = &(*v350)[v3];
*v54 = v49;
uint32_t const v55 = 24;
bool const v56 = v45 < v55;
if(v56) {
float_4 const* const v62 = &v5[v45];
float_4 const v63 = *v62;
*v54 = v63;
}
array<float_4, 1> v351_store = {};
array<float_4, 1> * v351 = &v351_store;float_4 * const v79 = &(*v351)[v3];
*v79 = v49;
uint32_t const v80 = v30 + v33;
uint32_t const v82 = v80 - v42;
uint32_t const v83 = v82 / v33;
for(uint32_t v86 = v3; v86 < v83; v86 += v42) {
uint32_t const v88 = v86 * v33;
uint32_t const v89 = v88 + v39;
uint32_t const v91 = v30 - v42;
uint32_t const v92 = min(v89, v91);
uint32_t const v94 = v92 * v55;
array<float_4, 1> v353_store = {};
array<float_4, 1> * v353 = &v353_store;float_4 * const v109 = &(*v353)[v3];
*v109 = v49;
if(v56) {
uint32_t const v112 = v94 + v45;
float_4 const* const v116 = &v1[v112];
float_4 const v117 = *v116;
*v109 = v117;
}
array<float_4, 1> v354_store = {};
array<float_4, 1> * v354 = &v354_store;float_4 * const v137 = &(*v354)[v3];
*v137 = v49;
if(v56) {
uint32_t const v140 = v94 + v45;
float_4 const* const v144 = &v9[v140];
float_4 const v145 = *v144;
*v137 = v145;
}
array<float_4, 1> v355_store = {};
array<float_4, 1> * v355 = &v355_store;float_4 const v160 = *v137;
float_4 const v166 = *v54;
float const v404 = v160.i_0;
float const v405 = v166.i_0;
float const v406 = v404 * v405;
float const v407 = v160.i_1;
float const v408 = v166.i_1;
float const v409 = v407 * v408;
float const v410 = v160.i_2;
float const v411 = v166.i_2;
float const v412 = v410 * v411;
float const v413 = v160.i_3;
float const v414 = v166.i_3;
float const v415 = v413 * v414;
float_4 const v416 = float_4{v406, v409, v412, v415};
float_4 * const v172 = &(*v355)[v3];
*v172 = v416;
float_4 const v181 = *v109;
float const v417 = v181.i_0;
float const v419 = v417 * v417;
float const v420 = v181.i_1;
float const v422 = v420 * v420;
float const v423 = v181.i_2;
float const v425 = v423 * v423;
float const v426 = v181.i_3;
float const v428 = v426 * v426;
float const v430 = v49.i_0;
float const v432 = v430 + v419;
float const v433 = v49.i_1;
float const v435 = v433 + v422;
float const v436 = v49.i_2;
float const v438 = v436 + v425;
float const v439 = v49.i_3;
float const v441 = v439 + v428;
float const v201 = v432 + v435;
float const v205 = v201 + v438;
float const v209 = v205 + v441;
uint32_t const v358 = warpSize;
uint32_t const v572 = 128;
uint32_t const v360 = min(v358, v572);
float v398_store;
float * v398 = &v398_store;*v398 = v209;
uint32_t const v362 = 1;
uint32_t v399_store;
uint32_t * v399 = &v399_store;*v399 = v362;
while([&]{
uint32_t const v365 = *v399;
bool const v366 = v365 < v360;
return v366;
}()) {
float const v368 = *v398;
uint32_t const v369 = *v399;
float const v370 = __shfl_xor(v368, v369);;
float const v372 = v368 + v370;
*v398 = v372;
uint32_t const v374 = 2;
uint32_t const v375 = v369 * v374;
*v399 = v375;
}
float const v376 = *v398;
float_4 const v220 = *v109;
float_4 const v226 = *v172;
float const v443 = v220.i_0;
float const v444 = v226.i_0;
float const v445 = v443 * v444;
float const v446 = v220.i_1;
float const v447 = v226.i_1;
float const v448 = v446 * v447;
float const v449 = v220.i_2;
float const v450 = v226.i_2;
float const v451 = v449 * v450;
float const v452 = v220.i_3;
float const v453 = v226.i_3;
float const v454 = v452 * v453;
float const v458 = v430 + v445;
float const v461 = v433 + v448;
float const v464 = v436 + v451;
float const v467 = v439 + v454;
float const v240 = v458 + v461;
float const v244 = v240 + v464;
float const v248 = v244 + v467;
float v401_store;
float * v401 = &v401_store;*v401 = v248;
uint32_t v402_store;
uint32_t * v402 = &v402_store;*v402 = v362;
while([&]{
uint32_t const v386 = *v402;
bool const v387 = v386 < v360;
return v387;
}()) {
float const v389 = *v401;
uint32_t const v390 = *v402;
float const v391 = __shfl_xor(v389, v390);;
float const v393 = v389 + v391;
*v401 = v393;
uint32_t const v395 = 2;
uint32_t const v396 = v390 * v395;
*v402 = v396;
}
float const v397 = *v401;
float const v251 = v376 / v576;
float const v252 = v251 + v342;
float const v253 = rsqrt(v252);float const v254 = v253 * v253;
float const v255 = v254 * v253;
float const v256 = v255 * v397;
float const v257 = v256 / v576;
bool const v260 = v89 < v30;
if(v260) {
float_4 const v266 = *v137;
float_4 const v272 = *v109;
float const v469 = v266.i_0;
float const v470 = v272.i_0;
float const v471 = v469 * v470;
float const v472 = v266.i_1;
float const v473 = v272.i_1;
float const v474 = v472 * v473;
float const v475 = v266.i_2;
float const v476 = v272.i_2;
float const v477 = v475 * v476;
float const v478 = v266.i_3;
float const v479 = v272.i_3;
float const v480 = v478 * v479;
float const v484 = v471 * v253;
float const v487 = v474 * v253;
float const v490 = v477 * v253;
float const v493 = v480 * v253;
float_4 const v280 = *v79;
float const v495 = v280.i_0;
float const v497 = v495 + v484;
float const v498 = v280.i_1;
float const v500 = v498 + v487;
float const v501 = v280.i_2;
float const v503 = v501 + v490;
float const v504 = v280.i_3;
float const v506 = v504 + v493;
float_4 const v507 = float_4{v497, v500, v503, v506};
*v79 = v507;
float_4 const v287 = *v172;
float const v508 = v287.i_0;
float const v510 = v508 * v253;
float const v511 = v287.i_1;
float const v513 = v511 * v253;
float const v514 = v287.i_2;
float const v516 = v514 * v253;
float const v517 = v287.i_3;
float const v519 = v517 * v253;
float const v523 = v470 * v257;
float const v526 = v473 * v257;
float const v529 = v476 * v257;
float const v532 = v479 * v257;
float const v536 = v510 - v523;
float const v539 = v513 - v526;
float const v542 = v516 - v529;
float const v545 = v519 - v532;
float_4 const v546 = float_4{v536, v539, v542, v545};
*v172 = v546;
if(v56) {
float_4 const v313 = *v172;
uint32_t const v314 = v94 + v45;
float_4 * const v318 = &v16[v314];
*v318 = v313;
}
}
}
uint32_t const v320 = v39 * v55;
if(v56) {
float_4 const v332 = *v79;
uint32_t const v333 = v320 + v45;
float_4 * const v337 = &v20[v333];
*v337 = v332;
}
return;
}
