/* What the replica does for a turn: answers, retries, the heartbeat, cancel, close. */
#define ALIVE (rep[r] != DOWN)
#define OURS (holder[t] == r + 1 && epoch[t] == turn[X].ep)
	/* CommitWriter.step: stored */
	:: d_step { ALIVE && turn[X].ph == COMMITTING && q[X].res == STORED -> stored(X) }
	/* CommitWriter.refused: the row of our own write, else why, else again after a renewal */
	:: d_step { ALIVE && turn[X].ph == COMMITTING && q[X].res == REFUSED ->
		if
#ifndef M_WRITE_ID
		:: turn[X].landed ->
			printf("replica %d: finds event %d of epoch %d stored\n", r, turn[X].n, turn[X].ep);
			stored(X)
		:: else ->
#else
		:: true ->
#endif
			if
			:: OURS && !TERMINAL(st[t]) && ver[t] == turn[X].v -> expired[t] = 0; send(X, COMMIT)
			:: else ->
				printf("replica %d: event %d of epoch %d counts as refused\n", r, turn[X].n, turn[X].ep);
				CHECK(P_REFUSED, !turn[X].landed, "VIOLATED refused: a write told as refused is in the log\n");
				lose(X)
			fi
		fi }
	/* CommitWriter.step: no answer came. Look for the own write first, then send it again. */
	:: d_step { ALIVE && turn[X].ph == COMMITTING && q[X].op == NOTHING ->
		if
#ifdef M_NAIVE_RETRY
		:: true -> turn[X].v = ver[t]; send(X, COMMIT)
#else
#ifndef M_WRITE_ID
		:: turn[X].landed -> stored(X)
#endif
		:: else -> printf("replica %d: sends event %d again\n", r, turn[X].n); send(X, COMMIT)
#endif
		fi }
	/* createTask of the journal */
	:: d_step { ALIVE && turn[X].ph == CREATING &&
		(q[X].res == STORED || (turn[X].landed && q[X].res == REFUSED)) ->
		clearRequest(X);
		if
		:: TERMINAL(turn[X].k) -> endTurn(X)
		:: else ->
			turn[X].ph = HELD; turn[X].ep = 1; turn[X].v = 1; turn[X].n = 1; turn[X].spoke = 1;
			turn[X].parked = (turn[X].k == INPUT); turn[X].k = 0; turn[X].landed = 0
		fi }
	:: d_step { ALIVE && turn[X].ph == CREATING && q[X].op == NOTHING -> send(X, CREATE) }
	/* openTurn of the journal; a refusal may be our own row */
	:: d_step { ALIVE && turn[X].ph == OPENING && q[X].res == STORED ->
		if
		:: rep[r] == UP -> begin(X, opened[turn[X].n])
		:: else -> clearRequest(X); endTurn(X)
		fi }
	:: d_step { ALIVE && turn[X].ph == OPENING && q[X].res == REFUSED ->
		if
		:: rep[r] == UP && opened[turn[X].n] != 0 && openedBy[turn[X].n] == r -> begin(X, opened[turn[X].n])
		:: else -> clearRequest(X); endTurn(X)
		fi }
	:: d_step { ALIVE && turn[X].ph == OPENING && q[X].op == NOTHING -> send(X, OPEN) }
	/* releaseRow */
	:: d_step { ALIVE && turn[X].ph == RELEASING && q[X].res == STORED -> clearRequest(X); endTurn(X) }
	:: d_step { ALIVE && turn[X].ph == RELEASING && q[X].op == NOTHING -> send(X, RELEASE) }
	/* RunningTurn.releaseLease: the lease is marked, so it is held again and the cancel is written under it */
	:: d_step { ALIVE && turn[X].ph == RELEASING && q[X].res == REFUSED ->
		printf("replica %d: is told of the cancel by the release\n", r);
		clearRequest(X); commit(X, CANCELED) }
	/* renew: whatever expires_at says */
	:: d_step { ALIVE && (turn[X].ph == HELD || turn[X].ph == COMMITTING) && OURS && expired[t] ->
		printf("replica %d: renews epoch %d\n", r, epoch[t]);
		expired[t] = 0 }
#ifndef M_MARK
	/* the age of the mark in a beat's or a head's answer; RunningTurn.requestCancel */
	:: d_step { ALIVE && (turn[X].ph == HELD || turn[X].ph == COMMITTING) && OURS && marked[t] && !turn[X].cancelling ->
		printf("replica %d: hears of the cancel\n", r);
		turn[X].cancelling = 1 }
#endif
	/* RunningTurn.writeCanceled: the grace is over, or the agent has returned */
	:: d_step { ALIVE && turn[X].ph == HELD && turn[X].cancelling -> commit(X, CANCELED) }
	/* RunningTurn.shutdown */
	:: d_step { rep[r] == CLOSING && turn[X].ph == HELD && !turn[X].cancelling ->
		if
		:: turn[X].spoke && turn[X].parked -> letGo(X)
		:: else -> commit(X, FAILED)
		fi }
#undef OURS
#undef ALIVE
