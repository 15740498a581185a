/* SPDX-License-Identifier: MIT */
/* The ring that commits by restartable sequence, queues/commit_rseq.h: the threads of one CPU push, a reader
 * on another copies.
 *
 * Stores of the CPU wait in `stores`, a queue for each location, and become visible in any order, but
 * those to one location in theirs, and of one attempt to push
 *
 *   X1  reserve before its words        X2  words before its commit
 *
 * The reader performs its loads in any order, but
 *
 *   Y1  words before reserve            Y2  commit before words
 *
 * Threads share the CPU. One that is preempted within a push begins again when it runs next, or
 * never, as when it has been moved to another CPU. A signal handler's push is that of the other
 * thread.
 *
 * Shown: a record that is read is the one that was committed under its index, with all of its words;
 * it is read once at most, in order, and lost only when a later push had begun in its slot. At the
 * end produced = consumed + lost + pending, and one more visit reads all that is pending.
 *
 * Abstracted away:
 *   instructions  a push can be preempted before and between its stores; those in between are one
 *                 step, since `stores` lets each wait as long as may be
 *   switching     happens within a push alone: who makes the next one leaves no trace in memory
 *   barriers      of the kernel, when it switches: stores of several threads may still mix
 *   first look    the reader's first load of reserve, which only saves it copying, is one step with
 *                 that of commit
 *   the batch     a visit copies any number of the records there are
 *   size          N slots of two words, PUSHES records, PREEMPTIONS; indices do not wrap
 *
 * Variants that must be found wrong: -DNO_X1, -DNO_X2, -DNO_Y1, -DNO_Y2, -DNO_LAP_CHECK,
 * -DNO_RESTART. */
#ifndef N
#define N 2
#endif
#define THREADS 2
#ifndef PUSHES
#define PUSHES 4 /* of both threads */
#endif
#ifndef PREEMPTIONS
#define PREEMPTIONS 1
#endif
#define ATTEMPTS (PUSHES + PREEMPTIONS)

/* Locations. */
#define WORD0(index) (2 * ((index) % N))
#define WORD1(index) (2 * ((index) % N) + 1)
#define WORDS (2 * N)
#define RESERVE WORDS
#define COMMIT (WORDS + 1)
#define LOCATIONS (WORDS + 2)

byte visible[LOCATIONS];
chan stores[LOCATIONS] = [ATTEMPTS] of {byte, byte}; /* attempt, value; a word's is its attempt */
byte reserve_attempt;                                /* whose value is visible */
byte waiting;                                        /* stores */

/* The CPU, which sees its own stores at once. */
byte commit, running, preemptions, attempts, ended;

/* For the check alone. */
byte begun;           /* end of the indices that a push has begun to write */
byte record[PUSHES]; /* by index, until the reader has passed it: the attempt that committed it */

inline store(location, value) {
    stores[location] ! attempt, value;
    waiting++
}

/* The other thread may come between two steps of a push. */
inline step() {
    if
    :: preemptions < PREEMPTIONS ->
        preemptions++;
        running = (ended -> me : 1 - me);
        running == me;
#ifndef NO_RESTART
        if
        :: goto begin
        :: goto end_push
        fi
#endif
    :: true
    fi
}

proctype thread(byte me, pushes) {
    byte attempt, index;

begin:
    atomic {
        running == me ->
        attempts++;
        attempt = attempts;
        index = commit;
        step();
        begun = (index + 1 > begun -> index + 1 : begun);
        store(RESERVE, index + 1);
        step();
        store(WORD0(index), attempt);
        step();
        store(WORD1(index), attempt);
        step();
        record[index] = attempt;
        commit = index + 1;
        store(COMMIT, commit)
    }
end_push:
    atomic {
        attempt = 0;
        index = 0;
        pushes--;
        if
        :: pushes -> goto begin
        :: else ->
            ended++;
            running = 1 - me
        fi
    }
}

