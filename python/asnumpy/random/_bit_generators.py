"""Bit generators: sources of random bits with a settable state."""

import math
import operator
import sys
import threading

import numpy as np

from .._core import BitEngine, from_numpy
from ._parameters import rows_of
from ._seed_sequence import WORD, ISeedSequence, SeedSequence, seed_words


class BitGenerator:
    """The base class of sources of random bits; it makes no objects itself.

    Each has a lock, a seed_seq and a settable state, and is pickled with it.

    Parameters
    ----------
    seed : None, int, array_like of ints, or SeedSequence
        None: from the system.

    Examples
    --------
    >>> import asnumpy as np
    >>> isinstance(np.random.PCG64(0), np.random.BitGenerator)
    True
    """

    def __init__(self, seed=None):
        self.lock = threading.RLock()
        self.seed_seq = seed if isinstance(seed, ISeedSequence) else SeedSequence(seed)
        self._engine = BitEngine()
        self._seed()

    def _seed(self):
        raise NotImplementedError("BitGenerator is a base class and cannot be instantized")

    def random_raw(self, size=None, output=True):
        """Draws the generator's own words.

        Parameters
        ----------
        size : int or tuple of ints, optional
            The shape of what is drawn; by default one number.
        output : bool
            False draws them and returns nothing.

        Returns
        -------
        int, ndarray of uint64, or None

        Examples
        --------
        >>> import asnumpy as np
        >>> np.random.PCG64(0).random_raw(2)
        array([11749869230777074271,  4976686463289251617], dtype=uint64)
        """
        with self.lock:
            words = np.frombuffer(self._engine.raw(math.prod(rows_of(size))), np.uint64)
        if not output:
            return None
        if size is None:
            return int(words[0])
        from .. import array

        return array(words.reshape(size))

    @property
    def __class__(self):
        """NumPy's class of this name, so that isinstance() of a library is true."""
        return getattr(np.random, type(self).__name__, np.random.BitGenerator)

    @property
    def _seed_seq(self):
        """NumPy's older name of seed_seq, which SciPy spawns generators by."""
        return self.seed_seq

    @property
    def capsule(self):
        """NumPy's bitgen_t in a capsule: compiled code of others draws from this state, under lock."""
        return self._engine.capsule()

    def spawn(self, n_children):
        """Makes bit generators of this class whose streams are independent of this one's.

        Parameters
        ----------
        n_children : int
            How many.

        Returns
        -------
        list of BitGenerators

        Raises
        ------
        TypeError
            The seed sequence cannot spawn.

        Examples
        --------
        >>> import asnumpy as np
        >>> len(np.random.PCG64(0).spawn(2))
        2
        """
        if not hasattr(self.seed_seq, "spawn"):
            raise TypeError("The underlying SeedSequence does not implement spawning.")
        return [type(self)(s) for s in self.seed_seq.spawn(n_children)]

    def _copy(self):
        return _restore(type(self), self.seed_seq, self._engine.get_bytes())

    def __getstate__(self):
        return self.state, self.seed_seq

    def __setstate__(self, state_seed_seq):
        both = isinstance(state_seed_seq, tuple)
        self.state, self.seed_seq = state_seed_seq if both else (state_seed_seq, self.seed_seq)

    def __reduce__(self):
        return _restore, (type(self), self.seed_seq, self._engine.get_bytes())


def _restore(cls, seed_seq, state):
    made = cls(seed_seq)
    made._engine.set_bytes(state)
    return made


def _array(words, dtype):
    """The words of a state as an array on the device."""
    return from_numpy(np.frombuffer(words, dtype))


def _with_halves(name, state, has_uint32, uinteger):
    return {"bit_generator": name, "state": state, "has_uint32": has_uint32, "uinteger": uinteger}


def _checked_state(value, name):
    if not isinstance(value, dict):
        raise TypeError("state must be a dict")
    if value.get("bit_generator") != name:
        raise ValueError(f"state must be for a {name} RNG")
    return value["state"]


def _word_bytes(words, count, what):
    words = np.asarray(words, dtype=np.uint64)
    if words.shape != (count,):
        raise ValueError(f"{what} must have {count} words of uint64, got shape {words.shape}")
    return words.tobytes()


def _words_of(value, count, what):
    """An int of count * 64 bits, or as many words, as bytes; least significant first."""
    if np.ndim(value):
        return _word_bytes(value, count, what)
    value = operator.index(value)
    if not 0 <= value < 2 ** (64 * count):
        raise ValueError(f"{what} must be positive and less than 2**{64 * count}.")
    return value.to_bytes(8 * count, "little")


