"""What users of PyTorch for Ascend do first: devices, training, checkpoints, streams, events, captured graphs."""

import pytest


@pytest.mark.smoke
def test_the_device(npu):
    out = npu(
        """
        print(torch.npu.is_available(), torch.npu.device_count(), torch.npu.get_device_name(1))
        a = torch.arange(6.0, device="npu").reshape(2, 3)
        print(a.device, (a @ a.T).cpu().tolist())
        free, total = torch.npu.mem_get_info()
        assert 0 < free <= total
        with torch.npu.device(1):
            b = torch.ones(3, device="npu")
            assert b.device.index == 1
        assert (b.to("npu:0") + 1).sum().item() == 6
        """,
        devices=2,
    )
    assert out.split("\n")[:2] == ["True 2 Ascend910B3", "npu:0 [[5.0, 14.0], [14.0, 50.0]]"]


def test_the_name_of_the_soc(npu):
    assert (
        npu("print(torch.npu.get_device_name(0))", ASNUMPY_CPU_SOC="Ascend910B1") == "Ascend910B1\n"
    )


OPTIMISERS = "SGD(p, lr=0.1, momentum=0.9) Adam(p, lr=1e-3) AdamW(p, lr=1e-3) RMSprop(p, lr=1e-3) Adagrad(p, lr=1e-2)"


@pytest.mark.parametrize("optimiser", OPTIMISERS.replace(", ", ",").split())
@pytest.mark.parametrize("foreach", [False, True])
def test_training_equals_the_cpus(npu, optimiser, foreach):
    npu(
        f"""
        import copy, torch.nn as nn
        torch.manual_seed(0)
        first = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 4))
        x, y = torch.randn(64, 16), torch.randint(0, 4, (64,))
        losses = []
        for device in ("cpu", "npu"):
            net = copy.deepcopy(first).to(device)
            p = list(net.parameters())
            step = torch.optim.{optimiser.replace(")", f",foreach={foreach})")}
            xs, ys, found = x.to(device), y.to(device), []
            for _ in range(20):
                step.zero_grad()
                loss = nn.functional.cross_entropy(net(xs), ys)
                loss.backward()
                step.step()
                found.append(loss.item())
            losses.append(torch.tensor(found))
        assert losses[0][-1] < losses[0][0]
        torch.testing.assert_close(losses[1], losses[0], rtol=2e-4, atol=2e-5)
        """
    )


@pytest.mark.smoke
def test_convolutions_train(npu):
    npu(
        """
        import copy, torch.nn as nn
        torch.manual_seed(0)
        first = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
                              nn.Conv2d(8, 16, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))
        x, y = torch.randn(32, 1, 14, 14), torch.randint(0, 10, (32,))
        losses = []
        for device in ("cpu", "npu"):
            net = copy.deepcopy(first).to(device)
            step = torch.optim.SGD(net.parameters(), lr=0.05)
            xs, ys, found = x.to(device), y.to(device), []
            for _ in range(8):
                step.zero_grad()
                loss = nn.functional.cross_entropy(net(xs), ys)
                loss.backward()
                step.step()
                found.append(loss.item())
            losses.append(torch.tensor(found))
        torch.testing.assert_close(losses[1], losses[0], rtol=1e-3, atol=1e-4)
        """
    )


def test_checkpoints(npu, tmp_path):
    npu(
        f"""
        import torch.nn as nn
        net = nn.Linear(3, 2).npu()
        torch.save(net.state_dict(), {str(tmp_path / "net.pt")!r})
        there = torch.load({str(tmp_path / "net.pt")!r}, map_location="cpu")
        assert all(v.device.type == "cpu" for v in there.values())
        again = nn.Linear(3, 2).npu()
        again.load_state_dict(torch.load({str(tmp_path / "net.pt")!r}))
        assert all(torch.equal(a.cpu(), b.cpu()) for a, b in zip(net.parameters(), again.parameters()))
        """
    )


def test_streams_and_events(npu):
    npu(
        """
        a = torch.randn(1000, 1000, device="npu")
        other, done = torch.npu.Stream(), torch.npu.Event(enable_timing=True)
        start = torch.npu.Event(enable_timing=True)
        other.wait_stream(torch.npu.current_stream())
        with torch.npu.stream(other):
            start.record()
            b = a @ a
            done.record()
        done.wait()
        c = b + 1
        torch.npu.synchronize()
        assert start.elapsed_time(done) > 0 and done.query()
        torch.testing.assert_close(c.cpu(), a.cpu() @ a.cpu() + 1, rtol=1e-3, atol=1e-3)
        """
    )


