# AsNumpy. `make demo` and `make test` do everything on a fresh Debian/Ubuntu machine, set-up included.
.PHONY: build demo test test-full test-torch test-avx512 fuzz numpy-suite numpy-typing newcomers wheels mutants bench bench-quick bench-peers counts docs docs-links screenshots lint format install clean setup ctest
.DEFAULT_GOAL := build

PY      := .venv/bin/python
BUILD   := build/dev
JOBS    ?= $(shell nproc)
PREFIX  ?= install
# Those of git, and new ones that it does not ignore.
SOURCES := $(shell git ls-files --cached --others --exclude-standard '*.c' '*.h' '*.hpp' '*.cpp' '*.inc' 2>/dev/null)

# The package and the C side with its tests compile the same sources: the second build takes the first one's objects
# (clean clone, two cores: 265 of 515 s), if both name the compiler alike (Debian's Python names another than CMake, hence CC)
# and the locale is not looked at (Python sets one for what it starts).
# Where there is no ccache yet, in the very first make, nothing is shared.
export CC
ifneq ($(shell command -v ccache),)
export CMAKE_C_COMPILER_LAUNCHER ?= ccache
export CMAKE_CXX_COMPILER_LAUNCHER ?= ccache
export CCACHE_DIR ?= $(CURDIR)/build/ccache
export CCACHE_BASEDIR ?= $(CURDIR)
export CCACHE_NOHASHDIR ?= 1
export CCACHE_IGNOREOPTIONS ?= -Werror
export CCACHE_SLOPPINESS ?= locale
export CCACHE_MAXSIZE ?= 2G
endif

setup: .venv/.ready
.venv/.ready: tools/bootstrap.sh pyproject.toml
	bash tools/bootstrap.sh
	touch $@

# The package, into .venv; build/py keeps the objects.
build: setup
	$(PY) -m pip install --quiet --no-build-isolation --no-deps .

# The C side with its tests; warnings are errors.
$(BUILD)/build.ninja: setup
	.venv/bin/cmake -B $(BUILD) -G Ninja -DASNUMPY_TESTS=ON -DASNUMPY_PYTHON=OFF -DASNUMPY_WERROR=ON \
	  -DPython3_EXECUTABLE=$(CURDIR)/$(PY) -DCMAKE_MAKE_PROGRAM=$(CURDIR)/.venv/bin/ninja >/dev/null
ctest: $(BUILD)/build.ninja
	.venv/bin/ninja -C $(BUILD) -j $(JOBS) --quiet
	.venv/bin/ctest --test-dir $(BUILD) -j $(JOBS) --output-on-failure

demo: build
	$(PY) examples/canny.py

# The Python suite in as many processes as there are cores, four at most: each has its own thread pool.
PROCESSES := $(PY) -m pytest -q -n auto --maxprocesses=4
PYTEST := $(PROCESSES) tests/python

# What neither fusion nor the JIT nor the device changes runs once: stubs, signatures, the front end's instructions, the
# bench's own tests, pages. Once a device, in `make test`: kernels and operators of one's own, which run beside the engine,
# and what one operator of the device computes or the host does, fused or not: orders, transforms, solvers, random numbers,
# memory, streams' faces, files (make test-full runs them in each mode). With ASNUMPY_FUSE=0, which takes the ways that CANN's
# place takes (asn_fuse_enabled), the tests that compute most; all of them in test-full.
SAME_IN_EVERY_MODE := $(patsubst %,--ignore=tests/python/test_%.py,typing signatures instructions benchmarks auto auto_processes auto_reports auto_scripts pages reference site_check deployment)
SAME_ON_THE_CPU := $(patsubst %,--ignore=tests/python/test_%.py,kernels load_library custom_packages ops monitor guide_custom_operators ascendc ascendc_vectors ascendc_moves ascendc_errors ascendc_build \
  ascendc_masks td_mm torch_build ordering long_sorts large_moves fft solvers distributions random dlpack_in ascend fork loans no_memory \
  memory workspaces formats submodules settings gallery docs hosts balance sparse names numpy_versions deadlocks doctor profile_program)
UNFUSED := $(patsubst %,tests/python/test_%.py,casts conditions einsum functions indexing layouts linalg moves ndarray products programs random \
  recording reductions rolls slices small trace ufuncs vectorize)
