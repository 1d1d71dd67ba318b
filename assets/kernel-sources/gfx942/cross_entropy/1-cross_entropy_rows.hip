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
extern "C" __global__ void __launch_bounds__(128) cross_entropy_rows(float_4 const* const __restrict__ v0, int32_t const* const __restrict__ v1, float * const __restrict__ v2, float_4 * const __restrict__ v3, info_st const* const __restrict__ v4) {
uint32_t const* const dynamic_meta_v1105 = reinterpret_cast<uint32_t const*>(v4 + 1);
const info_st& info_v1104 = *v4;uint32_t const v5 = 0;
uint32_t const v6 = info_v1104.scalars_u32[0];
float const v7 = info_v1104.scalars_f32[0];
uint32_t const v8 = blockIdx.z;
uint32_t const v9 = uint32_t(v8);
uint32_t const v10 = gridDim.y;
uint32_t const v11 = uint32_t(v10);
uint32_t const v12 = v9 * v11;
uint32_t const v13 = gridDim.x;
uint32_t const v14 = uint32_t(v13);
uint32_t const v15 = v12 * v14;
uint32_t const v16 = blockIdx.y;
uint32_t const v17 = uint32_t(v16);
uint32_t const v18 = v17 * v14;
uint32_t const v19 = v15 + v18;
uint32_t const v20 = blockIdx.x;
uint32_t const v21 = uint32_t(v20);
uint32_t const v22 = v19 + v21;
uint32_t const v23 = 2;
uint32_t const v24 = v22 * v23;
uint32_t const v25 = threadIdx.y;
uint32_t const v26 = uint32_t(v25);
uint32_t const v27 = v24 + v26;
uint32_t const v28 = uint32_t(v6);
bool const v29 = v27 < v28;
uint32_t const v30 = 1;
uint32_t const v31 = v28 - v30;
uint32_t const v32 = min(v27, v31);
uint32_t const v33 = 250;
uint32_t const v34 = v32 * v33;
int32_t const* const v35 = &v1[v32];
int32_t const v36 = *v35;
uint32_t const v37 = uint32_t(v36);
uint32_t const v38 = uint32_t(v37);
array<float_4, 4> v1113_store = {};
array<float_4, 4> * v39 = &v1113_store;uint32_t const v40 = 4;
uint32_t const v41 = threadIdx.x;
uint32_t const v42 = uint32_t(v41);
float const v43 = 0;
float_4 const v44 = float_4{v43, v43, v43, v43};
float_4 * const v45 = &(*v39)[v5];
*v45 = v44;
bool const v46 = v42 < v33;
bool const v47 = v29 && v46;
if(v47) {
uint32_t const v48 = v34 + v42;
float_4 const* const v49 = &v0[v48];
float_4 const v50 = *v49;
*v45 = v50;
}
uint32_t const v51 = 64;
uint32_t const v52 = v42 + v51;
float_4 * const v53 = &(*v39)[v30];
*v53 = v44;
bool const v54 = v52 < v33;
bool const v55 = v29 && v54;
if(v55) {
uint32_t const v56 = v34 + v52;
float_4 const* const v57 = &v0[v56];
float_4 const v58 = *v57;
*v53 = v58;
}
uint32_t const v59 = 128;
uint32_t const v60 = v42 + v59;
float_4 * const v61 = &(*v39)[v23];
*v61 = v44;
bool const v62 = v60 < v33;
bool const v63 = v29 && v62;
if(v63) {
uint32_t const v64 = v34 + v60;
float_4 const* const v65 = &v0[v64];
float_4 const v66 = *v65;
*v61 = v66;
}
uint32_t const v67 = 192;
uint32_t const v68 = v42 + v67;
uint32_t const v69 = 3;
float_4 * const v70 = &(*v39)[v69];
*v70 = v44;
bool const v71 = v68 < v33;
bool const v72 = v29 && v71;
if(v72) {
uint32_t const v73 = v34 + v68;
float_4 const* const v74 = &v0[v73];
float_4 const v75 = *v74;
*v70 = v75;
}
float const v76 = -3.402823470e+38;
float v1114_store;
float * v77 = &v1114_store;*v77 = v76;
float_4 const v78 = *v45;
float const v79 = v78.i_0;
float const v80 = *v77;
float const v81 = max(v80, v79);
*v77 = v81;
float const v82 = v78.i_1;
float const v83 = *v77;
float const v84 = max(v83, v82);
*v77 = v84;
float const v85 = v78.i_2;
float const v86 = *v77;
float const v87 = max(v86, v85);
*v77 = v87;
float const v88 = v78.i_3;
float const v89 = *v77;
float const v90 = max(v89, v88);
*v77 = v90;
float_4 const v91 = *v53;
float const v92 = v91.i_0;
float const v93 = *v77;
float const v94 = max(v93, v92);
*v77 = v94;
float const v95 = v91.i_1;
float const v96 = *v77;
float const v97 = max(v96, v95);
*v77 = v97;
float const v98 = v91.i_2;
float const v99 = *v77;
float const v100 = max(v99, v98);
*v77 = v100;
float const v101 = v91.i_3;
float const v102 = *v77;
float const v103 = max(v102, v101);
*v77 = v103;
float_4 const v104 = *v61;
float const v105 = v104.i_0;
float const v106 = *v77;
float const v107 = max(v106, v105);
*v77 = v107;
float const v108 = v104.i_1;
float const v109 = *v77;
float const v110 = max(v109, v108);
*v77 = v110;
float const v111 = v104.i_2;
float const v112 = *v77;
float const v113 = max(v112, v111);
*v77 = v113;
float const v114 = v104.i_3;
float const v115 = *v77;
float const v116 = max(v115, v114);
*v77 = v116;
if(v71) {
float_4 const v117 = *v70;
float const v118 = v117.i_0;
float const v119 = *v77;
float const v120 = max(v119, v118);
*v77 = v120;
float const v121 = v117.i_1;
float const v122 = *v77;
float const v123 = max(v122, v121);
*v77 = v123;
float const v124 = v117.i_2;
float const v125 = *v77;
float const v126 = max(v125, v124);
*v77 = v126;
float const v127 = v117.i_3;
float const v128 = *v77;
float const v129 = max(v128, v127);
*v77 = v129;
}
float const v130 = *v77;
uint32_t const v131 = warpSize;
uint32_t const v132 = 128;
uint32_t const v133 = min(v131, v132);
float v1177_store;
float * v134 = &v1177_store;*v134 = v130;
uint32_t const v135 = 1;
uint32_t v1178_store;
uint32_t * v136 = &v1178_store;*v136 = v135;
while([&]{
uint32_t const v137 = *v136;
bool const v138 = v137 < v133;
return v138;
}()) {
float const v139 = *v134;
uint32_t const v140 = *v136;
float const v141 = __shfl_xor(v139, v140);;
float const v142 = max(v139, v141);
*v134 = v142;
uint32_t const v143 = 2;
uint32_t const v144 = v140 * v143;
*v136 = v144;
}
float const v145 = *v134;
float_4 v1134_store;
float_4 * v146 = &v1134_store;*v146 = v44;
float_4 const v147 = *v45;
float const v148 = v147.i_0;
float const v149 = v148 - v145;
float const v150 = v147.i_1;
float const v151 = v150 - v145;
float const v152 = v147.i_2;
float const v153 = v152 - v145;
float const v154 = v147.i_3;
float const v155 = v154 - v145;
float const v156 = exp(v149);float const v157 = exp(v151);float const v158 = exp(v153);float const v159 = exp(v155);float_4 const v160 = *v146;
float const v161 = v160.i_0;
float const v162 = v161 + v156;
float const v163 = v160.i_1;
float const v164 = v163 + v157;
float const v165 = v160.i_2;
float const v166 = v165 + v158;
float const v167 = v160.i_3;
float const v168 = v167 + v159;
float_4 const v169 = float_4{v162, v164, v166, v168};
*v146 = v169;
float_4 const v170 = *v53;
float const v171 = v170.i_0;
float const v172 = v171 - v145;
float const v173 = v170.i_1;
float const v174 = v173 - v145;
float const v175 = v170.i_2;
float const v176 = v175 - v145;
float const v177 = v170.i_3;
float const v178 = v177 - v145;
float const v179 = exp(v172);float const v180 = exp(v174);float const v181 = exp(v176);float const v182 = exp(v178);float_4 const v183 = *v146;
float const v184 = v183.i_0;
float const v185 = v184 + v179;
float const v186 = v183.i_1;
float const v187 = v186 + v180;
float const v188 = v183.i_2;
float const v189 = v188 + v181;
float const v190 = v183.i_3;
float const v191 = v190 + v182;
float_4 const v192 = float_4{v185, v187, v189, v191};
*v146 = v192;
float_4 const v193 = *v61;
float const v194 = v193.i_0;
float const v195 = v194 - v145;
float const v196 = v193.i_1;
float const v197 = v196 - v145;
float const v198 = v193.i_2;
float const v199 = v198 - v145;
float const v200 = v193.i_3;
float const v201 = v200 - v145;
float const v202 = exp(v195);float const v203 = exp(v197);float const v204 = exp(v199);float const v205 = exp(v201);float_4 const v206 = *v146;
float const v207 = v206.i_0;
float const v208 = v207 + v202;
float const v209 = v206.i_1;
float const v210 = v209 + v203;
float const v211 = v206.i_2;
float const v212 = v211 + v204;
float const v213 = v206.i_3;
float const v214 = v213 + v205;
float_4 const v215 = float_4{v208, v210, v212, v214};
*v146 = v215;
if(v71) {
float_4 const v216 = *v70;
float const v217 = v216.i_0;
float const v218 = v217 - v145;
float const v219 = v216.i_1;
float const v220 = v219 - v145;
float const v221 = v216.i_2;
float const v222 = v221 - v145;
float const v223 = v216.i_3;
float const v224 = v223 - v145;
float const v225 = exp(v218);float const v226 = exp(v220);float const v227 = exp(v222);float const v228 = exp(v224);float_4 const v229 = *v146;
float const v230 = v229.i_0;
float const v231 = v230 + v225;
float const v232 = v229.i_1;
float const v233 = v232 + v226;
float const v234 = v229.i_2;
float const v235 = v234 + v227;
float const v236 = v229.i_3;
float const v237 = v236 + v228;
float_4 const v238 = float_4{v231, v233, v235, v237};
*v146 = v238;
}
float_4 const v239 = *v146;
float const v240 = v239.i_0;
float const v241 = v239.i_1;
float const v242 = v240 + v241;
float const v243 = v239.i_2;
float const v244 = v242 + v243;
float const v245 = v239.i_3;
float const v246 = v244 + v245;
float v1180_store;
float * v247 = &v1180_store;*v247 = v246;
uint32_t v1181_store;
uint32_t * v248 = &v1181_store;*v248 = v135;
while([&]{
uint32_t const v249 = *v248;
bool const v250 = v249 < v133;
return v250;
}()) {
float const v251 = *v247;
uint32_t const v252 = *v248;
float const v253 = __shfl_xor(v251, v252);;
float const v254 = v251 + v253;
*v247 = v254;
uint32_t const v255 = 2;
uint32_t const v256 = v252 * v255;
*v248 = v256;
}
float const v257 = *v247;
if(v29) {
float const v258 = log(v257);uint32_t const v259 = v42 * v40;
bool const v260 = v259 == v38;
bool v1155_store;
bool * v261 = &v1155_store;if(v260) {
uint32_t const v262 = 1000;
bool const v263 = v38 < v262;
*v261 = v263;
}
 else {
bool const v264 = false;
*v261 = v264;
}
bool const v265 = *v261;
if(v265) {
float_4 const v266 = *v45;
float const v267 = v266.i_0;
float const v268 = v145 - v267;
float const v269 = v258 + v268;
float * const v270 = &v2[v27];
*v270 = v269;
}
uint32_t const v271 = v259 + v30;
bool const v272 = v271 == v38;
bool v1156_store;
bool * v273 = &v1156_store;if(v272) {
uint32_t const v274 = 1000;
bool const v275 = v38 < v274;
*v273 = v275;
}
 else {
bool const v276 = false;
*v273 = v276;
}
bool const v277 = *v273;
if(v277) {
float_4 const v278 = *v45;
float const v279 = v278.i_1;
float const v280 = v145 - v279;
float const v281 = v258 + v280;
float * const v282 = &v2[v27];
*v282 = v281;
}
uint32_t const v283 = v259 + v23;
bool const v284 = v283 == v38;
bool v1157_store;
bool * v285 = &v1157_store;if(v284) {
uint32_t const v286 = 1000;
bool const v287 = v38 < v286;
*v285 = v287;
}
 else {
bool const v288 = false;
*v285 = v288;
}
bool const v289 = *v285;
if(v289) {
float_4 const v290 = *v45;
float const v291 = v290.i_2;
float const v292 = v145 - v291;
float const v293 = v258 + v292;
float * const v294 = &v2[v27];
*v294 = v293;
}
uint32_t const v295 = v259 + v69;
bool const v296 = v295 == v38;
bool v1158_store;
bool * v297 = &v1158_store;if(v296) {
uint32_t const v298 = 1000;
bool const v299 = v38 < v298;
*v297 = v299;
}
 else {
bool const v300 = false;
*v297 = v300;
}
bool const v301 = *v297;
if(v301) {
float_4 const v302 = *v45;
float const v303 = v302.i_3;
float const v304 = v145 - v303;
float const v305 = v258 + v304;
float * const v306 = &v2[v27];
*v306 = v305;
}
uint32_t const v307 = v52 * v40;
bool const v308 = v307 == v38;
bool v1159_store;
bool * v309 = &v1159_store;if(v308) {
uint32_t const v310 = 1000;
bool const v311 = v38 < v310;
*v309 = v311;
}
 else {
bool const v312 = false;
*v309 = v312;
}
bool const v313 = *v309;
if(v313) {
float_4 const v314 = *v53;
float const v315 = v314.i_0;
float const v316 = v145 - v315;
float const v317 = v258 + v316;
float * const v318 = &v2[v27];
*v318 = v317;
}
uint32_t const v319 = v307 + v30;
bool const v320 = v319 == v38;
bool v1160_store;
bool * v321 = &v1160_store;if(v320) {
uint32_t const v322 = 1000;
bool const v323 = v38 < v322;
*v321 = v323;
}
 else {
bool const v324 = false;
*v321 = v324;
}
bool const v325 = *v321;
if(v325) {
float_4 const v326 = *v53;
float const v327 = v326.i_1;
float const v328 = v145 - v327;
float const v329 = v258 + v328;
float * const v330 = &v2[v27];
*v330 = v329;
}
uint32_t const v331 = v307 + v23;
bool const v332 = v331 == v38;
bool v1161_store;
bool * v333 = &v1161_store;if(v332) {
uint32_t const v334 = 1000;
bool const v335 = v38 < v334;
*v333 = v335;
}
 else {
bool const v336 = false;
*v333 = v336;
}
bool const v337 = *v333;
if(v337) {
float_4 const v338 = *v53;
float const v339 = v338.i_2;
float const v340 = v145 - v339;
float const v341 = v258 + v340;
float * const v342 = &v2[v27];
*v342 = v341;
}
uint32_t const v343 = v307 + v69;
bool const v344 = v343 == v38;
bool v1162_store;
bool * v345 = &v1162_store;if(v344) {
uint32_t const v346 = 1000;
bool const v347 = v38 < v346;
*v345 = v347;
}
 else {
bool const v348 = false;
*v345 = v348;
}
bool const v349 = *v345;
if(v349) {
float_4 const v350 = *v53;
float const v351 = v350.i_3;
float const v352 = v145 - v351;
float const v353 = v258 + v352;
float * const v354 = &v2[v27];
*v354 = v353;
}
uint32_t const v355 = v60 * v40;
bool const v356 = v355 == v38;
bool v1163_store;
bool * v357 = &v1163_store;if(v356) {
uint32_t const v358 = 1000;
bool const v359 = v38 < v358;
*v357 = v359;
}
 else {
bool const v360 = false;
*v357 = v360;
}
bool const v361 = *v357;
if(v361) {
float_4 const v362 = *v61;
float const v363 = v362.i_0;
float const v364 = v145 - v363;
float const v365 = v258 + v364;
float * const v366 = &v2[v27];
*v366 = v365;
}
uint32_t const v367 = v355 + v30;
bool const v368 = v367 == v38;
bool v1164_store;
bool * v369 = &v1164_store;if(v368) {
uint32_t const v370 = 1000;
bool const v371 = v38 < v370;
*v369 = v371;
}
 else {
bool const v372 = false;
*v369 = v372;
}
bool const v373 = *v369;
if(v373) {
float_4 const v374 = *v61;
float const v375 = v374.i_1;
float const v376 = v145 - v375;
float const v377 = v258 + v376;
float * const v378 = &v2[v27];
*v378 = v377;
}
uint32_t const v379 = v355 + v23;
bool const v380 = v379 == v38;
bool v1165_store;
bool * v381 = &v1165_store;if(v380) {
uint32_t const v382 = 1000;
bool const v383 = v38 < v382;
*v381 = v383;
}
 else {
bool const v384 = false;
*v381 = v384;
}
bool const v385 = *v381;
if(v385) {
float_4 const v386 = *v61;
float const v387 = v386.i_2;
float const v388 = v145 - v387;
float const v389 = v258 + v388;
float * const v390 = &v2[v27];
*v390 = v389;
}
uint32_t const v391 = v355 + v69;
bool const v392 = v391 == v38;
bool v1166_store;
bool * v393 = &v1166_store;if(v392) {
uint32_t const v394 = 1000;
bool const v395 = v38 < v394;
*v393 = v395;
}
 else {
bool const v396 = false;
*v393 = v396;
}
bool const v397 = *v393;
if(v397) {
float_4 const v398 = *v61;
float const v399 = v398.i_3;
float const v400 = v145 - v399;
float const v401 = v258 + v400;
float * const v402 = &v2[v27];
*v402 = v401;
}
uint32_t const v403 = v68 * v40;
bool const v404 = v403 == v38;
bool v1167_store;
bool * v405 = &v1167_store;if(v404) {
uint32_t const v406 = 1000;
bool const v407 = v38 < v406;
*v405 = v407;
}
 else {
bool const v408 = false;
*v405 = v408;
}
bool const v409 = *v405;
if(v409) {
float_4 const v410 = *v70;
float const v411 = v410.i_0;
float const v412 = v145 - v411;
float const v413 = v258 + v412;
float * const v414 = &v2[v27];
*v414 = v413;
}
uint32_t const v415 = v403 + v30;
bool const v416 = v415 == v38;
bool v1168_store;
bool * v417 = &v1168_store;if(v416) {
uint32_t const v418 = 1000;
bool const v419 = v38 < v418;
*v417 = v419;
}
 else {
bool const v420 = false;
*v417 = v420;
}
bool const v421 = *v417;
if(v421) {
float_4 const v422 = *v70;
float const v423 = v422.i_1;
float const v424 = v145 - v423;
float const v425 = v258 + v424;
float * const v426 = &v2[v27];
*v426 = v425;
}
uint32_t const v427 = v403 + v23;
bool const v428 = v427 == v38;
bool v1169_store;
bool * v429 = &v1169_store;if(v428) {
uint32_t const v430 = 1000;
bool const v431 = v38 < v430;
*v429 = v431;
}
 else {
bool const v432 = false;
*v429 = v432;
}
bool const v433 = *v429;
if(v433) {
float_4 const v434 = *v70;
float const v435 = v434.i_2;
float const v436 = v145 - v435;
float const v437 = v258 + v436;
float * const v438 = &v2[v27];
*v438 = v437;
}
uint32_t const v439 = v403 + v69;
bool const v440 = v439 == v38;
bool v1170_store;
bool * v441 = &v1170_store;if(v440) {
uint32_t const v442 = 1000;
bool const v443 = v38 < v442;
*v441 = v443;
}
 else {
bool const v444 = false;
*v441 = v444;
}
bool const v445 = *v441;
if(v445) {
float_4 const v446 = *v70;
float const v447 = v446.i_3;
float const v448 = v145 - v447;
float const v449 = v258 + v448;
float * const v450 = &v2[v27];
*v450 = v449;
}
uint32_t const v451 = 0;
bool const v452 = v41 == v451;
bool v1171_store;
bool * v453 = &v1171_store;if(v452) {
uint32_t const v454 = 1000;
bool const v455 = v38 >= v454;
*v453 = v455;
}
 else {
bool const v456 = false;
*v453 = v456;
}
bool const v457 = *v453;
if(v457) {
float * const v458 = &v2[v27];
float const v459 = (0.0f/0.0f);
*v458 = v459;
}
}
array<float_4, 4> v1172_store = {};
array<float_4, 4> * v460 = &v1172_store;uint32_t const v461 = v42 * v40;
float_4 const v462 = *v45;
float const v463 = v462.i_0;
float const v464 = v463 - v145;
float const v465 = v462.i_1;
float const v466 = v465 - v145;
float const v467 = v462.i_2;
float const v468 = v467 - v145;
float const v469 = v462.i_3;
float const v470 = v469 - v145;
float const v471 = exp(v464);float const v472 = exp(v466);float const v473 = exp(v468);float const v474 = exp(v470);float const v475 = v471 / v257;
float const v476 = v472 / v257;
float const v477 = v473 / v257;
float const v478 = v474 / v257;
uint32_t const v479 = 1000;
bool const v480 = v38 < v479;
float const v481 = (0.0f/0.0f);
float const v482 = v480 ? v7 : v481;
float const v483 = v475 * v482;
float const v484 = v476 * v482;
float const v485 = v477 * v482;
float const v486 = v478 * v482;
float_4 const v487 = float_4{v483, v484, v485, v486};
float_4 v1173_store;
float_4 * v488 = &v1173_store;*v488 = v487;
bool const v489 = v461 == v38;
if(v489) {
float_4 const v490 = *v488;
float const v491 = v490.i_0;
float const v492 = v491 - v482;
float_4 const v493 = {v492, v490.i_1, v490.i_2, v490.i_3};
*v488 = v493;
}
uint32_t const v494 = v461 + v30;
bool const v495 = v494 == v38;
if(v495) {
float_4 const v496 = *v488;
float const v497 = v496.i_1;
float const v498 = v497 - v482;
float_4 const v499 = {v496.i_0, v498, v496.i_2, v496.i_3};
*v488 = v499;
}
uint32_t const v500 = v461 + v23;
bool const v501 = v500 == v38;
if(v501) {
float_4 const v502 = *v488;
float const v503 = v502.i_2;
float const v504 = v503 - v482;
float_4 const v505 = {v502.i_0, v502.i_1, v504, v502.i_3};
*v488 = v505;
}
uint32_t const v506 = v461 + v69;
bool const v507 = v506 == v38;
if(v507) {
float_4 const v508 = *v488;
float const v509 = v508.i_3;
float const v510 = v509 - v482;
float_4 const v511 = {v508.i_0, v508.i_1, v508.i_2, v510};
*v488 = v511;
}
float_4 * const v512 = &(*v460)[v5];
float_4 const v513 = *v488;
*v512 = v513;
uint32_t const v514 = v52 * v40;
float_4 const v515 = *v53;
float const v516 = v515.i_0;
float const v517 = v516 - v145;
float const v518 = v515.i_1;
float const v519 = v518 - v145;
float const v520 = v515.i_2;
float const v521 = v520 - v145;
float const v522 = v515.i_3;
float const v523 = v522 - v145;
float const v524 = exp(v517);float const v525 = exp(v519);float const v526 = exp(v521);float const v527 = exp(v523);float const v528 = v524 / v257;
float const v529 = v525 / v257;
float const v530 = v526 / v257;
float const v531 = v527 / v257;
float const v532 = v528 * v482;
float const v533 = v529 * v482;
float const v534 = v530 * v482;
float const v535 = v531 * v482;
float_4 const v536 = float_4{v532, v533, v534, v535};
float_4 v1174_store;
float_4 * v537 = &v1174_store;*v537 = v536;
bool const v538 = v514 == v38;
if(v538) {
float_4 const v539 = *v537;
float const v540 = v539.i_0;
float const v541 = v540 - v482;
float_4 const v542 = {v541, v539.i_1, v539.i_2, v539.i_3};
*v537 = v542;
}
uint32_t const v543 = v514 + v30;
bool const v544 = v543 == v38;
if(v544) {
float_4 const v545 = *v537;
float const v546 = v545.i_1;
float const v547 = v546 - v482;
float_4 const v548 = {v545.i_0, v547, v545.i_2, v545.i_3};
*v537 = v548;
}
uint32_t const v549 = v514 + v23;
bool const v550 = v549 == v38;
if(v550) {
float_4 const v551 = *v537;
float const v552 = v551.i_2;
float const v553 = v552 - v482;
float_4 const v554 = {v551.i_0, v551.i_1, v553, v551.i_3};
*v537 = v554;
}
uint32_t const v555 = v514 + v69;
bool const v556 = v555 == v38;
if(v556) {
float_4 const v557 = *v537;
float const v558 = v557.i_3;
float const v559 = v558 - v482;
float_4 const v560 = {v557.i_0, v557.i_1, v557.i_2, v559};
*v537 = v560;
}
float_4 * const v561 = &(*v460)[v30];
float_4 const v562 = *v537;
*v561 = v562;
uint32_t const v563 = v60 * v40;
float_4 const v564 = *v61;
float const v565 = v564.i_0;
float const v566 = v565 - v145;
float const v567 = v564.i_1;
float const v568 = v567 - v145;
float const v569 = v564.i_2;
float const v570 = v569 - v145;
float const v571 = v564.i_3;
float const v572 = v571 - v145;
float const v573 = exp(v566);float const v574 = exp(v568);float const v575 = exp(v570);float const v576 = exp(v572);float const v577 = v573 / v257;
float const v578 = v574 / v257;
float const v579 = v575 / v257;
float const v580 = v576 / v257;
float const v581 = v577 * v482;
float const v582 = v578 * v482;
float const v583 = v579 * v482;
float const v584 = v580 * v482;
float_4 const v585 = float_4{v581, v582, v583, v584};
float_4 v1175_store;
float_4 * v586 = &v1175_store;*v586 = v585;
bool const v587 = v563 == v38;
if(v587) {
float_4 const v588 = *v586;
float const v589 = v588.i_0;
float const v590 = v589 - v482;
float_4 const v591 = {v590, v588.i_1, v588.i_2, v588.i_3};
*v586 = v591;
}
uint32_t const v592 = v563 + v30;
bool const v593 = v592 == v38;
if(v593) {
float_4 const v594 = *v586;
float const v595 = v594.i_1;
float const v596 = v595 - v482;
float_4 const v597 = {v594.i_0, v596, v594.i_2, v594.i_3};
*v586 = v597;
}
uint32_t const v598 = v563 + v23;
bool const v599 = v598 == v38;
if(v599) {
float_4 const v600 = *v586;
float const v601 = v600.i_2;
float const v602 = v601 - v482;
float_4 const v603 = {v600.i_0, v600.i_1, v602, v600.i_3};
*v586 = v603;
}
uint32_t const v604 = v563 + v69;
bool const v605 = v604 == v38;
if(v605) {
float_4 const v606 = *v586;
float const v607 = v606.i_3;
float const v608 = v607 - v482;
float_4 const v609 = {v606.i_0, v606.i_1, v606.i_2, v608};
*v586 = v609;
}
float_4 * const v610 = &(*v460)[v23];
float_4 const v611 = *v586;
*v610 = v611;
uint32_t const v612 = v68 * v40;
float_4 const v613 = *v70;
float const v614 = v613.i_0;
float const v615 = v614 - v145;
float const v616 = v613.i_1;
float const v617 = v616 - v145;
float const v618 = v613.i_2;
float const v619 = v618 - v145;
float const v620 = v613.i_3;
float const v621 = v620 - v145;
float const v622 = exp(v615);float const v623 = exp(v617);float const v624 = exp(v619);float const v625 = exp(v621);float const v626 = v622 / v257;
float const v627 = v623 / v257;
float const v628 = v624 / v257;
float const v629 = v625 / v257;
float const v630 = v626 * v482;
float const v631 = v627 * v482;
float const v632 = v628 * v482;
float const v633 = v629 * v482;
float_4 const v634 = float_4{v630, v631, v632, v633};
float_4 v1176_store;
float_4 * v635 = &v1176_store;*v635 = v634;
bool const v636 = v612 == v38;
if(v636) {
float_4 const v637 = *v635;
float const v638 = v637.i_0;
float const v639 = v638 - v482;
float_4 const v640 = {v639, v637.i_1, v637.i_2, v637.i_3};
*v635 = v640;
}
uint32_t const v641 = v612 + v30;
bool const v642 = v641 == v38;
if(v642) {
float_4 const v643 = *v635;
float const v644 = v643.i_1;
float const v645 = v644 - v482;
float_4 const v646 = {v643.i_0, v645, v643.i_2, v643.i_3};
*v635 = v646;
}
uint32_t const v647 = v612 + v23;
bool const v648 = v647 == v38;
if(v648) {
float_4 const v649 = *v635;
float const v650 = v649.i_2;
float const v651 = v650 - v482;
float_4 const v652 = {v649.i_0, v649.i_1, v651, v649.i_3};
*v635 = v652;
}
uint32_t const v653 = v612 + v69;
bool const v654 = v653 == v38;
if(v654) {
float_4 const v655 = *v635;
float const v656 = v655.i_3;
float const v657 = v656 - v482;
float_4 const v658 = {v655.i_0, v655.i_1, v655.i_2, v657};
*v635 = v658;
}
float_4 * const v659 = &(*v460)[v69];
float_4 const v660 = *v635;
*v659 = v660;
if(v29) {
float_4 const v661 = *v512;
uint32_t const v662 = v34 + v42;
float_4 * const v663 = &v3[v662];
*v663 = v661;
float_4 const v664 = *v561;
uint32_t const v665 = v34 + v52;
float_4 * const v666 = &v3[v665];
*v666 = v664;
float_4 const v667 = *v610;
uint32_t const v668 = v34 + v60;
float_4 * const v669 = &v3[v668];
*v669 = v667;
if(v71) {
float_4 const v670 = *v659;
uint32_t const v671 = v34 + v68;
float_4 * const v672 = &v3[v671];
*v672 = v670;
}
}
return;
}
