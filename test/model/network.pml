/* A statement sent and its answer. A replica that is down reads no answers; what it sent may still be run. */
#define WAITS (rep[r] != DOWN && turn[X].ph != IDLE && turn[X].ph != HELD)
#ifdef M_EXPIRY
	/* The mutation: expiry is judged first, then the statement waits for its locks. */
	:: d_step { q[X].op == COMMIT && q[X].res == UNKNOWN && !expired[t] -> q[X].op = JUDGED }
	:: d_step { q[X].op == COMMIT && q[X].res == UNKNOWN && expired[t] -> q[X].res = REFUSED }
	:: d_step { q[X].op != NOTHING && q[X].op != COMMIT && q[X].res == UNKNOWN ->
#else
	:: d_step { q[X].op != NOTHING && q[X].res == UNKNOWN ->
#endif
		execute(X, t);
		if
		:: WAITS
		:: else -> clearRequest(X)
		fi;
		z = 0 }
	/* The connection breaks: before the statement was run, after it, or while it waits. */
	:: d_step { losses > 0 && WAITS && q[X].op != NOTHING ->
		printf("network: replica %d gets no answer\n", r);
		losses--;
		clearRequest(X) }
	:: d_step { losses > 0 && WAITS && q[X].op != NOTHING && q[X].res == UNKNOWN && q[LOOSE].op == NOTHING ->
		printf("network: replica %d gets no answer, its statement is still waiting\n", r);
		losses--;
		detach(X) }
	/* Sent by a replica or a turn that is over: it may also never be run. */
	:: d_step { !WAITS && q[X].op != NOTHING -> clearRequest(X) }
#undef WAITS
