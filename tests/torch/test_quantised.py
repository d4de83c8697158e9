"""Inference with small integers and of large models: torch_npu's functions against the same on the host."""


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


def test_large_models(npu):
    said = npu("""
    torch.npu.config.allow_internal_format = True
    close, f = torch.testing.assert_close, torch.nn.functional
    torch.manual_seed(0)

    m, k, n, groups = 16, 64, 64, 2
    x, w = (torch.randint(-9, 9, s, dtype=torch.int8) for s in ((m, k), (groups, k, n)))
    private, sizes = torch_npu.npu_format_cast(w.npu(), 29), torch.tensor([6, 10])
    scale, rows = torch.rand(groups, n) * 0.01, torch.rand(m)
    parts = x.float().split(sizes.tolist())
    v = torch.cat([p @ w[g].float() * scale[g] for g, p in enumerate(parts)]) * rows[:, None]
    logit, index, shared = torch.rand(m), torch.randint(0, 8, (m,)), torch.randn(2, n).bfloat16()
    want = torch.zeros(8, n).index_add(0, index, v * logit[:, None])
    want[4:6] += shared.float()
    for weight in (private, w.npu()):
        y = torch_npu.npu_grouped_matmul_finalize_routing(
            x.npu(), weight, sizes.npu(), scale=scale.npu(), pertoken_scale=rows.npu(), shared_input=shared.npu(),
            logit=logit.npu(), row_index=index.npu(), shared_input_offset=4, output_bs=8)
        close(y.cpu(), want, rtol=1e-4, atol=1e-4)
    a, b = v.chunk(2, 1)
    act = f.silu(a) * b
    ends, args = sizes.cumsum(0).npu(), (scale.npu(), rows.npu())
    for q, s in (torch_npu.npu_grouped_matmul_swiglu_quant(x.npu(), private, ends, *args)[:2],
                 torch_npu.npu_grouped_matmul_swiglu_quant_v2(x.npu(), [w.npu()], [args[0]], args[1], ends)):
        close(s.cpu(), act.abs().amax(1) / 127, rtol=1e-4, atol=1e-7)
        assert ((q.cpu() * s.cpu()[:, None] - act).abs() <= s.cpu()[:, None] * 0.501).all()
    h, wide = torch.randn(4, k).half(), torch.randint(-8, 8, (k, n), dtype=torch.int8)
    s, o, c = torch.rand(1, n).half() * 0.01, torch.randn(1, n).half(), torch.randn(n).half()
    y = torch_npu.npu_weight_quant_batchmatmul(h.npu(), torch_npu.npu_format_cast(wide.npu(), 29), s.npu(), o.npu(), None, None, c.npu())
    close(y.cpu().float(), h.float() @ ((wide + o.float()) * s.float()) + c.float(), rtol=1e-2, atol=1e-2)
    y = torch_npu.npu_quant_matmul_gelu(x.npu(), wide.npu(), rows.npu(), scale[0].npu())
    close(y.cpu().float(), f.gelu(x.float() @ wide.float() * rows[:, None] * scale[0]), rtol=1e-2, atol=1e-3)

    q, key = (f.normalize(torch.rand(6, 2, 16), dim=-1).bfloat16() for _ in range(2))
    value, beta, g = torch.rand(6, 4, 8).bfloat16().npu(), torch.rand(6, 4).bfloat16().npu(), -torch.rand(6, 4).npu()
    first, lengths = torch.rand(2, 4, 8, 16).bfloat16(), torch.tensor([2, 4], dtype=torch.int32).npu()
    more = {"beta": beta, "actual_seq_lengths": lengths, "scale": 0.25, "g": g}
    out, last = torch_npu.npu_chunk_gated_delta_rule(q.npu(), key.npu(), value, initial_state=first.npu(), **more)
    cache = torch.zeros(6, 4, 8, 16).bfloat16()
    cache[1], cache[2] = first
    same, left = torch_npu.npu_recurrent_gated_delta_rule_functional(
        q.npu(), key.npu(), value, cache.npu(), ssm_state_indices=torch.arange(6, dtype=torch.int32).npu(),
        num_accepted_tokens=torch.tensor([2, 1], dtype=torch.int32).npu(), **more)
    close(out.cpu(), same.cpu())
    close(last.cpu()[1], left.cpu()[5])

    x = torch.randn(5, 8, requires_grad=True)
    d = x.detach().npu().requires_grad_()
    y, expert, _ = torch_npu.npu_moe_gating_top_k(d, 3, norm_type=1, out_flag=True, routed_scaling_factor=2.5)
    s = torch.gather(torch.sigmoid(x), 1, expert.cpu().long())
    (2.5 * s / s.sum(1, keepdim=True)).pow(2).sum().backward()
    y.pow(2).sum().backward()
    close(d.grad.cpu(), x.grad, rtol=1e-4, atol=1e-5)
    table, ids = torch.stack([torch.randperm(8)[:3] for _ in range(9)]), torch.randint(0, 9, (5,))
    _, expert, _ = torch_npu.npu_moe_gating_top_k(d, 3, input_ids=ids.npu(), tid2eid=table.npu(), norm_type=1)
    assert (expert.cpu() == table[ids]).all()

    q, key, w = torch.randn(2, 3, 8, 128).half(), torch.randn(2, 16, 1, 128).half(), torch.randn(2, 3, 8).half()
    found, _ = torch_npu.npu_lightning_indexer(q.npu(), key.npu(), w.npu(), sparse_count=4, sparse_mode=0)
    dots = torch.einsum("bsgd,btd->bsgt", q.float(), key[:, :, 0].float()).relu()
    assert (found.cpu()[:, :, 0] == torch.einsum("bsg,bsgt->bst", w.float(), dots).topk(4).indices).all()
    x, k = torch.randn(8, 40).half(), torch.randint(1, 40, (8,), dtype=torch.int32)
    p, q = torch.rand(8).half(), torch.empty(8, 40).exponential_()
    token, some = torch_npu.npu_top_k_top_p_sample(x.npu(), k.npu(), p.npu(), q.npu(), is_need_logits=True)
    for i in range(8):
        logits, order = x[i].float().sort(descending=True, stable=True)
        probs = logits[:k[i]].softmax(0)
        n = int(((probs.cumsum(0) - probs) <= p[i].float()).sum())
        assert token.cpu()[i] == order[(probs[:n] / (q[i, :n] + 1e-8)).argmax()]
        assert set(some.cpu()[i].isfinite().nonzero()[:, 0].tolist()) == set(order[:n].tolist())
    low = torch.rand(8).half() / 2
    token, some = torch_npu.npu_top_k_top_p_sample(x.npu(), k.npu(), p.npu(), min_ps=low.npu(), is_need_logits=True, post_sample="multiNomial")
    assert some.cpu()[range(8), token.cpu()].isfinite().all()

    chosen = torch.zeros(6, 4, dtype=torch.bool).scatter(1, torch.rand(6, 4).argsort(1)[:, :2], True)
    x, p = torch.randn(6, 5, requires_grad=True), torch.rand(6, 4, requires_grad=True)
    d, e = (t.detach().npu().requires_grad_() for t in (x, p))
    rows, _, order = torch_npu.npu_moe_token_permute_with_routing_map(d, chosen.npu(), num_out_tokens=12)
    y = torch_npu.npu_moe_token_unpermute_with_routing_map(rows, order, [6, 5], probs=e, routing_map=chosen.npu())
    want = x * (p * chosen).sum(1, keepdim=True)
    close(y.cpu(), want)
    want.pow(2).sum().backward()
    y.pow(2).sum().backward()
    close(d.grad.cpu(), x.grad)
    close(e.grad.cpu(), p.grad)

    x, w1, w2 = torch.randn(4, 16).half(), torch.randn(2, 16, 32).half() / 4, torch.randn(2, 32, 16).half() / 4
    y = torch_npu.npu_ffn(x.npu(), w1.npu(), w2.npu(), "silu", expert_tokens=[3, 1], inner_precise=1)
    want = [f.silu(p.float() @ w1[i].float()) @ w2[i].float() for i, p in enumerate(x.split([3, 1]))]
    close(y.cpu().float(), torch.cat(want), rtol=1e-2, atol=1e-2)
    q = torch.rand(1, 2, 8, 16).half().npu()
    form = {"num_heads": 2, "input_layout": "BNSD", "scale": 0.25}
    room = torch_npu._npu_fused_infer_attention_score_get_max_workspace(q, q, q, **form)
    out, lse = torch.empty_like(q), torch.empty(1).npu()
    torch_npu.npu_fused_infer_attention_score.out(q, q, q, workspace=room, out=[out, lse], **form)
    c = q.cpu().float()
    close(out.cpu().float(), f.scaled_dot_product_attention(c, c, c, scale=0.25), rtol=1e-2, atol=1e-3)
    print("right")
    """)
    assert "right" in said
