/* Canceller of packages/request-handler: look, mark, wait for the grace, write by the version looked at. */
#define CALIVE (rep[CANCELLER] != DOWN)
#define WRITES q[CANCEL_SLOT].op = CANCEL; q[CANCEL_SLOT].who = CANCELLER; q[CANCEL_SLOT].v = cv; \
	q[CANCEL_SLOT].ep = cep; q[CANCEL_SLOT].k = CANCELED; q[CANCEL_SLOT].res = UNKNOWN; \
	q[CANCEL_SLOT].copied = clanded; cph = C_WRITE
	:: d_step { CALIVE && cph == C_IDLE && st[0] != NONE ->
		printf("canceller: begins\n");
		cph = C_LOOK }
	:: d_step { CALIVE && cph == C_LOOK ->
		cv = ver[0]; cep = epoch[0]; clanded = 0;
		if
		:: TERMINAL(st[0]) -> cph = C_DONE; cv = 0; cep = 0; cmarked = 0; cover = 0
		:: !TERMINAL(st[0]) && holder[0] && !expired[0] && cmarked != epoch[0] -> cph = C_MARK
		:: !TERMINAL(st[0]) && holder[0] && !expired[0] && cmarked == epoch[0] && !cover -> cph = C_GRACE
		:: else -> WRITES
		fi }
	:: d_step { CALIVE && cph == C_MARK ->
		if
		:: holder[0] && epoch[0] == cep ->
			printf("canceller: marks epoch %d\n", cep);
			marked[0] = 1; cmarked = cep;
			if
			:: cover -> WRITES
			:: else -> cph = C_GRACE
			fi
		:: else -> cph = C_LOOK
		fi }
	/* The head has changed */
	:: d_step { CALIVE && cph == C_GRACE && epoch[0] != cep -> cph = C_LOOK }
	:: d_step { CALIVE && cph == C_GRACE ->
		printf("canceller: the grace is over\n");
		cover = 1; WRITES }
	:: d_step { CALIVE && cph == C_WRITE && q[CANCEL_SLOT].res == STORED ->
		clearRequest(CANCEL_SLOT); cph = C_DONE; cv = 0; cep = 0; cmarked = 0; cover = 0; clanded = 0 }
	/* cancel of the journal: refused, but perhaps by its own row */
	:: d_step { CALIVE && cph == C_WRITE && q[CANCEL_SLOT].res == REFUSED ->
		clearRequest(CANCEL_SLOT);
		if
		:: clanded -> cph = C_DONE; cv = 0; cep = 0; cmarked = 0; cover = 0; clanded = 0
		:: else -> cph = C_LOOK
		fi }
	:: d_step { CALIVE && cph == C_WRITE && q[CANCEL_SLOT].op == NOTHING -> WRITES }
#undef CALIVE
#undef WRITES
