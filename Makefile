# Trackway. `make` builds, `make demo` shows, `make check` tests; both install what is missing first.
CC ?= cc
PREFIX ?= /usr/local
BUILD ?= build
VERSION := 0.1
SOVERSION := 1

comma := ,
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes
CFLAGS ?= -O2 -g
TOOL_CFLAGS := -std=c11 -D_GNU_SOURCE -DTW_VERSION='"$(VERSION)"' $(WARN) -Iinclude -Isrc -fPIC -fno-semantic-interposition
TOOL_LIBS := -lZydis -lzstd -lxxhash -lz -llzma -ldw -lelf -liberty -lpthread -lm
CLI_LIBS := -lsqlite3 -ledit -lncursesw
# The tool is started for each recording, and loading its libraries is half of what a short one takes of it: they are linked into it where there are archives of all, and those without are loaded when
# something of them is called (src/cli/wrapped/later.h).
ARCHIVES := sqlite3 edit ncursesw tinfo bsd md dw elf bz2 lzma zstd xxhash z iberty
LACKS_ARCHIVES := $(shell for l in $(ARCHIVES); do [ -e "$$($(CC) -print-file-name=lib$$l.a)" ] || echo lib$$l.a; done)
RECORD_LIBS := $(if $(LACKS_ARCHIVES),$(TOOL_LIBS) $(CLI_LIBS),-Wl$(comma)-Bstatic $(ARCHIVES:%=-l%) -Wl$(comma)-Bdynamic -Wl$(comma)--as-needed -lZydis -lpthread -lc -lm -Wl$(comma)--wrap=dlopen)
ifdef ASAN
BUILD := build/asan
TOOL_CFLAGS += -fsanitize=address,undefined -fno-omit-frame-pointer
endif

# The engine runs inside the traced program: no libc, no vector registers, a fixed place in the low arena.
ENGINE_CFLAGS := -std=c11 $(WARN) -Iinclude -Isrc -O2 -g -ffreestanding -fno-pic -fno-pie -fno-stack-protector -mgeneral-regs-only \
	-fno-builtin -mno-red-zone -fno-asynchronous-unwind-tables -fcf-protection=none -fomit-frame-pointer -DZYAN_NO_LIBC -DTW_ENGINE
ENGINE_LDFLAGS := -static -nostdlib -Wl,-z,noexecstack -Wl,--no-warn-rwx-segments -Wl,--build-id=none -T src/engine/engine.ld

ENGINE_SRC := $(wildcard src/engine/*.c src/engine/*/*.c src/engine/*.S src/engine/*/*.S src/instrument/*.c) src/base/bpf.c
CLI_SRC := $(filter-out %_test.c,$(wildcard src/cli/*.c src/cc/*.c src/sql/*.c src/html/*.c src/serve/*.c src/top/*.c)) src/html/assets.S src/engine/x86_64/decode.c src/engine/x86_64/references.c src/engine/x86_64/updates.c \
	src/instrument/planner.c src/instrument/sources.c
LIB_SRC := $(filter-out %_test.c,$(wildcard src/base/*.c src/attach/*.c src/channel/*.c src/jit/*.c src/recording/*.c src/replay/*.c src/analyze/*.c src/report/*.c src/names/*.c src/import/*.c \
	src/export/*.c src/learn/*.c src/plugin/*.c src/analyzers/*.c src/live/*.c))
UNIT_SRC := $(wildcard src/*/*_test.c)

