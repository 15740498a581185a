/* SPDX-License-Identifier: MIT */
/* The policy of the budget finds the optimum of its linear program: random problems, solved by GLPK
 * in one run, as one program whose parts have nothing to do with each other.
 *
 *     rate_optimum GLPSOL */
#include <math.h>
#include <sys/wait.h>

#include "asking.h"

enum { PROBLEMS = 1000, CLASSES = 30 };

static struct {
    struct spex_rate_class classes[CLASSES];
    struct spex_rate_problem problem;
    double information; /* of the policy */
} problems[PROBLEMS];

static void give_up(const char *what) {
    fprintf(stderr, "%s\n", what);
    exit(1);
}

static double least(const struct spex_rate_class *cls) {
    return cls->pinned ? cls->frequency : fmin(cls->min_frequency, cls->frequency);
}

/* A problem that has a solution: what must be is within the budget. */
static void make(unsigned p, uint64_t *random) {
    double must = 0, all = 0;
    size_t count = 1 + random_below(random, CLASSES);
    bool alike = random_below(random, 4) == 0;
    for (size_t c = 0; c < count; c++) {
        struct spex_rate_class *cls = &problems[p].classes[c];
        *cls = (struct spex_rate_class){
            .name = "",
            .frequency = (double)random_below(random, 100000),
            .weight = (double)random_below(random, 20) * (alike ? 1 : random_part(random)),
            .report_cost = 1e-6 * (alike ? 1 : (double)random_below(random, 20)),
            .detect_cost = random_below(random, 2) ? 1e-8 * random_part(random) : 0,
            .min_frequency = random_below(random, 3) ? 0 : 2e4 * random_part(random),
            .pinned = random_below(random, 10) == 0,
        };
        must += cls->frequency * cls->detect_cost + least(cls) * cls->report_cost;
        all += cls->frequency * (cls->detect_cost + cls->report_cost);
    }
    problems[p].problem =
        (struct spex_rate_problem){.size = sizeof(struct spex_rate_problem),
                                   .budget = must + (all - must) * 1.1 * random_part(random),
                                   .class_count = count,
                                   .classes = problems[p].classes};
}

static void decide(unsigned p) {
    static struct answer answer;
    ask(&answer, "budget", &problems[p].problem);
    if (answer.err || !answer.plan.feasible)
        give_up("a problem was not solved that has a solution");
    if (answer.plan.overhead > problems[p].problem.budget * (1 + 1e-9))
        give_up("the budget was exceeded");
    problems[p].information = answer.plan.information;
}

/* CPLEX's format for linear programs; times in microseconds, which are nearer to 1. */
static void write_program(FILE *file) {
    fputs("Maximize\n information:\n", file);
    for (unsigned p = 0; p < PROBLEMS; p++)
        for (size_t c = 0; c < problems[p].problem.class_count; c++)
            fprintf(file, " + %.17g f%u_%zu\n", problems[p].classes[c].weight, p, c);
    fputs("Subject To\n", file);
    for (unsigned p = 0; p < PROBLEMS; p++) {
        double left = problems[p].problem.budget;
        fprintf(file, " budget%u:\n", p);
        for (size_t c = 0; c < problems[p].problem.class_count; c++) {
            const struct spex_rate_class *cls = &problems[p].classes[c];
            fprintf(file, " + %.17g f%u_%zu\n", cls->report_cost * 1e6, p, c);
            left -= cls->frequency * cls->detect_cost;
        }
        fprintf(file, " <= %.17g\n", left * 1e6);
    }
    fputs("Bounds\n", file);
    for (unsigned p = 0; p < PROBLEMS; p++)
        for (size_t c = 0; c < problems[p].problem.class_count; c++)
            fprintf(file, " %.17g <= f%u_%zu <= %.17g\n", least(&problems[p].classes[c]), p, c,
                    problems[p].classes[c].frequency);
    fputs("End\n", file);
}

static void solve(const char *glpsol, const char *program, const char *solution) {
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        if (!freopen("/dev/null", "w", stdout))
            _exit(127);
        execl(glpsol, glpsol, "--lp", program, "--write", solution, (char *)NULL);
        _exit(127);
    }
    int status;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
        give_up("glpsol has failed");
}

/* Lines "j COLUMN STATUS VALUE DUAL", a column for each class in the order of the program. */
static double compare(FILE *solution) {
    char line[256];
    unsigned p = 0;
    size_t c = 0;
    double information = 0, worst = 0, value;
    while (fgets(line, sizeof(line), solution)) {
        if (sscanf(line, "j %*u %*c %lf", &value) != 1)
            continue;
        if (p == PROBLEMS)
            give_up("glpsol has more columns than its program");
        information += value * problems[p].classes[c++].weight;
        if (c < problems[p].problem.class_count)
            continue;
        double scale = fmax(information, 1);
        worst = fmax(worst, fabs(problems[p].information - information) / scale);
        information = 0;
        c = 0;
        p++;
    }
    if (p != PROBLEMS)
        give_up("glpsol has fewer columns than its program");
    return worst;
}

int main(int argc, char **argv) {
    char program[] = "/tmp/spex-test-XXXXXX", solution[] = "/tmp/spex-test-XXXXXX";
    uint64_t random = 1;
    if (argc != 2) {
        puts("SKIP: no glpsol (glpk-utils), which knows the optimum");
        return 77;
    }
    for (unsigned p = 0; p < PROBLEMS; p++) {
        make(p, &random);
        decide(p);
    }
    FILE *out = fdopen(mkstemp(program), "w"), *in = fdopen(mkstemp(solution), "r");
    if (!out || !in)
        give_up("cannot make temporary files");
    write_program(out);
    fclose(out);
    solve(argv[1], program, solution);
    fclose(in);
    in = fopen(solution, "r");
    double worst = in ? compare(in) : 1;
    if (in)
        fclose(in);
    unlink(program);
    unlink(solution);
    printf("%d problems, the furthest from the optimum by %.3g of it\n", PROBLEMS, worst);
    return worst <= 1e-9 ? 0 : 1;
}
