/* SPDX-License-Identifier: MIT */
/* Files of models, as `spex train` writes them. */
#ifndef SPEX_TOOLS_COMMON_MODELS_FILE_H
#define SPEX_TOOLS_COMMON_MODELS_FILE_H

#include "model/models.h"

/* Free `models` in any case. SPEX_EXIT_OK, or another status after a message. */
int spex_models_file_read(const char *path, struct spex_models *models);

/* Replaces the file as a whole, so that no reader finds a part of it. Status as above. */
int spex_models_file_write(const char *path, const struct spex_models *models);

#endif
