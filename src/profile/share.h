/* SPDX-License-Identifier: MIT */
/* Memory that a command keeps of other users' programs, divided among these users: none of them
 * has more than what is free, so that something is left for each other one. A user alone has half
 * of it at most, two a third each. One thread uses them. */
#ifndef SPEX_PROFILE_SHARE_H
#define SPEX_PROFILE_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* As much as a master keeps of its fleet. */
#define SPEX_SHARES_BYTES ((size_t)512 << 20)

struct spex_shares {
    /* Bytes that all may have, and that they have. */
    size_t most, taken;
    struct spex_share *first;
};

struct spex_share {
    struct spex_shares *of;
    struct spex_share *next;
    uid_t user;
    size_t taken;
    /* Members: those that have joined and not left. */
    size_t holders;
};

/* The share of a user; NULL: out of memory. It is there until all that have joined it have left,
 * who give back what they have taken before. */
struct spex_share *spex_share_join(struct spex_shares *shares, uid_t user);
void spex_share_leave(struct spex_share *share);

/* Whether the user may have so many bytes more. NULL: everything may be taken. */
bool spex_share_take(struct spex_share *share, size_t bytes);
void spex_share_give(struct spex_share *share, size_t bytes);

#endif