def test_captured_graphs(npu):
    npu(
        """
        a = torch.ones(5, device="npu")
        graph = torch.npu.NPUGraph()
        with torch.npu.graph(graph):
            b = torch.nn.functional.relu(a * 2 - 1) + 1
        for value in (3.0, -4.0, 0.5):
            a.fill_(value)
            graph.replay()
            torch.npu.synchronize()
            assert b.cpu().tolist() == [max(2 * value - 1, 0) + 1] * 5
        """
    )


def test_mixed_precision(npu):
    npu(
        """
        import torch.nn as nn
        torch.manual_seed(0)
        net, x = nn.Linear(16, 4).npu(), torch.randn(8, 16, device="npu")
        step, scaler = torch.optim.SGD(net.parameters(), lr=0.1), torch.amp.GradScaler("npu")
        for _ in range(5):
            step.zero_grad()
            with torch.autocast("npu", dtype=torch.float16):
                y = net(x)
                assert y.dtype == torch.float16
                loss = y.float().pow(2).mean()
            scaler.scale(loss).backward()
            scaler.step(step)
            scaler.update()
        assert loss.item() < 1
        """
    )


def test_an_error_names_the_operator_and_what_was_got(npu):
    out = npu(
        """
        try:
            torch.ones(2, 3, device="npu") @ torch.ones(2, 3, device="npu")
            torch.npu.synchronize()
        except RuntimeError as error:
            print(type(error).__name__, str(error)[:200])
        """,
        TASK_QUEUE_ENABLE="0",
    )
    assert out.startswith("RuntimeError")


def test_asnumpy_and_torch_exchange(npu):
    npu(
        """
        import asnumpy as np
        a, want = np.arange(6.0).reshape(2, 3), torch.arange(6.0, dtype=torch.float64).reshape(2, 3)
        for read in (torch.from_dlpack, torch.as_tensor, torch.tensor):
            assert torch.equal(read(a), want)
        try:
            assert torch.equal(torch.asarray(a), want)  # never other numbers
        except RuntimeError as error:
            assert "buffer" in str(error)
        b = torch.arange(4.0)
        c = np.from_dlpack(b)
        b += 1
        assert c.tolist() == [1, 2, 3, 4]
        assert torch.from_dlpack(np.ones(3)).npu().sum().item() == 3
        """
    )


@pytest.mark.parametrize("packed", [False, True])
def test_recurrent_networks(npu, packed):
    """nn.LSTM of several layers and directions: aclnnLSTM, or the type DynamicRNN. Of packed sequences torch_npu loses the
    gradient of the second direction's last state, and unpacks the input's by PyTorch's rows although its own are padded."""
    npu(
        f"""
        import copy, itertools
        from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

        for layers, both, bias in itertools.product((1, 2), (False, True), (False, True)):
            torch.manual_seed(0)
            net = torch.nn.LSTM(3, 4, layers, bidirectional=both, bias=bias)
            results = []
            for device in ("cpu", "npu"):
                x = torch.linspace(-1, 1, 45).reshape(5, 3, 3).to(device).requires_grad_()
                there = copy.deepcopy(net).to(device)
                y, (h, c) = there(pack_padded_sequence(x, [5, 3, 2]) if {packed} else x)
                y = pad_packed_sequence(y)[0] if {packed} else y
                loss = (y * y).sum() if {packed} else (y * y).sum() + (h * c).sum()
                loss.backward()
                grads = [p.grad for p in there.parameters()] + ([] if {packed} else [x.grad])
                results.append([t.cpu() for t in (y, h, c, *grads)])
            torch.testing.assert_close(results[1], results[0], rtol=1e-5, atol=1e-6)
        """
    )


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_gru_and_rnn(npu, dtype):
    """nn.GRU (aclnnGRU; in bfloat16 the type DynamicGRUV2) and nn.RNN, forward and backward."""
    npu(
        f"""
        import copy, itertools

        tolerance = {{"float32": 1e-5, "float16": 5e-3, "bfloat16": 4e-2}}["{dtype}"]
        kinds = (torch.nn.GRU, torch.nn.RNN)
        for kind, (layers, both, bias, first) in itertools.product(kinds, ((1, 0, 1, 0), (2, 1, 0, 1), (2, 1, 1, 0))):
            torch.manual_seed(0)
            net = kind(3, 4, layers, bias=bool(bias), batch_first=bool(first), bidirectional=bool(both)).to(torch.{dtype})
            start = torch.randn(layers * (2 if both else 1), 3 if not first else 5, 4).to(torch.{dtype})
            results = []
            for device in ("cpu", "npu"):
                x = torch.linspace(-1, 1, 45).reshape(5, 3, 3).to(device, torch.{dtype}).requires_grad_()
                h0 = start.to(device).detach().clone().requires_grad_()
                there = copy.deepcopy(net).to(device)
                y, h = there(x, h0)
                ((y * y).float().sum() + (h * h0).float().sum()).backward()
                results.append([t.cpu() for t in (y, h, x.grad, h0.grad, *(p.grad for p in there.parameters()))])
            for got, want in zip(*results[::-1], strict=True):
                torch.testing.assert_close(got, want, rtol=tolerance, atol=tolerance * max(1, want.abs().max().item()))
        """
    )


