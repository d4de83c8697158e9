"""What a notebook shows of an array."""

import html.parser

import asnumpy as np
import numpy
import pytest


class Cells(html.parser.HTMLParser):
    """The texts of a table's cells, row by row, and whether every element was closed."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.rows, self.open, self.kind = [], [], None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
        assert tag in ("div", "table", "tr", "th", "td", "pre")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data
        elif self.open == ["div", "div"]:
            self.kind = data


def cells(a):
    found = Cells(a._repr_html_())
    assert not found.open
    return found


def test_kind():
    a = np.ones((3, 5), np.float32)
    np.synchronize()
    assert cells(a).kind == f"ndarray of float32, shape (3, 5), 60 B on {a.device}, computed"
    assert "shape (), 8 B" in np.array(3.0)._repr_html_()


def test_recorded_is_told_before_it_runs():
    a = np.arange(1 << 20).reshape(1024, 1024) * 2.0
    state = "computed" if np.explain(a).startswith("nothing") else "recorded, run to be shown"
    assert cells(a).kind.endswith(state)
    assert cells(a).kind.endswith("computed")


@pytest.mark.parametrize("dtype", ["int8", "float32", "float64", "complex64", "bool"])
def test_values(dtype):
    host = (numpy.arange(12).reshape(3, 4) * 1.5).astype(dtype)
    rows = cells(np.asarray(host)).rows
    assert rows[0] == ["", "0", "1", "2", "3"]
    for i, row in enumerate(rows[1:]):
        assert row[0] == str(i)
        assert [numpy.dtype(dtype).type(x) for x in map(value_of, row[1:])] == host[i].tolist()


def value_of(text):
    """A number or truth value as array2string writes it."""
    if text in ("True", "False"):
        return text == "True"
    return complex(text.replace(" ", "")) if "j" in text else float(text)


def test_long_axes_show_their_ends():
    a = np.arange(100 * 50).reshape(100, 50)
    rows = cells(a).rows
    assert rows[0] == ["", "0", "1", "2", "3", "4", "", "45", "46", "47", "48", "49"]
    assert rows[1][1:] == ["0", "1", "2", "3", "4", "…", "45", "46", "47", "48", "49"]
    assert [row[0] for row in rows[1:]] == ["0", "1", "2", "3", "4", "", *map(str, range(95, 100))]
    assert rows[6][1:] == ["⋮"] * 5 + ["⋱"] + ["⋮"] * 5
    assert rows[-1][-1] == "4999"
    assert len(cells(np.zeros((12, 12))).rows) == 13


def test_views_and_orders():
    a = np.arange(12).reshape(3, 4)
    assert [row[1:] for row in cells(a.T[::-1]).rows[1:]] == [
        [str(x) for x in row] for row in numpy.arange(12).reshape(3, 4).T[::-1].tolist()
    ]


@pytest.mark.parametrize("shape", [(), (3,), (0, 3), (2, 0), (2, 2, 2)])
def test_others_are_text(shape):
    a = np.ones(shape)
    assert f"<pre>{a!r}</pre>" in a._repr_html_()


def test_print_options():
    with np.printoptions(precision=2):
        assert cells(np.array([[1.23456, 2.5]])).rows[1] == ["0", "1.23", "2.5"]


def test_text_is_escaped():
    with np.printoptions(formatter={"all": lambda x: "<script>&"}):
        for a in (np.ones((2, 2)), np.ones(3)):
            text = a._repr_html_()
            assert "<script>" not in text and "&lt;script&gt;&amp;" in text


def test_subclasses():
    class Named(np.ndarray):
        pass

    class Own(np.ndarray):
        def __repr__(self):
            return "mine"

    assert cells(np.ones((2, 2)).view(Named)).kind.startswith("Named of float64")
    own = np.ones((2, 2)).view(Own)
    assert own._repr_html_() is None and own._repr_mimebundle_() == {}


def test_in_ipython():
    """Its formatters show the table, and repr() beside it; in a terminal the text alone."""
    formatters = pytest.importorskip("IPython.core.formatters", reason="needs IPython")
    formatter = formatters.DisplayFormatter()
    formatter.active_types = ["text/plain", "text/html"]
    a = np.arange(6).reshape(2, 3)
    data, _ = formatter.format(a)
    assert data["text/plain"] == repr(a) and data["text/html"] == a._repr_html_()
    data, _ = formatter.format(np.float64(1))
    assert "text/html" not in data
