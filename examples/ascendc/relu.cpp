/* y = max(x, 0) of `total` halfs. Each block has a contiguous part, in whole blocks of 32
 * bytes; whole tiles are moved by DataCopy, what is left over by DataCopyPad. */
#include "kernel_operator.h"

using namespace AscendC;

constexpr int32_t BUFFERS = 2;
constexpr uint32_t TILE = 4096;
constexpr uint32_t UNIT = 32 / sizeof(half);

class KernelRelu {
  public:
    __aicore__ inline KernelRelu() {}
    __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, uint32_t total) {
        uint32_t units = (total + UNIT - 1) / UNIT;
        uint32_t share = (units + GetBlockNum() - 1) / GetBlockNum() * UNIT;
        uint32_t begin = share * GetBlockIdx();
        length = begin >= total ? 0 : (total - begin < share ? total - begin : share);
        if (length == 0) {
            return;
        }
        xGm.SetGlobalBuffer((__gm__ half *)x + begin, length);
        yGm.SetGlobalBuffer((__gm__ half *)y + begin, length);
        pipe.InitBuffer(inQueue, BUFFERS, TILE * sizeof(half));
        pipe.InitBuffer(outQueue, BUFFERS, TILE * sizeof(half));
    }
    __aicore__ inline void Process() {
        for (uint32_t at = 0; at < length; at += TILE) {
            uint32_t count = length - at < TILE ? length - at : TILE;
            LocalTensor<half> xLocal = inQueue.AllocTensor<half>();
            if (count == TILE) {
                DataCopy(xLocal, xGm[at], count);
            } else {
                DataCopyPad(xLocal, xGm[at], Bytes(count),
                            DataCopyPadExtParams<half>{false, 0, 0, 0});
            }
            inQueue.EnQue(xLocal);
            Compute(count);
            LocalTensor<half> yLocal = outQueue.DeQue<half>();
            if (count == TILE) {
                DataCopy(yGm[at], yLocal, count);
            } else {
                DataCopyPad(yGm[at], yLocal, Bytes(count));
            }
            outQueue.FreeTensor(yLocal);
        }
    }

  private:
    __aicore__ inline DataCopyExtParams Bytes(uint32_t count) {
        return {1, static_cast<uint32_t>(count * sizeof(half)), 0, 0, 0};
    }
    __aicore__ inline void Compute(uint32_t count) {
        LocalTensor<half> xLocal = inQueue.DeQue<half>();
        LocalTensor<half> yLocal = outQueue.AllocTensor<half>();
        Relu(yLocal, xLocal, count);
        outQueue.EnQue(yLocal);
        inQueue.FreeTensor(xLocal);
    }

    TPipe pipe;
    TQue<QuePosition::VECIN, BUFFERS> inQueue;
    TQue<QuePosition::VECOUT, BUFFERS> outQueue;
    GlobalTensor<half> xGm, yGm;
    uint32_t length = 0;
};

extern "C" __global__ __aicore__ void relu_custom(GM_ADDR x, GM_ADDR y, uint32_t total) {
    KernelRelu op;
    op.Init(x, y, total);
    op.Process();
}
