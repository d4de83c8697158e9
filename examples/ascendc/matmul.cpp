/* C = A B + bias by the high-level Matmul: A and B are halfs, bias and C floats. The host
 * computes the tiling and puts it into global memory; block b has one singleCoreM x
 * singleCoreN part of C, and those at the edges are told their smaller share. */
#include "kernel_operator.h"
#include "lib/matmul_intf.h"

using namespace AscendC;
using namespace matmul;

__aicore__ inline void CopyTiling(TCubeTiling *tiling, GM_ADDR tilingGm) {
    uint32_t *to = reinterpret_cast<uint32_t *>(tiling);
    auto from = reinterpret_cast<__gm__ uint32_t *>(tilingGm);
    for (uint32_t i = 0; i < sizeof(TCubeTiling) / sizeof(uint32_t); i++) {
        to[i] = from[i];
    }
}

__aicore__ inline int32_t Smaller(int32_t x, int32_t y) {
    return x < y ? x : y;
}

extern "C" __global__ __aicore__ void matmul_custom(GM_ADDR a, GM_ADDR b, GM_ADDR bias,
                                                    GM_ADDR c, GM_ADDR workspace,
                                                    GM_ADDR tilingGm) {
    (void)workspace; // an NPU's matrix unit works there
    TPipe pipe;
    TCubeTiling tiling;
    CopyTiling(&tiling, tilingGm);

    uint32_t down = (tiling.M + tiling.singleCoreM - 1) / tiling.singleCoreM;
    uint32_t row = GetBlockIdx() % down * tiling.singleCoreM;
    uint32_t column = GetBlockIdx() / down * tiling.singleCoreN;
    if (row >= static_cast<uint32_t>(tiling.M) ||
        column >= static_cast<uint32_t>(tiling.N)) {
        return;
    }
    GlobalTensor<half> aGm, bGm;
    GlobalTensor<float> biasGm, cGm;
    aGm.SetGlobalBuffer(reinterpret_cast<__gm__ half *>(a), tiling.M * tiling.Ka);
    bGm.SetGlobalBuffer(reinterpret_cast<__gm__ half *>(b), tiling.Kb * tiling.N);
    biasGm.SetGlobalBuffer(reinterpret_cast<__gm__ float *>(bias), tiling.N);
    cGm.SetGlobalBuffer(reinterpret_cast<__gm__ float *>(c), tiling.M * tiling.N);

    Matmul<MatmulType<TPosition::GM, CubeFormat::ND, half>,
           MatmulType<TPosition::GM, CubeFormat::ND, half>,
           MatmulType<TPosition::GM, CubeFormat::ND, float>,
           MatmulType<TPosition::GM, CubeFormat::ND, float>>
        mm;
    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &tiling);
    mm.SetTensorA(aGm[row * tiling.Ka]);
    mm.SetTensorB(bGm[column]);
    mm.SetBias(biasGm[column]);
    int32_t height = Smaller(tiling.M - row, tiling.singleCoreM);
    int32_t width = Smaller(tiling.N - column, tiling.singleCoreN);
    mm.SetTail(height, width);
    mm.IterateAll(cGm[row * tiling.N + column]);
    mm.End();
}
