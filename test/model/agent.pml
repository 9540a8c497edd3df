/* The executor of a turn: any events in any order, then it returns, or never. */
#define SPEAKS (rep[r] == UP && turn[X].ph == HELD && !turn[X].hung)
	:: d_step { SPEAKS && turn[X].n < EVENTS -> commit(X, ARTIFACT) }
	:: d_step { SPEAKS && turn[X].n < EVENTS -> commit(X, WORKING) }
	:: d_step { SPEAKS && turn[X].n < EVENTS -> commit(X, INPUT) }
	:: d_step { SPEAKS -> commit(X, COMPLETED) }
	/* RunningTurn.conclude: a parked turn lets go, an incomplete one fails */
	:: d_step { SPEAKS && !turn[X].cancelling && turn[X].n > 0 && turn[X].parked -> letGo(X) }
	:: d_step { SPEAKS && !turn[X].cancelling && !(turn[X].n > 0 && turn[X].parked) -> commit(X, FAILED) }
#ifdef LIVE
	:: d_step { SPEAKS -> printf("replica %d: the agent hangs\n", r); turn[X].hung = 1 }
#endif
#undef SPEAKS
