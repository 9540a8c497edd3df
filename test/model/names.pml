/* Bounds: the runner sets them. */
#ifndef R
#define R 2
#endif
#ifndef T
#define T 1
#endif
#ifndef M
#define M 1
#endif
#ifndef EVENTS
#define EVENTS 1
#endif
#ifndef LOSSES
#define LOSSES 1
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef EXPIRIES
#define EXPIRIES 1
#endif
#ifndef LATE_BEATS
#define LATE_BEATS 0
#endif
#ifndef CANCELS
#define CANCELS 0
#endif
#define CANCELLER (R - 1)
/* A budget of ANY is never used up. */
#define ANY 9
#define SPEND(budget) budget = (budget == ANY -> ANY : budget - 1)

/* The statements of a turn, those that outlived its wait for an answer (one per task), and the canceller's. */
#define SLOTS (R * T + T + 1)
#define X (r * T + t)
#define LOOSE (R * T + t)
#define CANCEL_SLOT (R * T + T)

/* States of a task, and kinds of events: what they make of the state. ARTIFACT leaves it. */
#define NONE 0
#define ARTIFACT 0
#define WORKING 1
#define INPUT 2
#define COMPLETED 3
#define FAILED 4
#define CANCELED 5
#define TERMINAL(s) ((s) >= COMPLETED)

/* A replica. */
#define UP 0
#define CLOSING 1
#define DOWN 2

/* Phases of a turn at its replica. */
#define IDLE 0
#define CREATING 1
#define OPENING 2
#define HELD 3
#define COMMITTING 4
#define RELEASING 5

/* Statements, and their answers. */
#define NOTHING 0
#define CREATE 1
#define OPEN 2
#define COMMIT 3
#define RELEASE 4
#define CANCEL 5
#define JUDGED 6
#define UNKNOWN 0
#define STORED 1
#define REFUSED 2

/* Phases of the canceller. */
#define C_IDLE 0
#define C_LOOK 1
#define C_MARK 2
#define C_GRACE 3
#define C_WRITE 4
#define C_DONE 5

/* Properties: ONLY picks one, 0 is all. */
#ifndef ONLY
#define ONLY 0
#endif
#define I1 1
#define I3 3
#define I4 4
#define I7 7
#define I10 10
#define P_PENDING 11
#define P_PARKED 12
#define P_REFUSED 13
#define P_MESSAGE 14
#define P_CANCEL 15
#define P_SWEEP 16
#define CHECK(property, holds, text) \
	if \
	:: (ONLY == 0 || ONLY == property) && !(holds) -> printf(text); assert(false) \
	:: else \
	fi
#if M > 1
#define FRESH(e) ((t != 0 || e > opened[0]) && (t != 1 % T || e > opened[1]))
#else
#define FRESH(e) (t != 0 || e > opened[0])
#endif
