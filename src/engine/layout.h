/* Where things are: the low arena's map and the offsets assembly needs. Included from C and from assembly. */
#ifndef TW_LAYOUT_H
#define TW_LAYOUT_H

/* The low arena: everything with code in it within one signed 32-bit reach, and below 2 GB so that absolute addresses fit disp32. */
#define ARENA_MODULES     0x10000000 /* modules the engine places, upwards... */
#define ARENA_MODULES_END 0x5e000000 /* ...to here */
#define ARENA_ENGINE      0x5f000000 /* the engine's image; from its .bss on all is one mapping (start.S) */
#define ARENA_CACHE       0x60000000 /* fragments */
#define ARENA_CACHE_END   0x68000000 /* the most: tw_arena_cache_end has what there is */
#define ARENA_STUBS       0x68000000 /* exit stubs */
#define ARENA_STUBS_END   0x6c000000
#define ARENA_HEAP        0x6c000000 /* its heap: fragments' metadata, tables */
#define ARENA_HEAP_END    0x7fff0000

#define PIE_PLACE     0x550000000000 /* position-independent programs for which the arena is too small... */
#define BRK_PLACE     0x555570000000 /* ...and brk of all of these */
#define CHANNEL_PLACE 0x560000000000
#define THREADS_PLACE 0x561000000000 /* struct thread, engine stack and window (tally.h) of each thread */
#define FILL_PLACE    0x570000000000 /* limits.h */

#define THREAD_BYTES     0x18000 /* as TW_THREAD_BYTES */
#define THREAD_STACK_TOP 0xc000  /* engine stack: below this offset; above: alternate signal stack, for four frames with AMX (12 KB each) */

/* struct thread */
#define T_REGS         0
#define T_FLAGS        128
#define T_PC           136
#define T_APP_R11      152
#define T_SLOT_T       160
#define T_SLOT_RCX     168
#define T_SLOT_R10     176
#define T_SLOT_S       184
#define T_HOST_TARGET  192
#define T_EXIT         200
#define T_CC_INFO      208
#define T_CC_RET       216
#define T_STACK_TOP    224
#define T_SELF         232
#define T_APP_GS       240
#define T_HAS_DEFERRED 248
#define T_RESUME_HOST  256
#define T_SLOT_S2      264
#define T_COUNT        272
#define T_UPPER        280
#define T_LOCK_NAME    284
#define T_STATUS       288
#define T_BITS         304
#define T_GROUP        312
#define T_SLOT_C       320
#define T_PACE         328
#define T_FROM         344
#define T_RSEQ         352
#define T_RSEQ_SECTION 360
#define T_RESTART      384

#define TW_PACE_POINTS 2

#define TW_RSEQ_SIGNATURE 0x54575253 /* in front of where a section is begun anew */

/* struct tw_ucontext */
#define UC_RSP 160
#define UC_RIP 168

/* struct tw_x86_64_calls */
#define CALLS_LEFT      0
#define CALLS_RESUME    8
#define CALLS_CALL_MADE 16
#define CALLS_STOPPED   24

/* Behind the block: entries of the window. */
#define T_WINDOW THREAD_BYTES

#endif
