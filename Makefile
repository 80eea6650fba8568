# Trackway. `make` builds, `make demo` shows, `make check` tests; both install what is missing first.
CC ?= cc
PREFIX ?= /usr/local
BUILD ?= build
VERSION := 0.1

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes
CFLAGS ?= -O2 -g
TOOL_CFLAGS := -std=c11 -D_GNU_SOURCE -DTW_VERSION='"$(VERSION)"' $(WARN) -Iinclude -Isrc
TOOL_LIBS := -lZydis -lzstd -lxxhash -lz -llzma -ldw -lelf -lpthread -lm
ifdef ASAN
BUILD := build/asan
TOOL_CFLAGS += -fsanitize=address,undefined -fno-omit-frame-pointer
endif

# The engine runs inside the traced program: no libc, no vector registers, a fixed place in the low arena.
ENGINE_CFLAGS := -std=c11 $(WARN) -Iinclude -Isrc -O2 -g -ffreestanding -fno-pic -fno-pie -fno-stack-protector -mgeneral-regs-only \
	-fno-builtin -mno-red-zone -fno-asynchronous-unwind-tables -fcf-protection=none -fomit-frame-pointer -DZYAN_NO_LIBC -DTW_ENGINE
ENGINE_LDFLAGS := -static -nostdlib -Wl,-z,noexecstack -Wl,--no-warn-rwx-segments -Wl,--build-id=none -T src/engine/engine.ld

ENGINE_SRC := $(wildcard src/engine/*.c src/engine/x86_64/*.c src/engine/x86_64/*.S src/instrument/*.c)
TOOL_SRC := $(filter-out %_test.c,$(wildcard src/cli/*.c src/channel/*.c src/jit/*.c src/recording/*.c src/replay/*.c src/analyze/*.c src/report/*.c \
	src/asm/*.c src/import/*.c src/export/*.c))
UNIT_SRC := $(wildcard src/*/*_test.c)

ENGINE_OBJ := $(patsubst %,$(BUILD)/engine/%.o,$(ENGINE_SRC)) $(BUILD)/engine/zydis.o
TOOL_OBJ := $(patsubst %,$(BUILD)/tool/%.o,$(TOOL_SRC))
LIB_OBJ := $(filter-out $(BUILD)/tool/src/cli/main.c.o,$(TOOL_OBJ))
UNIT_BIN := $(patsubst src/%.c,$(BUILD)/unit/%,$(UNIT_SRC))

all: $(BUILD)/trackway $(BUILD)/trackway-engine

$(BUILD)/trackway: $(TOOL_OBJ)
	$(CC) $(CFLAGS) $(TOOL_CFLAGS) -o $@ $^ $(TOOL_LIBS)

$(BUILD)/tool/%.c.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(TOOL_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/unit/%: src/%.c $(LIB_OBJ)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(TOOL_CFLAGS) -Itests -o $@ $< $(LIB_OBJ) $(TOOL_LIBS)

$(BUILD)/trackway-engine: $(ENGINE_OBJ) src/engine/engine.ld
	$(CC) $(ENGINE_LDFLAGS) -o $@ $(ENGINE_OBJ)

$(BUILD)/engine/%.c.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ENGINE_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/engine/%.S.o: %.S
	@mkdir -p $(@D)
	$(CC) $(ENGINE_CFLAGS) -MMD -MP -c -o $@ $<

# Debian has the decoder only as a shared library; the engine cannot load one. so2asm turns it into an object file, symbol by symbol.
$(BUILD)/so2asm: tools/so2asm.c
	@mkdir -p $(@D)
	$(CC) -O2 -std=c11 -D_GNU_SOURCE $(WARN) -o $@ $<

$(BUILD)/engine/zydis.o: $(BUILD)/so2asm
	@mkdir -p $(@D)
	$(BUILD)/so2asm $$($(CC) -print-file-name=libZydis.so) $(BUILD)/engine/zydis > $(BUILD)/engine/zydis.S
	$(CC) -c -o $@ $(BUILD)/engine/zydis.S

setup:
	@tools/setup

# Builds on all processors without showing commands (plain `make` shows them), unless -j says how many.
BUILD_ALL = echo "building $(BUILD)" && $(MAKE) -s --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))

demo: setup
	@$(BUILD_ALL) all
	@tools/demo $(BUILD)

check:
	@tools/setup test
	@$(BUILD_ALL) all unit $(BUILD)/tests/step
	@tests/run $(BUILD) '$(TEST)'

# The oracle: a single-stepper that shares no code with the engine but the decoder.
$(BUILD)/tests/step: tests/oracle/step.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -std=c11 -D_GNU_SOURCE $(WARN) -o $@ $< -lZydis

unit: $(UNIT_BIN)

bench:
	@tools/setup bench
	@$(MAKE) --no-print-directory all
	@bench/run $(BUILD)
	@bench/blocks $(BUILD)

install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/trackway $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/include/trackway
	install -m 755 $(BUILD)/trackway $(DESTDIR)$(PREFIX)/bin/trackway
	install -m 755 $(BUILD)/trackway-engine $(DESTDIR)$(PREFIX)/lib/trackway/trackway-engine
	install -m 644 $(wildcard man/*.1) $(DESTDIR)$(PREFIX)/share/man/man1/
	install -m 644 $(wildcard include/trackway/*.h) $(DESTDIR)$(PREFIX)/include/trackway/

SOURCES := $(shell find include src tests tools bench -name '*.[ch]' 2>/dev/null)

format:
	clang-format -i $(SOURCES)

lint:
	clang-format --dry-run -Werror $(SOURCES)
	cppcheck --quiet --std=c11 --error-exitcode=1 --enable=warning,portability --inline-suppr -Iinclude -Isrc --suppress=missingInclude src tools
	for f in tests/run tests/*.sh tests/*/*.sh tools/setup tools/demo bench/run bench/blocks bench/apps/run bench/apps/soak bench/apps/stress-ng bench/apps/*.sh .ci/run; do bash -n $$f || exit 1; done

clean:
	rm -rf build

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
.PHONY: all setup demo check unit bench install format lint clean
