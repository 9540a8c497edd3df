/*
 * The statements of the database, each one atomic step. They follow packages/db/src/memory line by line; the rules
 * that a mutation takes away are the M_ flags.
 */

/* tables.append and moveTask: the next event, after which the task is in state k. */
inline append(t, kind) {
	CHECK(I1, !TERMINAL(st[t]), "VIOLATED I1: an event after the terminal one\n");
	ver[t]++;
	if
	:: kind != ARTIFACT -> st[t] = kind
	:: else
	fi
}

inline dropLease(t) {
	holder[t] = 0; epoch[t] = 0; pending[t] = 0; expired[t] = 0; marked[t] = 0; heard[t] = 0
}

inline grant(t, r, e, p) {
	CHECK(I3, e > epoch[t] && FRESH(e) && (e > 1 || ver[t] == 1), "VIOLATED I3: an epoch that does not grow\n");
	holder[t] = r + 1; epoch[t] = e; pending[t] = p; expired[t] = 0; marked[t] = 0; heard[t] = !(p)
}

inline invariant(t) {
	CHECK(I10, !TERMINAL(st[t]) || holder[t] == 0, "VIOLATED I10: a lease on a terminal task\n");
	CHECK(I10, st[t] != WORKING || holder[t] != 0, "VIOLATED I10: a task at work without a lease\n")
}

/* The log knows write ids: whoever asks for this one finds it from now on. */
inline noteLanded(s, t) {
	for (z : 0 .. SLOTS - 1) {
		if
		:: z != s && q[z].op == q[s].op && q[z].who == q[s].who && q[z].ep == q[s].ep && q[z].n == q[s].n &&
		   q[z].res == UNKNOWN && (z == LOOSE || z == q[s].who * T + t || z == CANCEL_SLOT) -> q[z].copied = 1
		:: else
		fi
	}
	z = q[s].who * T + t;
	if
	:: q[s].op == CANCEL -> clanded = 1
	:: q[s].op == CREATE && turn[z].ph == CREATING -> turn[z].landed = 1
	:: q[s].op == COMMIT && turn[z].ph == COMMITTING && turn[z].ep == q[s].ep && turn[z].n == q[s].n ->
		turn[z].landed = 1
	:: else
	fi
}

/* createTask */
inline dbCreate(s, t) {
	if
	:: st[t] != NONE -> q[s].res = REFUSED
	:: else ->
		printf("database: creates task %d for replica %d, kind %d\n", t, q[s].who, q[s].k);
		append(t, q[s].k);
		if
		:: !TERMINAL(q[s].k) -> grant(t, q[s].who, 1, 0)
		:: else
		fi;
		noteLanded(s, t);
		q[s].res = STORED
	fi
}

#ifdef M_VERSION
#define SAME_VERSION(s) true
#else
#define SAME_VERSION(s) (q[s].v == ver[t])
#endif
#ifdef M_CANCEL_VERSION
#define SAME_VERSION_C(s) true
#else
#define SAME_VERSION_C(s) SAME_VERSION(s)
#endif
#ifdef M_FENCE
#define FENCED(s) true
#else
#define FENCED(s) (holder[t] == q[s].who + 1 && epoch[t] == q[s].ep)
#endif
#if defined(M_EXPIRY) || defined(M_FENCE)
#define UNEXPIRED true
#else
#define UNEXPIRED (!expired[t])
#endif

/* commitEvents: compare-and-swap, terminal is final, fence, expiry under the lock */
inline dbCommit(s, t) {
	if
	:: SAME_VERSION(s) && !TERMINAL(st[t]) && FENCED(s) && UNEXPIRED ->
		printf("database: stores event %d of epoch %d by replica %d, kind %d\n", q[s].n, q[s].ep, q[s].who, q[s].k);
		CHECK(I3, holder[t] == q[s].who + 1 && epoch[t] == q[s].ep, "VIOLATED I3: an executor event that is not of the current epoch\n");
		CHECK(I7, !expired[t], "VIOLATED I7: a write lands under an expired lease\n");
		CHECK(I7, !q[s].late, "VIOLATED I7: an event said after the loss of the lease is stored\n");
		CHECK(I4, !q[s].copied, "VIOLATED I4: one write id is stored twice\n");
		append(t, q[s].k);
		if
		:: TERMINAL(q[s].k) -> dropLease(t)
		:: else ->
			if
#ifndef M_PENDING_KEPT
			:: q[s].k != ARTIFACT -> pending[t] = 0; heard[t] = 1
#else
			:: q[s].k != ARTIFACT -> heard[t] = 1
#endif
			:: else
			fi
		fi;
		noteLanded(s, t);
		q[s].res = STORED
	:: else ->
		printf("database: refuses event %d of epoch %d by replica %d\n", q[s].n, q[s].ep, q[s].who);
		q[s].res = REFUSED
	fi
}

