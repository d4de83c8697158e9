"""What a kernel in Ascend C does wrong is found, becomes an error with a sentence, and the next launch runs."""

import functools

import ascendc_kernels
import asnumpy
import pytest

pytestmark = ascendc_kernels.needs_kernels

# Each: a body, and what its message says. x has 64 floats.
BODIES = {
    "fine": ("in.FreeTensor(t);", None),
    "unaligned": ("DataCopy(t, g, 7); in.FreeTensor(t);",
                  r"DataCopy: 7 elements of 4 bytes are 28 bytes; the length must be a multiple of 32"),
    "past_the_array": ("g.SetGlobalBuffer((float *)x); DataCopy(t, g[56], 16); in.FreeTensor(t);",
                       r"DataCopy: 64 bytes at offset 224 of an allocation of 256 bytes"),
    "before_the_array": ("g.SetGlobalBuffer((float *)x - 8); DataCopy(t, g, 8); in.FreeTensor(t);",
                         r"DataCopy: 32 bytes at offset"),
    "past_the_size": ("DataCopy(t, g[40], 32); in.FreeTensor(t);", r"elements 0 to 32 of a GlobalTensor of 24"),
    "global_offset": ("(void)g[65]; in.FreeTensor(t);", r"offset 65 of a GlobalTensor of 64 elements"),
    "global_index": ("in.FreeTensor(t); g.SetValue(64, 1);", r"SetValue: elements 64 to 65 of a GlobalTensor of 64"),
    "no_address": ("GlobalTensor<float> h; DataCopy(t, h, 8); in.FreeTensor(t);", r"has no address \(SetGlobalBuffer"),
    "odd_address": ("g.SetGlobalBuffer((float *)(x + 2)); DataCopy(t, g, 8); in.FreeTensor(t);",
                    r"no multiple of the element's 4 bytes"),
    "past_the_tensor": ("DataCopy(t[56], g, 16); in.FreeTensor(t);", r"bytes 0 to 64 of dst, which has 32"),
    "unaligned_tensor": ("DataCopy(t[1], g, 8); in.FreeTensor(t);", r"dst starts at no multiple of 32 bytes"),
    "local_offset": ("(void)t[65]; in.FreeTensor(t);", r"offset 65 of a LocalTensor of 64 elements"),
    "local_index": ("t.SetValue(64, 1.0f); in.FreeTensor(t);", r"SetValue: index 64 of a LocalTensor of 64 elements"),
    "size": ("t.SetSize(65); in.FreeTensor(t);", r"SetSize: 65 elements; the buffer has room for 64"),
    "after_free": ("in.FreeTensor(t); Abs(t, t, 8);", r"Abs: dst is used after FreeTensor"),
    "after_free_again": ("in.FreeTensor(t); LocalTensor<float> u = in.AllocTensor<float>(); Abs(u, t, 8);",
                         r"Abs: src is used after FreeTensor"),
    "pipe_gone": ("LocalTensor<float> u; { TPipe p; TBuf<> b; p.InitBuffer(b, 64); u = b.Get<float>(); }"
                  "in.FreeTensor(t); Abs(u, u, 8);", r"Abs: dst is used after FreeTensor, or its TPipe's end"),
    "pipe_gone_anew": ("LocalTensor<float> u; { TPipe p; TBuf<> b; p.InitBuffer(b, 64); u = b.Get<float>(); }"
                       "TBuf<> c; pipe.InitBuffer(c, 64); in.FreeTensor(t); Abs(c.Get<float>(), u, 8);",
                       r"Abs: src is used after FreeTensor, or its TPipe's end"),
    "pipe_left": ("{ TPipe p; TQue<QuePosition::VECIN, 1> q; p.InitBuffer(q, 1, 32); (void)q.AllocTensor<float>(); }"
                  "in.FreeTensor(t);", r"AllocTensor: a tensor of 32 bytes is not given back"),
    "many_pipes": ("for (int i = 0; i < 1000; i++) { TPipe p; TBuf<> b; p.InitBuffer(b, 64); }"
                   "in.FreeTensor(t);", None),
    "in_its_queue": ("in.EnQue(t); Abs(t, t, 8);", r"Abs: dst lies in its queue"),
    "free_twice": ("in.FreeTensor(t); in.FreeTensor(t);", r"FreeTensor: the tensor is used after FreeTensor"),
    "other_queue": ("out.FreeTensor(t);", r"FreeTensor: the tensor is another queue's"),
    "never_allocated": ("in.FreeTensor(t); LocalTensor<float> u; Abs(u, u, 8);", r"dst was never allocated"),
    "all_in_use": ("(void)in.AllocTensor<float>();", r"AllocTensor: all 1 buffers of the queue are in use"),
    "no_buffers": ("TQue<QuePosition::VECIN, 1> q; q.AllocTensor<float>();", r"the queue has no buffers \(InitBuffer"),
    "deep": ("TQue<QuePosition::VECOUT, 1> q; pipe.InitBuffer(q, 2, 32);"
             "q.EnQue(q.AllocTensor<float>()); q.EnQue(q.AllocTensor<float>());",
             r"EnQue: the queue holds 1 tensors, which is its depth"),
    "empty_queue": ("in.DeQue<float>();", r"DeQue: the queue is empty; EnQue comes first"),
    "left_in_queue": ("in.EnQue(t);", r"EnQue: a tensor of 256 bytes is still in its queue when the kernel ends"),
    "not_freed": ("", r"AllocTensor: a tensor of 256 bytes is not given back when the kernel ends"),
    "reset": ("pipe.Reset();", r"not given back"),
    "mask_of_bits": ("SetMaskCount(); Add<float, false>(t, t, t, MASK_PLACEHOLDER, 1, {1, 1, 1, 8, 8, 8}); in.FreeTensor(t);",
                     r"Add: the mask was set for the normal mode; the mode is counter \(SetMaskCount\)"),
    "mask_of_a_count": ("SetVectorMask<float, MaskMode::COUNTER>(8); Add<float, false>(t, t, t, MASK_PLACEHOLDER, 1, {1, 1, 1, 8, 8, 8}); in.FreeTensor(t);",
                        r"Add: the mask was set for the counter mode; the mode is normal \(SetMaskNorm\)"),
    "mask_length": ("SetVectorMask<float>(65);", r"SetVectorMask: 65 elements; it may be 1 to 64"),
    "mask_below": ("SetVectorMask<float, MaskMode::COUNTER>(0);", r"SetVectorMask: 0 elements; it may be 1 to 64 and"),
    "mask_high": ("SetVectorMask<float>(1, 1);", r"SetVectorMask: maskHigh is 0x1; an iteration has 64 elements"),
    "mask_high_count": ("SetVectorMask<half, MaskMode::COUNTER>(1, 1);", r"maskHigh is 0x1; in the counter mode it is 0"),
    "mask_none": ("SetVectorMask<float>(0, 0); Add<float, false>(t, t, t, MASK_PLACEHOLDER, 1, {1, 1, 1, 8, 8, 8}); in.FreeTensor(t);", r"Add: no bit of the mask is set"),
    "mask_counts_none": ("SetMaskCount(); SetVectorMask<float, MaskMode::COUNTER>(0, 0); Add<float, false>(t, t, t, MASK_PLACEHOLDER, 1, {1, 1, 1, 8, 8, 8}); in.FreeTensor(t);",
                         r"Add: the mask counts 0 elements"),
    "mask_past": ("SetMaskCount(); SetVectorMask<float, MaskMode::COUNTER>(65); Add<float, false>(t, t, t, MASK_PLACEHOLDER, 1, {1, 1, 1, 8, 8, 8}); in.FreeTensor(t);",
                  r"Add: 2 iterations reach element 64 of dst, which has 64"),
    "atomic_other_type": ("SetAtomicAdd<half>(); DataCopy(g, t, 8); in.FreeTensor(t);",
                          r"DataCopy: elements of float while copies add elements of half \(SetAtomicNone\)"),
    "atomic_part": ("SetAtomicMax<float>(); DataCopyPad(g, t, {1, 6, 0, 0, 0}); in.FreeTensor(t);",
                    r"DataCopyPad: 6 bytes are no whole elements"),
    "temporary": ("LocalTensor<uint8_t> w; Sin(t, t, w, 8); in.FreeTensor(t);",
                  r"Sin: sharedTmpBuffer was never allocated"),
    "too_large": ("TBuf<> b; pipe.InitBuffer(b, 192 * 1024 - 256);",
                  r"a buffer of 196352 bytes; of the unified buffer's 196608 bytes 196096 are left"),
    "nothing": ("TBuf<> b; pipe.InitBuffer(b, 0);", r"InitBuffer: a buffer of 0 bytes"),
    "huge": ("TBuf<> b; pipe.InitBuffer(b, 0xffffffffu);", r"InitBuffer: a buffer of 4294967295 bytes"),
    "many": ("TQue<QuePosition::VECIN, 1> q; pipe.InitBuffer(q, 63, 32);", r"there are 64 buffers already"),
    "twice": ("pipe.InitBuffer(in, 1, 32);", r"the queue has its buffers already"),
    "tbuf_part": ("TBuf<> b; pipe.InitBuffer(b, 64); b.Get<float>(17);",
                  r"Get: 17 elements of 4 bytes from byte 0 on of a TBuf of 64 bytes"),
    "tbuf_none": ("TBuf<> b; b.Get<float>();", r"Get: the TBuf has no buffer"),
    "count": ("Abs(t, t, 65);", r"Abs: 65 elements of dst, which has 64"),
    "no_count": ("Abs(t, t, 0);", r"Abs: 0 elements of dst"),
    "mask": ("Abs(t, t, (uint64_t)65, 1, {1, 1, 8, 8});", r"a mask of 65 elements; an iteration has 1 to 64"),
    "mask_bits": ("uint64_t m[2] = {0, 1}; Abs(t, t, m, 1, {1, 1, 8, 8});", r"no bit of the mask is set"),
    "iterations": ("Abs(t, t, (uint64_t)64, 2, {1, 1, 8, 8});",
                   r"Abs: 2 iterations reach element 127 of dst, which has 64"),
    "most_iterations": ("Abs(t, t, (uint64_t)64, 256, {1, 1, 0, 0});", r"256 iterations; there may be 0 to 255"),
    "compare_part": ("Compare(t.ReinterpretCast<uint8_t>(), t, t, CMPMODE::LT, 8);",
                     r"8 elements of 4 bytes; they must fill a multiple of 256 bytes"),
    "compare_int": ("auto i = t.ReinterpretCast<int32_t>(); Compare(t.ReinterpretCast<uint8_t>(), i, i, CMPMODE::LT, 64);",
                    r"int32_t are compared with CMPMODE::EQ only"),
    "select_mode": ("Select(t, t.ReinterpretCast<uint8_t>(), t, t, SELMODE::VSEL_TENSOR_SCALAR_MODE, 64);",
                    r"Select: mode 1 with two tensors"),
    "work": ("TBuf<> b; pipe.InitBuffer(b, 1 << 16); auto big = b.Get<float>(); ReduceSum(t, big, t[56], 10000);",
             r"ReduceSum: a work tensor of 8 elements; 160 are needed"),
    "cast_odd": ("Cast(t.ReinterpretCast<int32_t>(), t, RoundMode::CAST_ODD, 8);", r"CAST_ODD is a mode from float to half"),
    "results": ("WholeReduceSum(t[56], t, 64, 1, 1, 1, 8); WholeReduceSum(t[60], t, 64, 2, 4, 1, 0);",
                r"2 results, 4 apart, do not fit dst, which has 4 elements"),
    "broadcast": ("uint32_t d[2] = {2, 8}, s[2] = {1, 4}; Broadcast<float, 2, 0>(t, t[32], d, s);",
                  r"extent 4 of axis 1 of src; dst has 8"),
    "transpose": ("auto h = t.ReinterpretCast<half>(); Transpose(h, h);", r"Transpose: 256 elements of dst, which has 128"),
    "pieces": ("DataCopyPad(t, g, {0, 4, 0, 0, 0}, {false, 0, 0, 0.0f});", r"blockCount is 0; it must be 1 to 4095"),
    "piece": ("DataCopy(t, g, DataCopyParams{1, 0, 0, 0});", r"blockLen is 0 bytes"),
    "padding": ("DataCopyPad(t, g, {1, 4, 0, 0, 0}, {true, 9, 0, 0.0f});", r"36 and 0 bytes of padding"),
    "padded_rows": ("DataCopyPad(t, g, {9, 4, 0, 0, 0}, {false, 0, 0, 0.0f});", r"bytes 0 to 288 of dst, which has 256"),
    "wait": ("WaitFlag<HardEvent::V_S>(0);", r"WaitFlag: id 0 is not set: an NPU would wait for ever"),
    "set_twice": ("SetFlag<HardEvent::V_S>(1); SetFlag<HardEvent::V_S>(1);", r"SetFlag: id 1 is set already"),
    "set_alone": ("in.FreeTensor(t); SetFlag<HardEvent::V_S>(1);",
                  r"SetFlag: id 1 of event 22 is set when the kernel ends"),
    "event_id": ("SetFlag<HardEvent::V_S>(8);", r"event id 8; ids are 0 to 7"),
    "events": ("for (int i = 0; i < 9; i++) pipe.AllocEventID<HardEvent::V_S>();", r"all 8 ids of the event are in use"),
    "event_release": ("pipe.ReleaseEventID<HardEvent::V_S>(3);", r"id 3, which AllocEventID did not give"),
    "assert": ("ASSERT(GetBlockNum() == 7 && \"seven\");", r'ASSERT: GetBlockNum\(\) == 7 && "seven" is false \(line'),
    "exception": ("throw std::runtime_error(\"of its own\");", r"the kernel threw of its own"),
    "other_exception": ("throw 3;", r"the kernel threw an exception"),
}  # fmt: skip

