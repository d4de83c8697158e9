"""CANN's custom operator packages and its own two-phase operators, called by name."""

import pathlib
import subprocess

import asnumpy
import numpy as np
import pytest
from asnumpy import acl
from asnumpy._custom import _cann as cann

SOURCE = r"""
#include <aclnnop/aclnn_leaky_relu.h>
#include <aclnnop/aclnn_cat.h>
#include <aclnnop/aclnn_permute.h>
#include <aclnnop/aclnn_relu.h>
#include <string.h>

/* A package's operator with a float attribute; CANN's own does the work. */
aclnnStatus aclnnTenthReluGetWorkspaceSize(const aclTensor *x, double slope, int64_t times, bool on, char *mode,
                                           const aclTensor *none, aclTensor *out, uint64_t *size,
                                           aclOpExecutor **executor) {
    if (times != 3 || !on || mode[0] != 'f' || none) return 161002;
    aclScalar *s = aclCreateScalar(&slope, ACL_DOUBLE);
    aclnnStatus code = aclnnLeakyReluGetWorkspaceSize(x, s, out, size, executor);
    aclDestroyScalar(s);
    return code;
}
aclnnStatus aclnnTenthRelu(void *workspace, uint64_t size, aclOpExecutor *executor, aclrtStream stream) {
    return aclnnLeakyRelu(workspace, size, executor, stream);
}
/* One that looks at a text in its second phase, as it may. */
static const char *kept;
aclnnStatus aclnnLateGetWorkspaceSize(const aclTensor *x, char *text, aclTensor *out, uint64_t *size,
                                      aclOpExecutor **executor) {
    kept = text;
    return aclnnReluGetWorkspaceSize(x, out, size, executor);
}
aclnnStatus aclnnLate(void *workspace, uint64_t size, aclOpExecutor *executor, aclrtStream stream) {
    return strlen(kept) != 40 << 20 ? 161005 : aclnnRelu(workspace, size, executor, stream);
}
/* More parameters than any registers hold, of both kinds, mixed. */
aclnnStatus aclnnManyGetWorkspaceSize(int64_t a, double p, double q, const aclTensor *x, bool b, int64_t c, double r,
                                      const aclIntArray *axes, int64_t d, double s, int64_t e, bool f, double t,
                                      double u, int64_t g, char *text, double v, int64_t h, double w, bool i,
                                      const aclTensor *none, int64_t j, aclTensor *out, uint64_t *size,
                                      aclOpExecutor **executor) {
    uint64_t count = 0;
    aclGetIntArraySize(axes, &count);
    if (a != -1 || c != 1L << 40 || d != 4 || e != 5 || g != 6 || h != 7 || j != -9) return 161002;
    if (p != 0.5 || q != 1.5 || r != 2.5 || s != 3.5 || t != 4.5 || u != 5.5 || v != 6.5 || w != -7.5) return 161003;
    if (!b || f || !i || none || count != 3 || text[0] != 'h' || text[1] != 'i') return 161004;
    return aclnnReluGetWorkspaceSize(x, out, size, executor);
}
aclnnStatus aclnnMany(void *workspace, uint64_t size, aclOpExecutor *executor, aclrtStream stream) {
    return aclnnRelu(workspace, size, executor, stream);
}
int64_t VENDOR(void) { return 0; }
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A toolkit's folder with two vendors' packages."""
    root = tmp_path_factory.mktemp("toolkit")
    for vendor in ("alpha", "beta"):
        folder = root / "opp" / "vendors" / vendor / "op_api" / "lib"
        folder.mkdir(parents=True)
        source = folder / "ops.c"
        source.write_text(SOURCE.replace("VENDOR", vendor))
        subprocess.run(
            [
                "cc",
                "-shared",
                "-fPIC",
                str(source),
                "-o",
                str(folder / "libcust_opapi.so"),
                *acl.flags(),
            ],
            check=True,
        )
    (root / "opp" / "vendors" / "config.ini").write_text("load_priority=beta,gamma\n")
    return root


@pytest.fixture
def packages(home, monkeypatch):
    monkeypatch.setenv("ASCEND_CUSTOM_OPP_PATH", str(home / "opp" / "vendors" / "alpha"))


