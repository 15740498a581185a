/* SPDX-License-Identifier: MIT */
/* Writes the XML files of configurations, which include/spex/config.h reads. */
#ifndef SPEX_EXPLORE_SPACE_CONFIG_FILE_H
#define SPEX_EXPLORE_SPACE_CONFIG_FILE_H

#include <stddef.h>

#include <spex/policy.h>

#include "text/error.h"

/* Writes the configuration `levels` to a file. 0; -ENOMEM; or the error of writing. */
int spex_config_write(const char *path, const struct spex_space *space, const size_t *levels,
                      struct spex_error *error);

#endif