test: ctest build docs build/torch_npu/.ready
	$(PY) tools/operators_table.py count
	tests/fuzz/run.sh 120 1 20000
	$(PYTEST)
	$(PYTEST)/libraries
	ASNUMPY_FUSE=0 $(PROCESSES) $(UNFUSED)
	ASNUMPY_JIT=always $(PYTEST) $(SAME_IN_EVERY_MODE) $(SAME_ON_THE_CPU)
	ASNUMPY_DEVICE=ascend ASCEND_HOME_PATH=$$($(PY) -m asnumpy.acl --home) ASNUMPY_CANN_STRICT=1 ASNUMPY_FALLBACK=silent \
	  $(PYTEST) $(SAME_IN_EVERY_MODE)
	ASNUMPY_DEVICE=ascend ASCEND_HOME_PATH=$$($(PY) -m asnumpy.acl --home) ASNUMPY_CANN_STRICT=1 ASNUMPY_FALLBACK=silent \
	  $(PYTEST)/libraries
	$(PY) -m pytest tests/torch -q -m smoke

# Random programs against their oracles (tests/fuzz): new ones every time, or those of FUZZ_SEED. An hour of it is in test-full.
FUZZ_SECONDS ?= 300
FUZZ_SEED ?= $(shell date +%s)
fuzz: $(BUILD)/build.ninja build
	.venv/bin/ninja -C $(BUILD) -j $(JOBS) --quiet fuzz_program
	tests/fuzz/run.sh $(FUZZ_SECONDS) $(FUZZ_SEED)

# Longer sweeps: an hour of fuzzing, every float32 through every elementary function (half an hour), sanitizers on the C tests and
# on arbitrary bytes (libFuzzer), one more row of ops.def (tools/check_rows.py), more hypothesis examples and points against mpmath,
# clang, a device that runs behind its launches (alone, and in an NPU's place), other Pythons, all of the tests with PyTorch for Ascend,
# the HTML pages in a browser and pictures of the site, NumPy's typing tests, AVX-512 in an emulator where the processor lacks it.
test-full: test
	bash tools/bootstrap.sh chromium
	$(MAKE) fuzz FUZZ_SECONDS=3600
	$(MAKE) numpy-typing
	$(PY) -m pytest tests/python -q -k browser
	$(MAKE) screenshots
	$(MAKE) newcomers
	$(MAKE) test-torch
	tests/llama/run.sh
	[ "$$(uname -m)" != x86_64 ] || grep -qw avx512f /proc/cpuinfo || $(MAKE) test-avx512
	$(BUILD)/tests/c/test_cpu_math full
	$(PY) tools/check_rows.py build build/check_rows
	ASNUMPY_FUSE=0 $(PYTEST)
	ASNUMPY_JIT=always $(PYTEST)
	bash tools/sanitize.sh
	tests/fuzz/bytes/run.sh 300
	ASNUMPY_JIT=0 $(PYTEST)
	ASNUMPY_ISA=avx2 ASNUMPY_JIT=always $(PYTEST)
	HYPOTHESIS_PROFILE=full $(PYTEST)
	ASNUMPY_CPU_LAUNCH_DELAY_US=1 $(PYTEST)
	ASNUMPY_CPU_LAUNCH_DELAY_US=1 ASNUMPY_DEVICE=ascend ASCEND_HOME_PATH=$$($(PY) -m asnumpy.acl --home) \
	  ASNUMPY_CANN_STRICT=1 ASNUMPY_FALLBACK=silent $(PYTEST)

# The loops and the machine code that only AVX-512 runs, in an emulated processor (tools/emulate.sh): an hour on one core.
test-avx512: $(BUILD)/build.ninja
	.venv/bin/ninja -C $(BUILD) -j $(JOBS) --quiet
	bash tools/emulate.sh

# PyTorch's torch_npu, unchanged, on the CPU device (tests/torch): programs, examples, and all of PyTorch's samples of its
# operators, modules and optimisers (make test runs those that are marked smoke). install.sh says where that cannot be.
OPINFO ?= --dtypes float32 --samples 4 --backward
build/torch_npu/.ready: tests/torch/install.sh setup
	bash tests/torch/install.sh $(PY) build/torch_npu
test-torch: build build/torch_npu/.ready
	ASNUMPY_OPINFO="$(OPINFO)" $(PY) -m pytest tests/torch -q

# Installs from a copy and runs a minute of tests (tools/newcomer.sh) with each Python that is here, and with the oldest NumPy.
newcomers:
	for python in $$(tools/pythons.sh); do tools/newcomer.sh $$python || exit 1; done
	python=$$(tools/pythons.sh 2>/dev/null | grep '3\.12' | head -1); [ -z "$$python" ] || tools/newcomer.sh $$python numpy==2.1.0

# Wheels for other machines, into dist/ (tools/wheels.sh), one for each Python that is here.
wheels:
	bash tools/wheels.sh

# NumPy's own tests with AsNumpy's arrays and functions (tests/numpy_suite).
numpy-suite: build
	$(PY) tests/numpy_suite/run.py --jobs $(JOBS)