SOURCE = """
#include <stdexcept>
using namespace AscendC;
extern "C" __global__ __aicore__ void broken(GM_ADDR x, int which, int block) {
    if (GetBlockIdx() < block) return;
    TPipe pipe;
    TQue<QuePosition::VECIN, 1> in;
    TQue<QuePosition::VECOUT, 1> out;
    pipe.InitBuffer(in, 1, 256);
    pipe.InitBuffer(out, 1, 250);
    GlobalTensor<float> g;
    g.SetGlobalBuffer((float *)x, 64);
    LocalTensor<float> t = in.AllocTensor<float>();
    Duplicate(t, 1.0f, 64);
    SWITCH
}
"""


@functools.cache
def compiled():
    cases = ascendc_kernels.switch([body for body, _ in BODIES.values()])
    return ascendc_kernels.kernel(SOURCE.replace("SWITCH", cases), "broken")


def run(name, blocks=1, block=0):
    compiled()(asnumpy.zeros(64, asnumpy.float32), list(BODIES).index(name), block, blocks=blocks)


@pytest.mark.parametrize("name", [name for name, (_, message) in BODIES.items() if message])
def test_mistake(name):
    with pytest.raises(RuntimeError, match=BODIES[name][1]) as caught:
        run(name)
    assert "broken, block 0 of 1: " in str(caught.value)
    run("fine")