@pytest.mark.parametrize("allocator", ["max_split_size_mb:40", "expandable_segments:True"])
def test_out_of_memory(npu, allocator):
    """The device's limit is met as PyTorch's own error, and memory that was given back can be had."""
    npu(
        """
        a = [torch.zeros(20 << 20, dtype=torch.uint8, device="npu") for _ in range(2)]
        for size in (50 << 20, 1 << 45):
            try:
                torch.zeros(size, dtype=torch.uint8, device="npu")
                raise SystemExit("no error")
            except torch.OutOfMemoryError as error:
                assert "Tried to allocate" in str(error)
        assert sum(t.sum().item() for t in a) == 0
        del a
        assert torch.ones(50 << 20, dtype=torch.uint8, device="npu").sum().item() == 50 << 20
        """,
        ASNUMPY_CPU_MEMORY="100000000",
        PYTORCH_NPU_ALLOC_CONF=allocator,
    )


def test_functions_that_call_a_type(npu):
    """Functions of torch_npu's own for which CANN has no two-phase operator, against PyTorch's."""
    npu(
        """
        import torch.nn.functional as F
        torch.manual_seed(0)
        x, m = torch.randn(2, 3, 4), torch.randn(4, 5)
        for dim in range(3):
            for got, want in ((torch_npu.npu_max(x.npu(), dim), x.max(dim)), (torch_npu.npu_min(x.npu(), dim), x.min(dim))):
                assert torch.equal(got[0].cpu(), want[0]) and torch.equal(got[1].cpu().long(), want[1])
            assert torch.equal(torch_npu.npu_sort_v2(x.npu(), dim).cpu(), x.sort(dim)[0])
            a, b = x.clone().requires_grad_(), x.npu().requires_grad_()
            a.max(dim)[0].square().sum().backward()
            torch_npu.npu_max(b, dim)[0].square().sum().backward()
            torch.testing.assert_close(b.grad.cpu(), a.grad)
        index = torch.randint(x.shape[1], (len(x), *x.shape[2:]))
        want = x.scatter(1, index.unsqueeze(1), 7.0)
        got = torch_npu.npu_scatter(x.npu(), index.npu().int(), torch.full(index.shape, 7.0).npu(), 1)
        assert torch.equal(got.cpu(), want)
        assert torch.equal(torch_npu.npu_pad(x.npu(), [1, 0, 0, 2, 3, 1]).cpu(), F.pad(x, (3, 1, 0, 2, 1, 0)))
        a, b = x.clone().requires_grad_(), x.npu().requires_grad_()
        for f, g in ((F.mish, torch_npu.npu_mish), (F.silu, torch_npu.npu_silu)):
            f(a).square().sum().backward()
            g(b).square().sum().backward()
        torch.testing.assert_close(b.grad.cpu(), a.grad, rtol=1e-5, atol=1e-6)
        labels = m.flip(1).softmax(1)
        loss = torch_npu.npu_softmax_cross_entropy_with_logits(m.npu(), labels.npu()).cpu()
        torch.testing.assert_close(loss, F.cross_entropy(m, labels, reduction="none"))
        torch.testing.assert_close(torch_npu.npu_layer_norm_eval(x.npu(), [4]).cpu(), F.layer_norm(x, [4]))
        bits = torch_npu.npu_sign_bits_pack(m.reshape(-1).npu()[:16], 1)
        signs = torch_npu.npu_sign_bits_unpack(bits.reshape(-1), 1, torch.float32).reshape(-1).cpu()
        assert torch.equal(signs, m.reshape(-1)[:16].sign())
        """
    )


