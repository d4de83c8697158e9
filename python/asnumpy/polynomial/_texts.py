"""What help() shows of the functions that every family of polynomials has, each family by its own names.

A text has @p for the prefix of the family's functions, @m for its module. The examples hold for every
family: each shows what its function is for by what is then equal.
"""

_TEXTS = {
    "line": """The series of the line off + scl x.

Parameters
----------
off, scl : scalar
    Its value at 0 and its slope.

Returns
-------
ndarray, shape (2,), or (1,) where scl is 0

Examples
--------
>>> import asnumpy as np
>>> P = np.polynomial.@m
>>> float(P.@pval(0.5, P.@pline(1, 4)))
3.0
""",
    "add": """The sum of two series.

Parameters
----------
c1, c2 : array_like, one-dimensional
    The coefficients, lowest degree first.

Returns
-------
ndarray

Raises
------
ValueError
    A series is empty or has more than one dimension.

Examples
--------
>>> import asnumpy as np
>>> np.polynomial.@m.@padd([1, 2, 3], [3, 2])
array([4., 4., 3.])
""",
    "sub": """The difference of two series.

Parameters
----------
c1, c2 : array_like, one-dimensional
    The coefficients, lowest degree first.

Returns
-------
ndarray

Raises
------
ValueError
    A series is empty or has more than one dimension.

Examples
--------
>>> import asnumpy as np
>>> np.polynomial.@m.@psub([1, 2, 3], [3, 2])
array([-2.,  0.,  3.])
""",
    "mulx": """A series times x.

Parameters
----------
c : array_like, one-dimensional
    The coefficients, lowest degree first.

Returns
-------
ndarray
    One longer.

Raises
------
ValueError
    The series is empty or has more than one dimension.

Examples
--------
>>> import asnumpy as np
>>> P = np.polynomial.@m
>>> np.allclose(P.@pval(0.5, P.@pmulx([1, 2, 3])), 0.5 * P.@pval(0.5, [1, 2, 3]))
True
""",
    "mul": """The product of two series.

Parameters
----------
c1, c2 : array_like, one-dimensional
    The coefficients, lowest degree first.

Returns
-------
ndarray

Raises
------
ValueError
    A series is empty or has more than one dimension.

Examples
--------
>>> import asnumpy as np
>>> P = np.polynomial.@m
>>> c = P.@pmul([1, 2], [3, 4])
>>> np.allclose(P.@pval(0.5, c), P.@pval(0.5, [1, 2]) * P.@pval(0.5, [3, 4]))
True
""",
    "div": """The quotient and the remainder of two series.

Parameters
----------
c1, c2 : array_like, one-dimensional
    Dividend and divisor: coefficients, lowest degree first.

Returns
-------
quo, rem : ndarray
    c1 = quo c2 + rem, rem of lower degree than c2.

Raises
------
ZeroDivisionError
    c2 is 0.
ValueError
    A series is empty or has more than one dimension.

Examples
--------
>>> import asnumpy as np
>>> P = np.polynomial.@m
>>> quo, rem = P.@pdiv(P.@pmul([1, 2], [3, 4]), [3, 4])
>>> np.allclose(quo, [1, 2]), np.allclose(rem, 0)
(True, True)
""",
    "pow": """A series to a whole power.

Parameters
----------
c : array_like, one-dimensional
    The coefficients, lowest degree first.
pow : int
    The power, not negative.
maxpower : int or None
    The largest that is allowed.

Returns
-------
ndarray

Raises
------
ValueError
    The power is negative, no integer, or above maxpower.

Examples
--------
>>> import asnumpy as np
>>> P = np.polynomial.@m
>>> np.allclose(P.@pval(0.5, P.@ppow([1, 2], 3)), P.@pval(0.5, [1, 2]) ** 3)
True
""",
    "val": """The values of a series at points.

Parameters
----------
x : array_like
    The points.
c : array_like
    The coefficients, lowest degree first, along its first axis; the others number several series.
tensor : bool
    Each series at each point; False: x broadcasts with those other axes.

Returns
-------
ndarray or scalar
    Of shape c.shape[1:] + x.shape, without tensor that to which these broadcast.

Examples
--------
>>> import asnumpy as np
>>> np.polynomial.@m.@pval([0.0, 0.5, 1.0], [3])
array([3., 3., 3.])
""",
    "valnd": """The values at points of n dimensions of a series with coefficients c[i, j, ...].

Parameters
----------
pts : sequence of n array_like, or array of shape (n, ...)
    The coordinates of the points, an array for each dimension, all of one shape.
c : array_like
    The coefficient of P_i(x1) P_j(x2) ... at c[i, j, ...]; behind the first n axes, several sets
    of coefficients. Missing axes have extent 1.

Returns
-------
ndarray or scalar
    Of shape c.shape[n:] + pts[0].shape.

Raises
------
ValueError
    The coordinates have different shapes.
IndexError
    There are none.

Examples
--------
>>> import asnumpy as np
>>> P = np.polynomial.@m
>>> x, y = np.array([1.0, 2.0]), np.array([3.0, 4.0])
>>> c = [[1.0, 2.0], [3.0, 4.0]]
>>> np.array_equal(P.@pvalnd((x, y), c), P.@pval2d(x, y, c))
True
""",
    "val2d": """The values at points of a plane of a series with coefficients c[i, j] of P_i(x) P_j(y).

Parameters
----------
x, y : array_like
    The coordinates of the points, of one shape.
c : array_like
    The coefficients, in its first two axes.

Returns
-------
ndarray or scalar
    Of shape c.shape[2:] + x.shape.

Raises
------
ValueError
    x and y have different shapes.

Examples
--------
>>> import asnumpy as np
>>> P = np.polynomial.@m
>>> value = P.@pval2d(0.5, 2, [[0, 0], [0, 3]])
>>> np.allclose(value, 3 * P.@pval(0.5, [0, 1]) * P.@pval(2, [0, 1]))
True
""",
    "val3d": """The values at points of space of a series with coefficients c[i, j, k] of P_i(x) P_j(y) P_k(z).

Parameters
----------
x, y, z : array_like
    The coordinates of the points, of one shape.
c : array_like
    The coefficients, in its first three axes.

Returns
-------
ndarray or scalar
    Of shape c.shape[3:] + x.shape.

Raises
------
ValueError
    x, y and z have different shapes.

Examples
--------
>>> import asnumpy as np
>>> float(np.polynomial.@m.@pval3d(0.5, 1, 2, [[[7]]]))
7.0
""",
    "grid2d": """The values on the grid of all x and y of a series with coefficients c[i, j] of P_i(x) P_j(y).

Parameters
----------
x, y : array_like
    The coordinates along the two axes of the grid.
c : array_like
    The coefficients, in its first two axes.

Returns
-------
ndarray
    Of shape c.shape[2:] + x.shape + y.shape.

Examples
--------
>>> import asnumpy as np
>>> np.polynomial.@m.@pgrid2d([0, 1], [0, 1, 2], [[7]])
array([[7., 7., 7.],
       [7., 7., 7.]])
""",
    "grid3d": """The values on the grid of all x, y and z of a series with coefficients c[i, j, k].

Parameters
----------
x, y, z : array_like
    The coordinates along the three axes of the grid.
c : array_like
    The coefficients of P_i(x) P_j(y) P_k(z), in its first three axes.

Returns
-------
ndarray
    Of shape c.shape[3:] + x.shape + y.shape + z.shape.

Examples
--------
>>> import asnumpy as np
>>> np.polynomial.@m.@pgrid3d([0, 1], [0, 1, 2], [5], [[[7]]]).shape
(2, 3, 1)
""",
    "vander": """The values of the polynomials of degrees 0 to deg at points.

Parameters
----------
x : array_like
    The points.
deg : int
    The largest degree.

Returns
-------
ndarray, shape x.shape + (deg + 1,)
    Times a series' coefficients it gives the values of the series.

Raises
------
ValueError
    deg is negative.
TypeError
    deg is no integer.

Examples
--------
>>> import asnumpy as np
>>> P, x = np.polynomial.@m, np.array([0.0, 0.5, 1.0])
>>> np.allclose(P.@pvander(x, 2) @ [1, 2, 3], P.@pval(x, [1, 2, 3]))
True
""",
    "vander2d": """The products P_i(x) P_j(y) of all degrees i, j at points of a plane.

Parameters
----------
x, y : array_like
    The coordinates of the points, of one shape.
deg : sequence of two ints
    The largest degrees.

Returns
-------
ndarray, shape x.shape + ((deg[0] + 1) * (deg[1] + 1),)
    Times c.ravel() it gives the values of the series with coefficients c[i, j].

Raises
------
ValueError
    deg has another length, or is negative.

Examples
--------
>>> import asnumpy as np
>>> np.polynomial.@m.@pvander2d([0.0, 1.0, 2.0], [3.0, 4.0, 5.0], [1, 2]).shape
(3, 6)
""",
    "vander3d": """The products P_i(x) P_j(y) P_k(z) of all degrees i, j, k at points of space.

Parameters
----------
x, y, z : array_like
    The coordinates of the points, of one shape.
deg : sequence of three ints
    The largest degrees.

Returns
-------
ndarray, shape x.shape + ((deg[0] + 1) * (deg[1] + 1) * (deg[2] + 1),)
    Times c.ravel() it gives the values of the series with coefficients c[i, j, k].

Raises
------
ValueError
    deg has another length, or is negative.

Examples
--------
>>> import asnumpy as np
>>> np.polynomial.@m.@pvander3d([0.0], [3.0], [4.0], [1, 2, 1]).shape
(1, 12)
""",
    "der": """The m-th derivative of a series.

Parameters
----------
c : array_like
    The coefficients, lowest degree first, along axis.
m : int
    How often it is derived.
scl : scalar
    Each derivative is multiplied by it: that of a variable's linear change.
axis : int
    The axis of the degrees.

Returns
-------
ndarray

Raises
------
ValueError
    m is negative.
TypeError
    m or axis is no integer.

Examples
--------
>>> import asnumpy as np
>>> P = np.polynomial.@m
>>> np.allclose(P.@pder(P.@pint([1, 2, 3])), [1, 2, 3])
True
""",
    "int": """The m-th integral of a series.

Parameters
----------
c : array_like
    The coefficients, lowest degree first, along axis.
m : int
    How often it is integrated.
k : scalar or list of m scalars
    The integrals' values at lbnd, in turn; those that are missing are 0.
lbnd : scalar
    Where they have them.
scl : scalar
    The series is multiplied by it before each integral: that of a variable's linear change.
axis : int
    The axis of the degrees.

Returns
-------
ndarray

Raises
------
ValueError
    m is negative, there are more than m constants, or lbnd or scl is no scalar.
TypeError
    m or axis is no integer.

Examples
--------
>>> import asnumpy as np
>>> P = np.polynomial.@m
>>> c = P.@pint([1, 2, 3], k=5, lbnd=2)
>>> np.allclose(P.@pval(2, c), 5), np.allclose(P.@pder(c), [1, 2, 3])
(True, True)
""",
    "fromroots": """The series of the product of all (x - root).

Parameters
----------
roots : array_like, one-dimensional
    The roots.

Returns
-------
ndarray, shape (len(roots) + 1,)

Examples
--------
>>> import asnumpy as np
>>> P = np.polynomial.@m
>>> np.allclose(P.@pval([0.5, 2.0], P.@pfromroots([0.5, 2.0])), 0)
True
""",
    "fit": """The series that fits points best, by least squares.

Parameters
----------
x : array_like, shape (m,)
    Where the points are.
y : array_like, shape (m,) or (m, k)
    Their values; columns are fitted one by one.
deg : int or sequence of ints
    The degree, or the degrees that are used.
rcond : float, optional
    Singular values below rcond times the largest do not count; by default m times epsilon.
full : bool
    Gives [residuals, rank, singular values, rcond] as well.
w : array_like, shape (m,), optional
    Weights of the differences.

Returns
-------
ndarray of shape (deg + 1,) or (deg + 1, k), or (ndarray, list)

Raises
------
TypeError
    Arrays of other dimensions, no points, different lengths, or deg is no integer.
ValueError
    A degree is negative.

Notes
-----
A RankWarning says that the points do not determine the series.

Examples
--------
>>> import asnumpy as np
>>> P, x = np.polynomial.@m, np.linspace(0, 1, 5)
>>> np.allclose(P.@pfit(x, P.@pval(x, [1, 2, 3]), 2), [1, 2, 3])
True
""",
    "roots": """The roots of a series: the eigenvalues of its companion matrix.

Parameters
----------
c : array_like, one-dimensional
    The coefficients, lowest degree first.

Returns
-------
ndarray
    Sorted; complex128 where one is not real.

Raises
------
ValueError
    The series is empty or has more than one dimension.

Examples
--------
>>> import asnumpy as np
>>> P = np.polynomial.@m
>>> np.allclose(P.@proots(P.@pfromroots([0.5, 2.0])), [0.5, 2.0])
True
""",
    "companion": """The companion matrix of a series, whose eigenvalues are the series' roots.

Parameters
----------
c : array_like, one-dimensional
    The coefficients, lowest degree first; of degree 1 at least.

Returns
-------
ndarray, shape (deg, deg)
    Scaled to be symmetric for a polynomial of the basis, which keeps its eigenvalues exact.

Raises
------
ValueError
    The degree is 0.

Examples
--------
>>> import asnumpy as np
>>> P = np.polynomial.@m
>>> np.polynomial.@m.@pcompanion(P.@pfromroots([0.5])).round(6)
array([[0.5]])
""",
}


def text_of(name, prefix, module, family):
    """The text of a function of a family, by its name without the prefix."""
    sentence, _, rest = _TEXTS[name].partition("\n\n")
    text = f"{sentence}\n\n{family}.\n\n{rest}"
    return text.replace("@p", prefix).replace("@m", module.rpartition(".")[2])
