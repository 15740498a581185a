/* SPDX-License-Identifier: MIT */
/* Functions that are compiled with -finstrument-functions, and say nothing of spex but their
 * parameters. */
#ifndef SPEX_TEST_INSTRUMENTED_H
#define SPEX_TEST_INSTRUMENTED_H

#include <setjmp.h>
#include <stdint.h>

/* Functions that are there and do nothing. */
enum { MANY_FUNCTIONS = 512 };

typedef void work(void *user);

void fn_outer(uint64_t n);     /* gives n; calls fn_inner(n + 1) and fn_plain() */
void fn_inner(uint64_t n);     /* gives n */
void fn_plain(void);           /* gives nothing */
void fn_calls(work *, void *); /* something else */
void fn_left_out(void);        /* calls fn_plain(); is not to be chosen */
void fn_recursive(unsigned depth);
void fn_jumps(jmp_buf *to);
void link_twin(void);          /* does nothing; beside the second of two functions called twin */
void give_size(uint64_t size); /* of no kernel that is chosen */

#endif
