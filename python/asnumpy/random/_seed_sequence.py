"""SeedSequence: entropy of any length mixed into seeds."""

import abc
import operator
import os

import numpy as np

from .._core import BitEngine, _refuse_tracing, from_numpy, ndarray

WORD = 0xFFFFFFFF
POOL_WORDS = 4


def _words(value):
    """A non-negative int, or a sequence of them, as a list of uint32 words, least significant first."""
    if isinstance(value, (np.ndarray, list, tuple, range)) or hasattr(value, "__array__"):
        flat = np.asarray(value)
        if flat.ndim:
            return [w for item in flat.ravel().tolist() for w in _words(item)]
    number = operator.index(value)
    if number < 0:
        raise ValueError("expected non-negative integer")
    words = [number & WORD]
    while number > WORD:
        number >>= 32
        words.append(number & WORD)
    return words


class ISeedSequence(abc.ABC):
    """What bit generators are seeded from: any class with a method generate_state.

    Examples
    --------
    >>> import asnumpy as np
    >>> isinstance(np.random.SeedSequence(1), np.random.bit_generator.ISeedSequence)
    True
    """

    @abc.abstractmethod
    def generate_state(self, n_words, dtype=np.uint32):
        """Seed words, which are the same for the same seed.

        Parameters
        ----------
        n_words : int
            How many words.
        dtype : {uint32, uint64}
            Of the words.

        Returns
        -------
        ndarray of dtype, shape (n_words,)

        Examples
        --------
        >>> import asnumpy as np
        >>> np.random.SeedSequence(1).generate_state(2)
        array([1835504127, 1731038949], dtype=uint32)
        """

    @classmethod
    def __subclasshook__(cls, other):
        return cls is ISeedSequence and hasattr(other, "generate_state") or NotImplemented


class ISpawnableSeedSequence(ISeedSequence):
    """A source of seeds that also makes independent children of its kind.

    Examples
    --------
    >>> import asnumpy as np
    >>> isinstance(np.random.SeedSequence(1), np.random.bit_generator.ISpawnableSeedSequence)
    True
    """

    @abc.abstractmethod
    def spawn(self, n_children):
        """Makes seed sequences that are independent of this one and of each other.

        Parameters
        ----------
        n_children : int
            How many.

        Returns
        -------
        list of seed sequences

        Examples
        --------
        >>> import asnumpy as np
        >>> [s.spawn_key for s in np.random.SeedSequence(1).spawn(2)]
        [(0,), (1,)]
        """


def seed_words(sequence, n_words, dtype):
    """The seed words of any seed sequence, as bytes of that dtype."""
    if isinstance(sequence, SeedSequence):
        return sequence._words(n_words, np.dtype(dtype))
    return np.ascontiguousarray(sequence.generate_state(n_words, dtype), dtype=dtype).tobytes()


class SeedSequence(ISpawnableSeedSequence):
    """Mixes entropy of any length into seeds of good quality, the same for the same entropy.

    Parameters
    ----------
    entropy : None, int or sequence of ints
        Not negative; None: 128 bits from the system.
    spawn_key : sequence of ints
        Tells children apart.
    pool_size : int
        Words of 32 bits in which entropy is mixed, 4 or more.
    n_children_spawned : int
        How many children there have been.

    Raises
    ------
    TypeError
        entropy is of another type.
    ValueError
        An int is negative, or pool_size is below 4.

    Notes
    -----
    The arguments are attributes too. The algorithm is O'Neill's seed_seq_fe, as NumPy has it.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.random.SeedSequence(1).generate_state(2)
    array([1835504127, 1731038949], dtype=uint32)
    """

    def __init__(self, entropy=None, *, spawn_key=(), pool_size=4, n_children_spawned=0):
        if pool_size < POOL_WORDS:
            raise ValueError(
                f"The size of the entropy pool should be at least {POOL_WORDS}, got {pool_size}"
            )
        if entropy is None:
            _refuse_tracing("a random generator seeds from the system")
            entropy = int.from_bytes(os.urandom(16), "little")
        elif not isinstance(entropy, (int, np.integer, list, tuple, range, np.ndarray, ndarray)):
            raise TypeError(
                f"SeedSequence expects int or sequence of ints for entropy not {entropy}"
            )
        self.entropy = entropy
        self.spawn_key = tuple(spawn_key)
        self.pool_size = pool_size
        self.n_children_spawned = n_children_spawned
        self._bytes = self._assembled()

    def _assembled(self):
        words = _words(self.entropy)
        spawn = [w for key in self.spawn_key for w in _words(key)]
        if spawn and len(words) < self.pool_size:
            words = words + [0] * (self.pool_size - len(words))
        return np.array(words + spawn, dtype=np.uint32).tobytes()

    def generate_state(self, n_words, dtype=np.uint32):
        """Seed words, which are the same for the same seed.

        Parameters
        ----------
        n_words : int
            How many words.
        dtype : {uint32, uint64}
            Of the words.

        Returns
        -------
        ndarray of dtype, shape (n_words,)

        Raises
        ------
        ValueError
            dtype is another.

        Examples
        --------
        >>> import asnumpy as np
        >>> np.random.SeedSequence(1).generate_state(2)
        array([1835504127, 1731038949], dtype=uint32)
        """
        dtype = np.dtype(dtype)
        if dtype not in (np.uint32, np.uint64):
            raise ValueError("only support uint32 or uint64")
        return from_numpy(np.frombuffer(self._words(n_words, dtype), dtype=dtype))

    def _words(self, n_words, dtype):
        """generate_state as bytes."""
        count = n_words * dtype.itemsize // 4
        return BitEngine.seed_words(self._bytes, count, self.pool_size)

    def spawn(self, n_children):
        """Makes seed sequences that are independent of this one and of each other.

        Parameters
        ----------
        n_children : int
            How many.

        Returns
        -------
        list of seed sequences

        Examples
        --------
        >>> import asnumpy as np
        >>> [s.spawn_key for s in np.random.SeedSequence(1).spawn(2)]
        [(0,), (1,)]
        """
        _refuse_tracing("a seed sequence has children")
        first = self.n_children_spawned
        self.n_children_spawned += n_children
        return [
            SeedSequence(self.entropy, spawn_key=(*self.spawn_key, i), pool_size=self.pool_size)
            for i in range(first, first + n_children)
        ]

    @property
    def pool(self):
        """The mixed entropy, pool_size words of uint32."""
        words = BitEngine.seed_pool(self._bytes, self.pool_size)
        return from_numpy(np.frombuffer(words, dtype=np.uint32))

    @property
    def state(self):
        """The arguments that make this sequence anew, as a dict."""
        names = ("entropy", "spawn_key", "pool_size", "n_children_spawned")
        return {k: getattr(self, k) for k in names if getattr(self, k) not in (None, 0)}

    def __repr__(self, /):
        lines = [f"{type(self).__name__}(", f"    entropy={self.entropy!r},"]
        if self.spawn_key:
            lines.append(f"    spawn_key={self.spawn_key!r},")
        if self.n_children_spawned:
            lines.append(f"    n_children_spawned={self.n_children_spawned!r},")
        return "\n".join([*lines, ")"])
