/* SPDX-License-Identifier: MIT */
#include "fleet/link/queue.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/link/link_parts.h"

/* Milliseconds until a message that is given back for later comes again. */
enum { LATER_MS = 1000 };

#define SECOND_NS INT64_C(1000000000)

struct spex_queue {
    struct spex_link *link;
    natsSubscription *subscription;
};

static int told(struct spex_link *link, natsStatus status, const char *what, const char *name,
                struct spex_error *error) {
    char text[2 * SPEX_LINK_NAME_BYTES];
    snprintf(text, sizeof(text), "%s %s", what, name);
    return spex_link_explain(link, status, text, error);
}

/* The client's status is that of any error where the stream is not there. */
static natsStatus status_of(natsStatus status, jsErrCode code) {
    return status != NATS_OK && code == JSStreamNotFoundErr ? NATS_NOT_FOUND : status;
}

/* A stream that is there already stays as it is. */
int spex_queue_stream(struct spex_link *link, const char *stream, const char *prefix,
                      struct spex_error *error) {
    char subject[SPEX_LINK_NAME_BYTES];
    const char *subjects[] = {subject};
    jsStreamConfig config;
    jsErrCode code = 0;
    snprintf(subject, sizeof(subject), "%s.>", prefix);
    jsStreamConfig_Init(&config);
    config.Name = stream;
    config.Subjects = subjects;
    config.SubjectsLen = 1;
    config.Retention = js_WorkQueuePolicy;
    config.Discard = js_DiscardNew;
    config.MaxMsgs = SPEX_QUEUE_MESSAGES;
    config.MaxMsgSize = SPEX_LINK_BYTES;
    config.MaxAge = SPEX_QUEUE_DAYS * 86400 * SECOND_NS;
    natsStatus status = js_AddStream(NULL, link->stream, &config, NULL, &code);
    if (code == JSStreamNameExistErr)
        status = NATS_OK;
    return told(link, status, "making stream", stream, error);
}

/* The limit of messages that are given at a time is far above what there are agents. */
int spex_queue_make(struct spex_link *link, const char *stream, const char *name,
                    const char *filter, int patience, struct spex_error *error) {
    jsConsumerConfig config;
    jsErrCode code = 0;
    jsConsumerConfig_Init(&config);
    config.Durable = name;
    config.AckPolicy = js_AckExplicit;
    config.AckWait = patience * SECOND_NS;
    config.MaxDeliver = -1;
    config.MaxAckPending = SPEX_QUEUE_MESSAGES;
    config.MaxWaiting = SPEX_QUEUE_WAITING;
    config.FilterSubject = filter;
    natsStatus status = js_AddConsumer(NULL, link->stream, stream, &config, NULL, &code);
    return told(link, status_of(status, code), "making queue", name, error);
}

int spex_queue_delete(struct spex_link *link, const char *stream, const char *name,
                      struct spex_error *error) {
    jsErrCode code = 0;
    natsStatus status = js_DeleteConsumer(link->stream, stream, name, NULL, &code);
    return told(link, status_of(status, code), "removing queue", name, error);
}

int spex_queue_put(struct spex_link *link, const char *subject, const char *data, bool once,
                   struct spex_error *error) {
    size_t size = strlen(data);
    jsPubOptions options;
    jsErrCode code = 0;
    if (size > SPEX_LINK_BYTES)
        return spex_fail(error, -E2BIG, "%s: %zu bytes are too many", subject, size);
    jsPubOptions_Init(&options);
    options.ExpectNoMessage = once;
    natsStatus status = js_Publish(NULL, link->stream, subject, data, (int)size, &options, &code);
    if (status != NATS_OK && code == JSStreamWrongLastSequenceErr)
        return spex_fail(error, -EEXIST, "%s is there already", subject);
    return told(link, status, "sending", subject, error);
}

int spex_queue_open(struct spex_link *link, const char *stream, const char *name,
                    struct spex_queue **queue, struct spex_error *error) {
    struct spex_queue *opened = calloc(1, sizeof(*opened));
    jsSubOptions options;
    jsErrCode code = 0;
    *queue = NULL;
    if (!opened)
        return spex_fail(error, -ENOMEM, "out of memory");
    jsSubOptions_Init(&options);
    options.Stream = stream;
    options.Consumer = name;
    opened->link = link;
    natsStatus status =
        js_PullSubscribe(&opened->subscription, link->stream, NULL, NULL, NULL, &options, &code);
    if (status != NATS_OK)
        free(opened);
    else
        *queue = opened;
    return told(link, status_of(status, code), "opening queue", name, error);
}

void spex_queue_close(struct spex_queue *queue) {
    if (queue)
        natsSubscription_Destroy(queue->subscription);
    free(queue);
}

/* Takes over the message; false: it cannot be taken, and is given to nobody any more. */
static bool take_message(natsMsg *got, struct spex_queue_job *job) {
    jsMsgMetaData *about = NULL;
    if (natsMsg_GetMetaData(&about, got) != NATS_OK)
        return false;
    *job = (struct spex_queue_job){.deliveries = about->NumDelivered, .handle = got};
    jsMsgMetaData_Destroy(about);
    return spex_link_copy(natsMsg_GetSubject(got), NULL, natsMsg_GetData(got),
                          natsMsg_GetDataLength(got), &job->message);
}

/* A queue that the server does not know any more answers at once, or not at all. */
int spex_queue_take(struct spex_queue *queue, int timeout_ms, struct spex_queue_job *job) {
    natsMsgList list = {NULL, 0};
    natsStatus status = natsSubscription_Fetch(&list, queue->subscription, 1, timeout_ms, NULL);
    if (status != NATS_OK || list.Count != 1) {
        natsMsgList_Destroy(&list);
        return status == NATS_OK || status == NATS_TIMEOUT ? 0 : -ENOENT;
    }
    natsMsg *got = list.Msgs[0];
    list.Msgs[0] = NULL;
    natsMsgList_Destroy(&list);
    if (take_message(got, job))
        return 1;
    natsMsg_Term(got, NULL);
    natsMsg_Destroy(got);
    return 0;
}

void spex_queue_keep(const struct spex_queue_job *job) {
    natsMsg_InProgress(job->handle, NULL);
}

int spex_queue_end(struct spex_queue_job *job, enum spex_queue_end how) {
    natsMsg *message = job->handle;
    natsStatus status;
    if (how == SPEX_QUEUE_DONE)
        status = natsMsg_AckSync(message, NULL, NULL);
    else if (how == SPEX_QUEUE_AGAIN)
        status = natsMsg_Nak(message, NULL);
    else
        status = natsMsg_NakWithDelay(message, LATER_MS, NULL);
    natsMsg_Destroy(message);
    spex_link_message_free(&job->message);
    job->handle = NULL;
    return spex_link_err_of(status);
}
