/*
 * Translation: one block of application code becomes one fragment.
 *
 * Instructions are copied. Changed are those that depend on their address (rip-relative operands, branches, the
 * address that a call pushes), those that would take control away (branches, system calls), and uses of %gs, which is
 * the engine's. Before, between and after instructions the instrumentor inserts its code.
 *
 * What must hold at every host instruction, and is written to the state map as code is emitted: which application
 * instruction is next, and where the application's registers are. So inserted code changes nothing of the
 * application's that the map cannot tell.
 *
 * The buffer pointer is in r11, which compilers use least (3 to 5 % of blocks; measured by objdump over gzip, perl,
 * libc). A fragment whose code uses r11 moves the pointer to a register it does not use (t_reg), and back before it
 * leaves.
 */
#ifndef TW_TRANSLATE_H
#define TW_TRANSLATE_H

#include "engine/code/fragment.h"

struct insn;

/*
 * Translates the block at pc (limit: end of the readable code). Under the lock. NULL: the first instruction crosses
 * the limit. From then on stores into that code are detected (tw_memory_watch). If it is made because of indirect
 * exit x (otherwise x is NULL or direct), *lookup becomes its lookup for that exit's table, right before it, unless
 * that must change the upper half.
 */
struct fragment *tw_translate(u64 pc, u32 context, u64 limit, struct exit *x, struct fragment **lookup);

/*
 * Translates a path, whose blocks ran one after another, into one superblock; or as many of the blocks as still
 * follow one another and fit. NULL: the first no longer exists, or as above.
 */
struct fragment *tw_translate_superblock(const struct tw_path *path);

#endif
