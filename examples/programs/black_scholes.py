"""European option prices and their Greeks in closed form; the normal distribution by Abramowitz and Stegun 26.2.17."""

SIZE, SMALL = 2_000_000, 1000


def make(rng, size):
    return {"spot": rng.uniform(10, 50, size), "strike": rng.uniform(10, 50, size),
            "years": rng.uniform(0.1, 2, size), "volatility": rng.uniform(0.1, 0.5, size)}  # fmt: skip


def normal_cdf(np, x):
    k = 1 / (1 + 0.2316419 * np.abs(x))
    poly = k * (
        0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429)))
    )
    tail = np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi) * poly
    return np.where(x >= 0, 1 - tail, tail)


def run(np, size, spot, strike, years, volatility, rate=0.03):
    root = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * years) / root
    d2 = d1 - root
    discount = np.exp(-rate * years)
    call = spot * normal_cdf(np, d1) - strike * discount * normal_cdf(np, d2)
    put = call - spot + strike * discount
    density = np.exp(-0.5 * d1**2) / np.sqrt(2 * np.pi)
    gamma = density / (spot * root)
    vega = spot * density * np.sqrt(years)
    return call, put, gamma, vega, float(call.mean())
