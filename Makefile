# `make demo` and `make test` need Rust and make; on Debian and Ubuntu they install everything else.
#
# ONEDNN_DIR=/prefix links that oneDNN instead of compiling one. A compiled oneDNN is kept in the user's cache folder and
# shared by all profiles, crates and clones (vendor/onednn-sys/BUILD.md).

# Outside the checkout, so that a fresh clone reuses what an earlier one compiled.
export CARGO_TARGET_DIR ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/blocktensor/target

ifdef ONEDNN_DIR
export ONEDNN_DIR
SOURCE := system
FEATURES := --no-default-features --features system
else
SOURCE := bundled
FEATURES :=
endif

PLAIN := --no-default-features --workspace --exclude blocktensor-onednn-sys
FULL := --workspace $(FEATURES)
CARGO := scripts/with-progress.sh cargo
# Workspaces of their own. Those for frameworks in Rust fetch these frameworks, and `make test` leaves them out.
OTHERS := crates/python fuzz
FRAMEWORKS := crates/candle crates/burn

.PHONY: help demo test install wheel onnxruntime python python-torch ray candle burn deny soak sanitize valgrind miri fuzz bench doc fmt setup clean-cache

help:
	@echo "make demo          ResNet-50 on a picture, in all three layouts, and as an ONNX file"
	@echo "make test          format, lints, documentation and tests, without and with oneDNN, and of the Python packages"
	@echo "make install       the C library, its headers, and files for pkg-config and CMake; PREFIX=/usr/local DESTDIR="
	@echo "make wheel         the Python packages; make python also tests the first, make python-torch its PyTorch part too"
	@echo "make onnxruntime   the package of the provider for ONNX Runtime, tested with onnxruntime"
	@echo "make ray           images through a plan on Ray Data: two workers on this machine, one of them killed"
	@echo "make candle        candle: lints, tests, and a trunk by turns with candle; make burn the same with burn"
	@echo "make deny          licences, sources and security advisories of the dependencies"
	@echo "make soak          MINUTES=20 of shapes, models and C handles in turn: memory stays flat, or it fails"
	@echo "make sanitize      all tests under AddressSanitizer and LeakSanitizer"
	@echo "make valgrind      a part of the tests under valgrind"
	@echo "make fuzz          SECONDS=60 of each fuzz target, with rustup's nightly"
	@echo "make miri          the plain-Rust parts under Miri, with rustup's nightly"
	@echo "make bench         benchmarks"
	@echo "make doc           documentation, in $(CARGO_TARGET_DIR)/doc"
	@echo "make fmt           format the code"
	@echo "make clean-cache   delete everything compiled, oneDNN too"
	@echo "With ONEDNN_DIR=/prefix an installed oneDNN 3 is linked, and nothing of it compiled."

setup:
	@scripts/setup.sh $(SOURCE)

# The example writes its network as an ONNX file, and the command line runs that file to the same result. One build for both
# compiles blocktensor once.
BUILT := $(CARGO_TARGET_DIR)/debug
DEMO := $(CARGO_TARGET_DIR)/demo

demo: setup
	@$(CARGO) build $(FEATURES) --package blocktensor --example resnet50 --package blocktensor-cli --bin blocktensor
	@mkdir -p "$(DEMO)"
	@"$(BUILT)/examples/resnet50" --image examples/data/house.png \
		--onnx "$(DEMO)/resnet50.onnx" --output "$(DEMO)/resnet50.safetensors"
	@echo
	@echo "That ONNX file on the command line, in layouts that are measured now, compared with those logits:"
	@"$(BUILT)/blocktensor" run "$(DEMO)/resnet50.onnx" --input examples/data/house.png --imagenet --top-k 5 \
		--check-outputs "$(DEMO)/resnet50.safetensors"
	@echo
	@echo "Its plans in each layout, and in measured ones, run by turns:"
	@"$(BUILT)/blocktensor" bench "$(DEMO)/resnet50.onnx" --size batch=1 --compare-layouts --runs 20

