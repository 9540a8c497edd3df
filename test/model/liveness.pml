/* Liveness, under weak fairness. */
#define KEPT_BY(h) (rep[h] != DOWN && turn[(h) * T].ph != IDLE && \
	(turn[(h) * T].ph == OPENING || turn[(h) * T].ph == CREATING || turn[(h) * T].ep == epoch[0]))
#define ABANDONED (holder[0] && !KEPT_BY((holder[0] - 1)))

/* Every abandoned turn ends. */
ltl abandoned { [] (ABANDONED -> <> !ABANDONED) }
/* A cancel mark ends the task while the canceller lives, */
ltl cancelled { [] ((marked[0] && rep[CANCELLER] != DOWN) -> <> (TERMINAL(st[0]) || rep[CANCELLER] == DOWN)) }
/* or while its holder lives and keeps the lease (it is not renewed while its release is under way), */
ltl heldmark { [] (marked[0] -> <> (TERMINAL(st[0]) || ABANDONED || expired[0])) }
/* and the turn in any case. */
ltl markended { [] (marked[0] -> <> !marked[0]) }
