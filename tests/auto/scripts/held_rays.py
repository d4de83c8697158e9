"""Three spheres and a light, traced by arrays of rays and shown in letters."""

import numpy as np

WIDTH, HEIGHT = 60, 24
SHADES = np.array(list(" .:-=+*#%@"))


def unit(v):
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


def meets(origin, direction, centre, radius):
    """Distances along the rays; infinity: none."""
    to = origin - centre
    b = np.einsum("...i,...i->...", to, direction)
    c = np.einsum("...i,...i->...", to, to) - radius**2
    inside = b**2 - c
    with np.errstate(invalid="ignore"):
        t = -b - np.sqrt(inside)
    return np.where((inside > 0) & (t > 1e-4), t, np.inf)


spheres = [((0, 0, 4), 1.0), ((1.6, 0.5, 5), 1.2), ((-1.5, -0.4, 3), 0.6)]
centres = np.array([c for c, _ in spheres], dtype=float)
radii = np.array([r for _, r in spheres])
light = np.array([-4.0, 5.0, -2.0])

y, x = np.mgrid[1 : -1 : HEIGHT * 1j, -1.5 : 1.5 : WIDTH * 1j]
rays = unit(np.stack([x, y, np.full_like(x, 1.6)], axis=-1))
eye = np.zeros(3)
distances = np.stack([meets(eye, rays, c, r) for c, r in zip(centres, radii)])
which = distances.argmin(axis=0)
nearest = np.take_along_axis(distances, which[None], axis=0)[0]
hit = np.isfinite(nearest)
points = eye + rays[hit] * nearest[hit][:, np.newaxis]
normals = (points - centres[which[hit]]) / radii[which[hit], None]
to_light = unit(light - points)
shadow = np.zeros(len(points), dtype=bool)
for c, r in zip(centres, radii):
    shadow |= np.isfinite(meets(points + 1e-3 * normals, to_light, c, r))
brightness = np.clip(np.sum(normals * to_light, axis=1), 0, None)
brightness[shadow] *= 0.2
picture = np.zeros((HEIGHT, WIDTH))
picture[hit] = 0.1 + 0.9 * brightness
print("\n".join("".join(row) for row in SHADES[(picture * 9.999).astype(int)]))
print(hit.sum(), shadow.sum(), np.bincount(which[hit]), f"{picture.mean():.6f}")
