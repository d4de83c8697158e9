"""One step of each of the ten programs, and chains on few elements: as they are written, jitted, and compiled.

A jitted step is traced, a native one compiled, before it is timed. NumPy runs the step as it is written in each row.
"""

import functools
import importlib

import numpy
from programs import (
    black_scholes,
    conjugate_gradient,
    filters,
    kmeans,
    mlp,
    nbody,
    reaction_diffusion,
    shallow_water,
)
from rows import Row


def chain(np, a, b):
    return (((((a + b) * a - b) * a + b) * a - b) * a + b) * a


def mixed(np, a, b):
    c = np.sqrt(np.abs(a * b)) + 1
    return (c * a).sum() / c.max(), np.exp(-c) * b, np.where(a > b, a, c)


def heat(np, u):
    u[1:-1, 1:-1] += 0.2 * (
        u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
    )
    return u


def waves(np, h, u, v):
    dt = shallow_water.DT
    dh, du, dv = shallow_water.tendencies(np, h, u, v)
    dh, du, dv = shallow_water.tendencies(np, h + dt * dh / 2, u + dt * du / 2, v + dt * dv / 2)
    return h + dt * dh, u + dt * du, v + dt * dv


def stars(np, position, velocity, mass):
    velocity = velocity + nbody.acceleration(np, position, mass) * 0.005
    position = position + velocity * 0.01
    return position, velocity + nbody.acceleration(np, position, mass) * 0.005


def directions(np, x, r, p):
    ap = conjugate_gradient.laplacian(np, p)
    rr = (r * r).sum()
    alpha = rr / (p * ap).sum()
    x, r = x + alpha * p, r - alpha * ap
    return x, r, r + (r * r).sum() / rr * p


def escape(np, a, b, x, y, count):
    aa, bb = a * a, b * b
    inside = aa + bb <= 4
    count += inside
    return np.where(inside, aa - bb + x, a), np.where(inside, 2 * a * b + y, b), count


def options(np, spot, strike, years, volatility):
    root = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (0.03 + 0.5 * volatility**2) * years) / root
    discount = np.exp(-0.03 * years)
    call = spot * black_scholes.normal_cdf(np, d1)
    call = call - strike * discount * black_scholes.normal_cdf(np, d1 - root)
    return call, call - spot + strike * discount


def filtered(np, x, p, f, h, q, r, z):
    x, p = f @ x, f @ p @ f.T + q
    gain = p @ h.T @ np.linalg.inv(h @ p @ h.T + r)
    return x + gain @ (z - h @ x), p - gain @ h @ p


def nearest(np, points, centres):
    return kmeans.assign(np, points, centres)[0]


def trained(np, x, wanted, w1, b1, w2, b2):
    layers = [[w1, b1], [w2, b2]]
    made, kept = mlp.forward(np, x, layers)
    gradients = mlp.backward(np, (made - wanted) / len(x), kept, layers)
    for layer, steps in zip(layers, gradients, strict=True):
        for weights, step in zip(layer, steps, strict=True):
            weights -= 0.001 * step
    return ((made - wanted) ** 2).sum()


def reacting(np, u, v):
    inner_u, inner_v = u[1:-1, 1:-1], v[1:-1, 1:-1]
    reaction = inner_u * inner_v**2
    inner_u += 0.16 * reaction_diffusion.laplacian(u) - reaction + 0.06 * (1 - inner_u)
    inner_v += 0.08 * reaction_diffusion.laplacian(v) + reaction - 0.12 * inner_v
    return u, v


def edges(np, plane):
    return filters.sobel(np, plane)


# name -> (step, shapes of its arguments)
STEPS = {
    "chain of ten, 10 elements": (chain, [(10,)] * 2),
    "chain of ten, 1e5 elements": (chain, [(100_000,)] * 2),
    "reductions and functions, 10 elements": (mixed, [(10,)] * 2),
    "heat, 16 x 16": (heat, [(16, 16)]),
    "heat, 512 x 512": (heat, [(512, 512)]),
    "Kalman filter": (filtered, [(4,), (4, 4), (4, 4), (2, 4), (4, 4), (2, 2), (2,)]),
    "training, batch of 8": (trained, [(8, 16), (8, 4), (16, 16), (16,), (16, 4), (4,)]),
    "training, batch of 128": (trained, [(128, 64), (128, 10), (64, 64), (64,), (64, 10), (10,)]),
    "conjugate gradients, 64 x 64": (directions, [(64, 64)] * 3),
    "n bodies, 100": (stars, [(100, 3), (100, 3), (100, 1)]),
    "k-means, 5000 points": (nearest, [(5000, 8), (6, 8)]),
    "Mandelbrot, 100 x 100": (escape, [(100, 100)] * 5),
    "options, 1e5": (options, [(100_000,)] * 4),
    "reaction and diffusion, 128 x 128": (reacting, [(130, 130)] * 2),
    "shallow water, 128 x 128": (waves, [(128, 128)] * 3),
    "Sobel, 256 x 256": (edges, [(256, 256)]),
}


WAYS = {"": None, ", jitted": {}, ", native": {"native": True}}


def build(name, how, library):
    np = importlib.import_module(library)
    step, shapes = STEPS[name]
    rng = numpy.random.default_rng(5)
    dtype = "float32" if step is trained else "float64"
    args = [(rng.random(shape) * 0.5 + 0.5).astype(dtype) for shape in shapes]
    if step is filtered:  # a covariance and its noise
        args[1], args[4], args[5] = (numpy.eye(n) * s for n, s in ((4, 10), (4, 0.05), (2, 1)))
    args = [np.array(a) for a in args]
    run = functools.partial(step, np)
    if WAYS[how] is not None and library == "asnumpy":
        run = np.jit(run, **WAYS[how])
        run(*args)
        run._compile_last()
    finish = getattr(np, "synchronize", lambda: None)

    def call():
        result = run(*args)
        finish()  # while it is wanted: what is recorded for a result that is gone does not run
        return result

    return call


def rows():
    return [
        Row("jit", f"{name}{how}", build=functools.partial(build, name, how),
            small="10 elements" in name, numpy_only=True, check=False, quick=how == ", jitted" and "10 elements" in name)
        for name in STEPS for how in WAYS
    ]  # fmt: skip
