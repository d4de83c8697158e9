"""Programs written for Ascend, built and run against what the package installs."""

import ctypes
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
from asnumpy import acl

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "ascend"
needs_cxx = pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")


def run(command, **more):
    done = subprocess.run(command, capture_output=True, text=True, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def ascend(command, folder):
    """Runs a shell command after set_env.sh."""
    return run(["bash", "-c", f". '{acl.home()}/set_env.sh' && {command}"], cwd=folder)


@needs_cxx
def test_classifier(tmp_path):
    home, source = acl.home(), EXAMPLES / "classifier.cpp"
    # The link line of the guide, and the names that newer packages of CANN use.
    for libraries in (
        "-lopapi -lascendcl -lnnopbase",
        "-lopapi_math -lopapi_nn -lacl_rt -lnnopbase -lruntime",
    ):
        run(["g++", "-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", source, f"-I{home}/include", f"-L{home}/lib64",
             *libraries.split(), "-o", tmp_path / "classifier"])  # fmt: skip
        out = ascend("./classifier", tmp_path)
        assert "Ascend910B3" in out and "1024 rows" in out


def test_ctypes():
    assert "z = x + 2 y" in run([sys.executable, EXAMPLES / "add.py"])
    assert "z = x + 2 y" in run([sys.executable, EXAMPLES / "add.py", acl.home()])


def test_other_names_opened():
    """The libraries of newer packages, opened by name: the same functions, which are there once."""
    lib = acl.home() / "lib64"

    def address(name, symbol):
        function = getattr(ctypes.CDLL(lib / name), symbol)
        return ctypes.cast(function, ctypes.c_void_p).value

    for alias, symbol in (("opapi_math", "aclnnAdd"), ("opapi_nn", "aclnnSoftmax"), ("opapi_nn", "aclCreateTensor"),
                          ("acl_rt", "aclrtMalloc"), ("runtime", "aclrtMalloc")):  # fmt: skip
        assert address(f"lib{alias}.so", symbol) == address("libopapi.so", symbol)


def test_bare_includes(tmp_path):
    """Any of CANN's include folders will do."""
    for text in (
        "acl/acl.h",
        "aclnnop/aclnn_add.h",
        "aclnn_add.h",
        "acl_meta.h",
        "aclnnop/level2/aclnn_add.h",
        "acl/acl_prof.h",
    ):
        source = tmp_path / "one.c"
        source.write_text(f'#include "{text}"\nint main(void) {{ return 0; }}\n')
        run(["cc", "-Wall", "-Werror", source, *acl.flags(), "-o", tmp_path / "one"])
        run([tmp_path / "one"])


def test_cmake(tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(uses_cann C)\nfind_package(CANN REQUIRED)\n"
        "add_executable(one one.c)\ntarget_link_libraries(one CANN::CANN)\n"
        "add_executable(two one.c)\ntarget_include_directories(two PRIVATE ${CANN_INCLUDE_DIRS})\n"
        "target_link_libraries(two ${CANN_LIBRARIES})\n"
    )
    (tmp_path / "one.c").write_text('#include "acl/acl.h"\nint main(void) { return aclInit(0); }\n')
    cmake = pathlib.Path(sys.executable).parent / "cmake"
    ascend(
        f"{cmake if cmake.exists() else 'cmake'} -B build -G 'Unix Makefiles' . && make -s -C build && build/one && build/two",
        tmp_path,
    )


def test_pkg_config(tmp_path):
    """The array library from C, by its pkg-config file."""
    if shutil.which("pkg-config") is None:
        pytest.skip("no pkg-config")
    (tmp_path / "one.c").write_text(
        '#include "asnumpy/asnumpy.h"\nint main(void) { return asnp_message() == 0; }\n'
    )
    ascend("cc one.c $(pkg-config --cflags --libs asnumpy) -o one && ./one", tmp_path)


def test_home_is_told():
    out = run([sys.executable, "-m", "asnumpy.acl", "--home"])
    assert pathlib.Path(out.strip()) == acl.home()
    failed = subprocess.run([sys.executable, "-m", "asnumpy.acl"], capture_output=True, text=True)
    assert failed.returncode == 2 and "--home" in failed.stderr


@pytest.mark.parametrize("shell", ["sh", "dash", "bash", "bash --posix", "zsh"])
@pytest.mark.parametrize(
    "form",
    [
        ". {home}/set_env.sh",
        "cd {home} && . ./set_env.sh && cd /",
        "( . {home}/set_env.sh && {show} )",
    ],
)
def test_set_env_in_every_shell(shell, form):
    name, *options = shell.split()
    if shutil.which(name) is None:
        pytest.skip(f"no {name} here")
    home = acl.home()
    show = (
        'printf %s "$ASCEND_HOME_PATH|$LD_LIBRARY_PATH|${_asnumpy_home-none}${_asnumpy_file-none}"'
    )
    command = form.format(home=f"'{home}'", show=show) + ("" if "show" in form else f" && {show}")
    env = {k: v for k, v in os.environ.items() if k != "LD_LIBRARY_PATH"}
    done = subprocess.run([name, *options, "-c", command], env=env, capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert done.stdout.strip() == f"{home}|{home}/lib64|nonenone"


def test_own_folder_is_no_npu():
    """set_env.sh leaves the array library on the CPU device."""
    out = ascend(f"{sys.executable} -c 'import asnumpy as np; print(np.arange(3).device)'", ".")
    assert out.strip() == "cpu"


SLACK = "import ctypes; print(ctypes.CDLL(None).prctl(30, 0, 0, 0, 0))"  # PR_GET_TIMERSLACK


@pytest.mark.parametrize("installed", [False, True])
def test_run_lets_timers_slip_for_torch_npu(tmp_path, installed):
    (tmp_path / "program.py").write_text(SLACK)
    if installed:
        (tmp_path / "torch_npu").mkdir()
        (tmp_path / "torch_npu" / "__init__.py").touch()
    done = subprocess.run(
        [sys.executable, "-m", "asnumpy.acl", "run", str(tmp_path / "program.py")],
        capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    usual = subprocess.run(
        [sys.executable, "-c", SLACK], capture_output=True, text=True, check=True
    )
    expected = "1000000" if installed and usual.stdout.strip() == "50000" else usual.stdout.strip()
    assert done.stdout.strip() == expected
