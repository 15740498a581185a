/* SPDX-License-Identifier: MIT */
/* A library that contains all of spex is unloaded when its collection has stopped: threads that
 * have made records end afterwards, the program forks, and nobody looks for spex's code. A library
 * that is unloaded while its spex runs leaves no thread behind, and none leaves memory behind. A
 * process that ends with it goes on in its probes until then, and ends with its last thread where
 * two such libraries have threads.
 *
 *     unloading LIBRARY */
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 3, THREADS = 3, EXECUTIONS = 100, LOADS = 100, SETTLED = 20, EXITS = 8 };

static int (*collect)(unsigned times);
static void (*work)(unsigned times);
static int (*start)(const char *control);
static pthread_barrier_t have_collected;
static pthread_barrier_t unloaded;

/* What the library has mapped outlives it; it is small next to what this test is about. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "detect_leaks=0";
}

static void fail(const char *what) {
    printf("%s\n", what);
    exit(1);
}

static void *thread_run(void *arg) {
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    (void)arg;
    pthread_mutex_lock(&one_at_a_time);
    if (collect(EXECUTIONS) != EXECUTIONS)
        fail("not every execution has been recorded");
    pthread_mutex_unlock(&one_at_a_time);
    pthread_barrier_wait(&have_collected);
    pthread_barrier_wait(&unloaded);
    return NULL;
}

static void find(void *library, const char *name, void *function) {
    void *symbol = dlsym(library, name);
    if (!symbol)
        fail(dlerror());
    memcpy(function, &symbol, sizeof(symbol));
}

static void *load(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fail(dlerror());
    find(library, "carrier_collect", &collect);
    find(library, "carrier_start", &start);
    find(library, "carrier_work", &work);
    return library;
}

static void unload(void *library, const char *path) {
    if (dlclose(library) != 0 || dlopen(path, RTLD_NOW | RTLD_NOLOAD))
        fail("the library is not unloaded");
}

static void fork_once(void) {
    int result;
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    if (waitpid(child, &result, 0) != child || result != 0)
        fail("a fork after the unloading fails");
}

static void round_run(const char *path) {
    pthread_t threads[THREADS];
    void *library = load(path);
    for (int t = 0; t < THREADS; t++)
        if (pthread_create(&threads[t], NULL, thread_run, NULL) != 0)
            fail("no thread");
    pthread_barrier_wait(&have_collected);
    unload(library, path);
    pthread_barrier_wait(&unloaded);
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    fork_once();
}

static bool is_called(const char *thread, const char *name) {
    char path[300], called[16] = "";
    snprintf(path, sizeof(path), "/proc/self/task/%s/comm", thread);
    FILE *file = fopen(path, "re");
    if (file && !fgets(called, sizeof(called), file))
        called[0] = '\0';
    if (file)
        fclose(file);
    return strncmp(called, name, strlen(name)) == 0;
}

static bool has_thread(const char *name) {
    DIR *threads = opendir("/proc/self/task");
    const struct dirent *thread;
    bool found = false;
    while (threads && !found && (thread = readdir(threads)))
        found = is_called(thread->d_name, name);
    if (threads)
        closedir(threads);
    return found;
}

/* A new thread has its name after a moment, and one that has been joined is in the list for one. */
static void await_thread(const char *name, bool there) {
    alarm(60);
    while (has_thread(name) != there)
        sched_yield();
    alarm(0);
}

static void unload_started(const char *path) {
    char directory[] = "/tmp/spex-unloading-XXXXXX";
    void *library = load(path);
    if (!mkdtemp(directory) || start(directory) != 0)
        fail("spex does not start");
    await_thread("spex-control", true);
    unload(library, path);
    await_thread("spex-control", false);
    if (rmdir(directory) != 0)
        fail("the socket is still there");
}

/* Mappings of this process, and their bytes. */
static size_t mapped(size_t *bytes) {
    FILE *maps = fopen("/proc/self/maps", "re");
    unsigned long begin, end;
    size_t count = 0;
    if (!maps)
        fail("no /proc");
    for (*bytes = 0; fscanf(maps, "%lx-%lx%*[^\n]", &begin, &end) == 2; count++)
        *bytes += end - begin;
    fclose(maps);
    return count;
}

static void *thread_collect(void *arg) {
    (void)arg;
    if (collect(EXECUTIONS) != EXECUTIONS)
        fail("not every execution of a thread has been recorded");
    return NULL;
}

