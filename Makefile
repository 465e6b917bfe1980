# joulemap: what a person types. CMake builds the C parts, scikit-build-core the package; this file puts them in order.
#   make demo              install what is missing, build, and show a run with known truth
#   make check             the same, and every test that needs no GPU; SAN=address,undefined or SAN=thread: with sanitizers
#   make build             build/joulemap, and .venv with the package in it
#   make bench             speed of the parts; make gpu-check: the physics, on a machine with a board
#   make fuzz SECONDS=60   a while of fuzzing a target; make tidy: clang-tidy
#   make mutants COUNT=20  change a line of src/ at random, so often, and see whether a test notices
#   make wheel             dist/*.whl that carries what it links, for systems from glibc 2.17 on
#   make install           command, libraries, headers, man page under PREFIX (/usr/local); DESTDIR is put before it
#   make try-readme SUITE=bookworm MIRROR=URL [KEYRING=FILE]   as root: follow README.md in a clean Debian or Ubuntu
#   make format, clean, distclean
# Variables: PYTHON (interpreter to start .venv from), JM_TORCH (what pip installs as PyTorch; "none": nothing), CC,
#   COUNT, SEED, UNDER (a folder), ALL_TESTS=1: of make mutants; JM_BENCH_KERNELS (kernels of the long run that make bench reports on: 1000000).

SAN     ?=
SECONDS ?= 60
COUNT   ?= 20
SEED    ?= 1
UNDER   ?= src
comma   := ,
PREFIX  ?= /usr/local
BUILD   := build$(if $(SAN),-$(subst $(comma),-,$(SAN)))
PYTHON_IN_VENV := .venv/bin/python

# What the package is made of.
PACKAGE_SOURCES := $(shell find CMakeLists.txt pyproject.toml README.md LICENSE cmake include src sim python web -type f \
                     -not -name '*.pyc' -not -path 'web/node_modules/*' -not -path 'web/dist/*' -not -path 'web/tests/*' 2>/dev/null)

.PHONY: build native demo check bench gpu-check fuzz mutants tidy wheel install try-readme format clean distclean bootstrap bootstrap-check help
.DELETE_ON_ERROR:

build: native $(if $(wildcard pyproject.toml),.venv/.package)

help:
	@sed -n 's/^#  //p' Makefile

bootstrap:
	@scripts/bootstrap build

bootstrap-check:
	@scripts/bootstrap check

.venv/.stage-build: scripts/requirements-build.txt scripts/requirements-cuda-headers.txt scripts/venv | bootstrap
	scripts/venv build
	@touch $@

.venv/.stage-check: scripts/requirements-check.txt scripts/requirements-check-torch.txt .venv/.stage-build | bootstrap-check
	scripts/venv check
	@touch $@

.venv/.stage-wheel: scripts/requirements-wheel.txt .venv/.stage-build
	scripts/venv wheel
	@touch $@

# CMake follows its own files by itself; a new folder it cannot know.
$(BUILD)/build.ninja: $(wildcard src/*/CMakeLists.txt sim/CMakeLists.txt bench/CMakeLists.txt) .venv/.stage-build
	cmake -S . -B $(BUILD) -G Ninja -DJM_SANITIZE="$(SAN)" -DCMAKE_REQUIRE_FIND_PACKAGE_CUPTI=ON
	@touch $@

native: $(BUILD)/build.ninja | bootstrap
	ninja -C $(BUILD)

.venv/.package: $(PACKAGE_SOURCES) .venv/.stage-build
	$(PYTHON_IN_VENV) -m pip install -q --no-build-isolation --no-deps .
	@touch $@

demo: build
	.venv/bin/joulemap demo

check: .venv/.stage-build | bootstrap-check
	@SAN="$(SAN)" MAKE="$(MAKE)" scripts/check

bench: build
	@scripts/bench

gpu-check: build
	@scripts/gpu-check

fuzz: .venv/.stage-build
	@scripts/bootstrap deep
	@scripts/fuzz $(SECONDS)

mutants: .venv/.stage-check
	@scripts/mutants --count $(COUNT) --seed $(SEED) --under $(UNDER) $(if $(ALL_TESTS),--all-tests)

tidy: native
	@scripts/bootstrap deep
	run-clang-tidy-14 -quiet -p $(BUILD) '/(src|sim|fuzz)/'

wheel: .venv/.stage-wheel
	@scripts/bootstrap wheel
	@scripts/wheel

# Under sudo, no file of the build changes hands: it is built before, by whoever builds.
install: $(BUILD)/joulemap
	cmake --install $(BUILD) --prefix "$(PREFIX)" >/dev/null
	@echo "joulemap lies in $(DESTDIR)$(PREFIX)"

$(BUILD)/joulemap:
	$(MAKE) native

try-readme:
	@scripts/try-readme "$(SUITE)" "$(MIRROR)" $(KEYRING)

format: .venv/.stage-check
	@scripts/style --fix

clean:
	rm -rf build build-* dist

distclean: clean
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache
