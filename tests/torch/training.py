"""Small models that train for a few steps on `npu` and on `cpu`, from the same weights and inputs: losses must agree.

usage: training.py [NAME...]

Each prints its name and the largest relative difference. Run it where `python -m asnumpy.acl run` finds torch and torch_npu.
"""

import copy
import sys

import torch
import torch.nn.functional as F
import torch.utils.checkpoint
import torch_npu  # noqa: F401
from torch import nn

STEPS = 8


def draw(seed, *shape):
    """The same numbers on every device."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


class Block(nn.Module):
    """Two convolutions with a time between them and a way around."""

    def __init__(self, wide, out, time):
        super().__init__()
        self.first, self.second = nn.Conv2d(wide, out, 3, padding=1), nn.Conv2d(out, out, 3, padding=1)  # fmt: skip
        self.norms = nn.ModuleList(nn.GroupNorm(4, out) for _ in range(2))
        self.time, self.around = nn.Linear(time, out), nn.Conv2d(wide, out, 1)

    def forward(self, x, t):
        h = F.silu(self.norms[0](self.first(x))) + self.time(t)[:, :, None, None]
        return F.silu(self.norms[1](self.second(h))) + self.around(x)


def diffusion(device):
    """Steps of a U-Net that takes noise away, with a mean of its weights."""
    down, deep, up = Block(3, 8, 16).to(device), Block(8, 16, 16).to(device), Block(24, 8, 16).to(device)  # fmt: skip
    last, time = nn.Conv2d(8, 3, 1).to(device), nn.Linear(16, 16).to(device)
    net = nn.ModuleList([down, deep, up, last, time])
    mean = copy.deepcopy(net).requires_grad_(False)
    step = torch.optim.AdamW(net.parameters(), 2e-3)
    kept = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 100), 0).to(device)
    for k in range(STEPS):
        x, noise = draw(k, 2, 3, 12, 12).clamp(-1, 1).to(device), draw(50 + k, 2, 3, 12, 12).to(device)  # fmt: skip
        t = torch.randint(0, 100, (2,), generator=torch.Generator().manual_seed(k)).to(device)
        waves = t[:, None] * torch.exp(-torch.arange(8, device=device) * 1.15)
        e = F.gelu(time(torch.cat([waves.sin(), waves.cos()], 1)))
        a = kept[t].view(-1, 1, 1, 1)
        h = down(a.sqrt() * x + (1 - a).sqrt() * noise, e)
        g = F.interpolate(deep(F.avg_pool2d(h, 2), e), scale_factor=2, mode="bilinear")
        loss = F.smooth_l1_loss(last(up(torch.cat([g, h], 1), e)), noise)
        step.zero_grad()
        loss.backward()
        step.step()
        with torch.no_grad():
            torch._foreach_lerp_(list(mean.parameters()), list(net.parameters()), 0.1)
        yield loss.item()
    yield sum(p.abs().sum().item() for p in mean.parameters())


def graph(device):
    """A graph's convolution and attention over edges: sums and maxima by index."""
    g, n = torch.Generator().manual_seed(2), 30
    ends = torch.randint(0, n, (2, 120), generator=g)
    source, target = torch.cat([ends, torch.arange(n).repeat(2, 1)], 1).to(device)
    x, y = draw(3, n, 10).to(device), torch.randint(0, 3, (n,), generator=g).to(device)
    degree = torch.bincount(target, minlength=n).float()
    weight = (degree[source] * degree[target]).rsqrt()
    first, second, score = (nn.Linear(a, b).to(device) for a, b in ((10, 16), (16, 3), (32, 1)))
    step = torch.optim.Adagrad([*first.parameters(), *second.parameters(), *score.parameters()], 0.05)  # fmt: skip

    def gathered(message):
        where = target[:, None].expand_as(message)
        return torch.zeros(n, message.shape[1], device=device).scatter_add_(0, where, message)

    for _ in range(STEPS):
        h = F.leaky_relu(gathered(first(x)[source] * weight[:, None]), 0.2)
        s = score(torch.cat([h[source], h[target]], 1)).squeeze(-1)
        top = torch.full((n,), -1e9, device=device).scatter_reduce(0, target, s, "amax")
        e = torch.exp(s - top[target])
        e = e / torch.zeros(n, device=device).index_add_(0, target, e)[target]
        out = gathered(second(h)[source] * e[:, None])
        four = torch.arange(n, device=device) % 4
        pooled = torch.zeros(4, 3, device=device).index_reduce_(0, four, out, "mean", include_self=False)  # fmt: skip
        loss = F.nll_loss(F.log_softmax(out, 1)[y > 0], y[y > 0]) + 0.1 * pooled.pow(2).sum()
        step.zero_grad()
        loss.backward()
        step.step()
        yield loss.item()


