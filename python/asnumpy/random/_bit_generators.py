"""Seed sequences and bit generators: sources of random bits with a settable state."""

import operator
import secrets
import threading

import numpy as np

from .._core import BitEngine

_WORD = 0xFFFFFFFF


def _words(value):
    """A non-negative int, or a sequence of them, as a list of uint32 words, least significant first."""
    if isinstance(value, (np.ndarray, list, tuple, range)) or hasattr(value, "__array__"):
        flat = np.asarray(value)
        if flat.ndim:
            return [w for item in flat.ravel().tolist() for w in _words(item)]
    number = operator.index(value)
    if number < 0:
        raise ValueError("expected non-negative integer")
    words = [number & _WORD]
    while number > _WORD:
        number >>= 32
        words.append(number & _WORD)
    return words


class SeedSequence:
    """Mixes entropy into seeds of good quality, reproducibly, as numpy.random.SeedSequence does.

    entropy: None (from the system), an int or a sequence of ints; spawn_key: ints that tell children apart.
    """

    def __init__(self, entropy=None, *, spawn_key=(), pool_size=4, n_children_spawned=0):
        if pool_size != 4:
            raise ValueError(f"pool_size is {pool_size}; AsNumpy mixes a pool of 4 words")
        if entropy is None:
            entropy = secrets.randbits(128)
        elif not isinstance(entropy, (int, np.integer, list, tuple, range, np.ndarray)):
            raise TypeError(
                f"SeedSequence expects int or sequence of ints for entropy not {entropy}"
            )
        self.entropy = entropy
        self.spawn_key = tuple(spawn_key)
        self.pool_size = pool_size
        self.n_children_spawned = n_children_spawned

    def _assembled(self):
        words = _words(self.entropy)
        spawn = [w for key in self.spawn_key for w in _words(key)]
        if spawn and len(words) < self.pool_size:
            words = words + [0] * (self.pool_size - len(words))
        return np.array(words + spawn, dtype=np.uint32).tobytes()

    def generate_state(self, n_words, dtype=np.uint32):
        """n_words seed words of dtype uint32 or uint64, as a NumPy array."""
        dtype = np.dtype(dtype)
        if dtype not in (np.uint32, np.uint64):
            raise ValueError("only support uint32 or uint64")
        words = BitEngine.seed_words(self._assembled(), n_words * dtype.itemsize // 4)
        return np.frombuffer(words, dtype=dtype).copy()

    def spawn(self, n_children):
        """n_children sequences, independent of this one and of each other."""
        first = self.n_children_spawned
        self.n_children_spawned += n_children
        return [
            SeedSequence(self.entropy, spawn_key=(*self.spawn_key, i), pool_size=self.pool_size)
            for i in range(first, first + n_children)
        ]

    @property
    def state(self):
        names = ("entropy", "spawn_key", "pool_size", "n_children_spawned")
        return {k: getattr(self, k) for k in names if getattr(self, k) not in (None, 0)}

    def __repr__(self):
        lines = [f"{type(self).__name__}(", f"    entropy={self.entropy!r},"]
        if self.spawn_key:
            lines.append(f"    spawn_key={self.spawn_key!r},")
        if self.n_children_spawned:
            lines.append(f"    n_children_spawned={self.n_children_spawned!r},")
        return "\n".join([*lines, ")"])


class BitGenerator:
    """The base of bit generators: a seed sequence, a lock, and the engine that draws."""

    def __init__(self, seed=None):
        self.lock = threading.Lock()
        self.seed_seq = seed if isinstance(seed, SeedSequence) else SeedSequence(seed)
        self._engine = BitEngine()
        self._seed()

    def _seed(self):
        raise NotImplementedError("BitGenerator is a base class and cannot be instantized")

    def random_raw(self, size=None, output=True):
        """The generator's words, as int or uint64 array; output False only draws them."""
        with self.lock:
            if size is None:
                value = self._engine.raw()
                return value if output else None
            values = [self._engine.raw() for _ in range(int(np.prod(size)))]
        if not output:
            return None
        from .. import array

        return array(np.array(values, dtype=np.uint64).reshape(size))

    def spawn(self, n_children):
        """n_children generators of this class from spawned seed sequences."""
        return [type(self)(s) for s in self.seed_seq.spawn(n_children)]

    def __reduce__(self):
        return _restore, (type(self), self.seed_seq, self._engine.get_bytes())


def _restore(cls, seed_seq, state):
    made = cls(seed_seq)
    made._engine.set_bytes(state)
    return made


class PCG64(BitGenerator):
    """PCG XSL RR 128/64 (O'Neill): Generator's default. seed: None, int, ints or a SeedSequence."""

    def _seed(self):
        self._engine.seed_pcg64(self.seed_seq.generate_state(4, np.uint64).tobytes())

    @property
    def state(self):
        """The state as NumPy's dictionary; settable."""
        state, inc, has_uint32, uinteger = self._engine.get_pcg64()
        return {
            "bit_generator": "PCG64",
            "state": {"state": state, "inc": inc},
            "has_uint32": has_uint32,
            "uinteger": uinteger,
        }

    @state.setter
    def state(self, value):
        if not isinstance(value, dict):
            raise TypeError("state must be a dict")
        if value.get("bit_generator") != "PCG64":
            raise ValueError("state must be for a PCG64 RNG")
        inner = value["state"]
        self._engine.set_pcg64(inner["state"], inner["inc"], value["has_uint32"], value["uinteger"])

    def advance(self, delta):
        """Moves on as if `delta` words had been drawn; negative: back."""
        with self.lock:
            self._engine.advance(operator.index(delta))
        return self

    def jumped(self, jumps=1):
        """A new generator, `jumps` times 210306068529402873165736369884012333109 steps ahead."""
        made = _restore(type(self), self.seed_seq, self._engine.get_bytes())
        return made.advance(jumps * 0x9E3779B97F4A7C15F39CC0605CEDC835)


class Philox4x32(BitGenerator):
    """Philox 4x32-10 (Salmon et al., 2011), a stream of AsNumpy's own.

    Counter-based: word i of a key's stream is a function of (key, i) alone, so arrays of uniform and
    normal floats are drawn by the device on all its threads, with the same numbers on any number of
    them. Normal floats come from pairs of uniform ones (Box and Muller) and not from a ziggurat. Arrays
    of floats begin at an even word. On an NPU the device's own generator draws these arrays.
    NumPy's `Philox` is another cipher (4x64) with another stream.

    seed: None, int, ints or a SeedSequence.
    """

    def _seed(self):
        self._engine.seed_philox(int(self.seed_seq.generate_state(1, np.uint64)[0]))

    @property
    def state(self):
        """The next word's number and the key, as a dictionary; settable."""
        word, key, has_uint32, uinteger = self._engine.get_pcg64()
        return {
            "bit_generator": "Philox4x32",
            "state": {"word": word, "key": key},
            "has_uint32": has_uint32,
            "uinteger": uinteger,
        }

    @state.setter
    def state(self, value):
        if not isinstance(value, dict):
            raise TypeError("state must be a dict")
        if value.get("bit_generator") != "Philox4x32":
            raise ValueError("state must be for a Philox4x32 RNG")
        inner = value["state"]
        self._engine.seed_philox(inner["key"])
        self._engine.set_pcg64(inner["word"], inner["key"], value["has_uint32"], value["uinteger"])

    def advance(self, delta):
        """Moves on as if `delta` words had been drawn; negative: back."""
        with self.lock:
            self._engine.advance(operator.index(delta))
        return self


class MT19937(BitGenerator):
    """The Mersenne Twister (Matsumoto and Nishimura). seed: None, int, ints or a SeedSequence."""

    def _seed(self):
        words = self.seed_seq.generate_state(624, np.uint32)
        words[0] = 0x80000000
        self._engine.set_mt19937(words.tobytes(), 623, 0, 0.0)

    def _legacy_seeding(self, seed):
        """Seeds as RandomState does: by one 32-bit int, or by init_by_array."""
        if seed is None:
            self.seed_seq = SeedSequence()
            self._seed()
            return
        try:
            number = operator.index(np.squeeze(seed) if hasattr(seed, "squeeze") else seed)
        except TypeError:
            keys = np.asarray(seed)
            if keys.size == 0:
                raise ValueError("Seed must be non-empty") from None
            keys = keys.astype(np.int64, casting="safe")
            if keys.ndim != 1:
                raise ValueError("Seed array must be 1-d") from None
            if (keys > _WORD).any() or (keys < 0).any():
                raise ValueError("Seed must be between 0 and 2**32 - 1") from None
            self._engine.seed_mt19937(keys.astype(np.uint32).tobytes())
            return
        if not 0 <= number <= _WORD:
            raise ValueError("Seed must be between 0 and 2**32 - 1")
        self._engine.seed_mt19937(number)

    @property
    def state(self):
        """The state as NumPy's dictionary; settable."""
        key, pos, _, _ = self._engine.get_mt19937()
        return {
            "bit_generator": "MT19937",
            "state": {"key": np.frombuffer(key, np.uint32).copy(), "pos": pos},
        }

    @state.setter
    def state(self, value):
        if isinstance(value, tuple):
            value = {"bit_generator": value[0], "state": {"key": value[1], "pos": value[2]}}
        if not isinstance(value, dict):
            raise TypeError("state must be a dict")
        if value.get("bit_generator") != "MT19937":
            raise ValueError("state must be for a MT19937 PRNG")
        key = np.asarray(value["state"]["key"], dtype=np.uint32)
        _, _, has_gauss, gauss = self._engine.get_mt19937()
        self._engine.set_mt19937(key.tobytes(), int(value["state"]["pos"]), has_gauss, gauss)
