/* The local deadline passes, or the replica gives up: the turn is lost here, whatever the row says. */
	:: d_step { rep[r] != DOWN && turn[X].ph != IDLE -> lose(X) }
