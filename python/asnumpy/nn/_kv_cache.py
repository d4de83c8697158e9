"""The class over the core's cache (src/nn/kv_cache.h), which takes its arguments as they are."""

import operator

import numpy as np

from .. import _core


class KVCache:
    """Keys and values of the tokens that a language model has seen, and attention over them.

    A decoding step appends the keys and values of its new tokens and attends to all that is there. Only
    what is new is copied, by operations on the current stream; nothing waits for the device.

    Parameters
    ----------
    layers, kv_heads, head_dim : int
        Layers of the model, heads of keys and values in each, and their size.
    dtype : dtype
        What is stored: float16, bfloat16, float32, float64, or int8 with one float32 scale for each
        token and head, max(abs(x)) / 127: finite elements are then off by half a scale at most.
    sequences : int
        Sequences in use from the start, 0 to sequences - 1; `add_sequence` makes more.
    window : int, optional
        A token sees itself and the window - 1 tokens before it; older ones are given up.
    capacity : int
        Tokens that the first arrays have room for; 0: as needed. Where a sequence outgrows its layer's
        arrays they are made anew, for twice its tokens, and what they held is copied.
    block_size, blocks : int, optional
        Both or neither: tokens are stored in blocks of block_size, of which each layer has so many,
        taken at its first update. A sequence takes blocks as it grows and nothing is copied.
    composed : bool
        Use none of CANN's operators for attention and blocks, but compositions of array operations, as
        is done where the device lacks an operator or does not take the dtype.

    Raises
    ------
    ValueError
        A size is out of its range.
    TypeError
        Another dtype.

    Examples
    --------
    >>> import asnumpy as np
    >>> cache = np.nn.KVCache(layers=1, kv_heads=2, head_dim=4)
    >>> rng = np.random.default_rng(0)
    >>> k, v = rng.random((2, 1, 2, 3, 4), dtype=np.float32)
    >>> cache.update(0, k, v, position=0)
    >>> q = rng.random((1, 4, 3, 4), dtype=np.float32)
    >>> cache.attention(0, q).shape, cache.tokens(0)
    ((1, 4, 3, 4), range(0, 3))
    """

    __slots__ = ("_cache", "_options", "_sequences", "__weakref__")

    def __init__(
        self,
        layers,
        kv_heads,
        head_dim,
        *,
        dtype=np.float32,
        sequences=1,
        window=None,
        capacity=0,
        block_size=None,
        blocks=None,
        composed=False,
    ):
        for name, value in (("window", window), ("block_size", block_size), ("blocks", blocks)):
            if value is not None and operator.index(value) < 1:
                raise ValueError(f"KVCache: {name} is {value}; it must be at least 1, or None")
        self._cache = _core._kv_new(
            layers,
            kv_heads,
            head_dim,
            sequences,
            np.dtype(dtype),
            window or 0,
            capacity,
            block_size or 0,
            blocks or 0,
            composed,
        )
        self._options = (layers, kv_heads, head_dim, np.dtype(dtype), window, block_size, blocks)
        self._sequences = tuple(range(sequences))

    def __repr__(self):
        layers, heads, size, dtype, window, block_size, blocks = self._options
        more = "" if window is None else f", window={window}"
        if blocks is not None:
            more += f", block_size={block_size}, blocks={blocks}"
        return (
            f"KVCache({layers}, {heads}, {size}, dtype={dtype}, "
            f"sequences={len(self._sequences)}{more})"
        )

    def update(self, layer, k, v, position, sequences=None):
        """Appends tokens' keys and values to a layer of the cache.

        Parameters
        ----------
        layer : int
        k, v : array_like
            (sequences, kv_heads, tokens, head_dim), real and floating; cast to what is stored.
        position : int or sequence of int
            Where the new tokens begin, for all sequences or one of each. It must be where the layer ends.
        sequences : int or sequence of int, optional
            Whose tokens they are, in the order of k; by default all that are in use.

        Returns
        -------
        None

        Raises
        ------
        ValueError
            A gap, tokens that are there already (`truncate` first), a shape, a sequence that is not in
            use or named twice.
        TypeError
            k or v is not real and floating.
        IndexError
            No such layer.
        MemoryError
            No memory, or not enough free blocks: the cache is as it was.

        Examples
        --------
        >>> import asnumpy as np
        >>> cache = np.nn.KVCache(1, 1, 2)
        >>> cache.update(0, np.ones((1, 1, 3, 2)), np.ones((1, 1, 3, 2)), 0)
        >>> cache.update(0, np.ones((1, 1, 1, 2)), np.ones((1, 1, 1, 2)), 5)
        Traceback (most recent call last):
        ValueError: KVCache.update: position 5, but layer 0 of sequence 0 is at 3: there would be a gap
        """
        named = self._sequences if sequences is None else sequences
        _core._kv_update(self._cache, layer, k, v, named, position)

    def attention(self, layer, q, sequences=None, *, scale=None):
        """softmax(scale q k') v for the last tokens of sequences, each with itself and those before it.

        What PyTorch's `scaled_dot_product_attention` gives for the same keys, `enable_gqa` included, with
        a causal mask that ends at the last key, and the window.

        Parameters
        ----------
        layer : int
        q : array_like
            (sequences, heads, tokens, head_dim), real and floating, the last tokens of each sequence,
            whose keys are in the cache by now. heads: a multiple of kv_heads; heads next to each other
            share one of keys.
        sequences : int or sequence of int, optional
            Whose tokens they are; by default all that are in use.
        scale : float, optional
            1 / sqrt(head_dim) by default.

        Returns
        -------
        ndarray
            Of q's shape and dtype.

        Raises
        ------
        ValueError
            A shape, a sequence, more queries than tokens, tokens that the window has given up.
        TypeError
            q is not real and floating.
        IndexError
            No such layer.

        Notes
        -----
        One call of CANN's aclnnFusedInferAttentionScoreV2 for sequences next to each other, or for all
        that are in blocks; where the device refuses (a dtype that it does not take) a composition for
        each sequence. int8 is made q's dtype before.

        Examples
        --------
        >>> import asnumpy as np
        >>> cache = np.nn.KVCache(1, 1, 2)
        >>> v = np.array([[[[1.0, 2.0], [3.0, 4.0]]]])
        >>> cache.update(0, np.zeros((1, 1, 2, 2)), v, 0)
        >>> cache.attention(0, np.ones((1, 1, 1, 2)))
        array([[[[2., 3.]]]])
        """
        named = self._sequences if sequences is None else sequences
        return _core._kv_attention(self._cache, layer, q, named, scale)

    def truncate(self, position, sequence=None):
        """Forgets the tokens from a position on, in all layers: to write others there.

        Parameters
        ----------
        position : int
            0 to where the sequence is.
        sequence : int, optional
            By default all that are in use.

        Returns
        -------
        None

        Raises
        ------
        ValueError
            The sequence has fewer tokens, or the window needs some before the position that were given
            up. Sequences before it are truncated then.

        Examples
        --------
        >>> import asnumpy as np
        >>> cache = np.nn.KVCache(1, 1, 2)
        >>> cache.update(0, np.ones((1, 1, 3, 2)), np.ones((1, 1, 3, 2)), 0)
        >>> cache.truncate(1)
        >>> cache.tokens(0)
        range(0, 1)
        """
        for s in self._sequences if sequence is None else (sequence,):
            _core._kv_truncate(self._cache, s, position)

    def add_sequence(self):
        """An empty sequence: the lowest number that is not in use.

        Returns
        -------
        int

        Examples
        --------
        >>> import asnumpy as np
        >>> np.nn.KVCache(1, 1, 2, sequences=2).add_sequence()
        2
        """
        s = _core._kv_add(self._cache)
        self._sequences = tuple(sorted((*self._sequences, s)))
        return s

    def free_sequence(self, sequence):
        """Gives a sequence's tokens up, and its number, which the next one may get.

        Parameters
        ----------
        sequence : int

        Returns
        -------
        None

        Raises
        ------
        ValueError
            It is not in use.

        Examples
        --------
        >>> import asnumpy as np
        >>> cache = np.nn.KVCache(1, 1, 2, sequences=2)
        >>> cache.free_sequence(0)
        >>> cache.sequences
        (1,)
        """
        _core._kv_drop(self._cache, sequence)
        self._sequences = tuple(s for s in self._sequences if s != sequence)

    @property
    def sequences(self):
        """The sequences in use, ascending."""
        return self._sequences

    def tokens(self, layer, sequence=0):
        """Which tokens are there: a range whose end is the position of the next one.

        Parameters
        ----------
        layer, sequence : int

        Returns
        -------
        range

        Raises
        ------
        ValueError
            The sequence is not in use.
        IndexError
            No such layer.

        Examples
        --------
        >>> import asnumpy as np
        >>> np.nn.KVCache(1, 1, 2).tokens(0)
        range(0, 0)
        """
        return range(*_core._kv_tokens(self._cache, layer, sequence))

    def read(self, layer, sequence=0):
        """The keys and values of `tokens(layer, sequence)`.

        Parameters
        ----------
        layer, sequence : int

        Returns
        -------
        k, v : ndarray
            (kv_heads, tokens, head_dim). Views of the cache's arrays, which hold until it changes; copies
            of blocks, and in float32 of int8.

        Raises
        ------
        ValueError
            The sequence is not in use.
        IndexError
            No such layer.

        Examples
        --------
        >>> import asnumpy as np
        >>> cache = np.nn.KVCache(1, 1, 2, dtype=np.int8)
        >>> cache.update(0, np.ones((1, 1, 1, 2)), 2 * np.ones((1, 1, 1, 2)), 0)
        >>> cache.read(0)[1]
        array([[[2., 2.]]], dtype=float32)
        """
        return _core._kv_read(self._cache, layer, sequence)

    def block_table(self, sequence=0):
        """The blocks of a sequence, the same in all layers.

        Parameters
        ----------
        sequence : int

        Returns
        -------
        blocks : tuple of int
            In the order of its tokens; () of a cache without blocks.
        first : int
            The token at which the first one begins.

        Raises
        ------
        ValueError
            The sequence is not in use.

        Examples
        --------
        >>> import asnumpy as np
        >>> cache = np.nn.KVCache(1, 1, 2, block_size=2, blocks=4)
        >>> cache.update(0, np.ones((1, 1, 3, 2)), np.ones((1, 1, 3, 2)), 0)
        >>> cache.block_table()
        ((0, 1), 0)
        """
        return _core._kv_table(self._cache, sequence)

    def stats(self):
        """What the cache holds.

        Returns
        -------
        dict
            nbytes: of the arrays of all layers. capacity: tokens that a sequence of layer 0 has room for,
            or all sequences in blocks. free_blocks. moved: tokens that growth and windows have copied
            since the cache was made, counted in each layer and sequence. sequences: how many are in use.

        Examples
        --------
        >>> import asnumpy as np
        >>> np.nn.KVCache(1, 1, 2, block_size=16, blocks=4).stats()["free_blocks"]
        4
        """
        return _core._kv_stats(self._cache)
