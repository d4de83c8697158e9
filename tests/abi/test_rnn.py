"""LSTM, GRU and their gradients against torch.nn's: layers, directions, biases, sequences that end early."""

import itertools

import numpy as np
import pytest
import torch
from aclnn import AclError, run
from oracle import DTYPES, LAYOUTS, blank, laid, near, normal, wide

TIME, BATCH, INPUT, HIDDEN = 5, 3, 4, 6
SAVED = {"LSTM": "ijfohct", "GRU": "rznmh"}


class Case:
    """A network of PyTorch's in float64 and the arrays of one call."""

    def __init__(
        self,
        kind,
        dtype,
        layout="packed",
        layers=1,
        both=False,
        biases=True,
        first=False,
        sizes=None,
    ):
        self.kind, self.dtype, self.layout, self.layers, self.both = (
            kind,
            dtype,
            layout,
            layers,
            both,
        )
        self.biases, self.first, self.sizes, self.directions = biases, first, sizes, 1 + both
        self.net = getattr(torch.nn, kind)(INPUT, HIDDEN, layers, biases, first, 0.0, both).double()
        with torch.no_grad():
            for p in self.net.parameters():
                p.copy_(wide(normal(*p.shape, low=-0.5, high=0.5).astype(dtype)))
        self.params = [
            laid(p.detach().numpy().astype(dtype), layout) for p in self.net.parameters()
        ]
        self.states = [laid(normal(layers * self.directions, BATCH, HIDDEN).astype(dtype), layout)
                       for _ in range(2 if kind == "LSTM" else 1)]  # fmt: skip
        self.x = laid(
            normal(*((BATCH, TIME) if first else (TIME, BATCH)), INPUT).astype(dtype), layout
        )
        self.hx = self.states if kind == "LSTM" else self.states[0]

    def options(self):
        dropout = [0.0, True] if self.kind == "LSTM" else []
        return [self.biases, self.layers, *dropout, self.both, self.first]

    def oracle(self):
        """Leaves (x, states) with gradients, the output (time first or as the batch is), and the last states."""
        x, states = wide(self.x, True), [wide(s, True) for s in self.states]
        sequence = x
        if self.sizes is not None:
            lengths = (np.array(self.sizes)[:, None] > np.arange(BATCH)).sum(0)
            sequence = torch.nn.utils.rnn.pack_padded_sequence(x, torch.tensor(lengths))
        y, last = self.net(sequence, tuple(states) if self.kind == "LSTM" else states[0])
        self.packed = y.data if self.sizes is not None else None
        if self.sizes is not None:
            y, _ = torch.nn.utils.rnn.pad_packed_sequence(y, total_length=TIME)
        return x, states, y, list(last) if self.kind == "LSTM" else [last]

    def forward(self, train=True, packed=False, unread=False, stands=False):
        """Runs the operator; the outputs and the saved lists. unread: h and c are tensors without dimensions; stands:
        the output is (time, batch, features) where the input is rows."""
        d, dtype, layout = self.directions, self.dtype, self.layout
        shape = (BATCH, TIME) if self.first else (TIME, BATCH)
        x, size = self.x, None
        if self.sizes is not None:
            size = np.array(self.sizes, np.int64)
            x, shape = self.rows(self.x, packed), (sum(self.sizes) if packed else TIME * BATCH,)
        shape = (TIME, BATCH) if stands else shape
        y = blank((*shape, d * HIDDEN), dtype, layout)
        last = [blank(s.shape, dtype, layout) for s in self.states]
        count = self.layers * d
        saved = [
            [blank((TIME, BATCH, HIDDEN), dtype, layout) for _ in range(count)]
            for _ in SAVED[self.kind]
        ]
        if not train:
            saved = [[] for _ in saved]
            if self.kind == "LSTM":
                saved[4:6] = [
                    [blank(() if unread else (BATCH, HIDDEN), dtype) for _ in range(count)]
                    for _ in range(2)
                ]
        run(self.kind, x, self.params, self.hx, size, self.biases, self.layers, 0.0, train, self.both, self.first,
            y, *last, *saved)  # fmt: skip
        return x, size, y, last, saved

    def rows(self, a, packed):
        """A padded sequence in the operators' two forms of sequences that end early."""
        if not packed:
            return np.ascontiguousarray(a).reshape(TIME * BATCH, -1)
        return np.concatenate([a[t, :n] for t, n in enumerate(self.sizes)])

    def check(self, packed=False, stands=False):
        x, states, want, want_last = self.oracle()
        given, size, y, last, saved = self.forward(packed=packed, stands=stands)
        full = want.detach().numpy()
        near(y, full if size is None or stands else self.rows(full, packed), 2)
        for got, w in zip(last, want_last, strict=True):
            near(got, w, 2)
        dy = normal(*want.shape).astype(self.dtype)
        d_last = [normal(*s.shape).astype(self.dtype) for s in self.states]
        total = (want * wide(dy)).sum() + sum(
            (w * wide(g)).sum() for w, g in zip(want_last, d_last, strict=True)
        )
        total.backward()
        if size is not None and not stands:
            dy = self.rows(dy, packed)
        dx = blank(given.shape, self.dtype, self.layout)
        d_states = [blank(s.shape, self.dtype, self.layout) for s in self.states]
        d_params = [blank(p.shape, self.dtype, self.layout) for p in self.params]
        if self.kind == "LSTM":
            run("LstmBackward", given, self.hx, self.params, dy, *d_last, *saved, size, *self.options(), None, dx,
                *d_states, d_params)  # fmt: skip
        else:
            run("GRUBackward", given, self.params, self.hx, dy, *d_last, *saved, size, *self.options(), dx, *d_states,
                d_params)  # fmt: skip
        grad = x.grad.numpy()
        near(dx, grad if size is None else self.rows(grad, packed), 8)
        for got, s in zip(d_states, states, strict=True):
            near(got, s.grad, 8)
        for got, p in zip(d_params, self.net.parameters(), strict=True):
            near(got, p.grad, 60)


