# joulemap: what a person types. CMake builds the C parts; this file puts the steps in order.
#   make demo              install what is missing, build, and show a run with known truth
#   make check             the same, and the checks of every commit (about ten minutes on two cores)
#   make proof             the slow ones (about an hour); PART=NAME one of them: scripts/proof names them
#   make build             build/joulemap, and .venv with the package in it
#   make bench             speed of the parts; make gpu-check: the physics, on a machine with a board
#   make fuzz SECONDS=60   a while of fuzzing a target; make tidy: clang-tidy
#   make mutants COUNT=20  change a line of src/ or tools/ at random, so often, and see whether a test notices
#   make wheel             dist/*.whl that carries what it links, for systems from glibc 2.17 on
#   make install           command, libraries, headers, man page under PREFIX (/usr/local); DESTDIR is put before it
#   make try-readme SUITE=bookworm MIRROR=URL [KEYRING=FILE]   as root: follow README.md in a clean Debian or Ubuntu
#   make docs              build/site-docs: all documents with a search, and the Python reference
#   make format, clean, distclean
#   Variables: PYTHON (interpreter to start .venv from), JM_TORCH (what pip installs as PyTorch; "none": nothing), CC,
#     WERROR=ON (warnings are errors, as in make check, where build/ is configured anew); COUNT, SEED, UNDER (folders), ALL_TESTS=1: of make mutants; JM_BENCH_KERNELS (kernels of the long run that make bench reports on: 1000000).

PART    ?=
SECONDS ?= 60
COUNT   ?= 20
SEED    ?= 1
UNDER   ?= src tools
WERROR  ?= OFF
PREFIX  ?= /usr/local
watched := scripts/watched

.PHONY: build native headers demo check proof bench gpu-check fuzz mutants tidy wheel install try-readme docs format clean distclean bootstrap bootstrap-check help
.DELETE_ON_ERROR:

build: native .venv/.stage-package

help:
	@sed -n 's/^#  //p' Makefile

bootstrap:
	@scripts/bootstrap build

bootstrap-check:
	@scripts/bootstrap check

# Python packages, in stages, each a file that lists them: build < check < proof; wheel.
.venv/.stage-headers: scripts/requirements-cuda-headers.txt scripts/venv | bootstrap
	@$(watched) "CUPTI's headers" scripts/venv headers
	@touch $@

.venv/.stage-build: scripts/requirements-build.txt .venv/.stage-headers
	@$(watched) "Python packages, PyTorch among them" scripts/venv build
	@touch $@

.venv/.stage-check: scripts/requirements-check.txt .venv/.stage-build | bootstrap-check
	@$(watched) "Python packages of the tests" scripts/venv check
	@touch $@

.venv/.stage-proof: scripts/requirements-proof.txt scripts/requirements-proof-torch.txt .venv/.stage-check
	@$(watched) "frameworks (two gigabytes)" scripts/venv proof
	@touch $@

.venv/.stage-wheel: scripts/requirements-wheel.txt .venv/.stage-build
	@$(watched) "Python packages of the wheel" scripts/venv wheel
	@touch $@

.venv/.stage-package: python/bin/joulemap scripts/venv .venv/.stage-build
	@scripts/venv package
	@touch $@

# CMake follows its own files by itself.
build/build.ninja: | .venv/.stage-headers
	@$(watched) "cmake" cmake -S . -B build -G Ninja -DJM_TESTS=OFF -DJM_WERROR=$(WERROR) -DCMAKE_REQUIRE_FIND_PACKAGE_CUPTI=ON

native: build/build.ninja | bootstrap
	@$(watched) "compiling" ninja -C build

demo:
	@$(MAKE) --no-print-directory -j2 build # PyTorch comes while the compiler runs
	@$(watched) -p "the demo" .venv/bin/joulemap demo --force --keep build/demo.joulemap

check:
	@MAKE="$(MAKE)" scripts/check

proof:
	@MAKE="$(MAKE)" scripts/proof $(PART)

bench: build
	@ninja -C build bench_all
	@scripts/bench

gpu-check: build
	@scripts/gpu-check

fuzz: .venv/.stage-headers
	@scripts/bootstrap proof
	@scripts/fuzz $(SECONDS)

mutants: .venv/.stage-check
	@scripts/mutants --count $(COUNT) --seed $(SEED) --under $(UNDER) $(if $(ALL_TESTS),--all-tests)

tidy: native
	@scripts/bootstrap proof
	run-clang-tidy-14 -quiet -p build '/(src|tools|sim|fuzz)/'

wheel: .venv/.stage-wheel
	@scripts/bootstrap wheel
	@scripts/wheel

# Under sudo, no file of the build changes hands: it is built before, by whoever builds.
install: build/joulemap
	cmake --install build --prefix "$(PREFIX)" >/dev/null
	@echo "joulemap lies in $(DESTDIR)$(PREFIX)"

build/joulemap:
	$(MAKE) native

try-readme:
	@scripts/try-readme "$(SUITE)" "$(MIRROR)" $(KEYRING)

.venv-docs/.stage-docs: scripts/requirements-docs.txt scripts/venv
	@$(watched) "Python packages of the documents" scripts/venv docs
	@touch $@

docs: .venv-docs/.stage-docs
	@scripts/check-docs
	@$(watched) "the site of the documents" env NO_MKDOCS_2_WARNING=1 .venv-docs/bin/python -m mkdocs build --quiet --strict
	@echo "see it: python3 -m http.server --bind 127.0.0.1 -d build/site-docs 8000"

format: .venv/.stage-check
	@scripts/style --fix

clean:
	rm -rf build build-* dist

distclean: clean
	rm -rf .venv .venv-docs .mypy_cache .ruff_cache .pytest_cache
