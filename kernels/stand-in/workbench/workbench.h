// Functions that the compiler's checks in a learner's kernel call, in addition to device/hip.h.
#pragma once

// For -fsanitize=array-bounds,integer-divide-by-zero; the layout is that of compiler-rt's ubsan_handlers.h.
namespace stand_in {
struct SourceLocation {
    const char *file;
    uint32_t line, column;
};
struct TypeName {
    uint16_t kind, info;
    char name[1];
};
struct IndexCheck {
    SourceLocation at;
    const TypeName *array, *index;
};
struct DivisionCheck {
    SourceLocation at;
    const TypeName *type;
};
}  // namespace stand_in
extern "C" STAND_IN_CALLBACK void __ubsan_handle_out_of_bounds(const stand_in::IndexCheck *check, uintptr_t index) {
    const unsigned bits = 1u << (check->index->info >> 1);
    const bool is_signed = check->index->info & 1;
    const int64_t value = is_signed && bits <= 32 ? (int32_t)index : (int64_t)index;
    stand_in::hip_stand_in_runtime->index(check->at.line, check->array->name, value);
}
extern "C" STAND_IN_CALLBACK void __ubsan_handle_divrem_overflow(const stand_in::DivisionCheck *check, uintptr_t, uintptr_t) {
    stand_in::hip_stand_in_runtime->index(check->at.line, "", 0);
}

// The compiler generates calls of these; the module is linked with nothing but mathematics.
extern "C" STAND_IN_CALLBACK __attribute__((no_builtin)) void *memcpy(void *to, const void *from, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) ((char *)to)[i] = ((const char *)from)[i];
    return to;
}
extern "C" STAND_IN_CALLBACK __attribute__((no_builtin)) void *memmove(void *to, const void *from, size_t bytes) {
    const bool backwards = to > from;
    for (size_t i = 0; i < bytes; i++) {
        const size_t at = backwards ? bytes - 1 - i : i;
        ((char *)to)[at] = ((const char *)from)[at];
    }
    return to;
}
extern "C" STAND_IN_CALLBACK __attribute__((no_builtin)) void *memset(void *to, int value, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) ((char *)to)[i] = (char)value;
    return to;
}

// The compiler makes one call of a sine and a cosine. The results are written here, because a library's writes are not checked.
#define STAND_IN_SINCOS(name, type, sine, cosine)                                              \
    extern "C" STAND_IN_CALLBACK void name(type x, type *to_sine, type *to_cosine) {           \
        stand_in::checked((const char *)to_sine, sizeof(type), stand_in::Access::Write);       \
        stand_in::checked((const char *)to_cosine, sizeof(type), stand_in::Access::Write);     \
        /* Two values to the compiler, or it would call this function from here. */            \
        volatile type again = x;                                                               \
        *to_sine = sine(x);                                                                    \
        *to_cosine = cosine(again);                                                            \
    }
STAND_IN_SINCOS(sincosf, float, __builtin_sinf, __builtin_cosf)
STAND_IN_SINCOS(sincos, double, __builtin_sin, __builtin_cos)

namespace stand_in {
template <class A, class B>
constexpr bool same = false;
template <class A>
constexpr bool same<A, A> = true;
// Removes const from the targets of a signature's pointers, which does not affect callers.
template <class A>
struct Plain {
    using Type = A;
};
template <class A>
struct Plain<const A *> {
    using Type = A *;
};
template <class... A>
void (*plain(void (*)(A...)))(typename Plain<A>::Type...);
}  // namespace stand_in
