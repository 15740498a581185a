/* SPDX-License-Identifier: MIT */
/* A class is found by its probe's number, of which few have more than one class. */
#include "trace/event_classes.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/growing_text.h"
#include "ring/field_value.h"
#include "ring/probe_type.h"
#include "text/printable.h"

/* Probe numbers have 16 bits. */
enum { NUMBERS = 65536 };

void spex_event_classes_free(struct spex_event_classes *classes) {
    spex_free(classes->sites);
    spex_free(classes->classes);
    spex_free(classes->events);
    spex_free(classes->by_probe);
    *classes = (struct spex_event_classes){.site_count = 0};
}

static void make_sound(char *text) {
    text[SPEX_STREAM_TEXT_BYTES - 1] = '\0';
    spex_make_printable(text);
}

int spex_event_classes_sites(struct spex_event_classes *classes,
                             const struct spex_stream_site *sites, size_t count) {
    struct spex_stream_site *all =
        spex_realloc(classes->sites, (classes->site_count + count) * sizeof(*all));
    if (!all)
        return -ENOMEM;
    classes->sites = all;
    for (size_t s = 0; s < count; s++) {
        struct spex_stream_site *site = &all[classes->site_count++];
        *site = sites[s];
        make_sound(site->name);
        make_sound(site->file);
        make_sound(site->parameters);
        make_sound(site->provider);
    }
    return 0;
}

/* Returns the array with room for another item; NULL without memory. It doubles when its count is a
 * power of two, so that it needs no size of its own. */
static void *grown(void *items, size_t count, size_t bytes) {
    return count & (count - 1) ? items : spex_realloc(items, (count ? 2 * count : 1) * bytes);
}

static int class_add(struct spex_event_classes *classes, const struct spex_record *record) {
    if (classes->count == SPEX_TRACE_CLASSES_MAX)
        return -EOVERFLOW;
    if (!classes->by_probe)
        classes->by_probe = spex_calloc(NUMBERS, sizeof(*classes->by_probe));
    struct spex_event_class *all =
        grown(classes->classes, classes->count, sizeof(*classes->classes));
    if (all)
        classes->classes = all;
    if (!all || !classes->by_probe)
        return -ENOMEM;
    uint32_t *first = &classes->by_probe[record->probe_id];
    all[classes->count] = (struct spex_event_class){
        .event = {.class = classes->count,
                  .probe_id = record->probe_id,
                  .values = spex_event_values(record),
                  .probe_type = record->probe_type,
                  .kinds = record->kinds},
        .next = *first,
    };
    *first = ++classes->count;
    return 0;
}

int32_t spex_event_add(struct spex_event_classes *classes, const struct spex_record *record,
                       unsigned layout) {
    int err = spex_event_class_find(classes, record) ? 0 : class_add(classes, record);
    if (!err && classes->event_count == SPEX_TRACE_EVENTS_MAX)
        err = -EOVERFLOW;
    if (err)
        return err;
    struct spex_journal_event *events =
        grown(classes->events, classes->event_count, sizeof(*events));
    if (!events)
        return -ENOMEM;
    struct spex_event_class *class = spex_event_class_find(classes, record);
    classes->events = events;
    events[classes->event_count] = class->event;
    events[classes->event_count].id = classes->event_count;
    events[classes->event_count].layout = layout;
    class->ids[layout] = ++classes->event_count;
    return (int32_t)classes->event_count - 1;
}

/* Finds a site of the class's probe, and whether its probe number has sites of other types, too.
 * NULL: the program has told none. */
static const struct spex_stream_site *site_of(const struct spex_event_classes *classes,
                                              const struct spex_journal_event *event,
                                              bool *several) {
    const struct spex_stream_site *found = NULL;
    *several = false;
    for (size_t s = 0; s < classes->site_count; s++) {
        const struct spex_stream_site *site = &classes->sites[s];
        if (site->probe_id != event->probe_id)
            continue;
        if (site->probe_type == event->probe_type)
            found = site;
        else
            *several = true;
    }
    return found;
}

static void print_name(const struct spex_event_classes *classes,
                       const struct spex_journal_event *event, struct spex_growing_text *to) {
    bool several;
    const struct spex_stream_site *site = site_of(classes, event, &several);
    if (site && site->provider[0]) {
        spex_growing_quoted(to, site->provider);
        spex_growing_print(to, ":");
    }
    if (site && site->name[0])
        spex_growing_quoted(to, site->name);
    else
        spex_growing_print(to, "%d", site ? (int)spex_stream_site_id(site) : (int)event->probe_id);
    if (several)
        spex_growing_print(to, ":%s", spex_probe_type_name(event->probe_type));
}

