/* SPDX-License-Identifier: MIT */
/* The observed program as a process: what it is given, and how its end is described. */
#include <errno.h>
#include <sys/wait.h>

#include "explore/trial/program.h"
#include "program_launch.h"
#include "scratch.h"

TEST(ends) {
    static const char *const cases[][2] = {
        {"exit 0", "exited with status 0"},
        {"exit 3", "exited with status 3"},
        {"exit 255", "exited with status 255"},
        {"kill -KILL $$", "killed by signal 9 (Killed)"},
        {"kill -SEGV $$", "killed by signal 11 (Segmentation fault)"},
        {"echo one; echo two; exit 1", "exited with status 1: two"},
        {"echo out; echo err >&2; exit 1", "exited with status 1: err"},
        {"echo err >&2; echo out; exit 1", "exited with status 1: out"},
        {"printf 'no newline'; exit 1", "exited with status 1: no newline"},
        {"printf 'blank lines\\n\\n \\t\\r\\n\\n'; exit 1", "exited with status 1: blank lines"},
        {"printf '\\n \\n\\t\\n'; exit 1", "exited with status 1"},
        {"echo dying; kill -TERM $$", "killed by signal 15 (Terminated): dying"},
        {"printf 'a\\tb\\033[31mc\\001\\177d\\000e\\n'; exit 1",
         "exited with status 1: a?b?[31mc??d"},
        {"printf '%%s %%n\\n'; exit 1", "exited with status 1: %s %n"},
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++)
        expect_description(cases[c][0], cases[c][1]);
}

/* What is stored and shown is UTF-8 whatever the program writes. */
TEST(other_encodings) {
    static const char *const cases[][2] = {
        {"printf 'gr\\303\\274n \\342\\202\\254 \\360\\237\\230\\200\\n'; exit 1",
         "exited with status 1: gr\xc3\xbcn \xe2\x82\xac \xf0\x9f\x98\x80"},
        {"printf 'latin \\344 end\\n'; exit 1", "exited with status 1: latin ? end"},
        {"printf 'cut \\342\\202\\n'; exit 1", "exited with status 1: cut ??"},
        {"printf '\\200\\277\\n'; exit 1", "exited with status 1: ??"},
        {"printf 'long \\300\\257\\n'; exit 1", "exited with status 1: long ??"},
        {"printf 'half \\355\\240\\200\\n'; exit 1", "exited with status 1: half ???"},
        {"printf 'beyond \\364\\220\\200\\200\\n'; exit 1", "exited with status 1: beyond ????"},
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++)
        expect_description(cases[c][0], cases[c][1]);
}

TEST(description_sizes) {
    static const char whole[] = "exited with status 1: \xc3\xa9ight";
    struct spex_program program;
    launch(&program, "printf '\\303\\251ight\\n'; exit 1");
    wait_for_end(&program);
    for (size_t size = 1; size <= sizeof(whole); size++) {
        char *exact = malloc(size); /* so that a sanitizer sees a byte too many */
        spex_program_describe(&program, exact, size);
        assert_int_equal(strlen(exact), size - 1);
        if (size == strlen("exited with status 1: ") + 2) /* half of the first letter */
            assert_int_equal(exact[size - 2], '?');
        else
            assert_memory_equal(exact, whole, size - 1);
        free(exact);
    }
    end(&program);
}

TEST(running) {
    struct spex_program program;
    char text[128];
    launch(&program, "echo ready; exec sleep 1000");
    wait_for(&program, "ready\n");
    assert_false(spex_program_ended(&program));
    spex_program_describe(&program, text, sizeof(text));
    assert_string_equal(text, "still running: ready");
    end(&program);
}

