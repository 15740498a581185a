/* SPDX-License-Identifier: MIT */
/* The file that a command keeps models in. */
#ifndef SPEX_MODELS_FILE_H
#define SPEX_MODELS_FILE_H

#include "models.h"

/* To be freed in any case. SPEX_EXIT_OK, or another status after having said what is wrong. */
int spex_models_file_read(const char *path, struct spex_models *models);

/* As a whole, in the place of what was there. */
int spex_models_file_write(const char *path, const struct spex_models *models);

#endif