/* The text of parameter `number` of "n, m[i, j]" or NULL; *length. */
static const char *parameter_at(const char *text, unsigned number, size_t *length) {
    int depth = 0;
    for (*length = 0; text[*length]; ++*length) {
        char c = text[*length];
        depth += (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
        if (c != ',' || depth)
            continue;
        if (number-- == 0)
            return text;
        text += *length + 1;
        text += strspn(text, " ");
        *length = (size_t)-1;
    }
    return number == 0 && *length ? text : NULL;
}

static unsigned parameters_in(const char *text) {
    unsigned count = 0;
    size_t length;
    while (parameter_at(text, count, &length))
        count++;
    return count;
}

/* Names of an event's fields. Those of parameters have a "_" in front, which readers take off, so
 * that none is a word of the language. */
enum { NAME_BYTES = SPEX_STREAM_TEXT_BYTES + 8 };

/* What is not a parameter: no parameter may be called so. */
static const char *const own_names[] = {"tid", "weight", "lost",   "marks",
                                        "gap", "ticks",  "context"};

static bool is_taken(char names[][NAME_BYTES], unsigned count, const char *name) {
    for (size_t n = 0; n < sizeof(own_names) / sizeof(own_names[0]); n++)
        if (strcmp(own_names[n], name) == 0)
            return true;
    for (unsigned n = 0; n < count; n++)
        if (strcmp(names[n] + 1, name) == 0)
            return true;
    return false;
}

/* Makes names[number] of the parameter's text: what cannot be in a name becomes "_", and equal
 * names are told apart by their number. `text` NULL: the program names none. */
static void name_parameter(char names[][NAME_BYTES], unsigned number, const char *text) {
    size_t length;
    const char *from = text ? parameter_at(text, number, &length) : NULL;
    char name[NAME_BYTES - 1];
    size_t at = 0;
    for (; from && at < length; at++)
        name[at] = (char)(isalnum((unsigned char)from[at]) ? from[at] : '_');
    name[at] = '\0';
    if (!from || is_taken(names, number, name))
        at = (size_t)snprintf(name, sizeof(name), "p%u", number);
    for (; is_taken(names, number, name) && at + 1 < sizeof(name); at++) {
        name[at] = '_';
        name[at + 1] = '\0';
    }
    snprintf(names[number], NAME_BYTES, "_%s", name);
}

/* What a type of metadata.c begins with. */
static const char *type_name(unsigned kind) {
    return kind == SPEX_KIND_FLOATING ? "float" : kind == SPEX_KIND_SIGNED ? "int" : "uint";
}

/* Writes the values' fields. */
static void print_values(const struct spex_event_classes *classes,
                         const struct spex_journal_event *event, struct spex_growing_text *to) {
    static const char *const of_llc[] = {"references", "misses"};
    char names[SPEX_MAX_FIELDS + 1][NAME_BYTES];
    bool several, kernel = event->probe_type == SPEX_KERNEL;
    const struct spex_stream_site *site = site_of(classes, event, &several);
    const char *parameters = kernel && site ? site->parameters : NULL;
    if (parameters && parameters_in(parameters) + SPEX_KERNEL_VALUES != event->values)
        parameters = NULL;
    for (unsigned v = 0; v < event->values && v < SPEX_MAX_FIELDS; v++) {
        char number[16];
        const char *name = number;
        snprintf(number, sizeof(number), "v%u", v);
        if (kernel && v >= SPEX_KERNEL_VALUES) {
            name_parameter(names, v - SPEX_KERNEL_VALUES, parameters);
            name = names[v - SPEX_KERNEL_VALUES];
        } else if (kernel && v == 1) {
            name = "context";
        } else if (event->probe_type == SPEX_SPAN && v == 1) {
            name = "key";
        } else if (spex_probe_type_ticks(event->probe_type)) {
            name = "ticks";
        } else if (event->probe_type == SPEX_LLC && v < 2) {
            name = of_llc[v];
        } else if (event->probe_type & (SPEX_FLT | SPEX_CTXSW | SPEX_PERFCNTR)) {
            name = "events";
        }
        unsigned width = v ? event->layout / SPEX_LAYOUT_OTHERS : event->layout;
        unsigned field = spex_probe_type_first_value(event->probe_type) + v;
        spex_growing_print(to, " %s%u_t %s;", type_name(spex_kind_at(event->kinds, field)),
                           8u << (width & SPEX_LAYOUT_WIDTH_MASK), name);
    }
}

void spex_event_print(const struct spex_event_classes *classes, uint32_t id,
                      struct spex_growing_text *to) {
    const struct spex_journal_event *event = &classes->events[id];
    unsigned more = event->layout & SPEX_LAYOUT_MORE_MASK;
    spex_growing_print(to, "event { id = %u; stream_id = 0; name = \"", (unsigned)id);
    print_name(classes, event, to);
    spex_growing_print(to, "\"; fields := struct {%s%s",
                       event->layout & SPEX_LAYOUT_THREAD ? " uint32_t tid;" : "",
                       more == SPEX_LAYOUT_FULL
                           ? " uint32_t weight; uint32_t lost; uint8_t marks; uint8_t gap;"
                       : more == SPEX_LAYOUT_DRAWN ? " uint16_t weight; uint8_t marks;"
                                                   : "");
    print_values(classes, event, to);
    spex_growing_print(to, " }; };\n");
}
