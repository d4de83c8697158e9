"""What programs take of PyTorch's library beside operators: files, loaders, compilation, gradients' checks, the allocator."""

import pytest


def test_files_between_devices(npu, tmp_path):
    npu(
        """
        import sys, torch.nn as nn
        folder = sys.argv[1]
        net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
        step = torch.optim.Adam(net.npu().parameters())
        net(torch.randn(5, 3, device="npu")).sum().backward()
        step.step()
        state = {"net": net.state_dict(), "step": step.state_dict(), "half": torch.ones(2, dtype=torch.bfloat16, device="npu:1")}
        torch.save(state, folder + "/npu.pt")
        places = {"same": None, "cpu": "cpu", "function": lambda storage, place: storage, "table": {"npu:0": "npu:1"}}
        for name, place in places.items():
            got = torch.load(folder + "/npu.pt", map_location=place)
            want = {"same": "npu:0", "table": "npu:1"}.get(name, "cpu")
            for key, value in got["net"].items():
                assert str(value.device) == want, (name, key, value.device)
                assert torch.equal(value.cpu(), state["net"][key].cpu())
            assert got["half"].device.type == want[:3]
            other = torch.optim.Adam(net.to(got["net"]["0.weight"].device).parameters())
            other.load_state_dict(got["step"])
            moment = other.state_dict()["state"][0]["exp_avg"]
            assert torch.equal(moment.cpu(), state["step"]["state"][0]["exp_avg"].cpu())
        torch.save({"a": torch.arange(4), "b": torch.randn(2, 3)[:, 1]}, folder + "/cpu.pt")
        here, there = torch.load(folder + "/cpu.pt"), torch.load(folder + "/cpu.pt", map_location="npu:1")
        assert here["a"].device.type == "cpu" and str(there["b"].device) == "npu:1"
        assert all(torch.equal(here[k], there[k].cpu()) for k in here) and there["b"].stride() == here["b"].stride()
        from safetensors.torch import load_file, save_file
        named = {k: v.contiguous() for k, v in state["net"].items()}
        save_file(named, folder + "/net.safetensors")
        for device in ("cpu", "npu:1"):
            got = load_file(folder + "/net.safetensors", device=device)
            assert got.keys() == named.keys()
            assert all(str(v.device) == device and torch.equal(v.cpu(), named[k].cpu()) for k, v in got.items())
        """,
        tmp_path, devices=2,
    )  # fmt: skip


def test_loaders_with_workers_and_pinned_memory(npu):
    npu(
        """
        from torch.utils.data import DataLoader, TensorDataset
        rows = torch.arange(60.0).reshape(20, 3)
        for workers in (0, 2):
            loader = DataLoader(TensorDataset(rows), 6, num_workers=workers, pin_memory=True)
            for epoch in range(2):
                got = []
                for (batch,) in loader:
                    assert batch.is_pinned() and not batch.clone().is_pinned()
                    got.append(batch.to("npu", non_blocking=True))
                assert torch.equal(torch.cat(got).cpu(), rows)
        host = torch.empty(1000, pin_memory=True)
        host.copy_(torch.arange(1000.0, device="npu"), non_blocking=True)
        torch.npu.synchronize()
        assert host.is_pinned() and torch.equal(host, torch.arange(1000.0))
        """
    )


def test_compiled_without_an_npus_compiler(npu):
    npu(
        """
        import torch.nn as nn
        torch.manual_seed(0)
        net, x = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 2)).npu(), torch.randn(6, 4, device="npu")
        compiled = torch.compile(net, backend="aot_eager", fullgraph=True)
        found = []
        for call in (net, compiled):
            net.zero_grad()
            y = call(x)
            y.square().sum().backward()
            found.append([y.detach().cpu()] + [p.grad.cpu() for p in net.parameters()])
        torch.testing.assert_close(found[1], found[0])
        """
    )


