// CUB's reductions of data made on the device, and a plain read of the same size beside them: a library for
// peer_cub.py, and the ceiling of the other peers on the GPU (on_gpu.py). Functions return 0, or what CUDA says.
//
//   nvcc -O3 -std=c++17 -arch=native -shared -Xcompiler -fPIC -o libpeers.so cub.cu
#include <cub/cub.cuh>
#include <cuda/__execution/determinism.h>
#include <cuda/__execution/require.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#define TRY(call)                                                                                            \
    do {                                                                                                     \
        cudaError_t error_ = (call);                                                                         \
        if (error_ != cudaSuccess) return error_;                                                            \
    } while (0)

namespace {

constexpr float BATCH_MS = 5; // Shorter batches are mostly the beginning and the end.

enum Op { MIN, ARGMIN, SUM, SUM_REPRODUCIBLE };
enum Type { FLOAT32, UINT8, INT64, FLOAT64 };

__device__ uint32_t noise(uint64_t i) {
    uint32_t x = static_cast<uint32_t>(i ^ (i >> 32)) * 0x9e3779b9u;
    x = (x ^ (x >> 15)) * 0x2c1b3c6du;
    x = (x ^ (x >> 12)) * 0x297a2d39u;
    return x ^ (x >> 15);
}

/// Where the least element of each row stands first; it stands in the last place, too.
__host__ __device__ uint64_t place(uint64_t length) { return length * 3 / 4; }

template <class T> __host__ __device__ T least() {
    if constexpr (std::is_floating_point_v<T>) {
        return -1;
    } else {
        return std::is_signed_v<T> ? T(1) << (8 * sizeof(T) - 1) : 0;
    }
}

/// Floats between -0.5 and 0.5; integers of all bits but the least.
template <class T> __global__ void make(T *data, uint64_t count, uint64_t length) {
    uint64_t step = uint64_t(gridDim.x) * blockDim.x;
    for (uint64_t i = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
        uint64_t at = i % length;
        T x;
        if (at == place(length) || at == length - 1) {
            x = least<T>();
        } else if constexpr (std::is_floating_point_v<T>) {
            x = T(int32_t(noise(i)) >> 8) / T(1 << 24);
        } else {
            x = T(uint64_t(noise(i)) << 32 | noise(~i));
            x += x == least<T>();
        }
        data[i] = x;
    }
}

template <int LOADS> __global__ void read(const uint4 *data, uint64_t count, uint4 *out) {
    uint64_t step = uint64_t(gridDim.x) * blockDim.x;
    uint64_t i = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    uint4 lowest = make_uint4(~0u, ~0u, ~0u, ~0u);
    for (; i + (LOADS - 1) * step < count; i += LOADS * step) {
        uint4 loaded[LOADS];
#pragma unroll
        for (int k = 0; k < LOADS; k++) loaded[k] = data[i + k * step];
#pragma unroll
        for (int k = 0; k < LOADS; k++) {
            lowest.x = min(lowest.x, loaded[k].x);
            lowest.y = min(lowest.y, loaded[k].y);
            lowest.z = min(lowest.z, loaded[k].z);
            lowest.w = min(lowest.w, loaded[k].w);
        }
    }
    // Never so, but the compiler cannot know: else it would leave out the loads.
    if (lowest.x == 1 && lowest.y == 2 && lowest.z == 3 && lowest.w == 5) *out = lowest;
}

/// Each step needs the one before it, and none needs memory: its time tells the clock.
__global__ void chain(uint32_t steps, uint32_t *out) {
    uint32_t x = threadIdx.x;
    for (uint32_t i = 0; i < steps; i++) x = x * 1664525u + 1013904223u;
    if (x == 1) *out = x;
}

template <class T> __global__ void count_wrong(const T *results, uint64_t count, T right, uint32_t *wrong) {
    uint64_t step = uint64_t(gridDim.x) * blockDim.x;
    for (uint64_t i = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step)
        if (results[i] != right) atomicAdd(wrong, 1);
}

template <class T>
__global__ void count_wrong_pairs(const cuda::std::pair<int, T> *results, uint64_t count, int index, T value,
    uint32_t *wrong) {
    uint64_t step = uint64_t(gridDim.x) * blockDim.x;
    for (uint64_t i = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step)
        if (results[i].first != index || results[i].second != value) atomicAdd(wrong, 1);
}

struct State {
    uint8_t *data = nullptr, *results = nullptr, *scratch = nullptr;
    uint4 *read_from = nullptr;
    uint32_t *counter = nullptr;
    size_t bytes = 0, scratch_bytes = 0;
    cudaEvent_t begin, end;
    int processors = 0, loads = 0, blocks = 0;
    double quickest_chain = 0;
} state;

/// Nanoseconds of a call, of so many in a row that they take at least BATCH_MS.
template <class Call> cudaError_t timed(Call call, double &ns) {
    for (int calls = 1;; calls *= 2) {
        TRY(cudaEventRecord(state.begin));
        for (int i = 0; i < calls; i++) TRY(call());
        TRY(cudaEventRecord(state.end));
        TRY(cudaEventSynchronize(state.end));
        float ms = 0;
        TRY(cudaEventElapsedTime(&ms, state.begin, state.end));
        ns = 1e6 * ms / calls;
        if (ms >= BATCH_MS) return cudaSuccess;
    }
}

cudaError_t read_once(int loads, int blocks) {
    auto *out = reinterpret_cast<uint4 *>(state.results);
    uint64_t count = state.bytes / sizeof(uint4);
    switch (loads) {
    case 1: read<1><<<blocks, 256>>>(state.read_from, count, out); break;
    case 2: read<2><<<blocks, 256>>>(state.read_from, count, out); break;
    case 4: read<4><<<blocks, 256>>>(state.read_from, count, out); break;
    default: read<8><<<blocks, 256>>>(state.read_from, count, out);
    }
    return cudaGetLastError();
}

/// What CUB does with `data`: `rows` segments of `length`. Without scratch it says how much it wants.
template <class T> cudaError_t reduce(Op op, int64_t rows, int64_t length, void *scratch, size_t &wanted) {
    auto *in = reinterpret_cast<const T *>(state.data);
    auto *out = reinterpret_cast<T *>(state.results);
    bool flat = rows == 1;
    switch (op) {
    case MIN:
        return flat ? cub::DeviceReduce::Min(scratch, wanted, in, out, length)
                    : cub::DeviceSegmentedReduce::Min(scratch, wanted, in, out, rows, int(length));
    case ARGMIN: {
        // Of a flat row the index comes apart from the value.
        auto *index = reinterpret_cast<int64_t *>(state.results + 64);
        auto *pairs = reinterpret_cast<cuda::std::pair<int, T> *>(state.results);
        return flat ? cub::DeviceReduce::ArgMin(scratch, wanted, in, out, index, length)
                    : cub::DeviceSegmentedReduce::ArgMin(scratch, wanted, in, pairs, rows, int(length));
    }
    case SUM:
        if constexpr (!std::is_floating_point_v<T>) return cudaErrorNotSupported;
        return flat ? cub::DeviceReduce::Sum(scratch, wanted, in, out, length)
                    : cub::DeviceSegmentedReduce::Sum(scratch, wanted, in, out, rows, int(length));
    default:
        // The same bits on every GPU, which is less than rounded right; flat rows alone.
        if constexpr (std::is_floating_point_v<T>) {
            wanted = 1;
            if (!flat) return cudaErrorNotSupported;
            if (!scratch) return cudaSuccess;
            auto same = cuda::execution::require(cuda::execution::determinism::gpu_to_gpu);
            return cub::DeviceReduce::Sum(in, out, length, same);
        }
        return cudaErrorNotSupported;
    }
}

template <class T> cudaError_t wrong(Op op, uint64_t rows, uint64_t length, uint32_t &found) {
    TRY(cudaMemset(state.counter, 0, sizeof(uint32_t)));
    auto *values = reinterpret_cast<const T *>(state.results);
    auto *pairs = reinterpret_cast<const cuda::std::pair<int, T> *>(state.results);
    auto *index = reinterpret_cast<const int64_t *>(state.results + 64);
    if (op == MIN || rows == 1) count_wrong<<<1024, 256>>>(values, rows, least<T>(), state.counter);
    else count_wrong_pairs<<<1024, 256>>>(pairs, rows, int(place(length)), least<T>(), state.counter);
    if (op == ARGMIN && rows == 1) count_wrong<<<1, 1>>>(index, 1, int64_t(place(length)), state.counter);
    TRY(cudaGetLastError());
    return cudaMemcpy(&found, state.counter, sizeof(uint32_t), cudaMemcpyDeviceToHost);
}

template <class T> cudaError_t prepare_type(Op op, uint64_t rows, uint64_t length, uint32_t &found) {
    make<<<4096, 256>>>(reinterpret_cast<T *>(state.data), rows * length, length);
    TRY(cudaGetLastError());
    TRY(cudaMemset(state.results, 0xff, state.bytes));
    size_t wanted = 0;
    TRY(reduce<T>(op, rows, length, nullptr, wanted));
    if (wanted > state.scratch_bytes) return cudaErrorMemoryAllocation;
    TRY(reduce<T>(op, rows, length, state.scratch, wanted));
    if (op == MIN || op == ARGMIN) return wrong<T>(op, rows, length, found);
    return cudaDeviceSynchronize();
}

template <class Do> int by_type(int type, Do act) {
    switch (type) {
    case FLOAT32: return act(float());
    case UINT8: return act(uint8_t());
    case INT64: return act(int64_t());
    default: return act(double());
    }
}

} // namespace