@pytest.mark.parametrize("kind", SAVED)
def test_networks(kind):
    options = itertools.product((1, 3), (False, True), (True, False), (False, True))
    for n, (layers, both, biases, first) in enumerate(options):
        Case(kind, DTYPES[n % 4], LAYOUTS[n % 3], layers, both, biases, first).check()
    for dtype, layout in itertools.product(DTYPES, LAYOUTS):
        Case(kind, dtype, layout).check()


@pytest.mark.parametrize("kind", SAVED)
def test_sequences_that_end(kind):
    for sizes in ([3, 3, 2, 1, 1], [3, 1, 1, 1, 1], [3, 3, 3, 3, 3]):
        for n, (packed, both) in enumerate(itertools.product((False, True), (False, True))):
            case = Case(kind, DTYPES[n], LAYOUTS[n % 3], 2, both, sizes=sizes)
            case.check(packed)
            case.net.zero_grad()
            case.check(packed, stands=True)


@pytest.mark.parametrize("kind", SAVED)
def test_without_training(kind):
    case = Case(kind, np.dtype(np.float32), layers=2, both=True)
    _, _, want, want_last = case.oracle()
    _, _, y, last, saved = case.forward(train=False)
    near(y, want, 2)
    near(last[0], want_last[0], 2)
    if kind == "LSTM":
        near(np.stack(saved[4]), want_last[0], 2)
        near(np.stack(saved[5]), want_last[1], 2)
        near(case.forward(train=False, unread=True)[2], want, 2)
    case.hx = [] if kind == "LSTM" else None
    case.net.zero_grad()
    zeros = [np.zeros_like(s) for s in case.states]
    case.states = zeros
    want = case.oracle()[2]
    near(case.forward(train=False)[2], want, 2)