def test_derivatives_are_those_of_differences(npu):
    npu(
        """
        import torch.nn.functional as F
        from torch.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck
        torch.manual_seed(0)

        def made(*shape):
            return torch.randn(*shape, dtype=torch.float64).npu().requires_grad_()

        cases = [
            (lambda a, b: torch.tanh(a @ b).sum(1), (made(3, 4), made(4, 2))),
            (lambda a: F.softmax(a, 1) * torch.exp(a), (made(3, 4),)),
            (lambda a, w: F.conv2d(a, w, padding=1), (made(1, 2, 5, 5), made(3, 2, 3, 3))),
            (lambda a: F.layer_norm(a, (4,)), (made(3, 4),)),  # torch_npu makes gradients of weights float32
            (lambda a: (a[:, 1:] / (1 + a[:, :-1] ** 2)).cumsum(1), (made(3, 4),)),
            (lambda a: torch.linalg.solve(a @ a.T + 3 * torch.ones_like(a).diag().diag(), a), (made(3, 3),)),
        ]
        for function, inputs in cases:
            assert inputs[0].dtype == torch.float64 and inputs[0].device.type == "npu"
            assert gradcheck(function, inputs)
            assert gradgradcheck(function, inputs)
        wrong = made(3)
        class Wrong(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * x
            @staticmethod
            def backward(ctx, grad):
                return grad
        try:
            gradcheck(Wrong.apply, (wrong,))
        except GradcheckError:
            pass
        else:
            raise AssertionError("a wrong gradient passed")
        """
    )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_autocast(npu, dtype):
    npu(
        f"""
        import copy, torch.nn as nn
        half = torch.{dtype}
        torch.manual_seed(0)
        first = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 3))
        x, y = torch.randn(16, 1, 8, 8), torch.randint(0, 3, (16,))
        losses = []
        for device in ("cpu", "npu"):
            net = copy.deepcopy(first).to(device)
            step, scaler = torch.optim.SGD(net.parameters(), lr=0.05), torch.amp.GradScaler(device, init_scale=1024.0)
            a, b, found = x.to(device), y.to(device), []
            for _ in range(10):
                step.zero_grad()
                with torch.autocast(device, dtype=half):
                    out = net(a)
                    loss = nn.functional.cross_entropy(out.float(), b)
                assert out.dtype == half and all(p.dtype == torch.float32 for p in net.parameters())
                scaler.scale(loss).backward()
                scaler.unscale_(step)
                nn.utils.clip_grad_norm_(net.parameters(), 1.0)
                scaler.step(step)
                scaler.update()
                found.append(loss.item())
            losses.append(torch.tensor(found))
        assert losses[0][-1] < losses[0][0]
        torch.testing.assert_close(losses[1], losses[0], rtol=3e-2, atol=1e-2)
        # A gradient that overflows: the step is left out and the scale halved.
        before = [p.detach().clone() for p in net.parameters()]
        step.zero_grad()
        scaler.scale(loss.new_tensor(float("inf")) * sum(p.sum() for p in net.parameters())).backward()
        scale = scaler.get_scale()
        scaler.step(step)
        scaler.update()
        assert scaler.get_scale() == scale / 2
        assert all(torch.equal(a, b) for a, b in zip(before, net.parameters()))
        """
    )


def test_peaks_of_the_allocator(npu):
    """A block takes its bytes and torch_npu's 32 more, in multiples of 512; blocks are cut from segments of 2 MiB
    (of blocks up to 1 MiB) and 20 MiB (below 10 MiB), larger ones are multiples of 2 MiB, as PyTorch's allocator has it."""
    npu(
        """
        MiB = 1 << 20

        def taken(n):
            n = (n + 32 + 511) // 512 * 512
            whole = -(-n // (2 * MiB)) * 2 * MiB
            return whole if n >= 10 * MiB and whole - n <= MiB else n  # no rest of up to 1 MiB is cut off

        for sizes in ([4], [480], [481], [1000, 3 * MiB, 7], [MiB, MiB // 2 * 3], [25 * MiB, 9 * MiB, 12]):
            torch.npu.empty_cache()
            assert torch.npu.memory_allocated() == torch.npu.memory_reserved() == 0
            torch.npu.reset_peak_memory_stats()
            held = [torch.empty(n, dtype=torch.uint8, device="npu") for n in sizes]
            total = sum(map(taken, sizes))
            assert torch.npu.memory_allocated() == torch.npu.max_memory_allocated() == total, (sizes, torch.npu.memory_allocated(), torch.npu.max_memory_allocated(), total)
            segments = 2 * MiB * any(taken(n) <= MiB for n in sizes)
            segments += 20 * MiB * any(MiB < taken(n) < 10 * MiB for n in sizes)
            segments += sum(-(-taken(n) // (2 * MiB)) * 2 * MiB for n in sizes if taken(n) >= 10 * MiB)
            assert torch.npu.memory_reserved() == torch.npu.max_memory_reserved() == segments, (sizes, torch.npu.memory_reserved(), segments)
            first = taken(sizes[0])
            held[0] = None
            assert torch.npu.memory_allocated() == total - first
            assert torch.npu.max_memory_allocated() == total
            torch.npu.reset_peak_memory_stats()
            assert torch.npu.max_memory_allocated() == total - first
            held = None
        free, whole = torch.npu.mem_get_info()
        try:
            torch.empty(2 * whole, dtype=torch.uint8, device="npu")
        except RuntimeError as error:
            assert "memory" in str(error)
        else:
            raise AssertionError("twice the memory there is")
        """
    )


