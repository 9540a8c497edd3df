/* A lease that nobody renews expires. */
#define KEPT(h) (rep[h] != DOWN && turn[(h) * T + t].ph != IDLE && turn[(h) * T + t].ph != RELEASING && \
	(turn[(h) * T + t].ph == OPENING || turn[(h) * T + t].ph == CREATING || turn[(h) * T + t].ep == epoch[t]))
	:: d_step { holder[t] && !expired[t] && !KEPT(holder[t] - 1) ->
		printf("time: epoch %d, which nobody renews, expires\n", epoch[t]);
		expired[t] = 1 }
#undef KEPT
