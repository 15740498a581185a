/* SPDX-License-Identifier: MIT */
/* Reports to a subscriber: when the next one begins. */
#ifndef SPEX_SERVE_REPORT_H
#define SPEX_SERVE_REPORT_H

#include "serve/connection.h"

/* Begins the next report if it is due, or the last one. */
void spex_report_begin(struct spex_connection *connection, uint64_t now_ns, bool final);

/* Part of an answer has taken so much CPU time. After the last part of a profile, sets the rest behind it,
 * which a quarter of the budget pays for, and when the next report is due. */
void spex_report_cost(struct spex_connection *connection, uint64_t cost_ns);

#endif
