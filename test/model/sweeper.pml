/* The sweeper of any replica that lives: its statement is the same whoever sends it, and however late. */
#if defined(M_SWEEPER)
	:: false -> skip
#elif defined(M_RECHECK)
	:: d_step { holder[t] && expired[t] && !candidate[t] -> candidate[t] = 1 }
	:: d_step { candidate[t] ->
		candidate[t] = 0;
		if
		:: holder[t] -> dbSweep(t)
		:: else
		fi }
#else
	:: d_step { holder[t] && expired[t] -> dbSweep(t) }
#endif
