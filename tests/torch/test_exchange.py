"""asnumpy's arrays on an NPU and PyTorch's tensors there: the same memory, in both directions."""


def test_without_a_copy(npu):
    out = npu(
        """
        import gc
        import asnumpy as np

        t = torch.arange(12, device="npu", dtype=torch.float32).reshape(3, 4)
        a = np.from_dlpack(t.T[1:])
        assert str(a.device) == "ascend:0" and a.__dlpack_device__() == (12, 0)
        assert a.tolist() == [[1, 5, 9], [2, 6, 10], [3, 7, 11]]
        t.mul_(2)
        torch.npu.synchronize()
        assert (a + 1).tolist() == [[3, 11, 19], [5, 13, 21], [7, 15, 23]]

        w = np.arange(6.0, dtype="float32") * 1
        u = torch.from_dlpack(w)
        assert u.device.type == "npu" and u.tolist() == [0, 1, 2, 3, 4, 5]
        u += 1
        torch.npu.synchronize()
        assert w.tolist() == [1, 2, 3, 4, 5, 6]
        w[1:] *= 2
        assert u.tolist() == [1, 4, 6, 8, 10, 12] and (u @ u).item() == 361
        del w, t
        gc.collect()
        torch.npu.empty_cache()
        assert a.sum() == 2 * (1 + 5 + 9 + 2 + 6 + 10 + 3 + 7 + 11) and u.sum().item() == 41
        """,
        ASNUMPY_DEVICE="ascend",
    )
    assert out == ""


def test_dtypes_edges_and_refusals(npu):
    npu(
        """
        import asnumpy as np

        for dtype in (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
                      torch.float16, torch.bfloat16, torch.float32, torch.float64,
                      torch.complex64, torch.complex128):
            z = torch.ones(5, device="npu").to(dtype)
            back = torch.from_dlpack(np.from_dlpack(z))
            assert back.dtype == z.dtype and back.data_ptr() == z.data_ptr(), dtype
        assert torch.from_dlpack(np.zeros((0, 3))).shape == (0, 3)
        assert np.from_dlpack(torch.ones(0, 2, device="npu")).shape == (0, 2)
        assert np.from_dlpack(torch.ones(3)).tolist() == [1, 1, 1]  # from the host: copied

        """,
        ASNUMPY_DEVICE="ascend",
    )
    npu(
        """
        import asnumpy as np

        try:
            np.from_dlpack(torch.ones(3, device="npu"))
        except BufferError as error:
            assert "device 0 of type 12; cpu reads" in str(error), error
        else:
            raise AssertionError("an array of the CPU's over a tensor of the NPU's")
        """
    )