class Decoder(nn.Module):
    """A layer of a decoder: rotary positions, attention, a gated network."""

    def __init__(self, wide, heads):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(wide, 3 * wide), nn.Linear(wide, wide)
        self.norms = nn.ModuleList([nn.RMSNorm(wide), nn.LayerNorm(wide)])
        self.gate, self.up, self.down = nn.Linear(wide, 48), nn.Linear(wide, 48), nn.Linear(48, wide)  # fmt: skip

    def forward(self, x, cos, sin, mask):
        b, t, d = x.shape
        parts = self.qkv(self.norms[0](x)).view(b, t, 3, self.heads, -1)
        q, k, v = parts.permute(2, 0, 3, 1, 4).unbind(0)
        q, k = (
            a * cos + torch.cat([-a[..., a.shape[-1] // 2 :], a[..., : a.shape[-1] // 2]], -1) * sin
            for a in (q, k)
        )
        y = F.scaled_dot_product_attention(q, k, v, mask, is_causal=mask is None)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, d))
        z = self.norms[1](x)
        return x + self.down(F.silu(self.gate(z)) * self.up(z))


def decoder(device):
    """A language model whose layers are computed again for the gradient, causal and with a mask of padding."""
    t = 12
    words, head = nn.Embedding(50, 32).to(device), nn.Linear(32, 50).to(device)
    layers = nn.ModuleList(Decoder(32, 4) for _ in range(2)).to(device)
    weights = [*words.parameters(), *layers.parameters(), *head.parameters()]
    step = torch.optim.NAdam(weights, 1e-3)
    angle = torch.outer(torch.arange(t), 10000 ** (-torch.arange(0, 8, 2) / 8)).repeat(1, 2).to(device)  # fmt: skip
    padded = torch.ones(3, 1, t, t, dtype=torch.bool).tril()
    padded[0, :, :, 5:] = False
    for k in range(STEPS):
        ids = torch.randint(0, 50, (3, t + 1), generator=torch.Generator().manual_seed(k)).to(device)  # fmt: skip
        x = words(ids[:, :-1])
        for layer in layers:
            x = torch.utils.checkpoint.checkpoint(
                layer, x, angle.cos(), angle.sin(), padded.to(device) if k % 2 else None,
                use_reentrant=False,
            )  # fmt: skip
        loss = F.cross_entropy(head(x).view(-1, 50), ids[:, 1:].reshape(-1), label_smoothing=0.1)
        step.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(weights, 1.0, foreach=True)
        step.step()
        yield loss.item()


def adversaries(device):
    """A generator of images against a critic with spectral norms and a penalty on its gradient's norm."""
    make = nn.Sequential(
        nn.ConvTranspose2d(6, 8, 4), nn.BatchNorm2d(8), nn.ReLU(True),
        nn.ConvTranspose2d(8, 8, 4, 2, 1, bias=False), nn.InstanceNorm2d(8, affine=True), nn.PReLU(),
        nn.ConvTranspose2d(8, 3, 4, 2, 1), nn.Tanh(),
    ).to(device)  # fmt: skip
    norm = nn.utils.parametrizations.spectral_norm
    judge = nn.Sequential(
        norm(nn.Conv2d(3, 8, 4, 2, 1)), nn.LeakyReLU(0.2, True),
        norm(nn.Conv2d(8, 8, 4, 2, 1)), nn.LeakyReLU(0.2), nn.Conv2d(8, 1, 4),
    ).to(device)  # fmt: skip
    steps = [torch.optim.Adam(m.parameters(), 2e-3, betas=(0.5, 0.999)) for m in (make, judge)]
    for k in range(STEPS):
        real, fake = draw(k, 4, 3, 16, 16).to(device), make(draw(40 + k, 4, 6, 1, 1).to(device))
        mixed = (0.3 * real + 0.7 * fake).detach().requires_grad_()
        (slope,) = torch.autograd.grad(judge(mixed).sum(), mixed, create_graph=True)
        lost = F.relu(1 - judge(real)).mean() + F.relu(1 + judge(fake.detach())).mean()
        lost = lost + 0.1 * ((slope.flatten(1).norm(2, 1) - 1) ** 2).mean()
        steps[1].zero_grad()
        lost.backward()
        steps[1].step()
        won = -judge(fake).mean()
        steps[0].zero_grad()
        won.backward()
        steps[0].step()
        yield lost.item()
        yield won.item()


def policy(device):
    """Proximal policy optimisation with torch.distributions: categories, normal and beta."""
    act, value = (nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, n)).to(device) for n in (3, 1))  # fmt: skip
    spread = nn.Parameter(torch.zeros(2, device=device))
    step = torch.optim.RAdam([*act.parameters(), *value.parameters(), spread], 3e-3)
    d = torch.distributions
    for k in range(STEPS):
        state = draw(k, 20, 4).to(device)
        taken = torch.randint(0, 3, (20,), generator=torch.Generator().manual_seed(k)).to(device)
        reward = torch.where(taken == state[:, :3].argmax(1), 1.0, -0.1)
        with torch.no_grad():
            before = d.Categorical(logits=act(state)).log_prob(taken)
            gain = reward - value(state).squeeze(1)
            gain = (gain - gain.mean()) / (gain.std() + 1e-8)
        now = d.Categorical(logits=act(state))
        ratio = (now.log_prob(taken) - before).exp()
        near = d.Normal(act(state)[:, :2], spread.exp())
        far = d.Normal(torch.zeros(2, device=device), torch.ones(2, device=device))
        beta = d.Beta(F.softplus(act(state)[:, 0]) + 1, torch.full((20,), 2.0, device=device))
        loss = -torch.min(ratio * gain, ratio.clamp(0.8, 1.2) * gain).mean()
        loss = loss + F.huber_loss(value(state).squeeze(1), reward) - 0.01 * now.entropy().mean()
        loss = loss + 0.01 * d.kl_divergence(near, far).mean()
        loss = loss - 0.01 * beta.log_prob(torch.full((20,), 0.4, device=device)).mean()
        step.zero_grad()
        loss.backward()
        step.step()
        yield loss.item()


PROGRAMS = [diffusion, graph, decoder, adversaries, policy]


def main(names):
    for program in PROGRAMS:
        if names and program.__name__ not in names:
            continue
        losses = []
        for device in ("cpu", "npu"):
            torch.manual_seed(1)
            losses.append(torch.tensor(list(program(device))))
        torch.testing.assert_close(losses[1], losses[0], rtol=1e-3, atol=1e-5)
        far = ((losses[1] - losses[0]).abs() / losses[0].abs().clamp_min(1e-3)).max()
        print(program.__name__, f"{far:.1e}")


if __name__ == "__main__":
    main(sys.argv[1:])
