/* y = (x - mean) / sqrt(variance + epsilon) * gamma + beta along the rows of a half
 * matrix: computed in float, a row at a time; gamma and beta are floats, copied in once.
 */
#include "kernel_operator.h"

using namespace AscendC;

constexpr int32_t BUFFERS = 2;

class KernelLayerNorm {
  public:
    __aicore__ inline KernelLayerNorm() {}
    __aicore__ inline void Init(GM_ADDR x, GM_ADDR gamma, GM_ADDR beta, GM_ADDR y,
                                uint32_t rows, uint32_t columns, float epsilon) {
        this->rows = rows;
        this->columns = columns;
        this->epsilon = epsilon;
        xGm.SetGlobalBuffer((__gm__ half *)x, static_cast<uint64_t>(rows) * columns);
        yGm.SetGlobalBuffer((__gm__ half *)y, static_cast<uint64_t>(rows) * columns);
        gammaGm.SetGlobalBuffer((__gm__ float *)gamma, columns);
        betaGm.SetGlobalBuffer((__gm__ float *)beta, columns);
        pipe.InitBuffer(inQueue, BUFFERS, columns * sizeof(half));
        pipe.InitBuffer(outQueue, BUFFERS, columns * sizeof(half));
        pipe.InitBuffer(weightBuffer, columns * sizeof(float));
        pipe.InitBuffer(biasBuffer, columns * sizeof(float));
        pipe.InitBuffer(valueBuffer, columns * sizeof(float));
        pipe.InitBuffer(squareBuffer, columns * sizeof(float));
        pipe.InitBuffer(workBuffer, (columns / 64 + 1) * sizeof(float));
        pipe.InitBuffer(resultBuffer, 32);
    }
    __aicore__ inline void Process() {
        LocalTensor<float> weight = weightBuffer.Get<float>();
        LocalTensor<float> bias = biasBuffer.Get<float>();
        DataCopyExtParams whole{1, static_cast<uint32_t>(columns * sizeof(float)), 0, 0,
                                0};
        DataCopyPad(weight, gammaGm, whole, DataCopyPadExtParams<float>{false, 0, 0, 0});
        DataCopyPad(bias, betaGm, whole, DataCopyPadExtParams<float>{false, 0, 0, 0});
        event_t id = static_cast<event_t>(GetTPipePtr()->FetchEventID(HardEvent::MTE2_V));
        SetFlag<HardEvent::MTE2_V>(id);
        WaitFlag<HardEvent::MTE2_V>(id);
        DataCopyExtParams copy{1, static_cast<uint32_t>(columns * sizeof(half)), 0, 0, 0};
        for (uint64_t row = GetBlockIdx(); row < rows; row += GetBlockNum()) {
            LocalTensor<half> xLocal = inQueue.AllocTensor<half>();
            DataCopyPad(xLocal, xGm[row * columns], copy,
                        DataCopyPadExtParams<half>{false, 0, 0, 0});
            inQueue.EnQue(xLocal);
            Compute(weight, bias);
            LocalTensor<half> yLocal = outQueue.DeQue<half>();
            DataCopyPad(yGm[row * columns], yLocal, copy);
            outQueue.FreeTensor(yLocal);
        }
    }

  private:
    __aicore__ inline float Mean(const LocalTensor<float> &values) {
        LocalTensor<float> result = resultBuffer.Get<float>();
        ReduceSum(result, values, workBuffer.Get<float>(), columns);
        event_t id = static_cast<event_t>(GetTPipePtr()->FetchEventID(HardEvent::V_S));
        SetFlag<HardEvent::V_S>(id);
        WaitFlag<HardEvent::V_S>(id);
        return result.GetValue(0) / static_cast<float>(columns);
    }
    __aicore__ inline void Compute(const LocalTensor<float> &weight,
                                   const LocalTensor<float> &bias) {
        LocalTensor<half> xLocal = inQueue.DeQue<half>();
        LocalTensor<float> value = valueBuffer.Get<float>();
        LocalTensor<float> square = squareBuffer.Get<float>();
        Cast(value, xLocal, RoundMode::CAST_NONE, columns);
        inQueue.FreeTensor(xLocal);
        Adds(value, value, -Mean(value), columns);
        Mul(square, value, value, columns);
        LocalTensor<float> scale = resultBuffer.Get<float>();
        float variance = Mean(square);
        Duplicate(scale, variance + epsilon, 8);
        Sqrt(scale, scale, 8);
        event_t id = static_cast<event_t>(GetTPipePtr()->FetchEventID(HardEvent::V_S));
        SetFlag<HardEvent::V_S>(id);
        WaitFlag<HardEvent::V_S>(id);
        Muls(value, value, 1.0f / scale.GetValue(0), columns);
        Mul(value, value, weight, columns);
        Add(value, value, bias, columns);
        LocalTensor<half> yLocal = outQueue.AllocTensor<half>();
        Cast(yLocal, value, RoundMode::CAST_RINT, columns);
        outQueue.EnQue(yLocal);
    }

    TPipe pipe;
    TQue<QuePosition::VECIN, BUFFERS> inQueue;
    TQue<QuePosition::VECOUT, BUFFERS> outQueue;
    TBuf<QuePosition::VECCALC> weightBuffer, biasBuffer, valueBuffer, squareBuffer,
        workBuffer, resultBuffer;
    GlobalTensor<half> xGm, yGm;
    GlobalTensor<float> gammaGm, betaGm;
    uint32_t rows = 0, columns = 0;
    float epsilon = 0;
};

extern "C" __global__ __aicore__ void layer_norm_custom(GM_ADDR x, GM_ADDR gamma,
                                                        GM_ADDR beta, GM_ADDR y,
                                                        uint32_t rows, uint32_t columns,
                                                        float epsilon) {
    if (rows == 0 || columns == 0) {
        return;
    }
    KernelLayerNorm op;
    op.Init(x, gamma, beta, y, rows, columns, epsilon);
    op.Process();
}
