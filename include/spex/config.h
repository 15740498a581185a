/* SPDX-License-Identifier: MIT */
/* Configuration agent, the program's side: reads the configuration that `spex explore` sends. The
 * explorer writes it as XML to a file and names the file in SPEX_CONFIG:
 *
 *     <configuration space="sqlite">
 *       <parameter name="threads" value="4"/>
 *     </configuration>
 *
 * In libspex-explore. Not thread-safe for one configuration; errors come as one line in `why`. */
#ifndef SPEX_CONFIG_H
#define SPEX_CONFIG_H

#include <stddef.h>
#include <stdint.h>

#include <spex/compiler.h>

SPEX_EXTERN_C_BEGIN

struct spex_config;

/* Reads the file that SPEX_CONFIG names. 0; -ENOENT when the program is not being explored (the
 * variable is not set); -EINVAL for a file that is no configuration; or as opening it failed. The
 * caller frees *config, which is NULL after an error. */
SPEX_API SPEX_MUST_CHECK int spex_config_receive(struct spex_config **config, char *why,
                                                 size_t why_size);

/* The same from a file. */
SPEX_API SPEX_MUST_CHECK int spex_config_read(const char *path, struct spex_config **config,
                                              char *why, size_t why_size);

SPEX_API void spex_config_free(struct spex_config *config);

/* The value of a parameter, or NULL; lives as long as the configuration. */
SPEX_API const char *spex_config_text(const struct spex_config *config, const char *name);

/* An integer parameter within low to high. 0; -ENOENT when there is none so called; -EINVAL. */
SPEX_API int spex_config_integer(const struct spex_config *config, const char *name, int64_t low,
                                 int64_t high, int64_t *value, char *why, size_t why_size);

SPEX_EXTERN_C_END

#endif
