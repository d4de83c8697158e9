"""PyTorch's own samples of its optimisers (optim_db, in the torch wheel) on `npu` against `cpu`: usage as opinfo.py's.

Each set of options is one sample for each form PyTorch has of the optimiser (a loop over tensors, foreach, fused). A sample is
ten steps with a schedule of gradients given; compared are the parameters and the optimiser's state afterwards.
All samples run, whatever --samples says.
"""

import copy
import sys

from opinfo import differs, failed, main, tensors

SOURCE, KIND = "optim_db", "optimisers"
SHAPES = [(4, 3), (3,), (1,), (2, 5, 3), (0, 3)]


def database():
    """An entry for each optimiser and form."""
    from torch.testing._internal.common_optimizers import optim_db

    return [(info, form) for info in optim_db for form in ("loop", *info.supported_impls)]


def full_name(entry):
    info, form = entry
    return f"{info.name}.{form}"


def dtypes_of(entry):
    import torch

    return {torch.float32, torch.float16, torch.bfloat16}


def stepped(info, form, options, device, dtype, torch):
    """Parameters and state after ten steps."""
    draw = torch.Generator().manual_seed(0)
    shapes = [s for s in SHAPES if len(s) == 2] if info.name == "Muon" else SHAPES
    parameters = [torch.randn(s, generator=draw).to(device, dtype).requires_grad_() for s in shapes]
    if form == "differentiable":  # steps are recorded: no leaf may change in place
        parameters = [p.clone() for p in parameters]
    given = copy.deepcopy(options)
    for name in set(info.supported_impls) & {"foreach", "fused"}:
        given[name] = form == name
    if form == "differentiable":
        given[form] = True
    optimizer = info.optim_cls(parameters, **given)

    def gradients():
        for p in parameters:
            g = torch.randn(p.shape, generator=draw)
            p.grad = (g.to_sparse() if info.only_supports_sparse_grads else g).to(device, dtype)

    def loss():
        """A bowl, for the optimisers that look for a minimum themselves."""
        optimizer.zero_grad()
        value = sum(((p - 1) ** 2).sum() for p in parameters)
        value.backward()
        return value

    for _ in range(10):
        if info.step_requires_closure:
            optimizer.step(loss)
            continue
        gradients()
        optimizer.step()
    for state in optimizer.state.values():
        # LBFGS's coefficients of past directions: computed anew in each iteration before they are read, up to 1000, some of
        # them near 0, where float32 is 0.005 from float64 on either device.
        state.pop("al", None)
    return [p.detach() for p in parameters] + tensors(list(optimizer.state.values()), torch)


def case(entry, dtype, options, torch):
    """One answer for all sets of options, as opinfo's."""
    info, form = entry
    count = 0
    for given in info.optim_inputs_func("cpu", dtype):
        try:
            want = stepped(info, form, given.kwargs, "cpu", dtype, torch)
        except Exception:
            continue  # no sample of the CPU either
        count += 1
        try:
            got = stepped(info, form, given.kwargs, "npu", dtype, torch)
            what = differs(got, want, torch, True, 5)
        except Exception as error:
            return failed(error, count)
        if what:
            return "wrong", f"{given.desc}: {what}", count
    return ("right" if count else "empty"), "", count


if __name__ == "__main__":
    main(sys.modules[__name__])
