/* SPDX-License-Identifier: MIT */
/* Sites that were refused when their module registered: they stay off, and nobody counts their
 * executions. They have no info; while the module is loaded they are found among its sites. */
#ifndef SPEX_SITE_REFUSED_H
#define SPEX_SITE_REFUSED_H

#include "site/probe_identity.h"
#include "site/registry_state.h"

/* Marks the probes of which the module has a site that was refused, if they have others. `fresh`:
 * the module registers now, and what was refused is to be told. `find` returns the first site of the
 * probe to which a site belongs; NULL: there is none. The registry's lock is held. */
void spex_refused_mark(const struct spex_module *module, bool fresh,
                       struct spex_site_info *(*find)(const struct spex_site *site,
                                                      const struct spex_probe_identity *probe));

/* Says how many were refused for want of room: of the first ones, and whenever their number has
 * doubled. To be called without the registry's lock, since writing may block. */
void spex_refused_tell(void);

#endif
