/* y = x.T of a half matrix, by tiles of 16 x 16. DataCopyPad takes the tile's rows out of
 * the matrix, each to 32 bytes of its own, and puts the turned tile's rows back; tiles at
 * the edges are smaller. */
#include "kernel_operator.h"

using namespace AscendC;

constexpr int32_t BUFFERS = 2;
constexpr uint32_t SIDE = 16;

class KernelTranspose {
  public:
    __aicore__ inline KernelTranspose() {}
    __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, uint32_t rows, uint32_t columns) {
        this->rows = rows;
        this->columns = columns;
        xGm.SetGlobalBuffer((__gm__ half *)x, static_cast<uint64_t>(rows) * columns);
        yGm.SetGlobalBuffer((__gm__ half *)y, static_cast<uint64_t>(rows) * columns);
        pipe.InitBuffer(inQueue, BUFFERS, SIDE * SIDE * sizeof(half));
        pipe.InitBuffer(outQueue, BUFFERS, SIDE * SIDE * sizeof(half));
    }
    __aicore__ inline void Process() {
        uint32_t across = (columns + SIDE - 1) / SIDE;
        uint32_t tiles = (rows + SIDE - 1) / SIDE * across;
        for (uint32_t tile = GetBlockIdx(); tile < tiles; tile += GetBlockNum()) {
            Turn(tile / across * SIDE, tile % across * SIDE);
        }
    }

  private:
    __aicore__ inline void Turn(uint32_t row, uint32_t column) {
        uint16_t height = rows - row < SIDE ? rows - row : SIDE;
        uint16_t width = columns - column < SIDE ? columns - column : SIDE;
        LocalTensor<half> xLocal = inQueue.AllocTensor<half>();
        DataCopyExtParams in{height, static_cast<uint32_t>(width * sizeof(half)),
                             static_cast<uint32_t>((columns - width) * sizeof(half)), 0,
                             0};
        DataCopyPad(xLocal, xGm[static_cast<uint64_t>(row) * columns + column], in,
                    DataCopyPadExtParams<half>{false, 0, 0, 0});
        inQueue.EnQue(xLocal);
        xLocal = inQueue.DeQue<half>();
        LocalTensor<half> yLocal = outQueue.AllocTensor<half>();
        Transpose(yLocal, xLocal);
        outQueue.EnQue(yLocal);
        inQueue.FreeTensor(xLocal);
        yLocal = outQueue.DeQue<half>();
        DataCopyExtParams out{width, static_cast<uint32_t>(height * sizeof(half)), 0,
                              static_cast<uint32_t>((rows - height) * sizeof(half)), 0};
        DataCopyPad(yGm[static_cast<uint64_t>(column) * rows + row], yLocal, out);
        outQueue.FreeTensor(yLocal);
    }

    TPipe pipe;
    TQue<QuePosition::VECIN, BUFFERS> inQueue;
    TQue<QuePosition::VECOUT, BUFFERS> outQueue;
    GlobalTensor<half> xGm, yGm;
    uint32_t rows = 0, columns = 0;
};

extern "C" __global__ __aicore__ void transpose_custom(GM_ADDR x, GM_ADDR y,
                                                       uint32_t rows, uint32_t columns) {
    if (rows == 0 || columns == 0) {
        return;
    }
    KernelTranspose op;
    op.Init(x, y, rows, columns);
    op.Process();
}
