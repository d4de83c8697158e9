/* z = x + y of `total` floats: tiles of 2048 go through double-buffered queues, block b
 * takes tiles b, b + N, ... The last tile may be shorter: DataCopyPad takes any length.
 */
#include "kernel_operator.h"

using namespace AscendC;

constexpr int32_t BUFFERS = 2;
constexpr uint32_t TILE = 2048;

class KernelAdd {
  public:
    __aicore__ inline KernelAdd() {}
    __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t total) {
        this->total = total;
        xGm.SetGlobalBuffer((__gm__ float *)x, total);
        yGm.SetGlobalBuffer((__gm__ float *)y, total);
        zGm.SetGlobalBuffer((__gm__ float *)z, total);
        pipe.InitBuffer(inQueueX, BUFFERS, TILE * sizeof(float));
        pipe.InitBuffer(inQueueY, BUFFERS, TILE * sizeof(float));
        pipe.InitBuffer(outQueueZ, BUFFERS, TILE * sizeof(float));
    }
    __aicore__ inline void Process() {
        for (uint64_t begin = GetBlockIdx() * TILE; begin < total;
             begin += GetBlockNum() * TILE) {
            uint32_t count = total - begin < TILE ? total - begin : TILE;
            CopyIn(begin, count);
            Compute(count);
            CopyOut(begin, count);
        }
    }

  private:
    __aicore__ inline void CopyIn(uint64_t begin, uint32_t count) {
        LocalTensor<float> xLocal = inQueueX.AllocTensor<float>();
        LocalTensor<float> yLocal = inQueueY.AllocTensor<float>();
        DataCopyExtParams copy{1, static_cast<uint32_t>(count * sizeof(float)), 0, 0, 0};
        DataCopyPadExtParams<float> pad{false, 0, 0, 0};
        DataCopyPad(xLocal, xGm[begin], copy, pad);
        DataCopyPad(yLocal, yGm[begin], copy, pad);
        inQueueX.EnQue(xLocal);
        inQueueY.EnQue(yLocal);
    }
    __aicore__ inline void Compute(uint32_t count) {
        LocalTensor<float> xLocal = inQueueX.DeQue<float>();
        LocalTensor<float> yLocal = inQueueY.DeQue<float>();
        LocalTensor<float> zLocal = outQueueZ.AllocTensor<float>();
        Add(zLocal, xLocal, yLocal, count);
        outQueueZ.EnQue<float>(zLocal);
        inQueueX.FreeTensor(xLocal);
        inQueueY.FreeTensor(yLocal);
    }
    __aicore__ inline void CopyOut(uint64_t begin, uint32_t count) {
        LocalTensor<float> zLocal = outQueueZ.DeQue<float>();
        DataCopyExtParams copy{1, static_cast<uint32_t>(count * sizeof(float)), 0, 0, 0};
        DataCopyPad(zGm[begin], zLocal, copy);
        outQueueZ.FreeTensor(zLocal);
    }

    TPipe pipe;
    TQue<QuePosition::VECIN, BUFFERS> inQueueX, inQueueY;
    TQue<QuePosition::VECOUT, BUFFERS> outQueueZ;
    GlobalTensor<float> xGm, yGm, zGm;
    uint32_t total = 0;
};

extern "C" __global__ __aicore__ void add_custom(GM_ADDR x, GM_ADDR y, GM_ADDR z,
                                                 uint32_t total) {
    KernelAdd op;
    op.Init(x, y, z, total);
    op.Process();
}
