/* SPDX-License-Identifier: MIT */
#include "collect/sent.h"

#include <stdio.h>
#include <string.h>

#include "probe/contexts.h"
#include "site/registry.h"

/* Copies a text; of a long one the end, which says more than the beginning. */
static void copy_text(char *to, const char *from) {
    size_t length = from ? strlen(from) : 0;
    size_t skip = length < SPEX_STREAM_TEXT_BYTES ? 0 : length - (SPEX_STREAM_TEXT_BYTES - 1);
    snprintf(to, SPEX_STREAM_TEXT_BYTES, "%s", from ? from + skip : "");
}

uint32_t spex_sent_sites(struct spex_sent *sent, struct spex_stream_site *sites, uint32_t most) {
    uint32_t all = spex_sites_count(), count = 0;
    while (count < most && sent->sites < all) {
        uint32_t index = sent->sites++;
        const struct spex_site_info *info = spex_site_info(index);
        if (spex_site_is_region(info))
            continue;
        struct spex_stream_site *site = &sites[count++];
        *site = (struct spex_stream_site){.index = index};
        site->line = info->line;
        site->subsample = info->subsample;
        site->probe_id = info->probe_id;
        site->probe_type = info->probe_type;
        copy_text(site->name, info->name);
        copy_text(site->file, info->file);
        copy_text(site->parameters, info->parameters);
        copy_text(site->provider, info->provider);
        site->declared = info->id < 0 ? SPEX_STREAM_NO_ID : (uint32_t)info->id + 1;
        site->values = info->values;
        site->kinds = info->kinds;
    }
    return count;
}

uint32_t spex_sent_contexts(struct spex_sent *sent, uint64_t number,
                            struct spex_stream_context *contexts, uint32_t count, uint32_t most) {
    struct spex_context_node node;
    while (count < most && spex_context_node(number, &node) &&
           !(sent->contexts[number / 64] >> number % 64 & 1)) {
        sent->contexts[number / 64] |= UINT64_C(1) << number % 64;
        contexts[count++] = (struct spex_stream_context){
            .number = (uint32_t)number, .parent = node.parent, .kernel = node.kernel};
        number = node.parent;
    }
    return count;
}

void spex_sent_take_back(struct spex_sent *sent, const struct spex_stream_context *contexts,
                         uint32_t count) {
    for (uint32_t c = 0; c < count; c++) {
        uint32_t number = contexts[c].number;
        sent->contexts[number / 64] &= ~(UINT64_C(1) << number % 64);
    }
}

uint32_t spex_sent_threads(struct spex_sent_threads *sent, const struct spex_batch *batch,
                           size_t *record, struct spex_stream_thread *threads, uint32_t most) {
    uint32_t count = 0;
    for (size_t *r = record; *r < batch->count && count < most; ++*r) {
        uint32_t number = spex_packed_thread(batch->words[*r * batch->record_words + 1]);
        uint32_t thread_id = batch->records[*r].thread_id;
        if (sent->ids[number] == thread_id)
            continue;
        sent->ids[number] = thread_id;
        threads[count++] = (struct spex_stream_thread){number, thread_id};
    }
    return count;
}

void spex_sent_take_back_threads(struct spex_sent_threads *sent,
                                 const struct spex_stream_thread *threads, uint32_t count) {
    for (uint32_t t = 0; t < count; t++)
        sent->ids[threads[t].number] = 0;
}
