/* SPDX-License-Identifier: MIT */
/* `spex explore SPACE.xml --prior OTHER.db`: the space with what another exploration found, to be tried
 * first. */
#ifndef SPEX_TOOLS_EXPLORE_PRIOR_SPACE_H
#define SPEX_TOOLS_EXPLORE_PRIOR_SPACE_H

/* Keeps the space with <first> beside the store, so that going on needs the other store no more, and sets
 * *kept to its path, to be freed. A space that is kept already stays as it is. An exit status, after a
 * message unless it is SPEX_EXIT_OK. */
int spex_prior_space(const char *space, const char *store, const char *prior, char **kept);

#endif
