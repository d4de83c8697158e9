// td::mm::IncrementalKVCacheManager: steps against sums made here, errors, moves, blocks.
// Run on the device whose launches lag, too. Prints what failed.
#include <cmath>
#include <cstdio>

#include "td/mm/kv_cache.h"

#include "check.hpp"

using namespace td::mm;

static MemoryManager &mm = MemoryManager::instance();
enum { HEADS = 4, KV_HEADS = 2, SIZE = 8 };

// Numbers in [-1, 1) that differ from place to place.
static std::vector<float> numbers(int64_t n, uint32_t seed) {
    std::vector<float> x(static_cast<size_t>(n));
    for (float &e : x) {
        seed = seed * 1664525u + 1013904223u;
        e = static_cast<float>(seed >> 8) / 8388608.0f - 1;
    }
    return x;
}

static Tensor tensor(const std::vector<float> &x, std::vector<int64_t> shape) {
    return mm.prepare_tensor(x.data(),
                             {DataType::FLOAT32, std::move(shape), MemoryFormat::ND, 64});
}

// Attention of one query, summed in double: q (HEADS, SIZE); token t's keys and values
// are k[t], v[t], (KV_HEADS, SIZE).
static std::vector<double> expected(const std::vector<float> &q,
                                    const std::vector<std::vector<float>> &k,
                                    const std::vector<std::vector<float>> &v) {
    std::vector<double> out(HEADS * SIZE);
    for (size_t h = 0; h < HEADS; h++) {
        size_t kv = h / (HEADS / KV_HEADS) * SIZE;
        double sum = 0;
        for (size_t t = 0; t < k.size(); t++) {
            double score = 0;
            for (size_t d = 0; d < SIZE; d++)
                score += double(q[h * SIZE + d]) * k[t][kv + d];
            double weight = std::exp(score / std::sqrt(double(SIZE)));
            sum += weight;
            for (size_t d = 0; d < SIZE; d++)
                out[h * SIZE + d] += weight * v[t][kv + d];
        }
        for (size_t d = 0; d < SIZE; d++)
            out[h * SIZE + d] /= sum;
    }
    return out;
}

static bool near(const Tensor &got, const std::vector<double> &want) {
    std::vector<float> host(want.size());
    mm.copy_to_host(got, host.data(), static_cast<int64_t>(4 * host.size()));
    for (size_t i = 0; i < want.size(); i++)
        if (!(std::fabs(host[i] - want[i]) < 1e-5)) return false;
    return true;
}

static KVCacheDesc plain() {
    KVCacheDesc desc;
    desc.layers = 2, desc.kv_heads = KV_HEADS, desc.head_dim = SIZE;
    return desc;
}

// Forty steps, one token each, with a few taken back on the way.
static void steps(const KVCacheDesc &desc, const char *what) {
    IncrementalKVCacheManager cache(desc);
    std::vector<std::vector<float>> k, v;
    for (uint32_t step = 0; step < 40; step++) {
        if (step == 20) {
            cache.truncate(15);
            k.resize(15), v.resize(15);
        }
        auto at = static_cast<int64_t>(k.size());
        k.push_back(numbers(KV_HEADS * SIZE, 3 * step));
        v.push_back(numbers(KV_HEADS * SIZE, 3 * step + 1));
        std::vector<float> q = numbers(HEADS * SIZE, 3 * step + 2);
        Tensor tk = tensor(k.back(), {1, KV_HEADS, 1, SIZE});
        Tensor tv = tensor(v.back(), {1, KV_HEADS, 1, SIZE});
        for (int32_t layer = 0; layer < 2; layer++)
            cache.update(layer, tk, tv, at);
        Tensor out = cache.attention(1, tensor(q, {1, HEADS, 1, SIZE}));
        check(near(out, expected(q, k, v)), what);
        check(cache.position(0) == at + 1 && out.desc().shape[1] == HEADS, what);
    }
}

static void several() {
    KVCacheDesc desc = plain();
    desc.block_size = 4, desc.blocks = 4, desc.layers = 1;
    IncrementalKVCacheManager cache(desc);
    check(cache.add_sequence() == 1, "a second sequence");
    std::vector<float> x = numbers(2 * KV_HEADS * SIZE, 5);
    Tensor both = tensor(x, {2, KV_HEADS, 1, SIZE});
    cache.update(0, both, both, 0);
    cache.update(0, both, both, {1, 1}, {1, 0});
    check(cache.position(0, 0) == 2 && cache.position(0, 1) == 2, "positions");
    Tensor q = tensor(numbers(2 * HEADS * SIZE, 7), {2, HEADS, 1, SIZE});
    check(cache.attention(0, q, {1, 0}, 0.5).desc().shape[0] == 2, "attention of two");
    check(cache.state().free_blocks == 2, "free blocks");
    Tensor long_one = tensor(numbers(KV_HEADS * 15 * SIZE, 9), {1, KV_HEADS, 15, SIZE});
    refuses<OutOfMemory>([&] { cache.update(0, long_one, long_one, {2}, {0}); },
                         "4 blocks are needed, 2 of 4 are free");
    cache.free_sequence(1);
    check(cache.state().free_blocks == 3 && cache.state().sequences == 1, "freed");
    refuses<InvalidArgument>([&] { cache.update(0, both, both, {2, 2}, {0}); },
                             "2 positions of 1 sequences");
    refuses<InvalidArgument>([&] { (void)cache.position(0, 1); }, "sequence 1");
}

static void errors() {
    KVCacheDesc desc = plain();
    desc.dtype = DataType::INT32;
    refuses<InvalidArgument>([&] { IncrementalKVCacheManager cache(desc); },
                             "dtype is int32");
    IncrementalKVCacheManager one(plain());
    Tensor x = tensor(numbers(KV_HEADS * SIZE, 1), {1, KV_HEADS, 1, SIZE});
    refuses<InvalidArgument>([&] { one.update(0, x, x, 1); }, "there would be a gap");
    refuses<InvalidArgument>([&] { one.update(2, x, x, 0); }, "layer 2 of 2");
    refuses<InvalidArgument>([&] { one.update(0, Tensor(), x, 0); }, "tensor is empty");
    refuses<InvalidArgument>([&] { (void)one.attention(0, x); }, "1 queries");
    one.update(0, x, x, 0);
    IncrementalKVCacheManager two(std::move(one));
    check(two.position(0) == 1, "moved");
    refuses<InvalidArgument>([&] { (void)one.position(0); }, "the cache is empty");
    one = std::move(two);
    check(one.position(0) == 1, "moved back");
}

int main() {
    KVCacheDesc blocks = plain(), composed = plain();
    blocks.block_size = 4, blocks.blocks = 10;
    composed.composed = true;
    steps(plain(), "in rows");
    steps(blocks, "in blocks");
    steps(composed, "composed");
    several();
    errors();
    if (failures == 0) std::printf("kv cache: all as it should be\n");
    return failures != 0;
}
