"""PyTorch's own samples of its modules (module_db, in the torch wheel) on `npu` against `cpu`: usage as opinfo.py's.

A module's weights are made on the CPU and copied. Compared are, training and not, its results, the gradients of its inputs
and weights, and its buffers (running means) afterwards. Samples are few: all run, whatever --samples says.
"""

import copy
import sys

from opinfo import differs, failed, main, moved, tensors

SOURCE, KIND = "module_db", "modules"


def database():
    from torch.testing._internal.common_modules import module_db

    return module_db


def full_name(info):
    return info.name


def dtypes_of(info):
    return info.dtypes


def ran(module, sample, torch):
    """Results, gradients and buffers of one call."""
    value = module(*sample.args, **sample.kwargs)
    results = tensors(value, torch)
    roots = [r for r in results if r.requires_grad]
    leaves = [t for t in tensors([sample.args, sample.kwargs], torch) if t.requires_grad]
    leaves += [p for p in module.parameters() if p.requires_grad]
    if roots and leaves:
        ones = [torch.ones_like(r) for r in roots]
        results += torch.autograd.grad(roots, leaves, ones, allow_unused=True)
    return results + list(module.buffers())


def case(info, dtype, options, torch):
    """One answer for all samples, as opinfo's."""
    count = 0
    for training in (True, False):
        torch.manual_seed(0)
        inputs = info.module_inputs_func(
            info, device="cpu", dtype=dtype, requires_grad=options.backward, training=training
        )
        for given in inputs:
            if given.forward_input is None:
                continue
            made = given.constructor_input
            module = info.module_cls(*made.args, **made.kwargs).to(dtype).train(training)
            call = given.forward_input
            if info.is_lazy:  # the first call makes the weights, of the device's random numbers
                module(*moved(call.args, torch, "cpu"), **moved(call.kwargs, torch, "cpu"))
            there = copy.deepcopy(module).to("npu")
            own = type(call)(*moved(call.args, torch, "cpu"), **moved(call.kwargs, torch, "cpu"))
            far = type(call)(*moved(call.args, torch, "npu"), **moved(call.kwargs, torch, "npu"))
            try:
                torch.manual_seed(0)
                want = ran(module, own, torch)
            except Exception:
                continue  # no sample of the CPU either
            count += 1
            try:
                torch.manual_seed(0)
                what = differs(ran(there, far, torch), want, torch, True, 5)
            except Exception as error:
                return failed(error, count)
            if what:
                where = "training" if training else "evaluating"
                return "wrong", f"sample {count}, {where}, {given.desc}: {what}", count
    return ("right" if count else "empty"), "", count


if __name__ == "__main__":
    main(sys.modules[__name__])
