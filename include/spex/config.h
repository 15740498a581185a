/* SPDX-License-Identifier: MIT */
/* The program's side of the configuration agent (Go and Colmenares, EWiLi'16, section 3): reads the
 * configuration that `spex explore` sends. The explorer writes it to an XML file, whose path is in
 * the environment variable SPEX_CONFIG:
 *
 *     <configuration space="sqlite">
 *       <parameter name="threads" value="4"/>
 *     </configuration>
 *
 * In libspex-explore. Threads may use different configurations at the same time, or read the same
 * one; a configuration must not be freed meanwhile. Not in signal handlers. Errors are negative
 * errno values, with one line in `why` (of `why_size` bytes). */
#ifndef SPEX_CONFIG_H
#define SPEX_CONFIG_H

#include <spex/detail/names_begin.h>

#include <stddef.h>
#include <stdint.h>

#include <spex/compiler.h>

SPEX_HEADER_BEGIN_

SPEX_EXTERN_C_BEGIN

struct spex_config;

/* Reads the file that SPEX_CONFIG names. Returns 0; -ENOENT when the variable is not set, because
 * the program is not being explored; -EINVAL for a file that is not a configuration; -EIO when
 * there is no such file; or another error of reading it. The caller frees *config, which is NULL
 * after an error. */
SPEX_API SPEX_MUST_CHECK int spex_config_receive(struct spex_config **config, char *why,
                                                 size_t why_size);

/* Reads the configuration from the file at `path`; otherwise as spex_config_receive, but -ENOENT
 * when there is no such file. */
SPEX_API SPEX_MUST_CHECK int spex_config_read(const char *path, struct spex_config **config,
                                              char *why, size_t why_size);

/* Frees a configuration; NULL is allowed. */
SPEX_API void spex_config_free(struct spex_config *config);

/* Returns the value of a parameter as text, or NULL when there is none of that name. The text is
 * valid until the configuration is freed. */
SPEX_API const char *spex_config_text(const struct spex_config *config, const char *name);

/* Sets *value to an integer parameter. Returns 0; -ENOENT when there is none of that name; -EINVAL
 * when it is not an integer of low to high. */
SPEX_API int spex_config_integer(const struct spex_config *config, const char *name, int64_t low,
                                 int64_t high, int64_t *value, char *why, size_t why_size);

SPEX_EXTERN_C_END

SPEX_HEADER_END_

#include <spex/detail/names_end.h>

#endif