def test_ten_thousand_steps_hold_no_more(npu):
    npu(
        """
        import torch.nn as nn

        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * 4096

        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 2)).npu()
        step = torch.optim.AdamW(net.parameters(), lr=1e-3)
        x, y = torch.randn(32, 8, device="npu"), torch.randint(0, 2, (32,), device="npu")

        def train(steps):
            for _ in range(steps):
                step.zero_grad()
                nn.functional.cross_entropy(net(x), y).backward()
                step.step()
            torch.npu.synchronize()
            return torch.npu.memory_allocated(), torch.npu.memory_reserved(), resident()

        first = train(1000)
        last = train(10000)
        assert last[:2] == first[:2], (first, last)
        assert last[2] - first[2] < 8 << 20, (first, last)  # 800 bytes a step
        """
    )


def test_asnumpys_arrays_on_the_device(npu):
    npu(
        """
        import asnumpy as np
        a = np.arange(6.0, dtype=np.float32).reshape(2, 3)
        for read in (torch.as_tensor, torch.from_dlpack):
            b = read(a)
            b += 1  # the same memory
            assert a.tolist() == b.tolist()
        for dtype in ("int8", "uint8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64", "bool"):
            c = np.asarray([1, 0, 3], dtype=dtype)
            for read in (torch.as_tensor, torch.from_dlpack):
                got = read(c)
                assert str(got.dtype) == "torch." + dtype and got.tolist() == c.tolist()
            assert torch.as_tensor(c, device="npu").cpu().tolist() == c.tolist()
            for view in (c, c[::2], c[None]):  # PyTorch asks a buffer first, of float32: right or refused
                try:
                    assert torch.asarray(view).tolist() == view.tolist()
                except RuntimeError as error:
                    assert "buffer" in str(error)
        for view in (a.T, a[:, ::2]):
            assert torch.as_tensor(view).tolist() == torch.from_dlpack(view).tolist() == view.tolist()
        x = torch.arange(4.0, device="npu")
        y = torch.from_dlpack(x)  # the same memory of the device
        y += 1
        torch.npu.synchronize()
        assert x.tolist() == [1, 2, 3, 4] and y.data_ptr() == x.data_ptr()
        try:
            np.from_dlpack(x)
        except BufferError as error:
            assert "CPU" in str(error)
        else:
            raise AssertionError("an NPU's memory was read as the CPU's")
        assert np.from_dlpack(x.cpu()).tolist() == [1, 2, 3, 4]
        """
    )


