/* SPDX-License-Identifier: MIT */
/* Reports to a subscriber: when the next one begins. */
#ifndef SPEX_SERVE_REPORT_H
#define SPEX_SERVE_REPORT_H

#include "serve/connection.h"

/* Begins the next report if it is due, or the last one. */
void spex_report_begin(struct spex_connection *connection, uint64_t now_ns, bool final);

/* So many milliseconds pass at least between a report that costs what this one has so far, and the next;
 * 0: as many as the subscriber has asked for. */
uint32_t spex_report_rest_ms(const struct spex_connection *connection);

/* The answer has been sent: sets when the next report is due. */
void spex_report_end(struct spex_connection *connection);

#endif
