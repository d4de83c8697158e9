/* y = exp(x - max) / sum(exp(x - max)) along the rows of a float matrix. A row lies in
 * the unified buffer as a whole; block b takes rows b, b + N, ... */
#include "kernel_operator.h"

using namespace AscendC;

constexpr int32_t BUFFERS = 2;

class KernelSoftmax {
  public:
    __aicore__ inline KernelSoftmax() {}
    __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, uint32_t rows, uint32_t columns) {
        this->rows = rows;
        this->columns = columns;
        xGm.SetGlobalBuffer((__gm__ float *)x, static_cast<uint64_t>(rows) * columns);
        yGm.SetGlobalBuffer((__gm__ float *)y, static_cast<uint64_t>(rows) * columns);
        pipe.InitBuffer(inQueue, BUFFERS, columns * sizeof(float));
        pipe.InitBuffer(outQueue, BUFFERS, columns * sizeof(float));
        // A number and an index for each 64 elements, and room to round up.
        pipe.InitBuffer(workBuffer, (columns / 64 + 1) * 2 * sizeof(float));
        pipe.InitBuffer(resultBuffer, 32);
        copy = {1, static_cast<uint32_t>(columns * sizeof(float)), 0, 0, 0};
    }
    __aicore__ inline void Process() {
        for (uint64_t row = GetBlockIdx(); row < rows; row += GetBlockNum()) {
            LocalTensor<float> xLocal = inQueue.AllocTensor<float>();
            DataCopyPad(xLocal, xGm[row * columns], copy,
                        DataCopyPadExtParams<float>{false, 0, 0, 0});
            inQueue.EnQue(xLocal);
            Compute();
            LocalTensor<float> yLocal = outQueue.DeQue<float>();
            DataCopyPad(yGm[row * columns], yLocal, copy);
            outQueue.FreeTensor(yLocal);
        }
    }

  private:
    // A result of the vector unit, for the scalar unit.
    __aicore__ inline float Scalar(const LocalTensor<float> &result) {
        event_t id = static_cast<event_t>(GetTPipePtr()->FetchEventID(HardEvent::V_S));
        SetFlag<HardEvent::V_S>(id);
        WaitFlag<HardEvent::V_S>(id);
        return result.GetValue(0);
    }
    __aicore__ inline void Compute() {
        LocalTensor<float> xLocal = inQueue.DeQue<float>();
        LocalTensor<float> yLocal = outQueue.AllocTensor<float>();
        LocalTensor<float> work = workBuffer.Get<float>();
        LocalTensor<float> result = resultBuffer.Get<float>();
        ReduceMax(result, xLocal, work, columns);
        Adds(yLocal, xLocal, -Scalar(result), columns);
        Exp(yLocal, yLocal, columns);
        ReduceSum(result, yLocal, work, columns);
        Muls(yLocal, yLocal, 1.0f / Scalar(result), columns);
        outQueue.EnQue(yLocal);
        inQueue.FreeTensor(xLocal);
    }

    TPipe pipe;
    TQue<QuePosition::VECIN, BUFFERS> inQueue;
    TQue<QuePosition::VECOUT, BUFFERS> outQueue;
    TBuf<QuePosition::VECCALC> workBuffer, resultBuffer;
    GlobalTensor<float> xGm, yGm;
    DataCopyExtParams copy;
    uint32_t rows = 0, columns = 0;
};

extern "C" __global__ __aicore__ void softmax_custom(GM_ADDR x, GM_ADDR y, uint32_t rows,
                                                     uint32_t columns) {
    if (rows == 0 || columns == 0) {
        return;
    }
    KernelSoftmax op;
    op.Init(x, y, rows, columns);
    op.Process();
}
