// One step of AdamW for n parameters, in place.
extern "C" __global__ void adamw(
        float* weights, const float* gradients, float* first, float* second,
        const float* factors, int n) {
    // Read values that all elements share once, before the loop.
    float keep_first = factors[0], add_first = factors[1];
    float keep_second = factors[2], add_second = factors[3];
    float rate = factors[4], correction = factors[5];
    float decay = factors[6], epsilon = factors[7];

    // 1. A grid-stride loop over the parameters.

    // 2. The new first and second moment of the element, from the gradient
    //    and the old ones.

    // 3. The new weight, from the new moments. sqrtf is the square root of a
    //    float.

    // 4. Write all three.
}
