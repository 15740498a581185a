/* SPDX-License-Identifier: MIT */
/* Makes the packets of one stream, in memory. What becomes of them is the caller's matter. */
#ifndef SPEX_TRACE_PACKETS_H
#define SPEX_TRACE_PACKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <spex/record.h>

#include "trace/trace_format.h"

struct spex_packets {
    const uint8_t *uuid;
    uint32_t cpu;
    /* Room for packets, and how much of it is filled with whole ones. */
    uint8_t *bytes;
    size_t room;
    size_t closed;
    /* Bytes of the packet behind these that is being made, its header included; 0: none. */
    size_t used;
    uint64_t begin, last;
    /* The packet's, of which its events need not tell. */
    uint32_t thread;
    /* The number of the next packet, and the events lost in the stream so far. */
    uint64_t number;
    uint64_t discarded;
    /* Events that were added, and of the lost ones those that were, since the last taking away. */
    uint64_t events;
    uint64_t lost;
};

/* `room`: a multiple of SPEX_TRACE_PACKET_BYTES. 0 or -ENOMEM. */
int spex_packets_open(struct spex_packets *packets, size_t room, const uint8_t *uuid, uint32_t cpu);
void spex_packets_free(struct spex_packets *packets);

/* Makes room for a record, whose time is not before that of the last one, and finds the layout of
 * its event. False: there is no room before the whole packets are taken away. */
bool spex_packets_ready(struct spex_packets *packets, const struct spex_record *record,
                        uint64_t lost, unsigned *layout);

/* Then adds it as an event with this id, which stands for the layout. */
void spex_packets_add(struct spex_packets *packets, uint32_t id, unsigned layout,
                      const struct spex_record *record, uint64_t lost);

/* Adds as many of the first records as are of one class, next to no losses, and fit into the packet
 * that is being made, if one is. `ids`: by layout, 1 + the id of the class's event; 0: none is
 * known, and the record is not added. Returns how many were added. */
size_t spex_packets_add_run(struct spex_packets *packets, const struct spex_record *records,
                            size_t count, const uint32_t *ids);

/* Ends the packet that is being made. */
void spex_packets_close(struct spex_packets *packets);

/* Ends it, and appends a packet without events that tells of `lost` more lost ones, at `ticks`.
 * False as with spex_packets_ready. */
bool spex_packets_add_lost(struct spex_packets *packets, uint64_t ticks, uint64_t lost);

/* Forgets the packets, which are all whole. */
void spex_packets_taken(struct spex_packets *packets);

/* Forgets the packets, which cannot be stored, as if they had not been made. */
void spex_packets_drop(struct spex_packets *packets);

/* The packets from here on are those of a new file. All before have been taken away. */
void spex_packets_restart(struct spex_packets *packets);

#endif
