/* SPDX-License-Identifier: MIT */
/* The directory in which trials have their files. */
#ifndef SPEX_EXPLORE_TRIAL_DIRECTORY_H
#define SPEX_EXPLORE_TRIAL_DIRECTORY_H

#include "text/error.h"

/* Names a directory that is not there yet; *directory is to be freed. 0 or a negative errno
 * value. */
int spex_trial_directory_name(char **directory, struct spex_error *error);

#endif