@pytest.mark.parametrize("kind", SAVED)
def test_errors(kind):
    case = Case(kind, np.dtype(np.float32))

    def refused(match="161002", **change):
        broken = Case(kind, case.dtype)
        for name, value in change.items():
            setattr(broken, name, value)
        with pytest.raises(AclError, match=match):
            broken.forward()

    refused(x=case.x[0])
    refused(x=case.x.astype(np.float64))
    refused(x=case.x[..., :3])
    refused(params=case.params[:3])
    refused(params=[*case.params[:3], case.params[3][:5]])
    refused(layers=0)
    refused(layers=2)
    refused(hx=[case.states[0]] if kind == "LSTM" else case.states[0][:, :2])
    refused(sizes=[3, 3, 3, 2, 0], match="batchSizes")
    refused(sizes=[2, 2, 2, 2, 2], match="batchSizes")
    refused(sizes=[3, 2, 3, 2, 1], match="batchSizes")
    out = [
        blank((TIME, BATCH, HIDDEN), case.dtype),
        *(blank(s.shape, case.dtype) for s in case.states),
    ]
    lists = [[] for _ in SAVED[kind]]
    with pytest.raises(AclError, match="dropout is 0.5; it must be 0"):
        run(
            kind, case.x, case.params, case.hx, None, True, 1, 0.5, True, False, False, *out, *lists
        )


def test_cell():
    for dtype, layout in itertools.product(DTYPES, LAYOUTS):
        gates = [laid(normal(3, 24).astype(dtype), layout) for _ in range(2)]
        biases = [laid(normal(24).astype(dtype), layout) for _ in range(2)]
        cx = laid(normal(3, 6).astype(dtype), layout)
        for given in (biases, (None, None)):
            leaf = (wide(gates[0]) + wide(gates[1])).requires_grad_()
            c = wide(cx, True)
            total = leaf if given[0] is None else leaf + wide(given[0]) + wide(given[1])
            i, f, g, o = total.chunk(4, 1)
            cy = f.sigmoid() * c + i.sigmoid() * g.tanh()
            hy = o.sigmoid() * cy.tanh()
            outs = [
                blank((3, 6), dtype, layout),
                blank((3, 6), dtype, layout),
                blank((3, 24), dtype, layout),
            ]
            run("ThnnFusedLstmCell", *gates, cx, *given, *outs)
            near(outs[0], hy, 2)
            near(outs[1], cy, 2)
            near(outs[2], torch.cat([i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()], 1), 2)
            dh, dc = (laid(normal(3, 6).astype(dtype), layout) for _ in range(2))
            for with_h, with_c in ((True, True), (True, False), (False, True)):
                leaf.grad = c.grad = None
                loss = (hy * wide(dh)).sum() * with_h + (cy * wide(dc)).sum() * with_c
                loss.backward(retain_graph=True)
                grads = [
                    blank((3, 24), dtype, layout),
                    blank((3, 6), dtype, layout),
                    blank(24, dtype, layout),
                ]
                run("ThnnFusedLstmCellBackward", dh if with_h else None, dc if with_c else None, cx, outs[1], outs[2],
                    True, *grads)  # fmt: skip
                near(grads[0], leaf.grad, 8)
                near(grads[1], c.grad, 8)
                near(grads[2], leaf.grad.sum(0), 16)
    good = [*gates, cx, None, None, *outs]
    run("ThnnFusedLstmCell", *(g[:0] for g in gates), cx[:0], None, None, *(o[:0] for o in outs))
    for at, bad in (
        (0, gates[0][:2]),
        (1, gates[1][:, :12]),
        (2, cx[0]),
        (3, biases[0][:6]),
        (5, outs[0].astype(float)),
    ):
        with pytest.raises(AclError, match="161002"):
            run("ThnnFusedLstmCell", *good[:at], bad, *good[at + 1 :])