def test_where_packages_lie(home, monkeypatch):
    for name in (
        "ASCEND_CUSTOM_OPP_PATH",
        "ASCEND_OPP_PATH",
        "ASCEND_HOME_PATH",
        "ASCEND_TOOLKIT_HOME",
    ):
        monkeypatch.delenv(name, raising=False)
    assert cann.libraries() == []
    monkeypatch.setenv("ASCEND_HOME_PATH", str(home))
    vendors = [pathlib.Path(p).parts[-4] for p in cann.libraries()]
    assert vendors == ["beta", "alpha"]  # config.ini first
    monkeypatch.setenv("ASCEND_CUSTOM_OPP_PATH", f"{home}/opp/vendors/alpha:{home}/missing")
    assert [p.parts[-4] for p in cann.libraries()] == ["alpha", "beta"]
    monkeypatch.setenv(
        "ASCEND_CUSTOM_OPP_PATH", f"{home}/opp/vendors/alpha:{home}/opp/vendors/beta/op_api/lib/"
    )
    assert [p.parts[-4] for p in cann.libraries()] == [
        "beta",
        "alpha",
    ]  # folders of libraries before packages
    monkeypatch.delenv("ASCEND_HOME_PATH")
    monkeypatch.setenv("ASCEND_OPP_PATH", f"{home}/opp")
    monkeypatch.delenv("ASCEND_CUSTOM_OPP_PATH")
    assert [p.parts[-4] for p in cann.libraries()] == ["beta", "alpha"]


def test_package_operator(packages, rng):
    a = rng.standard_normal((6, 50)).astype("float32")
    for cut in (lambda v: v, lambda v: v.T, lambda v: v[:, ::2]):
        x = cut(asnumpy.array(a) * 1)  # recorded
        y = asnumpy.empty(x.shape, "float32")
        got = asnumpy.ops.aclnn("TenthRelu", x, 0.25, 3, True, "fast", None, outputs=y)
        assert got is y
        expected = np.where(cut(a) > 0, cut(a), np.float32(0.25) * cut(a))
        np.testing.assert_array_equal(np.asarray(y + 1), expected + 1)
    with pytest.raises(RuntimeError, match=r"aclnnTenthRelu: .*161002"):
        asnumpy.ops.aclnn("TenthRelu", x, 0.25, 4, True, "fast", None, outputs=y)


def test_package_operator_traced(packages, rng):
    """A replay runs a package's second phase again."""

    def function(x):
        y = asnumpy.empty(x.shape, "float32")
        return asnumpy.ops.aclnn("TenthRelu", x + 1, 0.25, 3, True, "fast", None, outputs=y)

    jitted = asnumpy.jit(function)
    for _ in range(3):
        a = rng.standard_normal((6, 50)).astype("float32")
        expected = np.where(a + 1 > 0, a + 1, np.float32(0.25) * (a + 1))
        np.testing.assert_array_equal(np.asarray(jitted(asnumpy.array(a))), expected)
    assert jitted.cache_info().hits == 2


def test_a_text_of_a_trace_outlives_its_str(packages):
    """So long a text that its memory is the system's again when it is freed: reading it would end the process."""
    late = asnumpy.jit(
        lambda x: asnumpy.ops.aclnn(
            "Late", x, "t" * (40 << 20), outputs=asnumpy.empty(3, "float32")
        )
    )
    for k in range(3):
        got = late(asnumpy.array([-1.0, k, 2.0], dtype="float32"))
        np.testing.assert_array_equal(got, [0, k, 2])


def test_parameters_beyond_registers(packages):
    x, y = asnumpy.array([-1.0, 2.0], dtype="float32"), asnumpy.empty(2, "float32")
    mixed = (-1, 0.5, 1.5, x, True, 2**40, 2.5, (0, 2, 1), 4, 3.5, 5, False, 4.5, 5.5, 6, "hi", 6.5,
             7, -7.5, True, None, -9)  # fmt: skip
    np.testing.assert_array_equal(asnumpy.ops.aclnn("Many", *mixed, outputs=y), [0, 2])
    for k in (0, 2, 18, 21):  # of the first registers, and of the stack
        other = (*mixed[:k], type(mixed[k])(3), *mixed[k + 1 :])
        with pytest.raises(RuntimeError, match="16100[23]"):
            asnumpy.ops.aclnn("Many", *other, outputs=y)