def test_captured_graphs_of_several_streams(npu):
    """A stream that waits for the captured one is captured, too, until it is waited for."""
    npu(
        """
        a = torch.ones(1000, device="npu")
        side, graph = torch.npu.Stream(), torch.npu.NPUGraph()
        with torch.npu.graph(graph):
            b = a * 2
            side.wait_stream(torch.npu.current_stream())
            with torch.npu.stream(side):
                c = (b + 1).sum()
            d = b - 3
            torch.npu.current_stream().wait_stream(side)
            e = d * c
        for value in (3.0, -4.0):
            a.fill_(value)
            graph.replay()
            torch.npu.synchronize()
            assert e.tolist() == [(2 * value - 3) * (2 * value + 1) * 1000] * 1000
        side.synchronize()
        broken = torch.npu.NPUGraph()
        try:
            with torch.npu.graph(broken):
                side.wait_stream(torch.npu.current_stream())
                with torch.npu.stream(side):
                    c = b + 1
            raise SystemExit("no error")
        except RuntimeError as error:
            assert "does not wait for" in str(error) or "107025" in str(error), error
        """
    )


def test_attention_of_a_graph_over_other_lengths(npu):
    """What a decoder served from a captured graph does at each token: the graph waits for an event, the attention's
    call with the present length takes the place of the captured one; and torch_npu's own way of the same."""
    npu(
        """
        q, k, v = (torch.randn(1, 8, n, 64, dtype=torch.float16).npu() for n in (1, 256, 256))
        options = {"num_heads": 8, "input_layout": "BNSD", "scale": 0.125, "softmax_lse_flag": False}
        attention = torch_npu.npu_fused_infer_attention_score

        def whole(n):
            return attention(q, k, v, actual_seq_lengths_kv=[n], **options)[0]

        def launch(n):
            attention.out(q, k, v, actual_seq_lengths_kv=[n], workspace=workspace, out=[out, lse], **options)

        aside, event, graph = torch.npu.Stream(), torch.npu.ExternalEvent(), torch.npu.NPUGraph()
        with torch.no_grad(), torch.npu.graph(graph):
            stream = torch.npu.current_stream()
            workspace = torch_npu._npu_fused_infer_attention_score_get_max_workspace(
                q, k, v, actual_seq_lengths_kv=[29], **options)
            out = torch.empty(1, 8, 1, 64, dtype=torch.float16, device="npu")
            lse = torch.empty(1, dtype=torch.float16, device="npu")
            event.wait(stream)
            event.reset(stream)
            torch.npu.graph_task_group_begin(stream)
            launch(29)
            handle = torch.npu.graph_task_group_end(stream)
            twice = out * 2
        for n in (29, 100, 3, 256, 77):
            graph.replay()
            with torch.npu.stream(aside):
                torch.npu.graph_task_update_begin(aside, handle)
                launch(n)
                torch.npu.graph_task_update_end(aside)
                event.record(aside)
            torch.npu.synchronize()
            assert torch.equal(twice, whole(n) * 2), n

        graph = torch.npu.NPUGraph()
        with torch.no_grad(), torch.npu.graph(graph, auto_dispatch_capture=True):
            twice = attention(q, k, v, actual_seq_lengths_kv=[29], **options)[0] * 2
        for n in (29, 100, 3):
            graph.replay()
            graph.update(cpu_update_input=[{"actual_seq_lengths_kv": [n]}])
            torch.npu.synchronize()
            assert torch.equal(twice, whole(n) * 2), n
        """
    )


def test_conditions_of_captured_graphs(npu):
    npu(
        """
        total, wanted = torch.zeros(4, device="npu"), torch.zeros((), dtype=torch.bool, device="npu")
        graph = torch.npu.NPUGraph()
        with torch.npu.graph(graph):
            graph.begin_capture_to_if_node(wanted)
            total.add_(1)
            graph.end_capture_to_conditional_node()
            twice = total * 2
        for value, sum_ in ((True, 1), (False, 1), (True, 2)):
            wanted.fill_(value)
            graph.replay()
            torch.npu.synchronize()
            assert twice.tolist() == [2.0 * sum_] * 4
        """
    )