TEST(did_not_start) {
    static const struct {
        const char *program;
        int err;
        const char *reason;
    } cases[] = {
        {"./missing", -ENOENT, "No such file or directory"},
        {"no-such-program-in-the-path", -ENOENT, "No such file or directory"},
        {"./text", -EACCES, "Permission denied"},
        {"./bad", -ENOENT, "No such file or directory"}, /* its interpreter */
        {".", -EACCES, "Permission denied"},
        {"", -ENOENT, "No such file or directory"},
    };
    scratch_text("text", "exit 0\n");
    scratch_text("bad", "#!/no/such/interpreter\n");
    assert_int_equal(chmod("bad", 0755), 0);
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        char *argv[] = {(char *)(uintptr_t)cases[c].program, NULL};
        struct spex_launch what = {.argv = argv, .config = "", .probes = "", .socket = ""};
        struct spex_program program;
        struct spex_error why = {""};
        char expected[128];
        snprintf(expected, sizeof(expected), "did not start: %s: %s", cases[c].program,
                 cases[c].reason);
        assert_int_equal(spex_program_launch(&program, &what, &why), cases[c].err);
        assert_string_equal(why.text, expected);
        end(&program); /* does nothing */
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    }
}

TEST(environment) {
    setenv("SPEX_PROBES", "inherited", 1);
    setenv("SPEX_OUT", "inherited", 1);
    setenv("SPEX_COLLECTORS", "2", 1);
    setenv("SPEX_CONFIGURED", "kept", 1);
    setenv("UNRELATED", "  kept too ", 1);
    expect_description("env | grep -c '^SPEX_\\(CONFIG\\|PROBES\\|OUT\\)=' | tr -d '\\n';"
                       "echo \"$SPEX_CONFIG|$SPEX_PROBES|$SPEX_OUT|$SPEX_COLLECTORS|"
                       "$SPEX_CONFIGURED|$UNRELATED|$0|$1\"",
                       "exited with status 0: 3a config|q:lat,*|unix:/a/socket|2|kept|  kept too "
                       "|program|two  words");
    assert_string_equal(getenv("SPEX_OUT"), "inherited"); /* ours is as it was */
    unsetenv("SPEX_PROBES");
    unsetenv("SPEX_OUT");
    unsetenv("SPEX_COLLECTORS");
}

/* The program and what it starts stay where they are told to; we do not move. */
TEST(processors) {
    static const char tell[] = "grep ^Cpus_allowed_list: /proc/self/status | cut -f 2";
    cpu_set_t ours, after;
    assert_int_equal(sched_getaffinity(0, sizeof(ours), &ours), 0);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &ours))
            continue;
        cpu_set_t one;
        char expected[64];
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        snprintf(expected, sizeof(expected), "exited with status 0: %d", cpu);
        expect_description_as(tell, expected, (struct spex_launch){.config = "", .cpus = &one});
    }
    assert_int_equal(sched_getaffinity(0, sizeof(after), &after), 0);
    assert_true(CPU_EQUAL(&ours, &after));
}

TEST(no_processors) {
    char *argv[] = {(char *)(uintptr_t) "true", NULL};
    struct spex_program program;
    struct spex_error why = {""};
    cpu_set_t none;
    CPU_ZERO(&none);
    struct spex_launch what = {
        .argv = argv, .config = "", .probes = "", .socket = "", .cpus = &none};
    assert_int_equal(spex_program_launch(&program, &what, &why), -EINVAL);
    assert_string_equal(why.text, "did not start: true: Invalid argument");
    end(&program); /* does nothing */
}

/* What makes no records knows its configuration alone. */
TEST(environment_without_probes) {
    setenv("SPEX_PROBES", "inherited", 1);
    setenv("SPEX_OUT", "inherited", 1);
    expect_description_as("echo \"$SPEX_CONFIG|${SPEX_PROBES-none}|${SPEX_OUT-none}\"",
                          "exited with status 0: a config|none|none",
                          (struct spex_launch){.config = "a config"});
    unsetenv("SPEX_PROBES");
    unsetenv("SPEX_OUT");
}

