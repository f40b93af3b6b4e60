// As much of metal_stdlib as naga's translation of the kernels uses, for a C++ compiler. Lanes run one after the other.
// These headers use names that are macros below.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#define constant const
#define device
#define kernel
#define thread
#define threadgroup

typedef uint32_t uint;

template <typename To, typename From> static inline To as_type(From from) {
    static_assert(sizeof(To) == sizeof(From), "as_type keeps the size");
    To to;
    std::memcpy(&to, &from, sizeof to);
    return to;
}

namespace metal {
using ::uint;

#define VECTOR_OPERATOR(type, operation)                                                            \
    friend type operator operation(type a, type b) {                                                \
        for (int i = 0; i < SIZE; ++i) a.words()[i] = a.words()[i] operation b.words()[i];          \
        return a;                                                                                   \
    }                                                                                               \
    friend type operator operation(type a, uint b) { return a operation type(b); }                  \
    friend type operator operation(uint a, type b) { return type(a) operation b; }
#define VECTOR_OPERATORS(type)                                                                      \
    uint* words() { return &x; }                                                                    \
    const uint* words() const { return &x; }                                                        \
    uint& operator[](uint i) { return words()[i]; }                                                 \
    uint operator[](uint i) const { return words()[i]; }                                            \
    VECTOR_OPERATOR(type, +)                                                                        \
    VECTOR_OPERATOR(type, -)                                                                        \
    VECTOR_OPERATOR(type, *)                                                                        \
    VECTOR_OPERATOR(type, &)                                                                        \
    VECTOR_OPERATOR(type, |)                                                                        \
    VECTOR_OPERATOR(type, ^)                                                                        \
    VECTOR_OPERATOR(type, <<)                                                                       \
    VECTOR_OPERATOR(type, >>)

struct alignas(8) uint2 {
    static const int SIZE = 2;
    uint x, y;
    uint2() : x(0), y(0) {}
    explicit uint2(uint all) : x(all), y(all) {}
    uint2(uint x, uint y) : x(x), y(y) {}
    VECTOR_OPERATORS(uint2)
};
struct alignas(16) uint3 {
    static const int SIZE = 3;
    uint x, y, z;
    uint3() : x(0), y(0), z(0) {}
    explicit uint3(uint all) : x(all), y(all), z(all) {}
    uint3(uint x, uint y, uint z) : x(x), y(y), z(z) {}
    VECTOR_OPERATORS(uint3)
};
struct alignas(16) uint4 {
    static const int SIZE = 4;
    uint x, y, z, w;
    uint4() : x(0), y(0), z(0), w(0) {}
    explicit uint4(uint all) : x(all), y(all), z(all), w(all) {}
    uint4(uint x, uint y, uint z, uint w) : x(x), y(y), z(z), w(w) {}
    uint4(uint3 xyz, uint w) : x(xyz.x), y(xyz.y), z(xyz.z), w(w) {}
    VECTOR_OPERATORS(uint4)
};

template <typename T> static inline T min(T a, T b) { return b < a ? b : a; }
template <typename T> static inline T max(T a, T b) { return a < b ? b : a; }
template <typename T> static inline T clamp(T x, T low, T high) { return min(max(x, low), high); }
template <typename T> static inline T select(T no, T yes, bool which) { return which ? yes : no; }
static inline uint clz(uint x) { return x == 0 ? 32 : __builtin_clz(x); }
static inline uint popcount(uint x) { return __builtin_popcount(x); }

// Metal leaves offset + bits beyond 32 undefined.
static inline uint extract_bits(uint x, uint offset, uint bits) {
    return bits == 0 ? 0 : (x >> offset) & (~0u >> (32 - bits));
}
static inline int extract_bits(int x, uint offset, uint bits) {
    return bits == 0 ? 0 : (int)((uint)x << (32 - bits - offset)) >> (32 - bits);
}
static inline uint insert_bits(uint x, uint from, uint offset, uint bits) {
    uint mask = bits == 0 ? 0 : (~0u >> (32 - bits)) << offset;
    return (x & ~mask) | ((from << offset) & mask);
}

enum class mem_flags { mem_none, mem_device, mem_threadgroup };
struct Barrier {};
extern bool is_first_pass;
// The first pass of a workgroup ends here.
static inline void threadgroup_barrier(mem_flags) {
    if (is_first_pass) throw Barrier();
}
}  // namespace metal

struct Kernel {
    void (*call)(metal::uint3 group, uint lane, uint8_t** buffers);
    uint threads;
    bool has_barrier;
};