# trackway-mpi is built where OpenMPI is installed (make setup-mpi); nothing else needs it.
MPI_SRC := $(wildcard src/mpi/*.c)
MPI := $(shell pkg-config --exists ompi-c 2>/dev/null && echo ompi-c)

# What programs carry that `trackway cc` has instrumented: one object without needs of its own. GCC has -Oz from version 12 on.
SMALLEST := $(shell $(CC) -Oz -E -x c /dev/null >/dev/null 2>&1 && echo -Oz || echo -Os)
CC_RUNTIME_CFLAGS := -std=gnu11 $(WARN) -Iinclude -Isrc -Isrc/cc/runtime $(SMALLEST) -ffreestanding -fPIC -fvisibility=hidden -ftls-model=initial-exec \
	-mgeneral-regs-only -fno-stack-protector -fno-builtin -fcf-protection=none
CC_RUNTIME_SRC := $(wildcard src/cc/runtime/*.c src/cc/runtime/*.S) src/base/bpf.c
# What those compiled with --switchable carry besides.
CC_TWICE_SRC := $(wildcard src/cc/twice/*.c src/cc/twice/*.S)
# What those carry besides that make processes by system calls of their own.
CC_COPYING_SRC := $(wildcard src/cc/copying/*.c src/cc/copying/*.S)
# What instrumented code calls that is a few instructions: of these files those are linked that something refers to.
CC_SEQUENCES_SRC := $(wildcard src/cc/sequences/*.S)
# What those compiled with --full=guard carry besides.
CC_GUARD_SRC := $(wildcard src/cc/guard/*.c)
# What those with a batch routine carry besides, which has replay in it: only what the routine calls can be seen of it.
CC_BATCH_OBJ := $(patsubst %,$(BUILD)/batch/%.o,$(wildcard src/cc/batch/*.c))
CC_BATCH_NAMES := trackway_cc_batch tw_batch_blocks tw_batch_refs tw_cc_handover_code tw_cc_handover_code_end
# And what hands full buffers to it, which is of the run-time part.
CC_HANDOVER_SRC := $(wildcard src/cc/handover/*.c src/cc/handover/*.S)

ENGINE_OBJ := $(patsubst %,$(BUILD)/engine/%.o,$(ENGINE_SRC)) $(BUILD)/engine/zydis.o
CLI_OBJ := $(patsubst %,$(BUILD)/obj/%.o,$(CLI_SRC))
WRAPPED_OBJ := $(if $(LACKS_ARCHIVES),,$(patsubst %,$(BUILD)/obj/%.o,$(wildcard src/cli/wrapped/*.c)))
LIB_OBJ := $(patsubst %,$(BUILD)/obj/%.o,$(LIB_SRC))
UNIT_OBJ := $(LIB_OBJ) $(filter-out $(BUILD)/obj/src/cli/main.c.o,$(CLI_OBJ))
LIBRARY := $(BUILD)/libtrackway.so.$(SOVERSION)
MPI_OBJ := $(patsubst %,$(BUILD)/obj/%.o,$(MPI_SRC))
UNIT_BIN := $(patsubst src/%.c,$(BUILD)/unit/%,$(UNIT_SRC))

all: $(BUILD)/trackway $(BUILD)/trackway-engine $(LIBRARY) $(BUILD)/libtrackway.a $(BUILD)/trackway-cc.o $(BUILD)/trackway-cc-parts.a \
	$(BUILD)/trackway-cc-guard.o $(BUILD)/trackway-cc-batch.o
ifneq ($(MPI),)
all: mpi
endif

# The tool has the library in it, and exports its interface: plug-ins need nothing else.
$(BUILD)/trackway: $(CLI_OBJ) $(WRAPPED_OBJ) $(LIB_OBJ) $(BUILD)/exports.list
	$(CC) $(CFLAGS) $(TOOL_CFLAGS) -Wl,--dynamic-list=$(BUILD)/exports.list -o $@ $(CLI_OBJ) $(WRAPPED_OBJ) $(LIB_OBJ) $(RECORD_LIBS)

mpi: $(BUILD)/trackway-mpi

$(MPI_OBJ): TOOL_CFLAGS += $(shell pkg-config --cflags ompi-c 2>/dev/null)

$(BUILD)/trackway-mpi: $(MPI_OBJ) $(CLI_OBJ) $(LIB_OBJ) $(BUILD)/exports.list
	$(CC) $(CFLAGS) $(TOOL_CFLAGS) -Wl,--dynamic-list=$(BUILD)/exports.list -o $@ $(MPI_OBJ) $(filter-out %/main.c.o,$(CLI_OBJ)) $(LIB_OBJ) $(TOOL_LIBS) $(CLI_LIBS) \
		$(shell pkg-config --libs ompi-c)

$(LIBRARY): $(LIB_OBJ) $(BUILD)/exports.map
	$(CC) $(CFLAGS) $(TOOL_CFLAGS) -shared -Wl,-soname,$(@F) -Wl,--version-script=$(BUILD)/exports.map -o $@ $(LIB_OBJ) $(TOOL_LIBS)
	ln -sf $(@F) $(BUILD)/libtrackway.so

$(BUILD)/libtrackway.a: $(LIB_OBJ)
	rm -f $@
	$(AR) rcs $@ $^

# What src/exports has by name, as the linker wants it.
$(BUILD)/exports.list: src/exports
	@mkdir -p $(@D)
	sed 's/^#.*//; s/..*/&;/; 1i {' $< > $@ && echo '};' >> $@

$(BUILD)/exports.map: src/exports
	@mkdir -p $(@D)
	sed 's/^#.*//; s/..*/&;/; 1i TRACKWAY_$(SOVERSION) { global:' $< > $@ && echo 'local: *; };' >> $@

# The engine's decoder, which `trackway cc` uses too, goes without a libc.
$(BUILD)/obj/src/engine/%.o: TOOL_CFLAGS += -DZYAN_NO_LIBC

# Names of system calls, by number, of 64-bit Linux and of int 0x80: those of the kernel's headers here.
$(BUILD)/gen/syscall_names_%.h:
	@mkdir -p $(@D)
	echo '#include <asm/unistd_$*.h>' | $(CC) -E -dM - | sed -n 's/^#define __NR_\([a-z0-9_]*\) \([0-9]*\)$$/[\2] = "\1",/p' >$@

$(BUILD)/obj/src/export/syscalls.c.o: $(BUILD)/gen/syscall_names_64.h $(BUILD)/gen/syscall_names_32.h
$(BUILD)/obj/src/export/syscalls.c.o: TOOL_CFLAGS += -I$(BUILD)/gen

$(BUILD)/obj/src/cli/wrapped/zydis.c.o: TOOL_CFLAGS += -DTW_ZYDIS='"$(shell objdump -p "$$($(CC) -print-file-name=libZydis.so)" | sed -n 's/^ *SONAME *//p')"'

$(BUILD)/obj/%.c.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(TOOL_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/obj/%.S.o: %.S
	@mkdir -p $(@D)
	$(CC) -c -o $@ $<

# The page of `report --html` is part of the tool.
$(BUILD)/obj/src/html/assets.S.o: $(wildcard src/html/assets/*)

# All that unit tests are linked with, once for all of them.
$(BUILD)/libunit.so: $(UNIT_OBJ)
	$(CC) $(CFLAGS) $(TOOL_CFLAGS) -shared -Wl,-Bsymbolic -o $@ $(UNIT_OBJ) $(TOOL_LIBS) $(CLI_LIBS)

$(BUILD)/unit/%: src/%.c $(BUILD)/libunit.so
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(TOOL_CFLAGS) -Itests -o $@ $< -L$(BUILD) -lunit $(TOOL_LIBS) $(CLI_LIBS) -Wl,-rpath,'$$ORIGIN/../..'

$(BUILD)/trackway-engine: $(ENGINE_OBJ) src/engine/engine.ld
	$(CC) $(ENGINE_LDFLAGS) -o $@ $(ENGINE_OBJ)

$(BUILD)/trackway-cc.o: $(patsubst %,$(BUILD)/runtime/%.o,$(CC_RUNTIME_SRC)) src/cc/runtime/code.ld
	$(CC) -nostdlib -r -T src/cc/runtime/code.ld -o $@ $(filter %.o,$^)

$(BUILD)/trackway-cc-twice.o: $(patsubst %,$(BUILD)/runtime/%.o,$(CC_TWICE_SRC)) src/cc/runtime/code.ld
	$(CC) -nostdlib -r -T src/cc/runtime/code.ld -o $@ $(filter %.o,$^)
	objcopy --redefine-sym tw_cc_code=tw_cc_twice_code --redefine-sym tw_cc_code_end=tw_cc_twice_code_end $@

$(BUILD)/runtime/copying.o: $(patsubst %,$(BUILD)/runtime/%.o,$(CC_COPYING_SRC)) src/cc/runtime/code.ld
	$(CC) -nostdlib -r -T src/cc/runtime/code.ld -o $@ $(filter %.o,$^)
	objcopy --redefine-sym tw_cc_code=tw_cc_copying_code --redefine-sym tw_cc_code_end=tw_cc_copying_code_end $@

$(BUILD)/trackway-cc-parts.a: $(BUILD)/trackway-cc-twice.o $(BUILD)/runtime/copying.o $(patsubst %,$(BUILD)/runtime/%.o,$(CC_SEQUENCES_SRC))
	rm -f $@
	$(AR) rcsD $@ $^

$(BUILD)/trackway-cc-guard.o: $(patsubst %,$(BUILD)/runtime/%.o,$(CC_GUARD_SRC))
	$(CC) -nostdlib -r -o $@ $^

$(BUILD)/runtime/handover.o: $(patsubst %,$(BUILD)/runtime/%.o,$(CC_HANDOVER_SRC)) src/cc/runtime/code.ld
	$(CC) -nostdlib -r -T src/cc/runtime/code.ld -o $@ $(filter %.o,$^)
	objcopy --redefine-sym tw_cc_code=tw_cc_handover_code --redefine-sym tw_cc_code_end=tw_cc_handover_code_end $@

$(BUILD)/trackway-cc-batch.o: $(CC_BATCH_OBJ) $(BUILD)/runtime/handover.o $(BUILD)/libtrackway.a
	$(CC) -nostdlib -r -o $@ $^
	objcopy -g $(addprefix --keep-global-symbol=,$(CC_BATCH_NAMES)) $@

$(BUILD)/batch/%.o: %
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(TOOL_CFLAGS) -MMD -MP -c -o $@ $<

# Goes through all records where they are counted.
$(BUILD)/runtime/src/cc/runtime/tally.c.o: CC_RUNTIME_CFLAGS += -O2

$(BUILD)/runtime/%.o: %
	@mkdir -p $(@D)
	$(CC) $(CC_RUNTIME_CFLAGS) -MMD -MP -c -o $@ $<

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

setup-mpi:
	@tools/setup mpi

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

# A generator of recordings that are wrong inside.
$(BUILD)/tests/change: $(wildcard tests/change/*.c tests/change/*.h) $(LIB_OBJ)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(TOOL_CFLAGS) -o $@ $(filter %.c %.o,$^) $(TOOL_LIBS)

unit: $(UNIT_BIN) $(BUILD)/tests/change

bench:
	@tools/setup bench
	@$(MAKE) --no-print-directory all
	@bench/run $(BUILD)
	@bench/blocks $(BUILD)

# The papers' tables and figures, measured again, under docs/evaluation; QUICK=1: in some 20 minutes.
evaluation:
	@tools/setup bench
	@$(MAKE) --no-print-directory all
	@bench/evaluation/run $(BUILD)

install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/trackway $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/man/man5 \
		$(DESTDIR)$(PREFIX)/include/trackway $(DESTDIR)$(PREFIX)/share/bash-completion/completions $(DESTDIR)$(PREFIX)/share/zsh/site-functions \
		$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
	install -m 755 $(BUILD)/trackway $(DESTDIR)$(PREFIX)/bin/trackway
	$(if $(MPI),install -m 755 $(BUILD)/trackway-mpi $(DESTDIR)$(PREFIX)/bin/trackway-mpi)
	install -m 755 $(BUILD)/trackway-engine $(DESTDIR)$(PREFIX)/lib/trackway/trackway-engine
	install -m 644 $(BUILD)/trackway-cc.o $(DESTDIR)$(PREFIX)/lib/trackway/trackway-cc.o
	install -m 644 $(BUILD)/trackway-cc-parts.a $(DESTDIR)$(PREFIX)/lib/trackway/trackway-cc-parts.a
	install -m 644 $(BUILD)/trackway-cc-guard.o $(DESTDIR)$(PREFIX)/lib/trackway/trackway-cc-guard.o
	install -m 644 $(BUILD)/trackway-cc-batch.o $(DESTDIR)$(PREFIX)/lib/trackway/trackway-cc-batch.o
	install -m 644 $(wildcard man/*.1) $(DESTDIR)$(PREFIX)/share/man/man1/
	install -m 644 $(wildcard man/*.5) $(DESTDIR)$(PREFIX)/share/man/man5/
	install -m 644 completions/trackway.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/trackway
	install -m 644 completions/_trackway $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_trackway
	install -m 644 completions/trackway.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/trackway.fish
	install -m 644 $(wildcard include/trackway/*.h) $(DESTDIR)$(PREFIX)/include/trackway/
	install -d $(DESTDIR)$(PREFIX)/lib/pkgconfig
	install -m 644 $(LIBRARY) $(BUILD)/libtrackway.a $(DESTDIR)$(PREFIX)/lib/
	ln -sf $(notdir $(LIBRARY)) $(DESTDIR)$(PREFIX)/lib/libtrackway.so
	sed 's,@PREFIX@,$(PREFIX),; s,@VERSION@,$(VERSION),; s,@LIBS@,$(TOOL_LIBS),' src/trackway.pc.in > $(DESTDIR)$(PREFIX)/lib/pkgconfig/trackway.pc
	chmod 644 $(DESTDIR)$(PREFIX)/lib/pkgconfig/trackway.pc

SOURCES := $(shell find include src tests tools bench -name '*.[ch]' 2>/dev/null)

format:
	clang-format -i $(SOURCES)

lint:
	clang-format --dry-run -Werror $(SOURCES)
	cppcheck --quiet --std=c11 --error-exitcode=1 --enable=warning,portability --inline-suppr -Iinclude -Isrc --suppress=missingInclude --suppressions-list=tools/cppcheck.txt src tools
	for f in tests/run tests/*.sh tests/*/*.sh tools/setup tools/demo bench/run bench/inputs.sh bench/evaluation/run bench/blocks bench/cluster/run bench/memory/run bench/comparison completions/trackway.bash bench/apps/run bench/apps/soak bench/apps/stress-ng bench/apps/*.sh .ci/run; do bash -n $$f || exit 1; done

clean:
	rm -rf build

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
.PHONY: all setup setup-mpi mpi demo check unit bench evaluation install format lint clean
