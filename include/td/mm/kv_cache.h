/* td::mm: the keys and values of a language model between its steps, in C++17. Everything
 * here is inline over the C cache (asnumpy/kv_cache.h, which says what is stored how).
 *
 *     td::mm::KVCacheDesc desc;
 *     desc.layers = 32, desc.kv_heads = 8, desc.head_dim = 128;
 *     desc.dtype = td::mm::DataType::FLOAT16;
 *     td::mm::IncrementalKVCacheManager cache(desc);
 *     cache.update(layer, k, v, position);  (k, v: (1, 8, tokens, 128))
 *     td::mm::Tensor out = cache.attention(layer, q);  (q: (1, 32, tokens, 128))
 *
 * Only what is new is copied, behind the program: no call waits. A cache is moved, not
 * copied, and used by one thread at a time; after a move it is empty, and its functions
 * throw InvalidArgument. Errors are memory_manager.h's. */
#ifndef TD_MM_KV_CACHE_H_
#define TD_MM_KV_CACHE_H_

#include "td/mm/memory_manager.h"

namespace td::mm {

/* As asnp_kv_cache_options: 0 for no window, for a capacity as needed, for no blocks. */
struct KVCacheDesc {
    int32_t layers = 1, kv_heads = 1, head_dim = 1, sequences = 1;
    DataType dtype = DataType::FLOAT32;
    int64_t window = 0, capacity = 0, block_size = 0, blocks = 0;
    bool composed = false; /* none of CANN's operators */
};

class IncrementalKVCacheManager {
  public:
    /* InvalidArgument: a size out of its range, a dtype that cannot be stored. */
    explicit IncrementalKVCacheManager(const KVCacheDesc &desc) : desc_(desc) {
        const asnp_kv_cache_options options = {desc.layers,
                                               desc.kv_heads,
                                               desc.head_dim,
                                               desc.sequences,
                                               static_cast<asnp_dtype>(desc.dtype),
                                               desc.composed,
                                               desc.window,
                                               desc.capacity,
                                               desc.block_size,
                                               desc.blocks};
        detail::check(asnp_kv_cache_new(&options, &cache_));
    }
    IncrementalKVCacheManager(IncrementalKVCacheManager &&from) noexcept
        : desc_(from.desc_), cache_(std::exchange(from.cache_, nullptr)) {}
    IncrementalKVCacheManager &operator=(IncrementalKVCacheManager &&from) noexcept {
        std::swap(desc_, from.desc_);
        std::swap(cache_, from.cache_);
        return *this;
    }
    ~IncrementalKVCacheManager() { asnp_kv_cache_release(cache_); }

    const KVCacheDesc &desc() const noexcept { return desc_; }
    /* For the functions of asnumpy/kv_cache.h; borrowed. InvalidArgument: moved from. */
    asnp_kv_cache *handle() const {
        if (!cache_) detail::raise(ASNP_ERROR_VALUE, "the cache is empty");
        return cache_;
    }

    /* Appends the tokens of sequences 0, 1, ..., which all begin at `position`. k, v:
     * (sequences, kv_heads, tokens, head_dim), any floating dtype. InvalidArgument: a
     * gap, tokens that are there, shapes. OutOfMemory: also too few free blocks. */
    void update(int32_t layer, const Tensor &k, const Tensor &v, int64_t position) {
        const int32_t n = count(k);
        const std::vector<int64_t> positions(static_cast<size_t>(n), position);
        detail::check(asnp_kv_cache_update(handle(), layer, k.handle(), v.handle(), n,
                                           nullptr, positions.data()));
    }
    /* The same of the sequences named, each at its own position. */
    void update(int32_t layer, const Tensor &k, const Tensor &v,
                const std::vector<int64_t> &positions,
                const std::vector<int32_t> &sequences) {
        if (positions.size() != sequences.size())
            detail::raise(ASNP_ERROR_VALUE, std::to_string(positions.size()) +
                                                " positions of " +
                                                std::to_string(sequences.size()) +
                                                " sequences; there must be one of each");
        detail::check(asnp_kv_cache_update(handle(), layer, k.handle(), v.handle(),
                                           static_cast<int32_t>(sequences.size()),
                                           list(sequences), positions.data()));
    }

    /* Attention of the last tokens of sequences 0, 1, ..., or of those named: q
     * (sequences, heads, tokens, head_dim), a new tensor like it. scale 0: 1 /
     * sqrt(head_dim). InvalidArgument: shapes, tokens that are not there. */
    Tensor attention(int32_t layer, const Tensor &q, double scale = 0) {
        return attend(layer, q, count(q), nullptr, scale);
    }
    Tensor attention(int32_t layer, const Tensor &q,
                     const std::vector<int32_t> &sequences, double scale = 0) {
        return attend(layer, q, static_cast<int32_t>(sequences.size()), list(sequences),
                      scale);
    }

    /* Forgets the tokens from `position` on, in all layers. InvalidArgument. */
    void truncate(int64_t position, int32_t sequence = 0) {
        detail::check(asnp_kv_cache_truncate(handle(), sequence, position));
    }
    int32_t add_sequence() {
        int32_t sequence = -1;
        detail::check(asnp_kv_cache_add(handle(), &sequence));
        return sequence;
    }
    void free_sequence(int32_t sequence) {
        detail::check(asnp_kv_cache_free(handle(), sequence));
    }
    /* Where a sequence's next token goes. */
    int64_t position(int32_t layer, int32_t sequence = 0) const {
        int64_t first = 0, next = 0;
        detail::check(asnp_kv_cache_tokens(handle(), layer, sequence, &first, &next));
        return next;
    }
    asnp_kv_cache_state state() const {
        asnp_kv_cache_state found;
        detail::check(asnp_kv_cache_get_state(handle(), &found));
        return found;
    }

  private:
    /* The first extent; 0 where there is none, for the core to refuse the shape. */
    static int32_t count(const Tensor &x) {
        (void)x.handle();
        const std::vector<int64_t> &shape = x.desc().shape;
        return shape.empty() || shape[0] > INT32_MAX ? 0 : static_cast<int32_t>(shape[0]);
    }
    /* NULL would stand for the first ones. */
    static const int32_t *list(const std::vector<int32_t> &sequences) {
        static const int32_t none = 0;
        return sequences.empty() ? &none : sequences.data();
    }
    Tensor attend(int32_t layer, const Tensor &q, int32_t n, const int32_t *sequences,
                  double scale) {
        asnp_array *out = nullptr;
        TensorDesc desc(q.desc());
        desc.format = MemoryFormat::ND;
        detail::check(asnp_kv_cache_attention(handle(), layer, q.handle(), n, sequences,
                                              scale == 0 ? nullptr : &scale, &out));
        return Tensor(out, desc, false);
    }

    KVCacheDesc desc_;
    asnp_kv_cache *cache_ = nullptr; // owns
};

} // namespace td::mm

#endif
