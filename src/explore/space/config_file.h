/* SPDX-License-Identifier: MIT */
/* A configuration's XML, the explorer's side: what include/spex/config.h reads. */
#ifndef SPEX_EXPLORE_SPACE_CONFIG_FILE_H
#define SPEX_EXPLORE_SPACE_CONFIG_FILE_H

#include <stddef.h>

#include <spex/policy.h>

#include "text/error.h"

/* Writes the configuration `levels` to a new file. 0, or as writing failed. */
int spex_config_write(const char *path, const struct spex_space *space, const size_t *levels,
                      struct spex_error *error);

#endif
