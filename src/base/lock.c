/* SPDX-License-Identifier: MIT */
#include "base/lock.h"

#include "base/deadline.h"

/* Longest wait. */
#define SOON_NS 20000000

bool spex_lock_take_soon(struct spex_lock *lock) {
    struct spex_patience patience = spex_patience_for(SOON_NS);
    do
        if (spex_lock_try(lock))
            return true;
    while (spex_patience_left(&patience));
    return false;
}
