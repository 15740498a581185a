/* SPDX-License-Identifier: MIT */
/* Criteria in documents: the attributes probe, metric, field, and at_most or at_least. Spaces and
 * the policies of fleets have them. */
#ifndef SPEX_XML_XML_CRITERION_H
#define SPEX_XML_XML_CRITERION_H

#include <spex/policy.h>

#include "xml/xml.h"

/* Probe, field and metric: what the criterion is about. The texts are the caller's to free, also
 * after an error. 0, -EINVAL or -ENOMEM. */
int spex_xml_take_metric(struct spex_xml *xml, const xmlNode *element,
                         struct spex_criterion *criterion);

/* The bound of a limit, in seconds for a time: either at_most or at_least. 0 or -EINVAL. */
int spex_xml_take_bound(struct spex_xml *xml, const xmlNode *element,
                        struct spex_criterion *criterion);

#endif
