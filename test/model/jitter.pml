/* A lease whose holder lags, or that the database's clock jumped over, expires; a beat of the past lands. */
	:: d_step { expiries > 0 && holder[t] && !expired[t] ->
		printf("time: epoch %d expires\n", epoch[t]);
		SPEND(expiries); expired[t] = 1 }
	:: d_step { lateBeats > 0 && holder[t] && expired[t] ->
		printf("network: a late beat renews epoch %d\n", epoch[t]);
		SPEND(lateBeats); expired[t] = 0 }
