/* SPDX-License-Identifier: MIT */
/* The state of start and stop, its lock, and what its settings say of the output. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/memory.h"
#include "base/process.h"
#include "base/service_thread.h"
#include "start/life_state.h"
#include "text/at_start.h"

struct spex_life spex_life SPEX_AT_START = {.lock = SPEX_LOCK_FREE};

int spex_life_take(struct spex_uninterrupted *before) {
    if (spex_process_is_unknown())
        return -ENOTRECOVERABLE;
    if (spex_lock_is_mine(&spex_life.lock))
        return -EDEADLK;
    spex_uninterrupted_begin(before);
    if (!spex_service_thread_is_this()) {
        spex_lock_take(&spex_life.lock);
    } else if (!spex_lock_take_soon(&spex_life.lock)) {
        spex_uninterrupted_end(before);
        return -EBUSY;
    }
    bool lost = spex_life.lost;
    if (lost)
        spex_life_give(before);
    return lost ? -ENOTRECOVERABLE : 0;
}

void spex_life_give(const struct spex_uninterrupted *before) {
    spex_lock_give(&spex_life.lock);
    spex_uninterrupted_end(before);
}

/* Sets the pointers to NULL, since the structure is used again by the next start. */
void spex_life_settings_free(void) {
    spex_free(spex_life.out);
    spex_free(spex_life.control);
    spex_free(spex_life.models);
    spex_free(spex_life.models_asked.path);
    spex_life.models_asked.path = NULL;
    spex_life.out = spex_life.control = spex_life.models = NULL;
}

const char *spex_life_out_after(const char *prefix) {
    const char *out = spex_life.settings.out;
    size_t length = strlen(prefix);
    return out && strncmp(out, prefix, length) == 0 ? out + length : NULL;
}

const char *spex_life_out_command(void) {
    const char *metrics = spex_life_out_after(SPEX_OUT_METRICS);
    return metrics ? metrics : spex_life_out_after(SPEX_OUT_RECORD);
}

void spex_life_out_give_up(void) {
    spex_life.settings.out = NULL;
    spex_life.out_given_up = true;
}
