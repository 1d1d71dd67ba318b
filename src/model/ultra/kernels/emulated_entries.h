// The kernels by name.
extern "C" int emulated_launch(const char* kernel, const unsigned* sizes, size_t shared, void** arguments, int count) {
    ENTRY(lookup_normalize)
    ENTRY(normalize)
    ENTRY(normalize_backward)
    ENTRY(norm_gradients)
    ENTRY(swiglu)
    ENTRY(swiglu_backward)
    ENTRY(cross_entropy)
    ENTRY(loss)
    ENTRY(embedding_gradient)
    ENTRY(adamw_factors)
    ENTRY(adamw)
    ENTRY(attention)
    ENTRY(attention_backward)
    return -1;
}