def test_attention_over_triples_and_the_indexers_softmax(npu):
    """npu_fused_floyd_attention with gradients, and npu_dense_lightning_indexer_softmax_lse: orders of parameters that only
    torch_npu's calls tell."""
    npu(
        """
        import math
        torch.manual_seed(0)
        B, H, N, M, K, D = 1, 2, 3, 4, 5, 8
        shapes = (B, H, N, M, D), (B, H, N, K, D), (B, H, N, K, D), (B, H, K, M, D), (B, H, K, M, D)
        q, k1, v1, k2, v2 = here = [torch.randn(s, requires_grad=True) for s in shapes]
        mask = torch.rand(B, 1, N, 1, K) < 0.4
        mask[..., 0] = False
        s = (torch.einsum("bhimd,bhijd->bhimj", q, k1) + torch.einsum("bhimd,bhjmd->bhimj", q, k2)) / 3
        s = s.masked_fill(mask, -math.inf)
        w = s.softmax(-1)
        out = torch.einsum("bhimj,bhijd->bhimd", w, v1) + torch.einsum("bhimj,bhjmd->bhimd", w, v2)
        (out * out).sum().backward()
        there = [t.detach().npu().requires_grad_() for t in here]
        top, total, got = torch_npu.npu_fused_floyd_attention(*there, atten_mask=mask.npu(), scale_value=1 / 3)
        (got * got).sum().backward()
        torch.testing.assert_close(got.cpu(), out.detach())
        torch.testing.assert_close(top[..., 0].cpu(), s.detach().amax(-1))
        for a, b in zip(there, here):
            torch.testing.assert_close(a.grad.cpu(), b.grad, rtol=1e-4, atol=1e-5)

        q, k, w = (torch.randn(s).bfloat16() for s in ((2, 3, 8, 128), (2, 5, 1, 128), (2, 3, 8)))
        score = (torch.einsum("bsgd,btd->bsgt", q.float(), k[:, :, 0].float()).relu() * w.float()[..., None]).sum(2)
        score = score.masked_fill(torch.arange(5) > torch.arange(3)[:, None] + 2, -math.inf)
        top, total = torch_npu.npu_dense_lightning_indexer_softmax_lse(q.npu(), k.npu(), w.npu())
        torch.testing.assert_close(top[:, 0].cpu(), score.amax(-1), rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(total[:, 0].cpu(), (score - score.amax(-1, keepdim=True)).exp().sum(-1), rtol=1e-3, atol=1e-3)
        """
    )


def test_convolutions_by_their_types(npu):
    """npu_convolution and its kin with gradients, and PyTorch's slow_conv3d, which torch_npu gives to no other operator."""
    npu(
        """
        F = torch.nn.functional
        torch.manual_seed(0)
        two, three = ([2, 1], [1, 0], [1, 2]), ([2, 1, 1], [1, 0, 1], [1, 1, 1])

        def compare(here, there, *shapes):
            a = [torch.randn(s, requires_grad=True) for s in shapes]
            b = [t.detach().npu().requires_grad_() for t in a]
            want, got = here(*a), there(*b)
            grad = torch.randn_like(want)
            results = [want, *torch.autograd.grad(want, a, grad)], [got, *torch.autograd.grad(got, b, grad.npu())]
            for x, y in zip(*results, strict=True):
                torch.testing.assert_close(y.cpu(), x.detach(), rtol=1e-4, atol=1e-4)

        compare(lambda x, w, b: F.conv2d(x, w, b, *two, 2), lambda x, w, b: torch_npu.npu_convolution(x, w, b, *two, 2),
                (2, 4, 8, 9), (6, 2, 3, 2), (6,))
        compare(lambda x, w, b: F.conv3d(x, w, b, *three), lambda x, w, b: torch_npu.npu_convolution(x, w, b, *three, 1),
                (2, 4, 5, 8, 9), (6, 4, 2, 3, 2), (6,))
        for more in ([0, 0], [1, 0]):
            compare(lambda x, w, b: F.conv_transpose2d(x, w, b, [2, 1], [1, 0], more, 2),
                    lambda x, w, b: torch_npu.npu_convolution_transpose(x, w, b, [1, 0], more, [2, 1], [1, 1], 2),
                    (2, 6, 5, 6), (6, 2, 3, 2), (4,))
        compare(lambda x, w, b: F.conv_transpose3d(x, w, b, [2, 1, 1], [1, 0, 1]),
                lambda x, w, b: torch_npu.npu_convolution_transpose(x, w, b, [1, 0, 1], [0] * 3, [2, 1, 1], [1] * 3, 1),
                (2, 6, 4, 5, 6), (6, 4, 2, 3, 2), (4,))
        x, w, b = torch.randn(2, 4, 5, 8, 9), torch.randn(6, 4, 2, 3, 2), torch.randn(6)
        got = torch._C._nn.slow_conv3d(x.npu(), w.npu(), [2, 3, 2], b.npu(), [2, 1, 1], [1, 0, 1])
        torch.testing.assert_close(got.cpu(), F.conv3d(x, w, b, [2, 1, 1], [1, 0, 1]), rtol=1e-4, atol=1e-4)
        """
    )
