/* SPDX-License-Identifier: MIT */
/* Rate policies in shared objects, for spex_shared_object_open: what it finds is a struct
 * spex_rate_policy_ops. */
#ifndef SPEX_RATE_POLICY_OBJECT_H
#define SPEX_RATE_POLICY_OBJECT_H

#include "base/shared_object.h"

extern const struct spex_shared_object_kind spex_rate_object_kind;

#endif