extern "C" {

const char *peers_error(int error) { return cudaGetErrorString(static_cast<cudaError_t>(error)); }

int peers_version() { return CUB_VERSION; }

/// Buffers of `bytes`; the device's name, of at most 255 bytes. With `cub` 0 only what the ceiling takes.
int peers_open(size_t bytes, int with_cub, char *name) {
    cudaDeviceProp properties;
    TRY(cudaGetDeviceProperties(&properties, 0));
    std::copy_n(properties.name, 256, name);
    state.processors = properties.multiProcessorCount;
    state.bytes = bytes;
    TRY(cudaMalloc(reinterpret_cast<void **>(&state.read_from), bytes));
    make<<<4096, 256>>>(reinterpret_cast<uint8_t *>(state.read_from), bytes, bytes);
    TRY(cudaMalloc(reinterpret_cast<void **>(&state.counter), 256));
    if (with_cub) {
        state.scratch_bytes = bytes / 2;
        TRY(cudaMalloc(reinterpret_cast<void **>(&state.data), bytes));
        TRY(cudaMalloc(reinterpret_cast<void **>(&state.scratch), state.scratch_bytes));
    }
    // Pairs of an index and a value, of rows of 10 bytes, are nearly as large as what was reduced.
    TRY(cudaMalloc(reinterpret_cast<void **>(&state.results), with_cub ? bytes : 256));
    TRY(cudaEventCreate(&state.begin));
    TRY(cudaEventCreate(&state.end));
    double best = 0;
    for (int loads : {1, 2, 4, 8}) {
        for (int each : {4, 8, 16, 32}) {
            double ns = 0;
            TRY(timed([&] { return read_once(loads, state.processors * each); }, ns));
            if (best == 0 || ns < best) {
                best = ns;
                state.loads = loads;
                state.blocks = state.processors * each;
            }
        }
    }
    return cudaSuccess;
}

/// A batch of the fastest read.
int peers_read(double *gbps) {
    double ns = 0;
    TRY(timed([] { return read_once(state.loads, state.blocks); }, ns));
    *gbps = state.bytes / ns;
    return cudaSuccess;
}

/// How near the clock of the multiprocessors is to its best so far.
int peers_clock(double *share) {
    TRY(cudaEventRecord(state.begin));
    chain<<<state.processors, 32>>>(1 << 16, state.counter);
    TRY(cudaEventRecord(state.end));
    TRY(cudaEventSynchronize(state.end));
    float ms = 0;
    TRY(cudaEventElapsedTime(&ms, state.begin, state.end));
    if (state.quickest_chain == 0 || ms < state.quickest_chain) state.quickest_chain = ms;
    *share = state.quickest_chain / ms;
    return cudaSuccess;
}

/// Makes data, reduces them once and counts wrong results; of sums none is known here.
int cub_prepare(int op, int type, uint64_t rows, uint64_t length, uint32_t *found) {
    *found = 0;
    return by_type(type, [&](auto t) { return prepare_type<decltype(t)>(Op(op), rows, length, *found); });
}

/// A batch of what was prepared.
int cub_time(int op, int type, uint64_t rows, uint64_t length, double *ns) {
    return by_type(type, [&](auto t) {
        using T = decltype(t);
        size_t have = state.scratch_bytes;
        return timed([&] { return reduce<T>(Op(op), rows, length, state.scratch, have); }, *ns);
    });
}

/// The first bytes of what is reduced (0) or of the results (1).
int cub_copy(int which, void *host, size_t bytes) {
    return cudaMemcpy(host, which ? state.results : state.data, bytes, cudaMemcpyDeviceToHost);
}
}
