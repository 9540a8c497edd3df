/* The canceller's write on its way; see network.pml. */
#define CALIVE (rep[CANCELLER] != DOWN)
	:: d_step { q[CANCEL_SLOT].op != NOTHING && q[CANCEL_SLOT].res == UNKNOWN ->
		execute(CANCEL_SLOT, t);
		if
		:: CALIVE
		:: else -> clearRequest(CANCEL_SLOT)
		fi;
		z = 0 }
	:: d_step { losses > 0 && CALIVE && q[CANCEL_SLOT].op != NOTHING ->
		printf("network: the canceller gets no answer\n");
		losses--;
		clearRequest(CANCEL_SLOT) }
	:: d_step { losses > 0 && CALIVE && q[CANCEL_SLOT].op != NOTHING && q[CANCEL_SLOT].res == UNKNOWN && q[LOOSE].op == NOTHING ->
		printf("network: the canceller gets no answer, its statement is still waiting\n");
		losses--;
		detach(CANCEL_SLOT) }
	:: d_step { !CALIVE && q[CANCEL_SLOT].op != NOTHING -> clearRequest(CANCEL_SLOT) }
#undef CALIVE
