/* SPDX-License-Identifier: MIT */
#include "site/registry_state.h"

struct spex_registry spex_registry = {.lock = PTHREAD_MUTEX_INITIALIZER, .polling_changes = 1};
