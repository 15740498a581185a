/* SPDX-License-Identifier: MIT */
/* Exploration policies in shared objects, for spex_shared_object_open, which finds a struct
 * spex_policy_ops. */
#ifndef SPEX_EXPLORE_POLICY_OBJECT_H
#define SPEX_EXPLORE_POLICY_OBJECT_H

#include "base/shared_object.h"

extern const struct spex_shared_object_kind spex_policy_object_kind;

#endif
