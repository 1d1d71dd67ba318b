// cross_entropy_rows in f32, small configuration, for gfx942: 64 x 2 x 1 threads, 0 bytes of dynamic local memory
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
uint32_t scalars_u32[2];uint32_t static_meta[4];
};
extern "C" __global__ void __launch_bounds__(128) cross_entropy_rows(float_4 const* const __restrict__ v0, int32_t const* const __restrict__ v1, float * const __restrict__ v2, float * const __restrict__ v3, info_st const* const __restrict__ v4) {
uint32_t const* const dynamic_meta_v795 = reinterpret_cast<uint32_t const*>(v4 + 1);
const info_st& info_v794 = *v4;uint32_t const v5 = 0;
uint32_t const v6 = info_v794.scalars_u32[0];
uint32_t const v7 = blockIdx.z;
uint32_t const v8 = uint32_t(v7);
uint32_t const v9 = gridDim.y;
uint32_t const v10 = uint32_t(v9);
uint32_t const v11 = v8 * v10;
uint32_t const v12 = gridDim.x;
uint32_t const v13 = uint32_t(v12);
uint32_t const v14 = v11 * v13;
uint32_t const v15 = blockIdx.y;
uint32_t const v16 = uint32_t(v15);
uint32_t const v17 = v16 * v13;
uint32_t const v18 = v14 + v17;
uint32_t const v19 = blockIdx.x;
uint32_t const v20 = uint32_t(v19);
uint32_t const v21 = v18 + v20;
uint32_t const v22 = 2;
uint32_t const v23 = v21 * v22;
uint32_t const v24 = threadIdx.y;
uint32_t const v25 = uint32_t(v24);
uint32_t const v26 = v23 + v25;
uint32_t const v27 = uint32_t(v6);
bool const v28 = v26 < v27;
uint32_t const v29 = 1;
uint32_t const v30 = v27 - v29;
uint32_t const v31 = min(v26, v30);
uint32_t const v32 = 250;
uint32_t const v33 = v31 * v32;
int32_t const* const v34 = &v1[v31];
int32_t const v35 = *v34;
uint32_t const v36 = uint32_t(v35);
uint32_t const v37 = uint32_t(v36);
array<float_4, 4> v804_store = {};
array<float_4, 4> * v38 = &v804_store;uint32_t const v39 = 4;
uint32_t const v40 = threadIdx.x;
uint32_t const v41 = uint32_t(v40);
float const v42 = 0;
float_4 const v43 = float_4{v42, v42, v42, v42};
float_4 * const v44 = &(*v38)[v5];
*v44 = v43;
bool const v45 = v41 < v32;
bool const v46 = v28 && v45;
if(v46) {
uint32_t const v47 = v33 + v41;
float_4 const* const v48 = &v0[v47];
float_4 const v49 = *v48;
*v44 = v49;
}
uint32_t const v50 = 64;
uint32_t const v51 = v41 + v50;
float_4 * const v52 = &(*v38)[v29];
*v52 = v43;
bool const v53 = v51 < v32;
bool const v54 = v28 && v53;
if(v54) {
uint32_t const v55 = v33 + v51;
float_4 const* const v56 = &v0[v55];
float_4 const v57 = *v56;
*v52 = v57;
}
uint32_t const v58 = 128;
uint32_t const v59 = v41 + v58;
float_4 * const v60 = &(*v38)[v22];
*v60 = v43;
bool const v61 = v59 < v32;
bool const v62 = v28 && v61;
if(v62) {
uint32_t const v63 = v33 + v59;
float_4 const* const v64 = &v0[v63];
float_4 const v65 = *v64;
*v60 = v65;
}
uint32_t const v66 = 192;
uint32_t const v67 = v41 + v66;
uint32_t const v68 = 3;
float_4 * const v69 = &(*v38)[v68];
*v69 = v43;
bool const v70 = v67 < v32;
bool const v71 = v28 && v70;
if(v71) {
uint32_t const v72 = v33 + v67;
float_4 const* const v73 = &v0[v72];
float_4 const v74 = *v73;
*v69 = v74;
}
float const v75 = -3.402823470e+38;
float v805_store;
float * v76 = &v805_store;*v76 = v75;
float_4 const v77 = *v44;
float const v78 = v77.i_0;
float const v79 = *v76;
float const v80 = max(v79, v78);
*v76 = v80;
float const v81 = v77.i_1;
float const v82 = *v76;
float const v83 = max(v82, v81);
*v76 = v83;
float const v84 = v77.i_2;
float const v85 = *v76;
float const v86 = max(v85, v84);
*v76 = v86;
float const v87 = v77.i_3;
float const v88 = *v76;
float const v89 = max(v88, v87);
*v76 = v89;
float_4 const v90 = *v52;
float const v91 = v90.i_0;
float const v92 = *v76;
float const v93 = max(v92, v91);
*v76 = v93;
float const v94 = v90.i_1;
float const v95 = *v76;
float const v96 = max(v95, v94);
*v76 = v96;
float const v97 = v90.i_2;
float const v98 = *v76;
float const v99 = max(v98, v97);
*v76 = v99;
float const v100 = v90.i_3;
float const v101 = *v76;
float const v102 = max(v101, v100);
*v76 = v102;
float_4 const v103 = *v60;
float const v104 = v103.i_0;
float const v105 = *v76;
float const v106 = max(v105, v104);
*v76 = v106;
float const v107 = v103.i_1;
float const v108 = *v76;
float const v109 = max(v108, v107);
*v76 = v109;
float const v110 = v103.i_2;
float const v111 = *v76;
float const v112 = max(v111, v110);
*v76 = v112;
float const v113 = v103.i_3;
float const v114 = *v76;
float const v115 = max(v114, v113);
*v76 = v115;
if(v70) {
float_4 const v116 = *v69;
float const v117 = v116.i_0;
float const v118 = *v76;
float const v119 = max(v118, v117);
*v76 = v119;
float const v120 = v116.i_1;
float const v121 = *v76;
float const v122 = max(v121, v120);
*v76 = v122;
float const v123 = v116.i_2;
float const v124 = *v76;
float const v125 = max(v124, v123);
*v76 = v125;
float const v126 = v116.i_3;
float const v127 = *v76;
float const v128 = max(v127, v126);
*v76 = v128;
}
float const v129 = *v76;
uint32_t const v130 = warpSize;
uint32_t const v131 = 128;
uint32_t const v132 = min(v130, v131);
float v863_store;
float * v133 = &v863_store;*v133 = v129;
uint32_t const v134 = 1;
uint32_t v864_store;
uint32_t * v135 = &v864_store;*v135 = v134;
while([&]{
uint32_t const v136 = *v135;
bool const v137 = v136 < v132;
return v137;
}()) {
float const v138 = *v133;
uint32_t const v139 = *v135;
float const v140 = __shfl_xor(v138, v139);;
float const v141 = max(v138, v140);
*v133 = v141;
uint32_t const v142 = 2;
uint32_t const v143 = v139 * v142;
*v135 = v143;
}
float const v144 = *v133;
float_4 v825_store;
float_4 * v145 = &v825_store;*v145 = v43;
float_4 const v146 = *v44;
float const v147 = v146.i_0;
float const v148 = v147 - v144;
float const v149 = v146.i_1;
float const v150 = v149 - v144;
float const v151 = v146.i_2;
float const v152 = v151 - v144;
float const v153 = v146.i_3;
float const v154 = v153 - v144;
float const v155 = exp(v148);float const v156 = exp(v150);float const v157 = exp(v152);float const v158 = exp(v154);float_4 const v159 = *v145;
float const v160 = v159.i_0;
float const v161 = v160 + v155;
float const v162 = v159.i_1;
float const v163 = v162 + v156;
float const v164 = v159.i_2;
float const v165 = v164 + v157;
float const v166 = v159.i_3;
float const v167 = v166 + v158;
float_4 const v168 = float_4{v161, v163, v165, v167};
*v145 = v168;
float_4 const v169 = *v52;
float const v170 = v169.i_0;
float const v171 = v170 - v144;
float const v172 = v169.i_1;
float const v173 = v172 - v144;
float const v174 = v169.i_2;
float const v175 = v174 - v144;
float const v176 = v169.i_3;
float const v177 = v176 - v144;
float const v178 = exp(v171);float const v179 = exp(v173);float const v180 = exp(v175);float const v181 = exp(v177);float_4 const v182 = *v145;
float const v183 = v182.i_0;
float const v184 = v183 + v178;
float const v185 = v182.i_1;
float const v186 = v185 + v179;
float const v187 = v182.i_2;
float const v188 = v187 + v180;
float const v189 = v182.i_3;
float const v190 = v189 + v181;
float_4 const v191 = float_4{v184, v186, v188, v190};
*v145 = v191;
float_4 const v192 = *v60;
float const v193 = v192.i_0;
float const v194 = v193 - v144;
float const v195 = v192.i_1;
float const v196 = v195 - v144;
float const v197 = v192.i_2;
float const v198 = v197 - v144;
float const v199 = v192.i_3;
float const v200 = v199 - v144;
float const v201 = exp(v194);float const v202 = exp(v196);float const v203 = exp(v198);float const v204 = exp(v200);float_4 const v205 = *v145;
float const v206 = v205.i_0;
float const v207 = v206 + v201;
float const v208 = v205.i_1;
float const v209 = v208 + v202;
float const v210 = v205.i_2;
float const v211 = v210 + v203;
float const v212 = v205.i_3;
float const v213 = v212 + v204;
float_4 const v214 = float_4{v207, v209, v211, v213};
*v145 = v214;
if(v70) {
float_4 const v215 = *v69;
float const v216 = v215.i_0;
float const v217 = v216 - v144;
float const v218 = v215.i_1;
float const v219 = v218 - v144;
float const v220 = v215.i_2;
float const v221 = v220 - v144;
float const v222 = v215.i_3;
float const v223 = v222 - v144;
float const v224 = exp(v217);float const v225 = exp(v219);float const v226 = exp(v221);float const v227 = exp(v223);float_4 const v228 = *v145;
float const v229 = v228.i_0;
float const v230 = v229 + v224;
float const v231 = v228.i_1;
float const v232 = v231 + v225;
float const v233 = v228.i_2;
float const v234 = v233 + v226;
float const v235 = v228.i_3;
float const v236 = v235 + v227;
float_4 const v237 = float_4{v230, v232, v234, v236};
*v145 = v237;
}
float_4 const v238 = *v145;
float const v239 = v238.i_0;
float const v240 = v238.i_1;
float const v241 = v239 + v240;
float const v242 = v238.i_2;
float const v243 = v241 + v242;
float const v244 = v238.i_3;
float const v245 = v243 + v244;
float v866_store;
float * v246 = &v866_store;*v246 = v245;
uint32_t v867_store;
uint32_t * v247 = &v867_store;*v247 = v134;
while([&]{
uint32_t const v248 = *v247;
bool const v249 = v248 < v132;
return v249;
}()) {
float const v250 = *v246;
uint32_t const v251 = *v247;
float const v252 = __shfl_xor(v250, v251);;
float const v253 = v250 + v252;
*v246 = v253;
uint32_t const v254 = 2;
uint32_t const v255 = v251 * v254;
*v247 = v255;
}
float const v256 = *v246;
if(v28) {
float const v257 = log(v256);uint32_t const v258 = v41 * v39;
bool const v259 = v258 == v37;
bool v846_store;
bool * v260 = &v846_store;if(v259) {
uint32_t const v261 = 1000;
bool const v262 = v37 < v261;
*v260 = v262;
}
 else {
bool const v263 = false;
*v260 = v263;
}
bool const v264 = *v260;
if(v264) {
float_4 const v265 = *v44;
float const v266 = v265.i_0;
float const v267 = v144 - v266;
float const v268 = v257 + v267;
float * const v269 = &v2[v26];
*v269 = v268;
}
uint32_t const v270 = v258 + v29;
bool const v271 = v270 == v37;
bool v847_store;
bool * v272 = &v847_store;if(v271) {
uint32_t const v273 = 1000;
bool const v274 = v37 < v273;
*v272 = v274;
}
 else {
bool const v275 = false;
*v272 = v275;
}
bool const v276 = *v272;
if(v276) {
float_4 const v277 = *v44;
float const v278 = v277.i_1;
float const v279 = v144 - v278;
float const v280 = v257 + v279;
float * const v281 = &v2[v26];
*v281 = v280;
}
uint32_t const v282 = v258 + v22;
bool const v283 = v282 == v37;
bool v848_store;
bool * v284 = &v848_store;if(v283) {
uint32_t const v285 = 1000;
bool const v286 = v37 < v285;
*v284 = v286;
}
 else {
bool const v287 = false;
*v284 = v287;
}
bool const v288 = *v284;
if(v288) {
float_4 const v289 = *v44;
float const v290 = v289.i_2;
float const v291 = v144 - v290;
float const v292 = v257 + v291;
float * const v293 = &v2[v26];
*v293 = v292;
}
uint32_t const v294 = v258 + v68;
bool const v295 = v294 == v37;
bool v849_store;
bool * v296 = &v849_store;if(v295) {
uint32_t const v297 = 1000;
bool const v298 = v37 < v297;
*v296 = v298;
}
 else {
bool const v299 = false;
*v296 = v299;
}
bool const v300 = *v296;
if(v300) {
float_4 const v301 = *v44;
float const v302 = v301.i_3;
float const v303 = v144 - v302;
float const v304 = v257 + v303;
float * const v305 = &v2[v26];
*v305 = v304;
}
uint32_t const v306 = v51 * v39;
bool const v307 = v306 == v37;
bool v850_store;
bool * v308 = &v850_store;if(v307) {
uint32_t const v309 = 1000;
bool const v310 = v37 < v309;
*v308 = v310;
}
 else {
bool const v311 = false;
*v308 = v311;
}
bool const v312 = *v308;
if(v312) {
float_4 const v313 = *v52;
float const v314 = v313.i_0;
float const v315 = v144 - v314;
float const v316 = v257 + v315;
float * const v317 = &v2[v26];
*v317 = v316;
}
uint32_t const v318 = v306 + v29;
bool const v319 = v318 == v37;
bool v851_store;
bool * v320 = &v851_store;if(v319) {
uint32_t const v321 = 1000;
bool const v322 = v37 < v321;
*v320 = v322;
}
 else {
bool const v323 = false;
*v320 = v323;
}
bool const v324 = *v320;
if(v324) {
float_4 const v325 = *v52;
float const v326 = v325.i_1;
float const v327 = v144 - v326;
float const v328 = v257 + v327;
float * const v329 = &v2[v26];
*v329 = v328;
}
uint32_t const v330 = v306 + v22;
bool const v331 = v330 == v37;
bool v852_store;
bool * v332 = &v852_store;if(v331) {
uint32_t const v333 = 1000;
bool const v334 = v37 < v333;
*v332 = v334;
}
 else {
bool const v335 = false;
*v332 = v335;
}
bool const v336 = *v332;
if(v336) {
float_4 const v337 = *v52;
float const v338 = v337.i_2;
float const v339 = v144 - v338;
float const v340 = v257 + v339;
float * const v341 = &v2[v26];
*v341 = v340;
}
uint32_t const v342 = v306 + v68;
bool const v343 = v342 == v37;
bool v853_store;
bool * v344 = &v853_store;if(v343) {
uint32_t const v345 = 1000;
bool const v346 = v37 < v345;
*v344 = v346;
}
 else {
bool const v347 = false;
*v344 = v347;
}
bool const v348 = *v344;
if(v348) {
float_4 const v349 = *v52;
float const v350 = v349.i_3;
float const v351 = v144 - v350;
float const v352 = v257 + v351;
float * const v353 = &v2[v26];
*v353 = v352;
}
uint32_t const v354 = v59 * v39;
bool const v355 = v354 == v37;
bool v854_store;
bool * v356 = &v854_store;if(v355) {
uint32_t const v357 = 1000;
bool const v358 = v37 < v357;
*v356 = v358;
}
 else {
bool const v359 = false;
*v356 = v359;
}
bool const v360 = *v356;
if(v360) {
float_4 const v361 = *v60;
float const v362 = v361.i_0;
float const v363 = v144 - v362;
float const v364 = v257 + v363;
float * const v365 = &v2[v26];
*v365 = v364;
}
uint32_t const v366 = v354 + v29;
bool const v367 = v366 == v37;
bool v855_store;
bool * v368 = &v855_store;if(v367) {
uint32_t const v369 = 1000;
bool const v370 = v37 < v369;
*v368 = v370;
}
 else {
bool const v371 = false;
*v368 = v371;
}
bool const v372 = *v368;
if(v372) {
float_4 const v373 = *v60;
float const v374 = v373.i_1;
float const v375 = v144 - v374;
float const v376 = v257 + v375;
float * const v377 = &v2[v26];
*v377 = v376;
}
uint32_t const v378 = v354 + v22;
bool const v379 = v378 == v37;
bool v856_store;
bool * v380 = &v856_store;if(v379) {
uint32_t const v381 = 1000;
bool const v382 = v37 < v381;
*v380 = v382;
}
 else {
bool const v383 = false;
*v380 = v383;
}
bool const v384 = *v380;
if(v384) {
float_4 const v385 = *v60;
float const v386 = v385.i_2;
float const v387 = v144 - v386;
float const v388 = v257 + v387;
float * const v389 = &v2[v26];
*v389 = v388;
}
uint32_t const v390 = v354 + v68;
bool const v391 = v390 == v37;
bool v857_store;
bool * v392 = &v857_store;if(v391) {
uint32_t const v393 = 1000;
bool const v394 = v37 < v393;
*v392 = v394;
}
 else {
bool const v395 = false;
*v392 = v395;
}
bool const v396 = *v392;
if(v396) {
float_4 const v397 = *v60;
float const v398 = v397.i_3;
float const v399 = v144 - v398;
float const v400 = v257 + v399;
float * const v401 = &v2[v26];
*v401 = v400;
}
uint32_t const v402 = v67 * v39;
bool const v403 = v402 == v37;
bool v858_store;
bool * v404 = &v858_store;if(v403) {
uint32_t const v405 = 1000;
bool const v406 = v37 < v405;
*v404 = v406;
}
 else {
bool const v407 = false;
*v404 = v407;
}
bool const v408 = *v404;
if(v408) {
float_4 const v409 = *v69;
float const v410 = v409.i_0;
float const v411 = v144 - v410;
float const v412 = v257 + v411;
float * const v413 = &v2[v26];
*v413 = v412;
}
uint32_t const v414 = v402 + v29;
bool const v415 = v414 == v37;
bool v859_store;
bool * v416 = &v859_store;if(v415) {
uint32_t const v417 = 1000;
bool const v418 = v37 < v417;
*v416 = v418;
}
 else {
bool const v419 = false;
*v416 = v419;
}
bool const v420 = *v416;
if(v420) {
float_4 const v421 = *v69;
float const v422 = v421.i_1;
float const v423 = v144 - v422;
float const v424 = v257 + v423;
float * const v425 = &v2[v26];
*v425 = v424;
}
uint32_t const v426 = v402 + v22;
bool const v427 = v426 == v37;
bool v860_store;
bool * v428 = &v860_store;if(v427) {
uint32_t const v429 = 1000;
bool const v430 = v37 < v429;
*v428 = v430;
}
 else {
bool const v431 = false;
*v428 = v431;
}
bool const v432 = *v428;
if(v432) {
float_4 const v433 = *v69;
float const v434 = v433.i_2;
float const v435 = v144 - v434;
float const v436 = v257 + v435;
float * const v437 = &v2[v26];
*v437 = v436;
}
uint32_t const v438 = v402 + v68;
bool const v439 = v438 == v37;
bool v861_store;
bool * v440 = &v861_store;if(v439) {
uint32_t const v441 = 1000;
bool const v442 = v37 < v441;
*v440 = v442;
}
 else {
bool const v443 = false;
*v440 = v443;
}
bool const v444 = *v440;
if(v444) {
float_4 const v445 = *v69;
float const v446 = v445.i_3;
float const v447 = v144 - v446;
float const v448 = v257 + v447;
float * const v449 = &v2[v26];
*v449 = v448;
}
uint32_t const v450 = 0;
bool const v451 = v40 == v450;
bool v862_store;
bool * v452 = &v862_store;if(v451) {
uint32_t const v453 = 1000;
bool const v454 = v37 >= v453;
*v452 = v454;
}
 else {
bool const v455 = false;
*v452 = v455;
}
bool const v456 = *v452;
if(v456) {
float * const v457 = &v2[v26];
float const v458 = (0.0f/0.0f);
*v457 = v458;
}
if(v451) {
float const v459 = v144 + v257;
float * const v460 = &v3[v26];
*v460 = v459;
}
}
return;
}
