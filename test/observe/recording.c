/* SPDX-License-Identifier: MIT */
/* Traces read back: each record of a trace that is made byte by byte, in the order of time, in
 * parts; and what is no trace. */
#include <errno.h>

#include "../interrupted_calls.h"

#include "recorded_trace.h"

TEST_WITH(all_records_come_in_the_order_of_time, folder_begin, folder_end) {
    trace_make();
    struct spex_recording *trace = trace_open();
    assert_int_equal(trace->process_count, 1);
    assert_int_equal(trace->begin, MADE_AT(50));
    assert_int_equal(trace->end, MADE_AT(2150));
    assert_true(trace->ticks_per_second > 999999999 && trace->ticks_per_second < 1000000001);
    assert_int_equal(trace->begin_realtime_ns, MADE_REALTIME + 50000000);
    assert_int_equal(spex_recording_ns(trace, MADE_AT(51)), 1000000);
    assert_int_equal(spex_recording_ns(trace, MADE_AT(49)), -1000000);
    assert_int_equal(spex_recording_ns(trace, trace->begin + (UINT64_C(1) << 63)), INT64_MIN);
    assert_int_equal(spex_recording_ns(trace, trace->begin + INT64_MAX), INT64_MAX);
    assert_int_equal(spex_recording_duration_ns(trace, 77), 77);
    assert_int_equal(spex_recording_duration_ns(trace, UINT64_MAX), UINT64_C(9000000000000000000));
    expect_records(trace, 0, COUNT_OF(known));
    /* Each event has 10 bytes, a full one 10 more, and its values. */
    assert_int_equal(trace->bytes, (14 + 28 + 22) + 3 * 14 + (20 + 28));
    assert_int_equal(trace->bytes_given, trace->bytes);
    assert_int_equal(trace->problems.count, 0);
    assert_int_equal(trace->processes[0].discarded, 20 + 11);
    assert_int_equal(spex_recording_process_lost(&trace->processes[0]), 12);
    const struct spex_journal *of = &trace->processes[0].journal;
    assert_int_equal(of->mark_count, 1);
    assert_int_equal(of->marks[0].ticks, MADE_AT(350));
    assert_string_equal(of->marks[0].text, "a ?mark");
    assert_int_equal(of->anchor_count, 3);
    spex_recording_close(trace);
}

TEST_WITH(records_between_two_moments, folder_begin, folder_end) {
    trace_make();
    struct spex_recording *trace = trace_open();
    spex_recording_limit(trace, MADE_AT(300), MADE_AT(1100));
    expect_records(trace, 2, 4);
    spex_recording_limit(trace, MADE_AT(500), MADE_AT(501));
    assert_int_equal(trace->bytes, 20 + 28);
    expect_records(trace, 4, 1);
    assert_int_equal(trace->bytes_given, 20 + 28 + 3 * 14);
    spex_recording_limit(trace, MADE_AT(501), MADE_AT(600));
    assert_int_equal(trace->bytes, 0);
    expect_records(trace, 0, 0);
    spex_recording_limit(trace, 0, UINT64_MAX);
    expect_records(trace, 0, COUNT_OF(known));
    spex_recording_close(trace);
}

TEST_WITH(records_of_chosen_probes, folder_begin, folder_end) {
    struct spex_selection selection;
    struct spex_error error;
    struct spex_recording_event event;
    trace_make();
    struct spex_recording *trace = trace_open();
    assert_int_equal(spex_selection_parse("*:kernel,app/4,query@off", &selection, &error), 0);
    spex_recording_want(trace, &selection);
    assert_int_equal(spex_recording_next(trace, &event, &error), 1);
    expect_record(&event, &known[1]);
    assert_int_equal(spex_recording_next(trace, &event, &error), 1);
    expect_record(&event, &known[3]);
    assert_int_equal(spex_recording_next(trace, &event, &error), 0);
    spex_selection_free(&selection);
    spex_recording_close(trace);
}

TEST_WITH(probes_and_kernels_have_their_names, folder_begin, folder_end) {
    char text[64];
    struct spex_context_node node;
    struct spex_kernel_site site;
    trace_make();
    struct spex_recording *trace = trace_open();
    const struct spex_recording_process *process = &trace->processes[0];
    const struct spex_recording_class *classes = process->journal.classes;
    assert_int_equal(process->journal.class_count, MADE_CLASSES);
    assert_false(classes[MADE_UNKNOWN].known);
    spex_recording_probe_text(process, &classes[MADE_LAT], text, sizeof(text));
    assert_string_equal(text, "lib/query");
    spex_recording_probe_text(process, &classes[MADE_KERNEL], text, sizeof(text));
    assert_string_equal(text, "lib/so?rt");
    spex_recording_probe_text(process, &classes[MADE_CNT], text, sizeof(text));
    assert_string_equal(text, "app/4");
    const struct spex_recording_class strange = {.known = true, .probe_id = 77};
    spex_recording_probe_text(process, &strange, text, sizeof(text));
    assert_string_equal(text, "77");
    struct spex_kernels_known kernels = spex_recording_kernels(process);
    assert_true(kernels.node(kernels.by, 2, &node));
    assert_int_equal(node.parent, 1);
    assert_int_equal(node.kernel, 2);
    assert_true(kernels.node(kernels.by, 3, &node));
    assert_int_equal(node.parent, 2);
    assert_false(kernels.node(kernels.by, 4, &node));
    assert_false(kernels.node(kernels.by, UINT64_MAX, &node));
    assert_true(kernels.site(kernels.by, 2, &site));
    assert_string_equal(site.name, "so?rt");
    assert_string_equal(site.parameters, "n, m");
    assert_int_equal(site.id, 2);
    assert_false(kernels.site(kernels.by, 1, &site));
    spex_recording_close(trace);
}