# NumPy's typing tests with our stubs, by mypy (tests/typing/numpy_suite.py); CHECKER=pyright needs that on the path.
CHECKER ?= mypy
numpy-typing: build
	$(PY) tests/typing/numpy_suite.py --checker $(CHECKER)

# One change of the engine at a time, and whether a test notices (tools/mutants.py). MUTANTS adds options.
mutants: build
	$(PY) tools/mutants.py $(MUTANTS)

# Speeds: a table per group, JSON and an HTML page in benchmarks/results. GROUP=fusion,matmul picks groups, BENCH adds options.
# The other libraries live in .venv-bench (make bench-peers); without it the tables show NumPy alone.
BENCH_PY = $(if $(wildcard .venv-bench/.ready),.venv-bench/bin/python,$(PY))
bench bench-quick: build
	@if [ -e .venv-bench/.ready ]; then rm -rf build/wheel && $(PY) -m pip wheel --quiet --no-build-isolation --no-deps -w build/wheel . \
	  && .venv-bench/bin/python -m pip install --quiet --force-reinstall --no-deps build/wheel/*.whl; fi
	$(BENCH_PY) benchmarks/run.py $(if $(GROUP),--group $(GROUP)) $(if $(filter bench-quick,$@),--quick) $(BENCH)

bench-peers: .venv-bench/.ready
.venv-bench/.ready: pyproject.toml | setup
	[ -x .venv-bench/bin/python ] || python3 -m venv .venv-bench
	.venv-bench/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	.venv-bench/bin/python -m pip install --quiet --group bench
	touch $@

# Stores what the front end's calls cost in instructions, for this machine class (tests/python/test_instructions.py).
counts: build
	$(PY) tests/python/instructions.py --write

# The documentation's site, into build/docs: warnings are errors, the gallery's programs run, and no link may lead
# nowhere. The tools live in .venv-docs. DOCS_REPOSITORY=https://... makes links of paths to files of the repository.
DOCS_PY := .venv-docs/bin/python
SPHINX   = $(DOCS_PY) -m sphinx -j auto -W --keep-going -d build/docs-doctrees
docs: build .venv-docs/.ready
	rm -rf build/docs build/docs-doctrees build/wheel docs/programs
	$(PY) -m pip wheel --quiet --no-build-isolation --no-deps -w build/wheel .
	$(DOCS_PY) -m pip install --quiet --force-reinstall --no-deps build/wheel/*.whl
	$(SPHINX) -b html docs build/docs >build/docs.log
	@tail -n 3 build/docs.log
	$(PY) tools/check_site.py build/docs

# Asks the other sites that pages link to whether they still have what is linked (needs the network).
docs-links: docs
	$(SPHINX) -q -b linkcheck docs build/docs-links

# Pictures of the site and of a notebook, by Chromium, into build/screenshots.
screenshots: docs
	bash tools/bootstrap.sh chromium
	$(DOCS_PY) -m pip install --quiet --group screenshots
	$(DOCS_PY) tools/screenshots.py --notebook docs/programs/ising.ipynb build/screenshots

.venv-docs/.ready: pyproject.toml | setup
	[ -x $(DOCS_PY) ] || python3 -m venv .venv-docs
	$(DOCS_PY) -m pip install --quiet --upgrade 'pip>=25.1'
	$(DOCS_PY) -m pip install --quiet --group docs
	touch $@

lint: setup
	.venv/bin/clang-format --dry-run --Werror $(SOURCES)
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	$(PY) tools/check_layers.py
	$(PY) tools/check_types.py
	$(PY) tools/check_names.py
	$(PY) tools/check_functions.py
	$(PY) tools/check_abi.py
	$(PY) tools/check_rows.py names
	$(PY) tools/check_text.py
	$(PY) tools/operators_table.py check
	$(PY) tools/size_report.py
	cppcheck -j $(JOBS) --quiet --error-exitcode=1 --std=c11 --inline-suppr --enable=warning \
	  --suppress=missingIncludeSystem --suppressions-list=tools/cppcheck.txt -I src -I include src

format: setup
	.venv/bin/clang-format -i $(SOURCES)
	.venv/bin/ruff format .
	.venv/bin/ruff check --fix .

# CANN's layout: $(PREFIX)/include and $(PREFIX)/lib64.
install: $(BUILD)/build.ninja
	.venv/bin/ninja -C $(BUILD) -j $(JOBS) --quiet
	.venv/bin/cmake --install $(BUILD) --prefix $(PREFIX) --component cann

clean:
	rm -rf build dist install demo-output docs/programs docs/reference
