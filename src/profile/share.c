/* SPDX-License-Identifier: MIT */
#include "profile/share.h"
#include "base/memory/memory.h"

#include <stdlib.h>

struct spex_share *spex_share_join(struct spex_shares *shares, uid_t user) {
    struct spex_share *share = shares->first;
    while (share && share->user != user)
        share = share->next;
    if (!share) {
        share = spex_calloc(1, sizeof(*share));
        if (!share)
            return NULL;
        *share = (struct spex_share){.of = shares, .next = shares->first, .user = user};
        shares->first = share;
    }
    share->holders++;
    return share;
}

void spex_share_leave(struct spex_share *share) {
    if (!share || --share->holders)
        return;
    struct spex_share **place = &share->of->first;
    while (*place != share)
        place = &(*place)->next;
    *place = share->next;
    spex_free(share);
}

bool spex_share_take(struct spex_share *share, size_t bytes) {
    if (!share)
        return true;
    size_t free_bytes = share->of->most - share->of->taken;
    if (bytes > free_bytes || share->taken + bytes > free_bytes - bytes)
        return false;
    share->taken += bytes;
    share->of->taken += bytes;
    return true;
}

void spex_share_give(struct spex_share *share, size_t bytes) {
    if (!share)
        return;
    share->taken -= bytes;
    share->of->taken -= bytes;
}
