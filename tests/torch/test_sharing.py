"""What processes share: tensors through torch.multiprocessing, events through their handles."""


def test_tensors_between_processes(npu):
    """A tensor that another process gets is the same memory, in both directions."""
    out = npu(
        """
        import torch.multiprocessing as mp

        def other(there, back, done):
            a = there.get()
            assert a.device.type == "npu" and a.tolist() == [1.0, 2.0, 3.0], a
            a.mul_(10)
            torch.npu.synchronize()
            b = torch.arange(1000.0, device="npu")
            torch.npu.synchronize()
            back.put(b)
            done.wait()

        if __name__ == "__main__":
            mp.set_start_method("spawn")
            there, back, done = mp.Queue(), mp.Queue(), mp.Event()
            child = mp.Process(target=other, args=(there, back, done))
            child.start()
            a = torch.tensor([1.0, 2.0, 3.0], device="npu")
            torch.npu.synchronize()
            there.put(a)
            b = back.get(timeout=120)
            assert b.sum().item() == 499500
            del b
            done.set()
            child.join(120)
            print(child.exitcode, a.tolist())
        """
    )
    assert out.strip().endswith("0 [10.0, 20.0, 30.0]")


def test_events_between_processes(npu):
    """Event(interprocess=True): another process opens its handle, waits for it, and records one of its own."""
    out = npu(
        """
        import torch.multiprocessing as mp

        def other(queue, handle):
            event = torch.npu.Event.from_ipc_handle(torch.device("npu:0"), handle)
            stream = torch.npu.Stream()
            event.wait(stream)
            stream.synchronize()
            queue.put(event.query())

        if __name__ == "__main__":
            mp.set_start_method("spawn")
            event, queue = torch.npu.Event(interprocess=True), mp.Queue()
            x = torch.randn(300, 300, device="npu")
            for _ in range(20):
                x = x @ x / 300
            event.record()
            child = mp.Process(target=other, args=(queue, event.ipc_handle()))
            child.start()
            print(queue.get(timeout=120), len(event.ipc_handle()))
            child.join(120)
            assert child.exitcode == 0
        """
    )
    assert out.strip().endswith("True 64")
