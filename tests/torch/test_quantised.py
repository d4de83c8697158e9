"""Inference with small integers: torch_npu's functions against the same on the host."""


def test_quantised(npu):
    said = npu("""
    close = torch.testing.assert_close
    torch.manual_seed(0)
    x = torch.randn(6, 32, dtype=torch.bfloat16)
    d = x.npu()

    q, s = torch_npu.npu_dynamic_quant(d)
    scale = x.float().abs().amax(1) / 127
    close(s.cpu(), scale)
    assert ((q.cpu() * scale[:, None] - x.float()).abs() <= scale[:, None] * 0.501).all()
    for mode, dim in (("perchannel", 0), ("pertensor", (0, 1))):
        _, told = torch_npu.npu_dynamic_quant(d, quant_mode=mode)
        close(told.cpu(), (x.float().abs().amax(dim) / 127).reshape(told.shape))

    w = torch.randint(-9, 9, (32, 16), dtype=torch.int8)
    exact = (q.cpu().int() @ w.int()).float()
    of = torch.full((16,), 0.01)
    y = torch_npu.npu_quant_matmul(q, w.npu(), of.npu(), pertoken_scale=s, output_dtype=torch.bfloat16)
    close(y.cpu(), (exact * of * s.cpu()[:, None]).bfloat16())
    bias = torch.randint(-99, 99, (16,), dtype=torch.int32)
    y = torch_npu.npu_quant_matmul(q, w.t().contiguous().npu().t(), of.npu(), bias=bias.npu(), output_dtype=torch.float16)
    close(y.cpu().float(), (exact + bias) * of, rtol=2e-3, atol=1e-3)

    both = torch.stack([w, -w]).npu()
    y = torch_npu.npu_grouped_matmul(
        [q], [both], scale=[torch.full((2, 16), 0.01, dtype=torch.bfloat16).npu()], per_token_scale=[s],
        group_list=torch.tensor([2, 6]).npu(), group_type=0, split_item=3, output_dtype=torch.bfloat16)[0]
    sign = torch.tensor([1.0, 1, -1, -1, -1, -1])[:, None]
    close(y.cpu().float(), sign * exact * 0.01 * s.cpu()[:, None], rtol=2e-2, atol=1e-2)

    gamma = torch.rand(32, dtype=torch.bfloat16)
    total = x.float() * 2
    normed = total / (total.pow(2).mean(1, keepdim=True) + 1e-6).sqrt() * gamma.float()
    zero = torch.zeros(32, dtype=torch.int32)
    y, _, out = torch_npu.npu_add_rms_norm_quant(d, d, gamma.npu(), torch.full((32,), 0.05).npu(), zero.npu())
    assert ((y.cpu().float() - normed / 0.05).abs() <= 0.51).all()
    close(out.cpu(), x + x)
    y, _, _, s1, _ = torch_npu.npu_add_rms_norm_dynamic_quant(d, d, gamma.npu())
    close(s1.cpu(), normed.abs().amax(1) / 127, rtol=1e-4, atol=1e-6)

    z = torch.randint(-900, 900, (6, 32), dtype=torch.int32)
    a, b = (z * 0.01).chunk(2, 1)
    act = a * torch.nn.functional.silu(b)
    y, s = torch_npu.npu_dequant_swiglu_quant(z.npu(), weight_scale=torch.full((32,), 0.01).npu(),
                                              activation_scale=torch.ones(6).npu(), quant_mode=1)
    close(s.cpu(), act.abs().amax(1) / 127, rtol=1e-4, atol=1e-6)
    assert ((y.cpu() * s.cpu()[:, None] - act).abs() <= s.cpu()[:, None] * 0.51).all()
    a, b = x.float().chunk(2, 1)
    act = torch.nn.functional.silu(a) * b
    y, inverse = torch_npu.npu_swiglu_quant(d, quant_mode=1, activate_left=True)
    close(inverse.cpu(), 127 / act.abs().amax(1), rtol=1e-4, atol=1e-6)
    assert ((y.cpu() - act * inverse.cpu()[:, None]).abs() <= 0.51).all()
    y = torch_npu.npu_dequant_bias(z.npu(), torch.full((32,), 0.01).npu(), torch.ones(6).npu(), None)
    close(y.cpu(), (z * 0.01).half())
    print("right")
    """)
    assert "right" in said
