"""An epidemic on a contact network, day by day, and its SIR curve."""

import numpy as np

SUSCEPTIBLE, INFECTED, RECOVERED = range(3)
rng = np.random.default_rng(77)
people = 300
contacts = np.triu(rng.random((people, people)) < 0.03, 1)
contacts |= contacts.T
state = np.zeros(people, dtype=np.int8)
state[rng.choice(people, 5, replace=False)] = INFECTED
history = []
for day in range(60):
    infected = state == INFECTED
    history.append(np.bincount(state, minlength=3))
    if not infected.any():
        break
    exposure = contacts[infected].sum(axis=0)
    caught = (state == SUSCEPTIBLE) & (rng.random(people) < 1 - 0.95**exposure)
    healed = infected & (rng.random(people) < 0.15)
    state[caught] = INFECTED
    state[healed] = RECOVERED
history = np.array(history)
print(history[::10], len(history))
print(
    "peak", history[:, 1].max(), "on day", int(history[:, 1].argmax()), "end", history[-1].tolist()
)
growth = np.divide(
    history[1:, 1], history[:-1, 1], out=np.zeros(len(history) - 1), where=history[:-1, 1] > 0
)
print(growth[:5].round(6), contacts.sum(axis=1).mean().round(6))
print("\n".join(f"{d:2d} " + "#" * int(v // 10) for d, v in enumerate(history[::6, 1])))
