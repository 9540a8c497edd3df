/* What a replica does by itself, without the database. */

inline clearRequest(s) {
	q[s].op = NOTHING; q[s].who = 0; q[s].ep = 0; q[s].v = 0; q[s].n = 0; q[s].k = 0;
	q[s].copied = 0; q[s].late = 0; q[s].res = UNKNOWN
}

inline endTurn(x) {
	turn[x].ph = IDLE; turn[x].ep = 0; turn[x].v = 0; turn[x].n = 0; turn[x].k = 0; turn[x].parked = 0;
	turn[x].spoke = 0; turn[x].cancelling = 0; turn[x].hung = 0; turn[x].landed = 0
}

/* Sends what the turn is about. */
inline send(x, o) {
	q[x].op = o; q[x].who = r; q[x].ep = turn[x].ep; q[x].v = turn[x].v; q[x].n = turn[x].n; q[x].k = turn[x].k;
	q[x].copied = turn[x].landed; q[x].late = 0; q[x].res = UNKNOWN
}

/* The next event of a turn: one commit at a time. */
inline commit(x, kind) {
	printf("replica %d: sends event %d of epoch %d, kind %d\n", r, turn[x].n, turn[x].ep, kind);
	turn[x].k = kind; turn[x].landed = 0; turn[x].ph = COMMITTING;
	send(x, COMMIT)
}

inline letGo(x) {
	printf("replica %d: releases epoch %d\n", r, turn[x].ep);
	turn[x].ph = RELEASING; turn[x].cancelling = 0; turn[x].hung = 0;
	send(x, RELEASE)
}

/* The event is in the log. */
inline stored(x) {
	clearRequest(x);
	if
	:: TERMINAL(turn[x].k) -> endTurn(x)
	:: else ->
		if
		:: turn[x].k != ARTIFACT -> turn[x].parked = (turn[x].k == INPUT); turn[x].spoke = 1
		:: else
		fi;
		turn[x].v++; turn[x].n++; turn[x].k = 0; turn[x].landed = 0; turn[x].ph = HELD
	fi
}

inline begin(x, e) {
	turn[x].ph = HELD; turn[x].ep = e; turn[x].v = e; turn[x].n = 0; turn[x].k = 0;
	turn[x].parked = 1; turn[x].spoke = 0; turn[x].landed = 0;
	clearRequest(x)
}

/* Nobody waits for this statement any more; the database may run it all the same. */
inline detach(s) {
	if
	:: q[s].op != NOTHING && q[s].res == UNKNOWN && q[LOOSE].op == NOTHING ->
		q[LOOSE].op = q[s].op; q[LOOSE].who = q[s].who; q[LOOSE].ep = q[s].ep; q[LOOSE].v = q[s].v;
		q[LOOSE].n = q[s].n; q[LOOSE].k = q[s].k; q[LOOSE].copied = q[s].copied; q[LOOSE].late = q[s].late;
		clearRequest(s)
	:: q[s].op != NOTHING && q[s].res != UNKNOWN -> clearRequest(s)
	:: else
	fi
}

/* RunningTurn.lose: nothing is written any more. With M_MUTED what the agent's cancelTask says is. */
inline lose(x) {
	printf("replica %d: lost epoch %d\n", r, turn[x].ep);
	detach(x);
#ifdef M_MUTED
	if
	:: q[x].op == NOTHING && (turn[x].ph == HELD || turn[x].ph == COMMITTING) ->
		turn[x].k = CANCELED; turn[x].landed = 0;
		send(x, COMMIT);
		q[x].late = 1
	:: else
	fi;
#endif
	endTurn(x)
}
