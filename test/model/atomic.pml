/* SPDX-License-Identifier: MIT */
/* The ring that commits with atomic instructions, queues/commit_atomic.c: any writers, one reader.
 *
 * Each atomic {} is one step, and steps follow each other in every order there is. Shown, for each
 * record: it is read, once and whole, or it is lost, and lost for a reason (a later index had its
 * slot, or each of its attempts found the slot busy). A slot never has two holders. Once writers have
 * ended, one visit of the reader drains the ring, nothing is "not yet" there, and
 * reserve - abandoned = produced = consumed + lost.
 *
 * Abstracted away:
 *   memory orders  every access is sequentially consistent; ThreadSanitizer is for the rest
 *   failed rounds  a loop of compare-and-exchange is one step: a round that fails changes nothing but
 *                  what was seen, and fails only because another process has got on
 *   words          two a record; a holder's first access is one step with its coming in, its last
 *                  with its leaving: `enter` asserts that nobody else could have told
 *   size           N slots, WRITERS × PUSHES records; indices do not wrap
 *   the batch      a visit may end after any record
 *   signals        a handler's push is one more writer's; that its thread stands still meanwhile is
 *                  among the orders
 *
 * Variants that must be found wrong: -DREADER_DOES_NOT_HOLD, -DWRITER_OVERWRITES_HELD,
 * -DLEAVES_WITH_OWN_INDEX, -DCOMMITS_REVOKED, -DCLAIMS_GIVEN_UP, -DNOT_ABANDONED. */
#ifndef N
#define N 2
#endif
#ifndef WRITERS
#define WRITERS 2
#endif
#ifndef PUSHES
#define PUSHES 2
#endif
#define RECORDS (WRITERS * PUSHES)

#define FREE 0
#define HELD 1
#define COMMITTED 2
#define REVOKED 3
#define STATE(index, phase) ((index) << 2 | (phase))
#define INDEX(state) ((state) >> 2)
#define PHASE(state) ((state) & 3)
#define HAS_HOLDER(state) (PHASE(state) == HELD || PHASE(state) == REVOKED)
#define SLOT (index % N)
#define HERE state[SLOT]

byte state[N], word0[N], word1[N];
byte reserve, abandoned, consumed;

/* For the check alone. */
#define PENDING 0
#define READ 1
#define LOST 2
byte fate[RECORDS + 1]; /* records are 1 … RECORDS */
byte holders[N];
byte ended; /* writers */

inline settle(record_, fate_) {
    assert(fate[record_] == PENDING);
    fate[record_] = fate_
}

/* A record that is still in the slot goes. */
inline overwrite() {
    if
    :: PHASE(HERE) == COMMITTED -> settle(word0[SLOT], LOST)
    :: else
    fi
}

inline enter() {
    holders[SLOT]++;
    assert(holders[SLOT] == 1)
}

/* Sets `revoked_for` to the index that had the holder leave. */
inline leave(own) {
    revoked_for = INDEX(HERE);
    holders[SLOT]--;
#ifdef LEAVES_WITH_OWN_INDEX
    HERE = STATE(own, FREE)
#else
    HERE = STATE(revoked_for, FREE)
#endif
}

proctype writer(byte first) {
    byte record = first, attempt, index, revoked_for;

push:
    atomic {
        reserve++;
        index = reserve
    }
    atomic { /* slot_claim */
        if
        :: INDEX(HERE) > index -> goto lost
#ifndef CLAIMS_GIVEN_UP
        :: INDEX(HERE) == index -> goto busy
#endif
        :: else
        fi;
#ifndef WRITER_OVERWRITES_HELD
        if
        :: HAS_HOLDER(HERE) ->
            HERE = STATE(index, REVOKED);
            goto busy
        :: else
        fi;
#endif
        overwrite();
        HERE = STATE(index, HELD);
        enter();
        word0[SLOT] = record
    }
    atomic { /* slot_commit */
        word1[SLOT] = record;
#ifndef COMMITS_REVOKED
        if
        :: HERE != STATE(index, HELD) ->
            leave(index);
            if
            :: revoked_for == index -> goto busy
            :: else -> goto lost
            fi
        :: else
        fi;
#endif
        HERE = STATE(index, COMMITTED);
        holders[SLOT]--;
        goto pushed
    }
busy:
    if
    :: attempt < N - 1 ->
        atomic {
            attempt++;
#ifndef NOT_ABANDONED
            abandoned++;
#endif
            goto push
        }
    :: else
    fi;
lost:
    settle(record, LOST);
pushed:
    attempt = 0;
    record++;
    if
    :: record < first + PUSHES -> goto push
    :: else -> ended++
    fi
}

proctype reader() {
    byte index, passed, copy, stuck_at, revoked_for;
    bool at_rest; /* before the visit began */

visit:
    do
    :: atomic {
        reserve <= passed ->
        stuck_at = 0;
        if
        :: at_rest -> break
        :: else -> at_rest = (ended == WRITERS)
        fi
    }
    :: stuck_at && !at_rest -> stuck_at = 0 /* by a visit that is full before */
    :: atomic {
        reserve > passed ->
        if
        :: reserve > passed + N -> passed = reserve - N
        :: else
        fi;
        index = passed + 1
    }
        atomic { /* slot_take */
            if
            :: HERE == STATE(index, COMMITTED) ->
                enter();
                copy = word0[SLOT];
#ifndef READER_DOES_NOT_HOLD
                HERE = STATE(index, HELD)
#endif
            :: INDEX(HERE) < index || HERE == STATE(index, HELD) ->
                assert(!at_rest);
                if
                :: index == stuck_at -> goto give_up
                :: else ->
                    stuck_at = index;
                    at_rest = (ended == WRITERS);
                    index = 0;
                    goto visit
                fi
            :: else -> goto next
            fi
        }
        atomic { /* slot_give_back */
            assert(copy == word1[SLOT]);
            settle(copy, READ);
            consumed++;
            copy = 0;
#ifdef READER_DOES_NOT_HOLD
            holders[SLOT]--;
#else
            if
            :: HERE == STATE(index, HELD) ->
                HERE = STATE(index, FREE);
                holders[SLOT]--
            :: else -> leave(index)
            fi;
#endif
            goto next
        }
give_up:
        atomic {
            if
            :: INDEX(HERE) < index || HERE == STATE(index, HELD) ->
                if
                :: HAS_HOLDER(HERE) -> HERE = STATE(index, REVOKED)
                :: else ->
                    overwrite();
                    HERE = STATE(index, FREE)
                fi
            :: else
            fi;
            stuck_at = 0;
            index = 0;
            goto visit
        }
next:
        atomic {
            passed = index;
            index = 0;
            revoked_for = 0
        }
    od;

    atomic {
        byte read, lost, r;
        for (r : 1 .. RECORDS) {
            assert(fate[r] != PENDING);
            if
            :: fate[r] == READ -> read++
            :: else -> lost++
            fi
        }
        assert(passed == reserve);
        assert(reserve - abandoned == RECORDS);
        assert(consumed == read);
        assert(consumed + lost == RECORDS)
    }
}

init {
    byte w;
    atomic {
        for (w : 0 .. WRITERS - 1) {
            run writer(1 + w * PUSHES)
        }
        run reader()
    }
}
