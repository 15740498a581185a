/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "trace/metadata.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory/growing_text.h"
#include "text/printable.h"

/* Integer types of these sizes in bits, of which 0 is the last, named by them; those of the name
 * "int" are signed. */
static void print_integers(const char *name, const unsigned char *sizes, unsigned align,
                           const char *map, struct spex_growing_text *to) {
    for (; *sizes; sizes++)
        spex_growing_print(
            to, "typealias integer { size = %u; align = %u; signed = %s;%s } := %s%u_t;\n", *sizes,
            align, *name == 'i' ? "true" : "false", map, name, *sizes);
}

/* All are of whole bytes and stand next to each other, but for those of an event's header, which
 * are of bits: a structure is aligned as its members are. */
static const unsigned char integers[] = {8, 16, 32, 64, 0}, header_bits[] = {2, 14, 30, 0},
                           header_ticks[] = {16, 24, 32, 64, 0};

/* The type of the time and of the rest of the tag have the same name, as CTF's readers know it: the
 * last one counts. */
static const char layout[] =
    "stream {\n"
    "  id = 0;\n"
    "  packet.context := struct {\n"
    "    ticks64_t timestamp_begin; ticks64_t timestamp_end;\n"
    "    uint64_t content_size; uint64_t packet_size;\n"
    "    uint64_t events_discarded; uint64_t packet_seq_num; uint32_t cpu_id; uint32_t tid;\n"
    "  };\n"
    "  event.header := struct {\n"
    "    enum : bits2_t { t16 = 0, t24 = 1, t32 = 2, t64 = 3 } id;\n"
    "    variant <id> {\n"
    "      struct { bits14_t id; ticks16_t timestamp; } t16;\n"
    "      struct { bits14_t id; ticks24_t timestamp; } t24;\n"
    "      struct { bits14_t id; ticks32_t timestamp; } t32;\n"
    "      struct { bits30_t id; ticks64_t timestamp; } t64;\n"
    "    } v;\n"
    "  };\n"
    "};\n";

static void print_trace(const struct spex_metadata *metadata, struct spex_growing_text *to) {
    bool little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    spex_growing_print(to, "trace {\n  major = 1; minor = 8;\n  uuid = \"");
    for (int b = 0; b < SPEX_TRACE_UUID_BYTES; b++)
        spex_growing_print(to, "%s%02x", b == 4 || b == 6 || b == 8 || b == 10 ? "-" : "",
                           metadata->uuid[b]);
    spex_growing_print(
        to,
        "\";\n  byte_order = %s;\n  packet.header := struct { uint32_t magic; uint8_t "
        "uuid[%d]; uint32_t stream_id; };\n};\n",
        little ? "le" : "be", SPEX_TRACE_UUID_BYTES);
}

static void print_text(const char *name, const char *text, struct spex_growing_text *to) {
    spex_growing_print(to, "  %s = \"", name);
    spex_growing_quoted(to, text);
    spex_growing_print(to, "\";\n");
}

static void print_environment(const struct spex_metadata *metadata, struct spex_growing_text *to) {
    char host[HOST_NAME_MAX + 1] = "", program[256];
    gethostname(host, sizeof(host) - 1);
    snprintf(program, sizeof(program), "%s", metadata->program);
    spex_make_printable(host);
    spex_make_printable(program);
    spex_growing_print(to, "env {\n  tracer_name = \"spex\";\n");
    print_text("hostname", host, to);
    print_text("procname", program, to);
    spex_growing_print(to, "  vpid = %d;\n};\n", metadata->process_id);
}

static void print_clock(const struct spex_trace_clock *clock, struct spex_growing_text *to) {
    spex_growing_print(to,
                       "clock {\n  name = \"ticks\";\n  description = \"the processor's time stamp "
                       "counter\";\n  freq = %" PRIu64 ";\n  offset_s = %" PRId64
                       ";\n  offset = %" PRIu64 ";\n  absolute = true;\n};\n",
                       clock->ticks_per_second, clock->seconds, clock->ticks);
}

char *spex_metadata_text(const struct spex_metadata *metadata, size_t *length) {
    struct spex_growing_text text = {.length = 0}, *to = &text;
    spex_growing_print(to, "/* CTF 1.8 */\n\n");
    print_integers("uint", integers, 8, "", to);
    print_integers("int", integers, 8, "", to);
    spex_growing_print(
        to, "typealias floating_point { exp_dig = 11; mant_dig = 53; align = 8; } := float64_t;\n");
    print_trace(metadata, to);
    print_environment(metadata, to);
    print_clock(&metadata->clock, to);
    print_integers("bits", header_bits, 1, "", to);
    print_integers("ticks", header_ticks, 1, " map = clock.ticks.value;", to);
    spex_growing_print(to, "%s", layout);
    for (uint32_t e = 0; e < metadata->classes->event_count; e++)
        spex_event_print(metadata->classes, e, to);
    *length = text.length;
    if (!text.failed)
        return text.text;
    spex_free(text.text);
    return NULL;
}