/* What a single load leaves behind would be there as often as it was loaded since. */
static void load_again_and_again(const char *path) {
    size_t before = 0, before_bytes = 0, bytes;
    for (int l = 0; l < LOADS; l++) {
        pthread_t thread;
        void *library = load(path);
        if (pthread_create(&thread, NULL, thread_collect, NULL) != 0)
            fail("no thread");
        pthread_join(thread, NULL);
        thread_collect(NULL);
        unload(library, path);
        if (l == SETTLED)
            before = mapped(&before_bytes);
    }
    size_t after = mapped(&bytes);
    if (after >= before + (LOADS - SETTLED) / 2 || bytes > before_bytes + 8 * 1024 * 1024)
        fail("memory is left behind");
}

static void *thread_work(void *arg) {
    for (;;)
        work(EXECUTIONS);
    return arg;
}

/* In a child: threads are in probes until the process has ended. */
static void exit_within_probes(const char *path) {
    load(path);
    setenv("SPEX_PROBES", "carrier.*", 1);
    setenv("SPEX_OUT", "/dev/null", 1);
    if (start(NULL) != 0)
        fail("spex does not start");
    for (int t = 0; t < THREADS; t++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, thread_work, NULL) != 0)
            fail("no thread");
    }
    work(EXECUTIONS);
    exit(0);
}

static void end_within_probes(const char *path) {
    for (int e = 0; e < EXITS; e++) {
        int result;
        pid_t child = fork();
        if (child == 0)
            exit_within_probes(path);
        if (waitpid(child, &result, 0) != child || result != 0)
            fail("a process does not end well");
    }
}

static bool forks_end;

static void *thread_fork(void *arg) {
    while (!__atomic_load_n(&forks_end, __ATOMIC_RELAXED))
        fork_once();
    return arg;
}

/* A fork waits for a stop that is the library's last. */
static void unload_while_another_forks(const char *path) {
    pthread_t forking;
    if (pthread_create(&forking, NULL, thread_fork, NULL) != 0)
        fail("no thread");
    for (int l = 0; l < LOADS; l++) {
        void *library = load(path);
        if (start(NULL) != 0)
            fail("spex does not start");
        unload(library, path);
    }
    __atomic_store_n(&forks_end, true, __ATOMIC_RELAXED);
    pthread_join(forking, NULL);
}

static void *thread_work_a_little(void *arg) {
    work(EXECUTIONS);
    return arg;
}

/* In a child: two copies of spex have threads, and the last thread of the program ends. */
static void leave_two_copies(const char *path) {
    char copy[] = "/tmp/spex-unloading-XXXXXX", command[400];
    pthread_t last;
    int file = mkstemp(copy);
    snprintf(command, sizeof(command), "cp %.200s %s", path, copy);
    setenv("SPEX_PROBES", "carrier.*", 1);
    setenv("SPEX_OUT", "/dev/null", 1);
    load(path);
    if (file < 0 || start(NULL) != 0 || system(command) != 0)
        fail("spex does not start");
    load(copy);
    unlink(copy);
    if (start(NULL) != 0 || pthread_create(&last, NULL, thread_work_a_little, NULL) != 0)
        fail("the second copy of spex does not start");
    pthread_exit(NULL);
}

static void end_by_last_thread(const char *path) {
    int result;
    pid_t child = fork();
    if (child == 0)
        leave_two_copies(path);
    alarm(60);
    if (waitpid(child, &result, 0) != child || result != 0)
        fail("a process does not end with its last thread");
    alarm(0);
}

/* An emulator and ThreadSanitizer have threads of their own. */
static bool has_its_threads_alone(void) {
#ifdef __SANITIZE_THREAD__
    return false;
#else
    return !getenv("TEST_EMULATED");
#endif
}

/* They, and AddressSanitizer, have memory for what is loaded. */
static bool has_its_memory_alone(void) {
#ifdef __SANITIZE_ADDRESS__
    return false;
#else
    return has_its_threads_alone();
#endif
}

int main(int argc, char **argv) {
    if (argc != 2)
        return 2;
    pthread_barrier_init(&have_collected, NULL, THREADS + 1);
    pthread_barrier_init(&unloaded, NULL, THREADS + 1);
    unsetenv("SPEX_CONTROL");
    unload_started(argv[1]);
    setenv("SPEX_CONTROL", "off", 1);
    for (int round = 0; round < ROUNDS; round++)
        round_run(argv[1]);
    if (has_its_memory_alone())
        load_again_and_again(argv[1]);
    unload_while_another_forks(argv[1]);
    end_within_probes(argv[1]);
    if (has_its_threads_alone())
        end_by_last_thread(argv[1]);
    return 0;
}
