/* SPDX-License-Identifier: MIT */
/* For tests of sources alone: no thread of theirs is one of spex. */
#include "base/service_thread.h"

bool spex_service_thread_is_this(void) {
    return false;
}