#ifdef M_MESSAGE
#define DUPLICATE(m) false
#else
#define DUPLICATE(m) (opened[m] != 0)
#endif
#ifdef M_TERMINAL
#define ENDED false
#else
#define ENDED TERMINAL(st[t])
#endif
#ifdef M_PENDING
#define OPENS_PENDING 0
#else
#define OPENS_PENDING 1
#endif

/* openTurn and openRefusalOf: duplicate, terminal, busy, abandoned; else the lease is inserted or taken over */
inline dbOpen(s, t) {
	if
	:: DUPLICATE(q[s].n) || st[t] == NONE || ENDED || (holder[t] && !expired[t]) ||
	   (holder[t] && (pending[t] || st[t] != INPUT)) -> q[s].res = REFUSED
	:: else ->
		printf("database: opens turn %d of task %d for replica %d by message %d\n", ver[t] + 1, t, q[s].who, q[s].n);
		CHECK(P_MESSAGE, opened[q[s].n] == 0, "VIOLATED message: one message opens two turns\n");
		append(t, ARTIFACT);
		grant(t, q[s].who, ver[t], OPENS_PENDING);
		heard[t] = 0;
		opened[q[s].n] = ver[t]; openedBy[q[s].n] = q[s].who;
		q[s].res = STORED
	fi
}

#ifdef M_RELEASE_MARKED
#define KEEPS_MARK false
#else
#define KEEPS_MARK (holder[t] == q[s].who + 1 && epoch[t] == q[s].ep && marked[t])
#endif
/* release: only (task, holder, epoch), and no marked one */
inline dbRelease(s, t) {
	q[s].res = STORED;
	if
	:: KEEPS_MARK -> q[s].res = REFUSED
	:: else ->
		if
#ifdef M_RELEASE
		:: holder[t] == q[s].who + 1 ->
#else
		:: holder[t] == q[s].who + 1 && epoch[t] == q[s].ep ->
#endif
			printf("database: drops the lease of epoch %d, released by replica %d\n", epoch[t], q[s].who);
			CHECK(P_PENDING, epoch[t] == q[s].ep || heard[t], "VIOLATED pending: an accepted follow-up is lost\n");
			dropLease(t)
		:: else
		fi
	fi
}

/* cancelTask: no lease, but the version that was looked at */
inline dbCancel(s, t) {
	if
	:: SAME_VERSION_C(s) && !TERMINAL(st[t]) ->
		printf("database: stores CANCELED by the canceller\n");
		CHECK(P_CANCEL, holder[t] == 0 || epoch[t] == q[s].ep, "VIOLATED cancel: it ends a turn it has not looked at\n");
		CHECK(I4, !q[s].copied, "VIOLATED I4: one write id is stored twice\n");
		append(t, CANCELED);
		dropLease(t);
		noteLanded(s, t);
		q[s].res = STORED
	:: else -> q[s].res = REFUSED
	fi
}

inline execute(s, t) {
	if
	:: q[s].op == CREATE -> dbCreate(s, t)
	:: q[s].op == OPEN -> dbOpen(s, t)
	:: q[s].op == COMMIT || q[s].op == JUDGED -> dbCommit(s, t)
	:: q[s].op == RELEASE -> dbRelease(s, t)
	:: q[s].op == CANCEL -> dbCancel(s, t)
	fi;
	invariant(t)
}

/* sweepOne and verdictOn */
inline dbSweep(t) {
	CHECK(P_SWEEP, expired[t], "VIOLATED sweep: a renewed lease is swept\n");
	if
	:: !TERMINAL(st[t]) && (pending[t] || st[t] != INPUT) ->
		printf("database: sweeps epoch %d of replica %d: FAILED\n", epoch[t], holder[t] - 1);
		CHECK(P_PARKED, st[t] != INPUT || !heard[t], "VIOLATED parked: a task that waits for its client is failed\n");
		append(t, FAILED)
	:: else ->
		printf("database: sweeps epoch %d of replica %d: only the lease\n", epoch[t], holder[t] - 1);
		CHECK(P_PENDING, heard[t], "VIOLATED pending: an accepted follow-up is lost\n")
	fi;
	dropLease(t);
	invariant(t)
}