/* The oldest store to a location becomes visible, if `allowed`. */
inline drain(location, allowed) {
    stores[location] ? <attempt, value> ->
    if
    :: allowed ->
        stores[location] ? _, _;
        visible[location] = value;
        waiting--;
        if
        :: location == RESERVE -> reserve_attempt = attempt
        :: else
        fi
    :: else
    fi;
    attempt = 0;
    value = 0
}

#ifdef NO_X1
#define X1 true
#else
#define X1 (attempt <= reserve_attempt)
#endif
#ifdef NO_X2
#define X2 true
#else
#define X2 (attempt <= visible[WORD0(value - 1)] && attempt <= visible[WORD1(value - 1)])
#endif

active proctype memory() {
    byte attempt, value;
end:
    do
    :: atomic { drain(RESERVE, true) }
    :: atomic { drain(COMMIT, X2) }
    :: atomic { drain(0, X1) }
    :: atomic { drain(1, X1) }
    :: atomic { drain(2, X1) }
    :: atomic { drain(3, X1) }
#if N == 4
    :: atomic { drain(4, X1) }
    :: atomic { drain(5, X1) }
    :: atomic { drain(6, X1) }
    :: atomic { drain(7, X1) }
#endif
    od
}

inline load(word) {
    todo & (1 << word) ->
    got[word] = visible[word];
    todo = todo & ~(1 << word)
}

inline load_words() {
    do
    :: atomic { load(0) }
    :: atomic { load(1) }
    :: atomic { load(2) }
    :: atomic { load(3) }
#if N == 4
    :: atomic { load(4) }
    :: atomic { load(5) }
    :: atomic { load(6) }
    :: atomic { load(7) }
#endif
    :: !todo -> break
    od
}

/* Index i is lost, rightly. */
inline lose(i) {
    assert(i + N < begun);
    lost++
}

#define LARGER(a, b) ((a) > (b) -> (a) : (b))
#define OLDEST_WHOLE(r) ((r) > N -> (r) - N : 0)

inline choose_range() {
    c = visible[COMMIT];
    r = visible[RESERVE];
    from = OLDEST_WHOLE(r);
    from = LARGER(from, passed);
    from = (from > c -> c : from);
    to = c;
    do
    :: !at_rest && to > from -> to--
    :: break
    od
}

inline judge() {
    for (i : passed .. from - 1) {
        lose(i)
    }
    for (i : from .. to - 1) {
        if
#ifndef NO_LAP_CHECK
        :: i + N < r -> lose(i)
#endif
        :: else ->
            assert(got[WORD0(i)] == record[i] && got[WORD1(i)] == record[i]);
            consumed++
        fi
    }
    for (i : passed .. to - 1) {
        record[i] = 0
    }
    passed = to
}

proctype reader() {
    byte got[WORDS];
    byte c, r, from, to, todo, i, passed, consumed, lost;
    bool at_rest;

visit:
#ifdef NO_Y2
    todo = (1 << WORDS) - 1;
    load_words();
#endif
    atomic {
        at_rest = (ended == THREADS && !waiting);
        choose_range();
#ifndef NO_Y2
        for (i : from .. to - 1) {
            todo = todo | 3 << WORD0(i)
        }
#endif
    }
    load_words();
    atomic {
#ifndef NO_Y1
        r = visible[RESERVE];
#endif
        c = consumed + to - from; /* what is pending at rest */
        judge();
        assert(!at_rest || consumed == c);
        for (i : 0 .. WORDS - 1) {
            got[i] = 0
        }
        c = 0;
        r = 0;
        from = 0;
        to = 0;
        i = 0;
        if
        :: at_rest ->
            assert(passed == commit && consumed + lost == commit)
        :: else -> goto visit
        fi
    }
}

init {
    atomic {
        run thread(0, PUSHES - PUSHES / 2);
        run thread(1, PUSHES / 2);
        run reader()
    }
}