class PCG64(BitGenerator):
    """O'Neill's permuted congruential generator, PCG XSL RR 128/64; that of default_rng.

    Parameters
    ----------
    seed : None, int, array_like of ints, or SeedSequence
        None: from the system.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.random.Generator(np.random.PCG64(0)).random(2).round(4)
    array([0.637 , 0.2698])
    """

    _dxsm = False

    def _seed(self):
        words = seed_words(self.seed_seq, 4, np.uint64)
        self._engine.seed_pcg64(words, self._dxsm)

    @property
    def state(self):
        """The state as NumPy's dictionary, which can be set."""
        state, inc, has_uint32, uinteger = self._engine.get_pcg64()
        name = "PCG64DXSM" if self._dxsm else "PCG64"
        return _with_halves(name, {"state": state, "inc": inc}, has_uint32, uinteger)

    @state.setter
    def state(self, value):
        inner = _checked_state(value, "PCG64DXSM" if self._dxsm else "PCG64")
        self._engine.set_pcg64(inner["state"], inner["inc"], value["has_uint32"], value["uinteger"])

    def advance(self, delta):
        """Moves on as if so many words had been drawn.

        Parameters
        ----------
        delta : int
            How many; negative: back.

        Returns
        -------
        PCG64
            The generator itself.

        Examples
        --------
        >>> import asnumpy as np
        >>> a, b = np.random.PCG64(0), np.random.PCG64(0)
        >>> _ = a.random_raw(4)
        >>> _ = b.advance(4)
        >>> a.random_raw() == b.random_raw()
        True
        """
        with self.lock:
            self._engine.advance(operator.index(delta))
        return self

    def jumped(self, jumps=1):
        """A new generator far ahead in the same stream; this one stays where it is.

        Parameters
        ----------
        jumps : int
            How many times about 2**127 ahead.

        Returns
        -------
        PCG64

        Examples
        --------
        >>> import asnumpy as np
        >>> a = np.random.PCG64(0)
        >>> a.jumped().random_raw() == a.random_raw()
        False
        """
        return self._copy().advance(jumps * 0x9E3779B97F4A7C15F39CC0605CEDC835)


class PCG64DXSM(PCG64):
    """PCG64 with another output function and a cheaper multiplier, which give another stream.

    Parameters
    ----------
    seed : None, int, array_like of ints, or SeedSequence
        None: from the system.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.random.Generator(np.random.PCG64DXSM(0)).random(2).round(4)
    array([0.8496, 0.5546])
    """

    _dxsm = True


class SFC64(BitGenerator):
    """Doty-Humphrey's Small Fast Chaotic generator, with a counter.

    Parameters
    ----------
    seed : None, int, array_like of ints, or SeedSequence
        None: from the system.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.random.Generator(np.random.SFC64(0)).random(2).round(4)
    array([0.5687, 0.2348])
    """

    def _seed(self):
        self._engine.seed_sfc64(seed_words(self.seed_seq, 3, np.uint64))

    @property
    def state(self):
        """The state as NumPy's dictionary, which can be set."""
        words, has_uint32, uinteger = self._engine.get_sfc64()
        inner = {"state": _array(words, np.uint64)}
        return _with_halves("SFC64", inner, has_uint32, uinteger)

    @state.setter
    def state(self, value):
        inner = _checked_state(value, "SFC64")
        words = _word_bytes(inner["state"], 4, "SFC64's state")
        self._engine.set_sfc64(words, value["has_uint32"], value["uinteger"])


class Philox(BitGenerator):
    """Philox 4x64-10 (Salmon et al., 2011): a counter enciphered with a key.

    For arrays that the device draws in parallel see Philox4x32.

    Parameters
    ----------
    seed : None, int, array_like of ints, or SeedSequence
        None: from the system.
    counter : int or array_like of 4 words, optional
        Where to start, 256 bits; 0 by default.
    key : int or array_like of 2 words, optional
        128 bits, instead of a seed.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.random.Generator(np.random.Philox(0)).random(2).round(4)
    array([0.0141, 0.2578])
    >>> np.random.Philox(key=7).random_raw() == np.random.Philox(key=7).random_raw()
    True
    """

    def __init__(self, seed=None, counter=None, key=None):
        if seed is not None and key is not None:
            raise ValueError("seed and key cannot be both used")
        self._key = key
        self._counter = 0 if counter is None else counter
        super().__init__(seed)

    def _seed(self):
        if self._key is None:
            key = seed_words(self.seed_seq, 2, np.uint64)
        else:
            key = _words_of(self._key, 2, "key")
        self._engine.seed_philox4x64(_words_of(self._counter, 4, "counter"), key)

    @property
    def state(self):
        """The state as NumPy's dictionary, which can be set."""
        counter, key, buffer, pos, has_uint32, uinteger = self._engine.get_philox4x64()
        words = (_array(x, np.uint64) for x in (counter, key, buffer))
        counter, key, buffer = words
        return {
            "bit_generator": "Philox",
            "state": {"counter": counter, "key": key},
            "buffer": buffer,
            "buffer_pos": pos,
            "has_uint32": has_uint32,
            "uinteger": uinteger,
        }

    @state.setter
    def state(self, value):
        inner = _checked_state(value, "Philox")
        self._engine.set_philox4x64(
            _word_bytes(inner["counter"], 4, "counter"), _word_bytes(inner["key"], 2, "key"),
            _word_bytes(value["buffer"], 4, "buffer"), value["buffer_pos"],
            value["has_uint32"], value["uinteger"],
        )  # fmt: skip

    def advance(self, delta):
        """Moves on as if so many blocks of four words had been drawn.

        Parameters
        ----------
        delta : int
            How many; negative: back.

        Returns
        -------
        Philox
            The generator itself.

        Examples
        --------
        >>> import asnumpy as np
        >>> a, b = np.random.Philox(0), np.random.Philox(0)
        >>> _ = a.random_raw(16)
        >>> _ = b.advance(4)
        >>> a.random_raw() == b.random_raw()
        True
        """
        with self.lock:
            delta = operator.index(delta) % 2**256
            self._engine.advance_philox4x64(delta.to_bytes(32, "little"))
        return self

    def jumped(self, jumps=1):
        """A new generator far ahead in the same stream; this one stays where it is.

        Parameters
        ----------
        jumps : int
            How many times 2**128 blocks ahead.

        Returns
        -------
        Philox

        Examples
        --------
        >>> import asnumpy as np
        >>> a = np.random.Philox(0)
        >>> a.jumped().random_raw() == a.random_raw()
        False
        """
        return self._copy().advance(jumps * 2**128)


