/* SPDX-License-Identifier: MIT */
#include "site/registry_state.h"

/* All zero, so that it takes no room in programs' files. */
struct spex_registry spex_registry = {.lock = SPEX_LOCK_FREE};
uint32_t spex_site_switched[SPEX_MAX_SITES + 1];