/* Without profiles the folder tells the name, without losses the streams tell them, without anchors
 * the metadata tells the rate. */
TEST_WITH(what_the_journal_does_not_tell, folder_begin, folder_end) {
    char inner[96], program[96];
    struct spex_recording *trace;
    struct spex_error error;
    journal.count = streams[0].count = streams[1].count = 0;
    made_journal(&journal);
    records_make();
    snprintf(inner, sizeof(inner), "%s/my-program-4711-2", folder);
    made_folder(inner, &journal);
    made_write(inner, "cpu_0_0", streams[0].bytes, streams[0].count);
    made_write(inner, "late_0", streams[1].bytes, streams[1].count);
    made_write(inner, "another", "x", 1);
    snprintf(program, sizeof(program), "%s/a\033p-12", folder);
    made_folder(program, &journal);
    snprintf(program, sizeof(program), "%s/no-trace", folder);
    assert_int_equal(mkdir(program, 0700), 0);
    assert_int_equal(spex_recording_open(folder, &trace, &error), 0);
    assert_int_equal(trace->process_count, 2);
    assert_string_equal(trace->processes[0].name, "a?p-12");
    assert_string_equal(trace->processes[0].program, "a?p");
    assert_int_equal(trace->processes[0].process_id, 12);
    assert_string_equal(trace->processes[1].name, "my-program-4711-2");
    assert_int_equal(spex_recording_process_lost(&trace->processes[1]), 20 + 11);
    assert_int_equal(trace->begin, MADE_AT(100));
    assert_int_equal(trace->end, MADE_AT(1700));
    assert_true(trace->ticks_per_second > 499999999 && trace->ticks_per_second < 500000001);
    assert_int_equal(trace->begin_realtime_ns, 0);
    assert_int_equal(spex_recording_duration_ns(trace, 1000), 2000);
    struct spex_recording_event event;
    assert_int_equal(spex_recording_next(trace, &event, &error), 1);
    assert_ptr_equal(event.process, &trace->processes[1]);
    spex_recording_close(trace);
}

TEST_WITH(what_is_no_trace_is_refused, folder_begin, folder_end) {
    struct spex_recording *trace;
    struct spex_error error;
    char path[128];
    assert_int_equal(spex_recording_open(folder, &trace, &error), -ENOENT);
    assert_non_null(strstr(error.text, "has neither metadata nor folders that have"));
    snprintf(path, sizeof(path), "%s/nothing", folder);
    assert_int_equal(spex_recording_open(path, &trace, &error), -ENOENT);
    assert_non_null(strstr(error.text, "No such file"));
    made_write(folder, "metadata", made_metadata, strlen(made_metadata));
    assert_int_equal(spex_recording_open(folder, &trace, &error), -ENOENT);
    assert_non_null(strstr(error.text, "is no trace of spex: it has no .spex/journal"));
    trace_make();
    made_write(folder, "metadata", "/* CTF 2.0 */", 13);
    assert_int_equal(spex_recording_open(folder, &trace, &error), -EINVAL);
    assert_non_null(strstr(error.text, "was expected at its beginning"));
    made_write(folder, "metadata", "/* CTF 1.8 */ uuid = \"01020304-0506-0708-090a-0b0c0d0e0f\"",
               57);
    assert_int_equal(spex_recording_open(folder, &trace, &error), -EINVAL);
    assert_non_null(strstr(error.text, "it tells no uuid"));
    made_write(folder, "metadata", made_metadata, strlen(made_metadata));
    snprintf(path, sizeof(path), "%s/.spex/journal", folder);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(spex_recording_open(folder, &trace, &error), -EINVAL);
    assert_non_null(strstr(error.text, "journal is no file"));
}

/* The others are read. One that is gone was removed meanwhile. */
TEST_WITH(files_that_cannot_be_read_are_left_out, folder_begin, folder_end) {
    struct spex_recording *trace;
    struct spex_error error;
    char path[80];
    trace_make();
    snprintf(path, sizeof(path), "%s/cpu_2_0", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    snprintf(path, sizeof(path), "%s/cpu_3_0", folder);
    assert_int_equal(symlink("cpu_3_0", path), 0);
    snprintf(path, sizeof(path), "%s/cpu_4_0", folder);
    assert_int_equal(symlink("gone", path), 0);
    assert_int_equal(spex_recording_open(folder, &trace, &error), 0);
    assert_int_equal(trace->problems.count, 2);
    assert_non_null(strstr(trace->problems.kept[0].text,
                           "cpu_2_0: it is no regular file; the file is left out"));
    assert_non_null(strstr(trace->problems.kept[1].text, "cpu_3_0: Too many levels"));
    assert_true(trace->bytes > 0);
    spex_recording_close(trace);
}