TEST(more_variables) {
    char *const variables[] = {(char *)(uintptr_t) "NEW=a = b",
                               (char *)(uintptr_t) "CHANGED=", (char *)(uintptr_t) "GONE",
                               (char *)(uintptr_t) "NEVER", NULL};
    struct spex_launch what = usual;
    what.variables = variables;
    setenv("CHANGED", "inherited", 1);
    setenv("GONE", "inherited", 1);
    setenv("GONE_ELSEWHERE", "kept", 1);
    expect_description_as("env | grep -c '^CHANGED=' | tr -d '\\n'; echo \"$NEW|${CHANGED-none}|"
                          "${GONE-none}|${NEVER-none}|$GONE_ELSEWHERE\"",
                          "exited with status 0: 1a = b||none|none|kept", what);
    unsetenv("CHANGED");
    unsetenv("GONE");
    unsetenv("GONE_ELSEWHERE");
}

/* Whichever descriptors we happen to have there meanwhile. */
TEST(configuration_on_a_descriptor) {
    char script[64];
    scratch_text("configuration", "the text\n");
    for (int descriptor = 3; descriptor < 20; descriptor++) {
        snprintf(script, sizeof(script), "cat /dev/fd/%d", descriptor);
        expect_description_as(
            script, "exited with status 0: the text",
            (struct spex_launch){.config = "configuration", .descriptor = descriptor});
    }
    char *argv[] = {(char *)(uintptr_t) "true", NULL};
    struct spex_program program;
    struct spex_error why = {""};
    struct spex_launch what = {.argv = argv, .config = "missing", .descriptor = 3};
    assert_int_equal(spex_program_launch(&program, &what, &why), -ENOENT);
    what = (struct spex_launch){.argv = (char *[]){(char *)(uintptr_t) "./missing", NULL},
                                .config = "configuration",
                                .descriptor = 9};
    assert_int_equal(spex_program_launch(&program, &what, &why), -ENOENT);
    assert_string_equal(why.text, "did not start: ./missing: No such file or directory");
}

/* Of it and of what it has waited for, also when it had to be made to end. */
TEST(usage) {
    static const char *const ends[] = {"", "; kill -KILL $$", "; echo ready; exec sleep 1000"};
    for (size_t e = 0; e < COUNT_OF(ends); e++) {
        struct spex_program program;
        char script[256];
        snprintf(script, sizeof(script),
                 "head -c 3000000 /dev/zero > written; (for i in 1 2 3; do sh -c :; done)%s",
                 ends[e]);
        launch(&program, script);
        assert_false(program.usage.known);
        if (e == 2)
            wait_for(&program, "ready\n");
        else
            wait_for_end(&program);
        end(&program);
        assert_true(program.usage.known);
        assert_true(program.usage.user_seconds + program.usage.system_seconds > 0);
        assert_true(program.usage.max_rss_bytes > 100000);
        assert_true(program.usage.minor_faults > 100);
        assert_true(program.usage.voluntary_switches > 0);
        assert_int_equal(program.usage.io_known, access("/proc/self/io", R_OK) == 0);
        if (program.usage.io_known)
            assert_true(program.usage.written_bytes >= 3000000 &&
                        program.usage.read_bytes >= 3000000);
    }
}

/* Of programs that end, that have to be ended, that close their output, and that do not start. */
TEST(no_descriptor_is_left) {
    static const char *const scripts[] = {"exit 3", "echo here; sleep 1000; true",
                                          "exec >&- 2>&-; sleep 1000; true"};
    size_t descriptors = open_descriptors();
    struct spex_program program;
    struct spex_error why;
    for (size_t s = 0; s < COUNT_OF(scripts); s++) {
        launch(&program, scripts[s]);
        assert_true(open_descriptors() > descriptors);
        end(&program);
        assert_int_equal(open_descriptors(), descriptors);
    }
    char *argv[] = {(char *)(uintptr_t) "/nowhere/program", NULL};
    struct spex_launch what = usual;
    what.argv = argv;
    assert_int_not_equal(spex_program_launch(&program, &what, &why), 0);
    assert_int_equal(open_descriptors(), descriptors);
}

int main(void) {
    return tests_run(setup, scratch_leave);
}