# The part without C++ comes first, because it fails quickly. Each part runs again with the kernels of older machines, and
# there with storage that ends at a protected page (src/fault/guard.rs), the longest of them only with AVX2. What takes long, and
# is the same code with C++ and without, runs once: the unit tests of the core, which are a second copy of it to compile, and
# the longest tests with this machine's kernels. The build after the tests compiles only what no test links: the provider's
# library, of the crates that the tests had.
LONGEST := --skip problems:: --skip gradient::

test:
	@scripts/setup.sh $(SOURCE) lint test
	cargo tree --locked --quiet --workspace >/dev/null
	cargo fmt --all --check
	for w in $(OTHERS); do cargo fmt --manifest-path $$w/Cargo.toml --check || exit; done
	cargo clippy $(PLAIN) --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc $(PLAIN) --no-deps
	cargo test $(PLAIN) --exclude blocktensor
	cargo test $(PLAIN) --test main -- $(LONGEST)
	ONEDNN_MAX_CPU_ISA=SSE41 cargo test $(PLAIN) --test main
	$(CARGO) clippy $(FULL) --all-targets -- -D warnings
	for w in $(OTHERS); do $(CARGO) clippy --locked --manifest-path $$w/Cargo.toml --no-default-features \
		--features $(SOURCE) --all-targets -- -D warnings || exit; done
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc $(FULL) --no-deps
	$(CARGO) test $(FULL)
	BLOCKTENSOR_GUARD_PAGES=1 ONEDNN_MAX_CPU_ISA=AVX512_CORE $(CARGO) test $(FULL) --test main -- $(LONGEST)
	BLOCKTENSOR_GUARD_PAGES=1 ONEDNN_MAX_CPU_ISA=AVX2 $(CARGO) test $(FULL) --lib --test main
	scripts/python.sh test
	$(CARGO) build --profile test $(FULL) --lib --tests
	LIBRARY=$(if $(ONEDNN_DIR),,$(BUILT)) scripts/onnxruntime_ep.sh test
	scripts/msrv.sh
	scripts/deny.sh

# LIBRARY=/folder installs libraries that are compiled already, such as those of an earlier `make install`, and compiles nothing.
PREFIX ?= /usr/local
install: export PREFIX := $(PREFIX)
install: export DESTDIR := $(DESTDIR)

install:
ifndef LIBRARY
	@scripts/setup.sh $(SOURCE)
	@$(CARGO) build --release $(FEATURES) --package blocktensor-capi
endif
	@scripts/install.sh "$(or $(LIBRARY),$(CARGO_TARGET_DIR)/release)"

# Environments of their own in the cache folder.
wheel: setup
	@scripts/python.sh wheel
	@scripts/onnxruntime_ep.sh wheel

onnxruntime: setup
	@scripts/onnxruntime_ep.sh test

python: setup
	@scripts/python.sh test

python-torch: setup
	@scripts/python.sh torch

ray: setup
	@scripts/python.sh ray

# Each fetches its framework. The oneDNN is the one that all builds share.
candle burn: setup
	@scripts/setup.sh $(SOURCE) lint
	cargo fmt --manifest-path crates/$@/Cargo.toml --check
	$(CARGO) clippy $(call OF,$@) --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc $(call OF,$@) --no-deps
	$(CARGO) test $(call OF,$@)
	$(CARGO) run $(call OF,$@) --example $@_trunk

# Optimised, so that the example compares what users would.
OF = --locked --release --manifest-path crates/$(1)/Cargo.toml --no-default-features --features $(SOURCE)

# Stricter than in `make test`: it is an error if advisories cannot be fetched.
deny:
	scripts/deny.sh --strict

soak: setup
	scripts/soak.sh $(MINUTES)

sanitize:
	scripts/sanitize.sh address

valgrind:
	scripts/valgrind.sh

miri:
	scripts/miri.sh

fuzz:
	scripts/fuzz.sh $(or $(SECONDS),60)

bench: setup
	@$(CARGO) bench $(FEATURES)

doc: setup
	@$(CARGO) doc $(FEATURES) --workspace --no-deps

fmt:
	cargo fmt --all
	for w in $(OTHERS) $(FRAMEWORKS); do cargo fmt --manifest-path $$w/Cargo.toml || exit; done

clean-cache:
	cargo clean
	rm -rf "$(or $(BLOCKTENSOR_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/blocktensor)/onednn"