class Philox4x32(BitGenerator):
    """Philox 4x32-10 (Salmon et al., 2011), a stream of AsNumpy's own, drawn in parallel.

    Word i of a key's stream is a function of (key, i) alone, so arrays of uniform and normal numbers
    are drawn by the device on all its threads, the same numbers on any number of them. Normal numbers
    come from pairs of uniform ones (Box and Muller) and not from a ziggurat. Arrays of floats begin at
    an even word. On an NPU the device's own generator draws these arrays. NumPy's Philox is another
    cipher with another stream.

    Parameters
    ----------
    seed : None, int, array_like of ints, or SeedSequence
        None: from the system.

    Examples
    --------
    >>> import asnumpy as np
    >>> rng = np.random.Generator(np.random.Philox4x32(0))
    >>> rng.random(1000).shape
    (1000,)
    """

    def _seed(self):
        self._engine.seed_philox(
            int.from_bytes(seed_words(self.seed_seq, 1, np.uint64), sys.byteorder)
        )

    @property
    def state(self):
        """The next word's number and the key, as a dictionary, which can be set."""
        word, key, has_uint32, uinteger = self._engine.get_pcg64()
        return _with_halves("Philox4x32", {"word": word, "key": key}, has_uint32, uinteger)

    @state.setter
    def state(self, value):
        inner = _checked_state(value, "Philox4x32")
        self._engine.seed_philox(inner["key"])
        self._engine.set_pcg64(inner["word"], inner["key"], value["has_uint32"], value["uinteger"])

    def advance(self, delta):
        """Moves on as if so many words had been drawn.

        Parameters
        ----------
        delta : int
            How many; negative: back.

        Returns
        -------
        Philox4x32
            The generator itself.

        Examples
        --------
        >>> import asnumpy as np
        >>> a, b = np.random.Philox4x32(0), np.random.Philox4x32(0)
        >>> _ = a.random_raw(4)
        >>> _ = b.advance(4)
        >>> a.random_raw() == b.random_raw()
        True
        """
        with self.lock:
            self._engine.advance(operator.index(delta))
        return self


class MT19937(BitGenerator):
    """The Mersenne Twister of Matsumoto and Nishimura; that of RandomState.

    Parameters
    ----------
    seed : None, int, array_like of ints, or SeedSequence
        None: from the system.

    Examples
    --------
    >>> import asnumpy as np
    >>> np.random.Generator(np.random.MT19937(0)).random(2).round(4)
    array([0.4793, 0.2865])
    """

    def _seed(self):
        words = np.frombuffer(seed_words(self.seed_seq, 624, np.uint32), np.uint32).copy()
        words[0] = 0x80000000
        self._engine.set_mt19937(words.tobytes(), 623)

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
            if (keys > WORD).any() or (keys < 0).any():
                raise ValueError("Seed must be between 0 and 2**32 - 1") from None
            self._engine.seed_mt19937(keys.astype(np.uint32).tobytes())
            return
        if not 0 <= number <= WORD:
            raise ValueError("Seed must be between 0 and 2**32 - 1")
        self._engine.seed_mt19937(number)

    @property
    def state(self):
        """The state as NumPy's dictionary, which can be set."""
        key, pos = self._engine.get_mt19937()
        return {
            "bit_generator": "MT19937",
            "state": {"key": _array(key, np.uint32), "pos": pos},
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
        if key.shape != (624,):
            raise ValueError(f"MT19937's key must have 624 words of uint32, got shape {key.shape}")
        self._engine.set_mt19937(key.tobytes(), int(value["state"]["pos"]))

    def jumped(self, jumps=1):
        """A new generator far ahead in the same stream; this one stays where it is.

        Parameters
        ----------
        jumps : int
            How many times 2**128 words ahead.

        Returns
        -------
        MT19937

        Examples
        --------
        >>> import asnumpy as np
        >>> a = np.random.MT19937(0)
        >>> a.jumped().random_raw() == a.random_raw()
        False
        """
        made = self._copy()
        for _ in range(jumps):
            made._engine.jump_mt19937()
        return made