def test_a_pipe_gives_back_what_it_had():
    run("many_pipes")


def test_the_first_block_that_fails_is_named():
    """Whatever threads ran them."""
    for _ in range(20):
        with pytest.raises(RuntimeError, match=r"broken, block 5 of 40: DataCopy: 7 elements"):
            run("unaligned", 40, 5)


def test_threads_launch_at_once():
    """Each gets its own kernel's error, or none."""
    import concurrent.futures

    def launch(name):
        try:
            run(name, 8)
        except RuntimeError as error:
            return str(error)
        return None

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        told = list(pool.map(launch, ["fine"] * 100))
    assert told == [None] * 100


@pytest.mark.parametrize(("body", "message"), [
    ("LocalTensor<int32_t> t; Div(t, t, t, 8);", "does not take elements of this type"),
    ("SetAtomicAdd<uint32_t>();", "copies accumulate int8_t, int16_t, int32_t, half, bfloat16_t and float"),
    ("LocalTensor<int32_t> t; Sin(t, t, 8);", "the function takes half and float"),
    ("TQue<QuePosition::A1, 1> q;", "queues lie in the unified buffer"),
    ("LocalTensor<int8_t> a; LocalTensor<float> b; Cast(b, a, RoundMode::CAST_NONE, 8);", "this pair of types"),
    ("int i = nowhere;", "'nowhere' was not declared"),
])  # fmt: skip
def test_what_does_not_compile(body, message):
    source = f'using namespace AscendC;\nextern "C" __global__ __aicore__ void k(GM_ADDR x) {{\n{body}\n}}'
    with pytest.raises(asnumpy.CompileError) as caught:
        ascendc_kernels.kernel(source, "k").compile()
    assert message in str(caught.value) and f"   3 | {body}" in str(caught.value)


@pytest.mark.parametrize(("body", "message"), [
    ("__syncthreads(); x[threadIdx.x] = 1;", "__syncthreads: the threads of a block run one after the other"),
    ("__shared__ float s[8]; x[threadIdx.x] = s[0];", "__shared__: threads of a block share nothing here"),
])  # fmt: skip
def test_threads_that_would_wait(body, message):
    with pytest.raises(asnumpy.CompileError, match=message):
        ascendc_kernels.kernel(f"__global__ void k(float *x) {{ {body} }}", "k").compile()