@pytest.mark.parametrize(
    "arguments, error, told",
    [
        ((1.5,) * 9, ValueError, "aclnnRelu: 9 floats; at most 8"),
        ((None,) * 63, ValueError, "aclnnRelu: more than 62 parameters beside floats"),
        ((2**63,), OverflowError, "argument 0 is 9223372036854775808; it is passed as int64_t"),
        ((np.longdouble(1),), TypeError, "argument 0 is a numpy.longdouble"),
        ((np.array([None]),), TypeError, "no dtype dtype.'O'"),
        (((1,) * 65,), ValueError, "64"),
        (([asnumpy.ones(2)] * 65,), ValueError, "a list is of up to 64 tensors, got 65"),
        (([asnumpy.ones(2), 1],), TypeError, "argument 0 is a list"),
        (("\ud800",), UnicodeEncodeError, "surrogates"),
    ],
)
def test_arguments_that_are_refused(arguments, error, told):
    y = asnumpy.ones(3, "float32")
    with pytest.raises(error, match=told):
        asnumpy.ops.aclnn("Relu", *arguments, outputs=y)


def test_a_read_only_output():
    x = asnumpy.ones(3, "float32")
    y = asnumpy.ones(3, "float32")
    y.flags.writeable = False
    with pytest.raises(
        TypeError, match=r"output 0 is a read-only .*ndarray; it must be an asnumpy"
    ):
        asnumpy.ops.aclnn("Relu", x, outputs=y)


def test_own_operators(rng):
    a = rng.standard_normal((4, 5)).astype("float32")
    x, y = asnumpy.array(a), asnumpy.empty((4, 5), "float32")
    asnumpy.ops.aclnn("LeakyRelu", x, np.float32(0.5), outputs=(y,))
    np.testing.assert_array_equal(np.asarray(y), np.where(a > 0, a, a / 2))
    z = asnumpy.empty((5, 4), "float32")
    asnumpy.ops.aclnn("Permute", x, (1, 0), outputs=z)
    np.testing.assert_array_equal(np.asarray(z), a.T)
    both = asnumpy.empty((8, 5), "float32")
    asnumpy.ops.aclnn("Cat", (x, y), 0, outputs=both)
    np.testing.assert_array_equal(np.asarray(both), np.concatenate([a, np.asarray(y)]))


def test_what_is_recorded_comes_before_what_is_written():
    """Of an output among the parameters, of memory changed in place, and where no output is named."""
    n, one = 600, np.float32(1)
    a, out = asnumpy.ones((n, n), "float32"), asnumpy.zeros((n, n), "float32")
    asnumpy.synchronize()
    for arguments, outputs, after in (
        (("Matmul", a, a, ..., 0), out, n),
        (("InplaceAdds", ..., np.float32(5), one), (out,), n + 5),
        (("Matmul", a, a, out, 0), (), n),
        (("Cat", (a, a), 0, ...), asnumpy.zeros((2 * n, n), "float32"), n),
        (("SplitTensor", a, n // 2, 0, (out[: n // 2], out[n // 2 :])), (), 1),
    ):
        before = float(out[1, 1])
        later = out + 1  # recorded
        asnumpy.ops.aclnn(*arguments, outputs=outputs)
        assert later[[0, -1], [0, -1]].tolist() == [before + 1] * 2
        assert out[[0, -1], [0, -1]].tolist() == [after] * 2
    with pytest.raises(
        ValueError, match="aclnnMatmul: ... stands for output 1, but there are 1 outputs"
    ):
        asnumpy.ops.aclnn("Matmul", a, a, ..., ..., 0, outputs=out)
    with pytest.raises(ValueError, match="... stands for output 0, but there are 0 outputs"):
        asnumpy.ops.aclnn("Relu", a, ...)


def test_errors():
    x = asnumpy.ones(3, "float32")
    with pytest.raises(LookupError, match="there is no operator aclnnNoSuchThing: looked in"):
        asnumpy.ops.aclnn("NoSuchThing", x, outputs=x)
    with pytest.raises(TypeError, match="output 0 is a ndarray|output 0 is a list"):
        asnumpy.ops.aclnn("Relu", x, outputs=([1.0],))
    with pytest.raises(TypeError, match="argument 1 is a dict; it may be an array"):
        asnumpy.ops.aclnn("Relu", x, {}, outputs=x)
    with pytest.raises(RuntimeError, match=r"aclnnRelu: .*shape \(3,\).*161002"):
        asnumpy.ops.aclnn("Relu", x, outputs=asnumpy.ones(4, "float32"))
